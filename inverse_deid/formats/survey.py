"""What is in a table: its columns, their first values, and which of them seem to be narratives.

A person who chooses what is masked, kept or dropped sees this before anything is masked. The values are
ORIGINAL text: show them to that person alone, and never write them into a log or an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import BinaryIO

from inverse_deid.core.errors import FormatError
from inverse_deid.formats.records import Format, ReadOptions

MAX_ROWS = 100
"""So many rows are read."""
MAX_COLUMNS = 1000
MAX_VALUES = 5
"""So many values of a column are returned."""
MAX_VALUE_CHARS = 120
"""Longer values are cut."""

_NARRATIVE_NAME = re.compile(
    r"narrat|comment|free.?text|description|history|summary|^(?:case.?|report.?|symptom.?)?text$|^notes?$"
    r"|letter|remarks?|course|summaries",
    re.IGNORECASE,
)
_FEW_WORDS = 4
_MANY_WORDS = 12


@dataclass(frozen=True, slots=True)
class SurveyedColumn:
    """A column of a table.

    Args:
        name: As the file has it.
        values: The first that are not empty, cut to `MAX_VALUE_CHARS`.
        is_narrative: Whether it seems to contain narratives.
        is_unique: Whether no two of the rows that were read have the same value, and none is empty.
    """

    name: str
    values: tuple[str, ...] = field(repr=False)
    is_narrative: bool
    is_unique: bool


@dataclass(frozen=True, slots=True)
class TableSurvey:
    """The columns of a table in the order of the file, and how its bytes were read ("" = as always)."""

    columns: tuple[SurveyedColumn, ...]
    read_as: str = ""


def survey_columns(kind: Format, stream: BinaryIO, options: ReadOptions, name: str = "") -> TableSurvey:
    r"""Look at the first rows of a table.

    Args:
        kind: Its format.
        stream: Its bytes, from the beginning.
        options: How to read it; the columns that they name need not be there.
        name: Of the file; it tells a `.tsv` file from a `.csv` file.

    Raises:
        FormatError: The format has no columns, or the file cannot be read.
        UnreadableInputError: Binary or of another encoding.

    Example:
        >>> import io
        >>> from inverse_deid.formats.registry import FORMATS
        >>> table = io.BytesIO(b"id,text\n7,The patient had a rash.\n8,Well.\n")
        >>> survey = survey_columns(FORMATS["csv"], table, ReadOptions())
        >>> [(column.name, column.is_narrative) for column in survey.columns]
        [('id', False), ('text', True)]
    """
    if kind.look is None:
        raise FormatError(f"is {kind}, which has no columns. Mask it as it is")
    head = kind.look(stream, options, name)
    rows = list(islice(head.rows, MAX_ROWS))
    names = list(dict.fromkeys([*head.names, *(key for row in rows for key in row)]))[:MAX_COLUMNS]
    columns = tuple(_survey(one, [row.get(one, "") for row in rows]) for one in names)
    return TableSurvey(columns, head.read_as)


def _survey(name: str, values: Sequence[str]) -> SurveyedColumn:
    there = [value for value in values if value.strip()]
    lengths = [len(value.split()) for value in there]
    longest, mean = max(lengths, default=0), sum(lengths) / max(1, len(lengths))
    is_named = _NARRATIVE_NAME.search(name) is not None
    return SurveyedColumn(
        name,
        tuple(_cut(value) for value in there[:MAX_VALUES]),
        is_narrative=longest >= _FEW_WORDS if is_named else mean >= _MANY_WORDS,
        is_unique=bool(there) and len(set(there)) == len(values),
    )


def _cut(value: str) -> str:
    shown = " ".join(value[: 4 * MAX_VALUE_CHARS].split())
    return shown if len(shown) <= MAX_VALUE_CHARS else f"{shown[: MAX_VALUE_CHARS - 1]}…"
