"""The parts of a page: sections with tables and charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from inverse_deid.core.errors import StageError
from inverse_deid.core.wording import _
from inverse_deid.evaluation.page.charts import Bar
from inverse_deid.evaluation.page.measures import (
    Measure,
    interval_name,
    number,
    percent,
    percent_range,
)

_SHORT_ROWS = 16
_WIDE_COLUMNS = 8
_NARROW_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class TableRow:
    """Cells of a table. A deeper row belongs to the shallower one above it."""

    cells: tuple[str, ...]
    depth: int = 0


@dataclass(frozen=True, slots=True)
class NumberTable:
    """A table where the first column names the rows. `texts` are the other columns with text.

    Raises:
        StageError: A row has too many or too few cells.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[TableRow, ...]
    texts: frozenset[int] = frozenset()
    kind: Literal["table"] = "table"

    @property
    def is_short(self) -> bool:
        """Whether it fits on a sheet of paper with other blocks."""
        return len(self.rows) <= _SHORT_ROWS

    @property
    def is_wide(self) -> bool:
        """Whether it needs small type to fit on paper."""
        return len(self.head) >= _WIDE_COLUMNS

    @property
    def is_narrow(self) -> bool:
        """Whether a wide page would move its columns too far apart."""
        return len(self.head) <= _NARROW_COLUMNS and not self.texts

    def __post_init__(self) -> None:
        if any(len(row.cells) != len(self.head) for row in self.rows):
            raise StageError(
                _("a table of {n_head} columns has a row of another length", n_head=len(self.head))
            )


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing (escaped SVG) with the table of its numbers.

    It is labelled if it contains all numbers, so that paper needs no table.
    """

    title: str
    sentence: str
    drawing: Markup
    numbers: NumberTable
    is_labelled: bool
    kind: Literal["chart"] = "chart"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading. `key` is its address within the page."""

    key: str
    title: str
    sentences: tuple[str, ...]
    blocks: tuple[Chart | NumberTable, ...] = ()


@dataclass(frozen=True, slots=True)
class Headline:
    """One of the few numbers at the top of the page."""

    number: str
    sentence: str
    interval: str


Value = Measure | float | bool | None
"""A value of a table: a share or another number, with or without an interval."""


def interval_head(shares: Iterable[Measure]) -> str:
    """Return the head of a column of intervals, with their confidence if all have the same."""
    confidences = {share.confidence for share in shares if share.has_interval}
    name = interval_name(confidences.pop() if len(confidences) == 1 else None)
    return name[:1].upper() + name[1:]


def share_cells(share: Measure) -> tuple[str, str, str, str]:
    """Return a share as four cells: percent, interval, part, whole."""
    return percent(share.value), percent_range(share), number(share.part), number(share.whole)


def tabulate_bars(caption: str, first: str, bars: Iterable[Bar], part: str) -> NumberTable:
    bars = list(bars)
    rows = tuple(TableRow((bar.label, *share_cells(bar.share))) for bar in bars)
    head = (first, _("Share"), interval_head(bar.share for bar in bars), part, _("Of"))
    return NumberTable(caption, head, rows)


def tabulate_values(caption: str, values: Mapping[str, Value | str]) -> NumberTable:
    """Return a table with a row per value, without columns that are empty throughout."""
    rows = []
    for name, value in values.items():
        part, whole = (value.part, value.whole) if isinstance(value, Measure) else (None, None)
        counts = ["" if n is None else number(n) for n in (part, whole)]
        rows.append(TableRow((name, *_format_value(value), *counts)))
    return drop_empty_columns(
        NumberTable(caption, ("", _("Value"), _("Interval"), _("Part"), _("Of")), tuple(rows))
    )


def tabulate_grid(caption: str, rows: Mapping[str, Mapping[str, Value]]) -> NumberTable:
    """Return a table with a row per mapping and a column per name. All mappings have the same names.

    A single mapping becomes a table with a row per value.
    """
    if len(rows) == 1:
        ((name, values),) = rows.items()
        return tabulate_values(f"{caption}: {name}", values)
    columns = next(iter(rows.values()), {})
    cells = {name: [_format_cell(value) for value in values.values()] for name, values in rows.items()}
    return NumberTable(caption, ("", *columns), tuple(TableRow((name, *row)) for name, row in cells.items()))


def drop_empty_columns(table: NumberTable) -> NumberTable:
    """Return the table without columns that are empty throughout. A dash is not empty."""
    used = [i for i in range(len(table.head)) if i == 0 or any(row.cells[i] for row in table.rows)]
    return NumberTable(
        table.caption,
        tuple(table.head[i] for i in used),
        tuple(TableRow(tuple(row.cells[i] for i in used), row.depth) for row in table.rows),
        frozenset(new for new, old in enumerate(used) if old in table.texts),
    )


def _format_value(value: Value | str) -> tuple[str, str]:
    if isinstance(value, str):
        return value, ""
    if not isinstance(value, Measure):
        return number(value), ""
    if value.part is None:
        interval = _("{number} to {number_2}", number=number(value.low), number_2=number(value.high))
        return number(value.value), interval if value.has_interval else ""
    return percent(value.value), percent_range(value) if value.has_interval else ""


def _format_cell(value: Value) -> str:
    formatted, interval = _format_value(value)
    bounds = f" ({interval})" if interval else ""
    if not isinstance(value, Measure) or value.part is None:
        return f"{formatted}{bounds}"
    return _(
        "{formatted}{bounds}, {number} of {number_2}",
        formatted=formatted,
        bounds=bounds,
        number=number(value.part),
        number_2=number(value.whole),
    )
