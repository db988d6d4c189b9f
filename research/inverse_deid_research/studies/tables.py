"""The table of all reports: a pandas frame with a title, as Markdown, as plain text and as CSV.

A study declares titles, columns and notes of its tables in `tables.toml`. Its module `tables` finds the rows.
"""

from __future__ import annotations

import importlib.resources
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import pandas as pd

from inverse_deid.evaluation.plain_text import align, markdown_table

Cell = str | int | float | None
"""A share is a float in [0, 1]; None is undefined or absent."""
NO_VERDICT = "not all seeds have run: no verdict"
"""Stands where a verdict would, while seeds that were fixed beforehand have not run."""


def frame_of(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> pd.DataFrame:
    """Return rows as a frame that keeps whole numbers whole and absent cells absent.

    Raises:
        ValueError: A row has another number of cells.

    Example:
        >>> frame_of(("run", "tokens"), [("a-1", 3), ("a-2", None)])["tokens"].tolist()
        [3, None]
    """
    listed = [tuple(row) for row in rows]
    if any(len(row) != len(columns) for row in listed):
        raise ValueError(f"every row has {len(columns)} cells: {', '.join(columns)}")
    return pd.DataFrame(listed, columns=list(columns), dtype=object)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of a report, whose first column names the row; CSV shows the cells in full."""

    name: str  # of its CSV file without the ending
    title: str
    frame: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()  # paragraphs under the table
    digits: int = 3  # of floats, in Markdown and plain text, as all that follow
    signed: bool = False  # a plus before positive ones
    # Columns of shares shown as one with their bounds in `NAME low` and `NAME high`.
    intervals: frozenset[str] = frozenset()
    exact_ends: bool = False  # 0 and 1 only for exactly that
    section: str = ""  # its heading in the report

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        return list(self.frame.itertuples(index=False, name=None))

    def markdown(self) -> str:
        """Return the table in Markdown, with its title as a heading.

        Example:
            >>> frame = frame_of(("run", "recall"), [("a-1", 0.985), ("a-2", None)])
            >>> print(Table("t", "Recall", frame).markdown())
            ### Recall
            <BLANKLINE>
            | run | recall |
            |---|---:|
            | a-1 | 0.985 |
            | a-2 | - |
            <BLANKLINE>
        """
        columns, *rows = self._render_rows()
        return markdown_table(self.title, columns, rows, self.notes)

    def plain_lines(self) -> Iterator[str]:
        """Yield the table for a terminal: its title, then align columns.

        Example:
            >>> print(*Table("t", "Recall", frame_of(("run", "p"), [("a", 0.5)])).plain_lines(), sep="|")
            Recall|run      p|a    0.500
        """
        yield self.title
        yield from align(self._render_rows())

    def csv(self) -> str:
        r"""Return the table as CSV; nothing is rounded, an absent cell is empty."""
        return self.frame.to_csv(index=False, lineterminator="\n")

    def _render_rows(self) -> list[tuple[str, ...]]:
        bounds = {f"{name} {end}" for name in self.intervals for end in ("low", "high")}
        shown = [name for name in self.frame.columns if name not in bounds]
        rows = []
        for values in self.rows:
            row = dict(zip(self.frame.columns, values, strict=True))
            rows.append(tuple(self._show(name, row) for name in shown))
        return [tuple(shown), *rows]

    def _show(self, column: str, row: dict[str, Cell]) -> str:
        cell = row[column]
        if cell is None or cell != cell:  # noqa: PLR0124 - NaN
            return "-"
        if isinstance(cell, str):
            return cell
        if not isinstance(cell, float):
            return f"{cell:,}"
        shown = self._show_float(cell)
        if column not in self.intervals:
            return shown
        low, high = (row[f"{column} {end}"] for end in ("low", "high"))
        if not isinstance(low, float) or not isinstance(high, float):
            return shown
        factor = 10**self.digits
        low, high = math.floor(round(low * factor, 6)) / factor, math.ceil(round(high * factor, 6)) / factor
        return f"{shown} ({low:.{self.digits}f} to {high:.{self.digits}f})"

    def _show_float(self, value: float) -> str:
        if self.exact_ends and 0 < value < 1:
            step = 10.0**-self.digits
            value = min(max(value, step), 1 - step)
        return f"{value:{'+' if self.signed else ''}.{self.digits}f}"


class TableForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table without its rows, as `tables.toml` declares it (see `Table`).

    In its texts `{name}` stands for a value that a study fills in. A column that ends with ` ±` has its
    interval in two columns after it. A column or note that names a list becomes one per item. The study alone
    reads `of` and `plan`, which runs the rows are of, and `cells`, what is shown of them.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()
    section: str = ""
    digits: int = 3
    signed: bool = False
    exact_ends: bool = False
    of: str = ""
    plan: tuple[tuple[str, ...], ...] = ()
    cells: tuple[str, ...] = ()

    def fill(self, rows: Iterable[Sequence[Cell]], **values: object) -> Table:
        columns: list[str] = []
        intervals = set()
        for column in self.columns:
            for title in _fill_in(column.removesuffix(" ±"), values):
                columns.append(title)
                if column.endswith(" ±"):
                    intervals.add(title)
                    columns += [f"{title} low", f"{title} high"]
        return Table(
            self.name.format(**values),
            self.title.format(**values),
            frame_of(columns, rows),
            tuple(text for note in self.notes for text in _fill_in(note, values)),
            self.digits,
            self.signed,
            frozenset(intervals),
            self.exact_ends,
            self.section,
        )


def read_forms(package: str) -> dict[str, TableForm]:
    """Return the forms of a study by name, in the order of its report: `tables.toml` of a package."""
    text = (importlib.resources.files(package) / "tables.toml").read_text(encoding="utf-8")
    return {
        name: msgspec.convert({"name": name, **form}, TableForm) for name, form in tomllib.loads(text).items()
    }


def _fill_in(text: str, values: Mapping[str, object]) -> list[str]:
    """Return a declared text with its values; one per item where it names a list.

    Example:
        >>> _fill_in("{sites}, recall", {"sites": ["east", "west"], "n": 2})
        ['east, recall', 'west, recall']
    """
    for name, items in values.items():
        if isinstance(items, list | tuple) and f"{{{name}}}" in text:
            return [text.format(**{**values, name: item}) for item in items]
    return [text.format(**values)]


def by_section(tables: Iterable[Table]) -> dict[str, list[Table]]:
    """Return tables by the heading of their section, both in the order that they are given in."""
    found: dict[str, list[Table]] = {}
    for table in tables:
        found.setdefault(table.section, []).append(table)
    return found


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the defined values, or None if there are none."""
    known = pd.Series(list(values), dtype=float).dropna()
    return float(known.to_numpy().mean()) if len(known) else None


def spread(values: Iterable[float | None]) -> float | None:
    """Return the largest minus the smallest of the defined values, or None of fewer than two."""
    known = pd.Series(list(values), dtype=float).dropna()
    return float(known.max() - known.min()) if len(known) > 1 else None
