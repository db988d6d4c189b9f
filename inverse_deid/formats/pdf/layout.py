"""The words of a page in reading order: columns one after the other, rows of tables line by line.

Everything is decided by where words are on the page. The lines of a paragraph become one line, except after a
hyphen, where `text/reading.py` finds out whether it broke a word.

- Columns are a vertical gap with prose on both sides: several lines each, most of them long and full.
- All other segments beside each other are one line, with tabs between them: cells of tables (`tables.py`).
- A line belongs to the paragraph of the line above if its first word did not fit there. Where few lines are
  so full, it must go on with a small letter.

Coordinates are points, and y grows upwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from inverse_deid.formats.pdf.tables import OWN_LINE, Row, Segment, list_lines, measure_gap

_MIN_ROWS = 4
_MIN_PROSE_CHARS = 20
"""Shorter lines are not prose, and do not continue on the next one."""
_MIN_SHARE = 0.6
_MAX_CANDIDATES = 5
_MAX_ROWS = 500
"""Pages with more rows are read row by row; looking for columns takes the square of their number."""
_MIN_WRAPPED = 3
"""If fewer lines seem to continue, only those do that go on with a small letter."""


def order_lines(segments: Sequence[Segment]) -> list[str]:
    r"""Return the lines of a page; "" = a gap between paragraphs.

    Example:
        >>> order_lines([Segment("10 mg", 200, 230, 90, 100, 10), Segment("Dose:", 50, 80, 90, 100, 30)])
        ['Dose:\t10 mg']
    """
    rows = _group_rows(segments)
    return list(_read_rows(rows) if len(rows) <= _MAX_ROWS else _read_flow(rows))


def _group_rows(segments: Sequence[Segment]) -> list[Row]:
    rows: list[Row] = []
    for one in sorted(segments, key=lambda one: (-one.centre, one.left)):
        first = rows[-1][0] if rows else None
        if first is not None and first.centre - one.centre <= min(first.height, one.height) / 2:
            rows[-1].append(one)
        else:
            rows.append([one])
    return [sorted(row, key=lambda one: one.left) for row in rows]


def _read_rows(rows: list[Row]) -> Iterator[str]:
    found = _find_columns(rows)
    if found is None:
        yield from _read_flow(rows)
        return
    start, stop, gutter = found
    both = [one for row in rows[start:stop] for one in row]
    columns = ([one for one in both if one.right <= gutter], [one for one in both if one.left >= gutter])
    if start:
        yield from _read_rows(rows[:start])
        yield ""
    yield from _read_rows(_group_rows(columns[0]))
    yield ""
    yield from _read_rows(_group_rows(columns[1]))
    if stop < len(rows):
        yield ""
        yield from _read_rows(rows[stop:])


def _find_columns(rows: Sequence[Row]) -> tuple[int, int, float] | None:
    """Return the first and the last row (half-open) of two columns and x between them, None = no columns."""
    gaps = [
        (one.right, other.left)
        for row in rows
        for one, other in pairwise(row)
        if other.left - one.right >= min(one.height, other.height) / 2
    ]
    best: tuple[int, int, float] | None = None
    for _ in range(_MAX_CANDIDATES):
        if len(gaps) < _MIN_ROWS:
            break
        gutter = _most_covered(gaps)
        gaps = [(left, right) for left, right in gaps if not left <= gutter <= right]
        for start, stop in _runs(rows, gutter):
            if best is None or stop - start > best[1] - best[0]:
                left = [one for row in rows[start:stop] for one in row if one.right <= gutter]
                right = [one for row in rows[start:stop] for one in row if one.left >= gutter]
                if _is_prose(left) and _is_prose(right):
                    best = start, stop, gutter
    return best


def _most_covered(gaps: Sequence[tuple[float, float]]) -> float:
    edges = sorted([*((left, 0) for left, _ in gaps), *((right, 1) for _, right in gaps)])
    n_open = most = 0
    middle = edges[0][0]
    for i, (x, is_end) in enumerate(edges):
        n_open += -1 if is_end else 1
        if n_open > most:
            most, middle = n_open, (x + edges[i + 1][0]) / 2
    return middle


def _runs(rows: Sequence[Row], gutter: float) -> Iterator[tuple[int, int]]:
    # Each begins with a row on both sides.
    start = None
    for i, row in enumerate([*rows, None]):
        if row is None or any(one.left < gutter < one.right for one in row):
            if start is not None:
                yield start, i
            start = None
        elif start is None and row[0].right <= gutter <= row[-1].left:
            start = i


def _is_prose(segments: Sequence[Segment]) -> bool:
    rows = _group_rows(segments)
    left = min((row[0].left for row in rows), default=0.0)
    width = max((row[-1].right for row in rows), default=0.0) - left
    n_long = sum(
        sum(len(one.text) for one in row) >= _MIN_PROSE_CHARS and row[-1].right - left >= 0.75 * width
        for row in rows
    )
    return n_long >= max(_MIN_ROWS, _MIN_SHARE * len(rows))


def _read_flow(rows: Sequence[Row]) -> Iterator[str]:
    if not rows:
        return
    gaps = [measure_gap(above, below) for above, below in pairwise(rows)]
    usual = median(gaps) if gaps else 0.0
    edge = max(row[-1].right for row in rows)
    lines = list(list_lines(rows, usual))
    gaps = [measure_gap(above.last, below.first) for above, below in pairwise(lines)]
    continues = [
        gap <= usual + 0.15 * max(above.last[0].height, below.first[0].height)
        and above.ends_in == below.begins_in
        and _continues(above.last[-1], below.first, edge)
        for (above, below), gap in zip(pairwise(lines), gaps, strict=True)
    ]
    is_wrapped = sum(continues) >= _MIN_WRAPPED
    shown = lines[0].text
    for (above, below), gap, continued in zip(pairwise(lines), gaps, continues, strict=True):
        if continued and (is_wrapped or below.text.lstrip("\t")[0].islower()):
            shown += ("\n" if shown.endswith("-") else " ") + below.text.lstrip("\t")
            continue
        yield shown
        if gap > usual + 0.5 * below.first[0].height and (above.table is None or above.table != below.table):
            yield ""
        shown = below.text
    yield shown


def _continues(one: Segment, below: Row, edge: float) -> bool:
    # Whether the first word of a row did not fit behind a segment of the row above.
    other = below[0]
    if len(below) > 1 or len(one.text) < _MIN_PROSE_CHARS or OWN_LINE.match(other.text):
        return False
    is_like = abs(one.height - other.height) <= 0.15 * max(one.height, other.height)
    is_below = abs(one.left - other.left) <= 4 * one.height
    return is_like and is_below and one.right + 0.2 * one.height + other.first_width > edge
