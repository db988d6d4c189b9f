"""The words of a page in reading order: columns one after the other, rows of tables line by line.

Everything is decided by where words are on the page. The lines of a paragraph become one line, except after a
hyphen, where `text/reading.py` finds out whether it broke a word.

- Columns are a vertical gap with prose on both sides: several lines each, most of them long and full.
- All other segments beside each other are one line, with tabs between them.
- A line belongs to the paragraph of the line above if its first word did not fit there.

Coordinates are points, and y grows upwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

_MIN_ROWS = 4
_MIN_PROSE_CHARS = 20
"""Shorter lines are not prose, and do not continue on the next one."""
_MIN_SHARE = 0.6
_MAX_CANDIDATES = 5
_MAX_ROWS = 500
"""Pages with more rows are read row by row; looking for columns takes the square of their number."""
_OWN_LINE = re.compile(r"[-–—•*·>□☐☒]|\(?\d{1,3}[.)]\s|\(?[A-Za-z][.)]\s|[^\W\d_][^.:]{0,40}:(?:\s|\Z)")  # noqa: RUF001
"""The beginning of a line of a list, or of one with a label."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Words beside each other on one line."""

    text: str = field(repr=False)
    left: float
    right: float
    bottom: float
    top: float
    first_width: float  # of the first word

    @property
    def height(self) -> float:
        """About the size of the font."""
        return self.top - self.bottom

    @property
    def centre(self) -> float:
        """Where its middle is, vertically."""
        return (self.top + self.bottom) / 2


Row = list[Segment]
"""Segments at the same height, from left to right."""


def order_lines(segments: Sequence[Segment]) -> list[str]:
    """Return the lines of a page; "" = a gap between paragraphs.

    Example:
        >>> order_lines([Segment("10 mg", 200, 230, 90, 100, 10), Segment("Dose:", 50, 80, 90, 100, 30)])
        ['Dose:\\t10 mg']
    """
    rows = _group_rows(segments)
    return list(_read_rows(rows) if len(rows) <= _MAX_ROWS else _read_flow(rows))


def _group_rows(segments: Sequence[Segment]) -> list[Row]:
    """Return the rows from top to bottom."""
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
    """Return the middle of the range that most gaps cover."""
    edges = sorted([*((left, 0) for left, _ in gaps), *((right, 1) for _, right in gaps)])
    n_open = most = 0
    middle = edges[0][0]
    for i, (x, is_end) in enumerate(edges):
        n_open += -1 if is_end else 1
        if n_open > most:
            most, middle = n_open, (x + edges[i + 1][0]) / 2
    return middle


def _runs(rows: Sequence[Row], gutter: float) -> Iterator[tuple[int, int]]:
    """Yield the runs of rows that no segment crosses; each begins with a row on both sides."""
    start = None
    for i, row in enumerate([*rows, None]):
        if row is None or any(one.left < gutter < one.right for one in row):
            if start is not None:
                yield start, i
            start = None
        elif start is None and row[0].right <= gutter <= row[-1].left:
            start = i


def _is_prose(segments: Sequence[Segment]) -> bool:
    """Tell whether one side of a gap has lines of prose, not cells of a table."""
    rows = _group_rows(segments)
    left = min((row[0].left for row in rows), default=0.0)
    width = max((row[-1].right for row in rows), default=0.0) - left
    n_long = sum(
        sum(len(one.text) for one in row) >= _MIN_PROSE_CHARS and row[-1].right - left >= 0.75 * width
        for row in rows
    )
    return n_long >= max(_MIN_ROWS, _MIN_SHARE * len(rows))


def _read_flow(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of rows one below the other."""
    if not rows:
        return
    gaps = [_gap(above, below) for above, below in pairwise(rows)]
    usual = median(gaps) if gaps else 0.0
    edge = max(row[-1].right for row in rows)
    line = _show_row(rows[0])
    for (above, below), gap in zip(pairwise(rows), gaps, strict=True):
        height = max(above[0].height, below[0].height)
        shown = _show_row(below)
        if gap <= usual + 0.15 * height and _continues(above, below, edge) and not _OWN_LINE.match(shown):
            line += f"\n{shown}" if line.endswith("-") else f" {shown}"
            continue
        yield line
        if gap > usual + 0.5 * height:
            yield ""
        line = shown
    yield line


def _gap(above: Row, below: Row) -> float:
    return min(one.bottom for one in above) - max(one.top for one in below)


def _continues(above: Row, below: Row, edge: float) -> bool:
    """Tell whether the first word of a row did not fit on the row above."""
    if len(above) > 1 or len(below) > 1 or len(above[0].text) < _MIN_PROSE_CHARS:
        return False
    one, other = above[0], below[0]
    is_like = abs(one.height - other.height) <= 0.15 * max(one.height, other.height)
    is_below = abs(one.left - other.left) <= 4 * one.height
    return is_like and is_below and one.right + 0.2 * one.height + other.first_width > edge


def _show_row(row: Row) -> str:
    shown = row[0].text
    for one, other in pairwise(row):
        is_cell = other.left - one.right > 1.5 * min(one.height, other.height)
        shown += ("\t" if is_cell else " ") + other.text
    return shown
