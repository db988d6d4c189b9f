"""The rows of tables of a page: each cell in its column, also below and beside empty ones.

Columns are where cells are: ranges of x that no cell of another column is in. A cell over several columns is
in the first of them. Lines that are closer to each other than to others are lines of the same cells. Rows
that fit no columns are shown as they are, with tabs where gaps are wide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

_CELL_GAP = 1.5
"""The least distance of cells that no column tells apart; unit: height of the line."""
_TABLE_GAP = 1.5
"""How much wider than usual a gap between two tables is; unit: height of the line."""
_MIN_TIGHT = 3
"""So many rows and columns has a table in which no gap is as wide as `_CELL_GAP`."""
_TOUCHING = 1.0
"""So many points may cells of two columns overlap."""
_MAX_TABLE_ROWS = 200
_MAX_TABLE_CELLS = 20_000
"""Longer ones are shown row by row; looking for columns takes more than the square of their number."""
_MAX_SPANNING = 3
"""So many cells of a table may be over several columns."""
_SAME_CELL = 0.15
_MIN_WRAPPED_CHARS = 12
"""A shorter line of a cell does not go on in the next."""
_OTHER_ROW = 0.35
"""How much closer lines of one cell are than rows; unit: height of the line."""
OWN_LINE = re.compile(r"[-–—•*·>□☐☒]|\(?\d{1,3}[.)]\s|\(?[A-Za-z][.)]\s|[^\W\d_][^.:]{0,40}:(?:\s|\Z)")  # noqa: RUF001
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
        return (self.top + self.bottom) / 2


Row = list[Segment]
"""Segments at the same height, from left to right."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the text."""

    text: str = field(repr=False)  # cells are separated by tabs
    first: Row = field(repr=False)  # the first row of the page that it has
    last: Row = field(repr=False)  # the last one
    begins_in: int = -1  # the column of its only cell; -1 = it is in no table, -2 = it has several cells
    # The column of its last cell, -1 = it is in no table, -3 = it has several cells and no table.
    ends_in: int = -1
    table: float | None = None  # where its table begins (y), None = it is in no table


@dataclass(slots=True)
class _Column:
    left: float
    right: float

    def has(self, one: Segment) -> bool:
        return one.left < self.right - _TOUCHING and one.right > self.left + _TOUCHING


def list_lines(rows: Sequence[Row], usual_gap: float) -> Iterator[Line]:
    """Yield the lines of rows one below the other.

    Args:
        rows: From top to bottom.
        usual_gap: Between the rows of the page. A much wider one ends a table.
    """
    start = 0
    for i in range(1, len(rows) + 1):
        is_end = i == len(rows)
        if is_end or measure_gap(rows[i - 1], rows[i]) > usual_gap + _TABLE_GAP * max(
            one.height for one in rows[i]
        ):
            yield from _read_run(rows[start:i])
            start = i


def measure_gap(above: Row, below: Row) -> float:
    """Return the vertical distance of two rows, which is negative if they overlap."""
    return min(one.bottom for one in above) - max(one.top for one in below)


def _read_run(rows: Sequence[Row]) -> Iterator[Line]:
    # Of one table, or of what is around it.
    start = next((i for i, row in enumerate(rows) if len(row) > 1), len(rows))
    first = rows[start][0] if start < len(rows) else None
    while start and first is not None and _is_beside(first, rows[start - 1], rows[start]):
        start -= 1
    yield from map(_show_alone, rows[:start])
    rows = rows[start:]
    if len(rows) < 2 or len(rows) > _MAX_TABLE_ROWS or sum(map(len, rows)) > _MAX_TABLE_CELLS:
        yield from map(_show_alone, rows)
        return
    columns = _find_columns(rows)
    stop = _split(rows) if columns is None else _find_end(rows, columns)
    if columns is not None and stop == len(rows):
        stop = _find_other_table(rows, columns)
    if columns is not None and stop == len(rows):
        yield from _show_table(rows, columns)
    else:  # the columns of the rows before the end may be others
        yield from _read_run(rows[:stop])
        yield from _read_run(rows[stop:])


def _is_beside(first: Segment, above: Row, below: Row) -> bool:
    # Whether a line above the first row of a table is of a cell that is higher than its first cell.
    return above[0].left > first.right and measure_gap(above, below) <= _OTHER_ROW * first.height


def _are_cells(one: Segment, other: Segment) -> bool:
    return other.left - one.right > _CELL_GAP * min(one.height, other.height)


def _find_columns(rows: Sequence[Row]) -> list[_Column] | None:
    # None = there are none that fit all rows.
    tabular = [row for row in rows if len(row) > 1]
    has_gaps = any(_are_cells(one, other) for row in tabular for one, other in pairwise(row))
    columns = _fit_columns(tabular, is_strict=True)
    if columns is None and has_gaps:
        columns = _fit_columns(tabular, is_strict=False)
    if columns is None or has_gaps or min(len(rows), len(columns)) >= _MIN_TIGHT:
        return columns
    is_beside = any(len(row) == 1 and row[0].left > columns[0].right for row in rows)
    return columns if is_beside else None


def _fit_columns(rows: Sequence[Row], *, is_strict: bool) -> list[_Column] | None:
    # If not strict, of wide gaps.
    spanning: set[int] = set()
    for _ in range(_MAX_SPANNING + 1):
        columns = _merge([one for row in rows for one in row if id(one) not in spanning])
        clashes = (_find_clash(row, columns, is_strict=is_strict) for row in rows)
        clash = next((found for found in clashes if found is not None), None)
        if clash is None:
            return columns if len(columns) > 1 else None
        inside = [one for row in rows for one in row if id(one) not in spanning and clash.has(one)]
        spanning.add(id(max(inside, key=lambda one: one.right - one.left)))
    return None


def _merge(segments: Sequence[Segment]) -> list[_Column]:
    columns: list[_Column] = []
    for one in sorted(segments, key=lambda one: one.left):
        if columns and one.left < columns[-1].right - _TOUCHING:
            columns[-1].right = max(columns[-1].right, one.right)
        else:
            columns.append(_Column(one.left, one.right))
    return columns


def _find_clash(row: Row, columns: Sequence[_Column], *, is_strict: bool) -> _Column | None:
    for one, other in pairwise(row):
        if is_strict or _are_cells(one, other):
            place = _place(one, columns)
            if place == _place(other, columns):
                return columns[place]
    return None


def _place(one: Segment, columns: Sequence[_Column]) -> int:
    inside = (number for number, column in enumerate(columns) if column.has(one))
    middle = (one.left + one.right) / 2
    nearest = min(range(len(columns)), key=lambda n: abs(columns[n].left + columns[n].right - 2 * middle))
    return next(inside, nearest)


def _find_end(rows: Sequence[Row], columns: Sequence[_Column]) -> int:
    # The first row that is a line over several columns, else the number of rows.
    for i, row in enumerate(rows):
        if len(row) == 1 and sum(column.has(row[0]) for column in columns) > 1:
            return max(i, 1)
    return len(rows)


def _find_other_table(rows: Sequence[Row], columns: Sequence[_Column]) -> int:
    # It is below the widest gap, and the rows of both have fewer columns by themselves than together.
    gaps = [measure_gap(above, below) for above, below in pairwise(rows)]
    stop = _split(rows)
    if gaps[stop - 1] <= median(gaps) + 0.5 * max(one.height for one in rows[stop]):
        return len(rows)
    n_columns = [len(_find_columns(some) or ()) for some in (rows[:stop], rows[stop:])]
    return stop if max(n_columns) < len(columns) else len(rows)


def _split(rows: Sequence[Row]) -> int:
    gaps = [measure_gap(above, below) for above, below in pairwise(rows)]
    return 1 + max(range(len(gaps)), key=gaps.__getitem__)


def _show_table(rows: Sequence[Row], columns: Sequence[_Column]) -> Iterator[Line]:
    cells = [_fill(row, columns) for row in rows]
    for start, stop in _group_lines(rows, cells, columns):
        joined = [
            _join([" ".join(one.text for one in cell) for cell in column])
            for column in zip(*cells[start:stop], strict=True)
        ]
        used = [number for number, text in enumerate(joined) if text]
        begins_in = used[0] if len(used) == 1 and len(rows[start]) == 1 else -2
        text = "\t".join(joined).rstrip("\t")
        yield Line(text, rows[start], rows[stop - 1], begins_in, used[-1], rows[0][0].top)


def _fill(row: Row, columns: Sequence[_Column]) -> list[Row]:
    cells: list[Row] = [[] for _ in columns]
    for one in row:
        cells[_place(one, columns)].append(one)
    return cells


def _group_lines(
    rows: Sequence[Row], cells: Sequence[Sequence[Row]], columns: Sequence[_Column]
) -> Iterator[tuple[int, int]]:
    # Half-open ranges. Lines of the same cells are close to each other and far from other rows.
    gaps = [measure_gap(above, below) for above, below in pairwise(rows)]
    height = max(one.height for one in rows[0])
    usual = max(min(gaps), 0.0)
    may_join = usual <= _OTHER_ROW * height < max(gaps) - usual
    start = 0
    for i in range(1, len(rows) + 1):
        if i < len(rows) and gaps[i - 1] <= usual + _SAME_CELL * height:
            continue
        if may_join and _are_wrapped(cells[start:i], columns):
            yield start, i
        else:
            yield from ((n, n + 1) for n in range(start, i))
        start = i


def _are_wrapped(lines: Sequence[Sequence[Row]], columns: Sequence[_Column]) -> bool:
    # At most one has a first cell, and some cell goes on in the next.
    if sum(bool(line[0]) for line in lines) > 1:
        return False
    n_wrapped = 0
    for column, cells in zip(columns[1:], list(zip(*lines, strict=True))[1:], strict=True):
        for above, below in pairwise([cell for cell in cells if cell]):
            is_full = above[-1].right + 0.2 * above[-1].height + below[0].first_width > column.right
            n_chars = sum(len(one.text) for one in above)
            if not is_full or n_chars < _MIN_WRAPPED_CHARS or OWN_LINE.match(below[0].text):
                return False
            n_wrapped += 1
    return n_wrapped > 0


def _join(parts: Sequence[str]) -> str:
    joined = ""
    for part in filter(None, parts):
        joined += part if not joined or joined.endswith("-") else f" {part}"
    return joined


def _show_alone(row: Row) -> Line:
    text = row[0].text
    for one, other in pairwise(row):
        text += ("\t" if _are_cells(one, other) else " ") + other.text
    return Line(text, row, row) if len(row) == 1 else Line(text, row, row, -2, -3)
