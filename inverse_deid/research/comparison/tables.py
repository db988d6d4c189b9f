"""Tables whose cells may be estimates: as Markdown, as plain text and as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from inverse_deid.evaluation.plain_text import align, markdown_table


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share with its interval.

    Args:
        value: In [0, 1]; None = undefined.
        low: Lower bound; None = unknown.
        high: Upper bound; None = unknown.

    Example:
        >>> Estimate(0.5, 0.4123, 0.5877).text(3), Estimate(None).text(3)
        ('0.500 (0.412 to 0.588)', '-')
    """

    value: float | None
    low: float | None = None
    high: float | None = None

    def text(self, digits: int) -> str:
        """Value and interval, the bounds rounded outwards."""
        if self.value is None:
            return "-"
        shown = rounded(self.value, digits)
        if self.low is None or self.high is None:
            return shown
        factor = 10**digits
        low = math.floor(round(self.low * factor, 6)) / factor
        high = math.ceil(round(self.high * factor, 6)) / factor
        return f"{shown} ({low:.{digits}f} to {high:.{digits}f})"


def rounded(share: float, digits: int) -> str:
    """A number in [0, 1]; shown as 0 or 1 only if it is exactly that.

    Example:
        >>> rounded(0.99999, 3), rounded(1.0, 3), rounded(0.0004, 3), rounded(0.12345, 3)
        ('0.999', '1.000', '0.001', '0.123')
    """
    step = 10.0**-digits
    shown = min(max(share, step), 1 - step) if 0 < share < 1 else share
    return f"{shown:.{digits}f}"


Cell = str | int | float | Estimate | None
"""A float is shown as it stands in [0, 1]; None is undefined or absent."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Args:
        name: Of its CSV file, without the ending.
        title: One line.
        columns: Their titles; the first names the row.
        rows: One cell a column.
        estimates: The columns whose cells are estimates; CSV has two more for each.
        notes: Sentences under the table.
        digits: Of the floats where they are shown; CSV has them in full.

    Raises:
        ValueError: A row has another number of cells.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    estimates: frozenset[str] = field(default_factory=frozenset)
    notes: tuple[str, ...] = ()
    digits: int = 3

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"table {self.name}: every row has {len(self.columns)} cells")


def markdown(table: Table) -> str:
    """The table in Markdown, with its title as a heading.

    Example:
        >>> print(markdown(Table("t", "Recall", ("system", "recall"), (("crf", Estimate(0.985)),))))
        ### Recall
        <BLANKLINE>
        | system | recall |
        |---|---:|
        | crf | 0.985 |
        <BLANKLINE>
    """
    return markdown_table(table.title, table.columns, _shown_rows(table), table.notes)


def plain_lines(table: Table) -> Iterator[str]:
    """The table for a terminal: its title and aligned columns, the first to the left.

    Example:
        >>> print(*plain_lines(Table("t", "Recall", ("system", "p"), (("crf", 0.5),), digits=1)), sep="|")
        Recall|system    p|crf     0.5
    """
    yield table.title
    yield from align([table.columns, *_shown_rows(table)])


def _shown_rows(table: Table) -> list[tuple[str, ...]]:
    return [tuple(_shown(cell, table.digits) for cell in row) for row in table.rows]


def _shown(cell: Cell, digits: int) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, Estimate):
        return cell.text(digits)
    if isinstance(cell, float):
        return rounded(cell, digits)
    return f"{cell:,}" if isinstance(cell, int) else cell


def csv_text(table: Table) -> str:
    r"""The table as CSV; nothing is rounded, an absent cell is empty.

    Example:
        >>> estimate = Estimate(0.5, 0.25, 0.75)
        >>> csv_text(Table("t", "", ("system", "recall"), (("crf", estimate),), frozenset({"recall"})))
        'system,recall,recall low,recall high\ncrf,0.5,0.25,0.75\n'
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_csv_head(table))
    for row in table.rows:
        cells = [cell for entry in zip(table.columns, row, strict=True) for cell in _csv_cells(*entry, table)]
        writer.writerow(["" if cell is None else cell for cell in cells])
    return stream.getvalue()


def _csv_head(table: Table) -> list[str]:
    head = []
    for column in table.columns:
        head += [column, f"{column} low", f"{column} high"] if column in table.estimates else [column]
    return head


def _csv_cells(column: str, cell: Cell, table: Table) -> tuple[str | int | float | None, ...]:
    if isinstance(cell, Estimate):
        return cell.value, cell.low, cell.high
    return (cell, None, None) if column in table.estimates else (cell,)
