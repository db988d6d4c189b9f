"""What a page is made of: sections of tables and charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from inverse_deid.core.errors import StageError

_SHORT_ROWS = 16
_WIDE_COLUMNS = 8
_NARROW_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Row:
    """Cells of a table; a row of some depth belongs to the shallower one above it."""

    cells: tuple[str, ...]
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column names the rows.

    Args:
        caption: Says what the rows are.
        head: Titles of the columns.
        rows: Each with one cell for each column.
        texts: Numbers of the columns that hold text instead of numbers, besides the first.

    Raises:
        StageError: A row has too many or too few cells.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    texts: frozenset[int] = frozenset()
    kind: Literal["table"] = "table"

    @property
    def is_short(self) -> bool:
        """Whether it fits on a page with other things."""
        return len(self.rows) <= _SHORT_ROWS

    @property
    def is_wide(self) -> bool:
        """Whether it needs a small type to fit on a page."""
        return len(self.head) >= _WIDE_COLUMNS

    @property
    def is_narrow(self) -> bool:
        """Whether a wide page would tear its columns apart."""
        return len(self.head) <= _NARROW_COLUMNS and not self.texts

    def __post_init__(self) -> None:
        if any(len(row.cells) != len(self.head) for row in self.rows):
            raise StageError(f"a table of {len(self.head)} columns has a row of another length")


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing, what it shows, and the table of its numbers.

    Args:
        title: In a few words.
        sentence: How to read it.
        drawing: Escaped SVG.
        numbers: Everything that it shows.
        is_labelled: Whether all the numbers stand in the drawing too, so that paper needs no table.
    """

    title: str
    sentence: str
    drawing: Markup
    numbers: Table
    is_labelled: bool
    kind: Literal["chart"] = "chart"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading; `key` is its address within the page."""

    key: str
    title: str
    sentences: tuple[str, ...]
    blocks: tuple[Chart | Table, ...] = ()


@dataclass(frozen=True, slots=True)
class Headline:
    """One of the few numbers that a reader takes along."""

    number: str
    sentence: str
    interval: str


def without_empty_columns(table: Table) -> Table:
    """The table without columns that hold nothing at all (a dash is something)."""
    used = [i for i in range(len(table.head)) if i == 0 or any(row.cells[i] for row in table.rows)]
    return Table(
        table.caption,
        _picked(table.head, used),
        tuple(Row(_picked(row.cells, used), row.depth) for row in table.rows),
        frozenset(new for new, old in enumerate(used) if old in table.texts),
    )


def _picked(cells: Sequence[str], numbers: Sequence[int]) -> tuple[str, ...]:
    return tuple(cells[i] for i in numbers)
