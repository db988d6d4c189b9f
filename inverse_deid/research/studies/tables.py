"""Tables of a report: the same rows as Markdown for people and as CSV for programs."""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inverse_deid.core.errors import OutputError
from inverse_deid.evaluation.plain_text import markdown_table

Cell = str | int | float | None
"""A share is a float in [0, 1]; None is undefined or absent."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a report.

    Args:
        name: Of its CSV file, without the ending.
        title: One line.
        columns: Their titles; the first names the row.
        rows: One cell a column.
        notes: Sentences under the table.
        digits: Of the floats in Markdown; CSV has them in full.
        signed: Show a plus before positive floats.

    Raises:
        ValueError: A row has another number of cells.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    digits: int = 3
    signed: bool = False

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"table {self.name}: every row has {len(self.columns)} cells")


def markdown(table: Table) -> str:
    """The table in Markdown, with its title as a heading.

    Example:
        >>> print(markdown(Table("t", "Recall", ("run", "recall"), (("a-1", 0.985), ("a-2", None)))))
        ### Recall
        <BLANKLINE>
        | run | recall |
        |---|---:|
        | a-1 | 0.985 |
        | a-2 | - |
        <BLANKLINE>
    """
    rows = ([_shown(cell, table) for cell in row] for row in table.rows)
    return markdown_table(table.title, table.columns, rows, table.notes)


def _shown(cell: Cell, table: Table) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:{'+' if table.signed else ''}.{table.digits}f}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def csv_text(table: Table) -> str:
    r"""The table as CSV; nothing is rounded, an absent cell is empty.

    Example:
        >>> csv_text(Table("t", "", ("run", "recall"), (("a-1", None),)))
        'run,recall\na-1,\n'
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(["" if cell is None else cell for cell in row] for row in table.rows)
    return stream.getvalue()


def staging_path(path: Path) -> Path:
    """Where a file is written before it takes its place; two writers of one file do not share it."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")


def write_text(path: Path, text: str) -> None:
    """Replace a file at once or not at all.

    Raises:
        OutputError: It cannot be written.
    """
    staging = staging_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        staging.write_text(text, encoding="utf-8")
        staging.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        staging.unlink(missing_ok=True)


def write_report(
    folder: Path, title: str, head: Sequence[str], sections: Mapping[str, Sequence[Table]]
) -> None:
    """Write `report.md` and a CSV file for each table.

    Args:
        folder: Where they go.
        title: Of the report.
        head: Lines that come first.
        sections: Tables under each heading.

    Raises:
        OutputError: A file cannot be written.
    """
    parts = [f"# {title}\n", *(f"{line}" for line in head), ""]
    for heading, tables in sections.items():
        parts += [f"## {heading}", "", *map(markdown, tables)]
        for table in tables:
            write_text(folder / f"{table.name}.csv", csv_text(table))
    write_text(folder / "report.md", "\n".join(parts).rstrip() + "\n")
