"""Cells of kept columns: each is checked before it is written, and dates and ages follow those of the text.

A reader lists the cells of a record in a fixed order. `masking.kept_columns` judges them and says what is
written instead. A writer that gets a record with cells that nobody judged refuses it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

CellType = Literal["text", "number", "date", "key", "nested", "bytes"]
"""How the file has a value: `key` is a key of an object, `nested` a value inside a table cell, which must be
written as it is, and `bytes` cannot be judged."""


@dataclass(frozen=True, slots=True)
class KeptCell:
    """A value of a column that is kept."""

    column: str = field(repr=False)  # its name, or the path of a field
    value: str = field(repr=False)  # as text; dates as `2019-10-12`, with a time after a space
    type: CellType = "text"  # how the file has it


@dataclass(frozen=True, slots=True)
class KeptChanges:
    """What is written instead of the kept cells of one record."""

    # The new value by the number of the cell, "" = nothing.
    values: Mapping[int, str] = field(default_factory=dict, repr=False)
    dates_are_text: bool = False  # a new date is no longer a date, but a year or the number of a day
    ages_are_text: bool = False  # a new age is no longer a number
    replaced: Mapping[str, int] = field(default_factory=dict)  # how many cells have another value, by kind
    emptied: Mapping[str, int] = field(default_factory=dict)  # how many cells are left empty, by kind


def make_key_cell(column: str, key: str) -> KeptCell:
    """Return a key of an object as it is judged: its words.

    Example:
        >>> make_key_cell("report", "start_date").value
        'start date'
    """
    return KeptCell(column, key.replace("_", " "), "key")


def list_json_cells(value: Any, column: str) -> Iterator[KeptCell]:  # noqa: ANN401 - JSON
    """Yield the keys, strings and numbers of a JSON value in their order.

    Example:
        >>> [cell.value for cell in list_json_cells({"dose": [5, True]}, "drug")]
        ['dose', '5']
    """
    if isinstance(value, dict):
        for key, one in value.items():
            yield make_key_cell(column, key)
            yield from list_json_cells(one, f"{column}.{key}")
    elif isinstance(value, list):
        for one in value:
            yield from list_json_cells(one, column)
    elif isinstance(value, str):
        yield KeptCell(column, value)
    elif value is not None and not isinstance(value, bool):
        yield KeptCell(column, json.dumps(value), "number")


def fill_json_cells(value: Any, new: Iterator[str | None]) -> Any:  # noqa: ANN401 - JSON
    """Return a JSON value with the new values of its cells.

    Args:
        value: As `list_json_cells` took it.
        new: For each of its cells in order the new value: None = as it is, "" = null.
    """
    if isinstance(value, dict):
        filled = {}
        for key, one in value.items():
            next(new)
            filled[key] = fill_json_cells(one, new)
        return filled
    if isinstance(value, list):
        return [fill_json_cells(one, new) for one in value]
    if value is None or isinstance(value, bool):
        return value
    changed = next(new)
    return value if changed is None else changed or None
