"""What is in a file: its format, documents and columns, and what would be left out of it.

A person who chooses what is masked, kept or dropped sees this before anything is masked. The first values of
columns are ORIGINAL text: show them to that person alone, and never write them into a log or an error.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from inverse_deid.core.errors import FormatError, InverseDeidError, UnreadableInputError
from inverse_deid.core.wording import _
from inverse_deid.files.facts import MAX_FAILURES, Failure, FileFacts
from inverse_deid.files.given import GivenFile, open_given
from inverse_deid.files.reading import find_facts, guard_records
from inverse_deid.formats.containers.parts import Container, TablePart
from inverse_deid.formats.records import PartColumns, ReadOptions, TableHead
from inverse_deid.formats.registry import input_errors
from inverse_deid.formats.tables.columns import check_names

MAX_ROWS = 100
"""So many rows are read."""
MAX_COLUMNS = 1000
MAX_VALUES = 5
"""So many values of a column are returned."""
MAX_VALUE_CHARS = 120
"""Longer values are cut."""

MAX_DIFFERENT = 1_000
"""So many different values of a column are counted."""
MAX_TEXT_CHARS = 1_000
"""Longer values are cut when they are counted."""

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
        table: The number of its table in `FileSurvey.tables`.
    """

    name: str
    values: tuple[str, ...] = field(repr=False)
    is_narrative: bool
    is_unique: bool
    table: int = 0


class SurveyedTable(msgspec.Struct, frozen=True):
    """Tables inside an e-mail or archive that have the same columns.

    Args:
        places: Where each is (`Nesting.place`).
        label: What messages call the first.
        n_rows: Of all of them.
        read_as: How the first was read, "" = as always.
    """

    places: tuple[str, ...]
    label: str
    n_rows: int
    read_as: str = ""

    def __repr__(self) -> str:
        return f"SurveyedTable(places={self.places}, n_rows={self.n_rows})"


class FileSurvey(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was found, before anything of it is masked.

    Args:
        format: The name of its format.
        columns: Of a table, or of all tables inside it, in the order of the file; () = there is no table.
        tables: Those inside it; () = it is a table itself, or there is none.
        facts: What is known of it. Its language is known when it is masked, and the facts of a table are
            those of its columns with narratives.
    """

    format: str
    columns: tuple[SurveyedColumn, ...] = ()
    tables: tuple[SurveyedTable, ...] = ()
    facts: FileFacts


def survey(path: str | Path) -> FileSurvey:
    """Look into a file before it is masked; see `survey_file`.

    Raises:
        InputError: It cannot be read, or has no document that can be masked.
    """
    path = Path(path)
    with input_errors():
        data = path.read_bytes()
    return survey_file(path.name, data)


def survey_file(name: str, data: bytes) -> FileSurvey:
    r"""Look into a whole file: its format, columns, documents, and what would be left out of it.

    Args:
        name: It tells the format.
        data: Its bytes, perhaps packed with gzip.

    Raises:
        InputError: It cannot be read, or has no document that can be masked.
        ConfigurationError: A package that the format needs is missing.

    Example:
        >>> survey = survey_file("cases.csv", b"id,text\n7,The patient had a rash.\n8,Well.\n")
        >>> [(column.name, column.is_narrative) for column in survey.columns], survey.facts.n_documents
        ([('id', False), ('text', True)], 2)
    """
    file = open_given(name, data)
    if file.format.look is None:
        columns, tables = _survey_parts(file) if file.format.is_container else ((), ())
        options = ReadOptions(
            part_columns={
                place: PartColumns(_guess_texts([one for one in columns if one.table == number]))
                for number, table in enumerate(tables)
                for place in table.places
            }
        )
        facts, problem = _read_facts(file, options)
        if not facts.n_documents:
            raise problem or FormatError(_("contains no text to mask. Add a file with text"))
        if tables:
            facts = msgspec.structs.replace(facts, columns={})
        return FileSurvey(format=file.format.name, columns=columns, tables=tables, facts=facts)
    head = file.format.look(io.BytesIO(file.data), ReadOptions(), file.name)
    check_names(head.names, ReadOptions())  # the reader would refuse it, after all was chosen
    rows: list[Mapping[str, str]] = []
    n_rows = 0
    with input_errors():
        for n_rows, row in enumerate(head.rows, start=1):  # noqa: B007 - counts all rows
            if len(rows) < MAX_ROWS:
                rows.append(row)
    if not (n_rows or head.names):
        raise UnreadableInputError(_("is empty. Give a file with text"))
    if not n_rows:
        raise FormatError(_("has no rows below its header. Add a file with cases"))
    columns = _survey_rows(head.names, rows)
    return FileSurvey(
        format=file.format.name, columns=columns, facts=_read_table(file, columns, n_rows, head.read_as)
    )


class ColumnValues(msgspec.Struct, frozen=True):
    """The values of a column that are not empty: how many, and how often each of the first different ones."""

    n_values: int
    values: tuple[tuple[str, int], ...]

    def __repr__(self) -> str:
        return f"ColumnValues(n_values={self.n_values})"


def list_values(name: str, data: bytes, columns: Sequence[tuple[str, Sequence[str]]]) -> list[ColumnValues]:
    r"""Return the values of some columns of tables, cut to `MAX_TEXT_CHARS`, `MAX_DIFFERENT` of each.

    Args:
        name: Of the file.
        data: Its bytes.
        columns: The name of each column, and the places of its tables, () = the file is the table.

    Raises:
        InputError: It cannot be read, or is not a table.

    Example:
        >>> list_values("a.csv", b"text,by\nwell,Ann\nill,Ann\n", [("by", ())])[0].values
        (('Ann', 2),)
    """
    file = open_given(name, data)
    counts: list[Counter[str]] = [Counter() for _column in columns]
    n_values = [0] * len(columns)
    heads: Iterable[tuple[str, TableHead]]
    if file.format.look is not None:
        heads = [("", file.format.look(io.BytesIO(file.data), ReadOptions(), file.name))]
    elif file.format.is_container:
        heads = ((part.place, part.head) for part in _list_tables(file))
    else:
        raise FormatError(_("is not a table"))
    for here, head in heads:
        asked = [(n, column) for n, (column, places) in enumerate(columns) if here in (places or [""])]
        with input_errors():
            for row in head.rows if asked else ():
                for number, column in asked:
                    value = row.get(column, "").strip()[:MAX_TEXT_CHARS]
                    n_values[number] += bool(value)
                    if value in counts[number] or (value and len(counts[number]) < MAX_DIFFERENT):
                        counts[number][value] += 1
    return [ColumnValues(n, tuple(found.items())) for n, found in zip(n_values, counts, strict=True)]


def _read_table(file: GivenFile, columns: Sequence[SurveyedColumn], n_rows: int, read_as: str) -> FileFacts:
    """Read a table as it probably will be: with its narratives masked and all else dropped."""
    facts = FileFacts(read_as={read_as: 1} if read_as else {})
    with suppress(InverseDeidError):  # the user chooses other columns
        options = ReadOptions(text_columns=_guess_texts(columns), without_id=True)
        facts, _ = _read_facts(file, options)
    return msgspec.structs.replace(facts, n_documents=n_rows, columns={})


def _guess_texts(columns: Sequence[SurveyedColumn]) -> tuple[str, ...]:
    """Return the columns of a table that are probably masked: narratives, or the longest."""
    if not columns:
        return ()
    longest = max(columns, key=lambda one: max(map(len, one.values), default=0))
    return tuple(one.name for one in columns if one.is_narrative) or (longest.name,)


@dataclass(slots=True)
class _Alike:
    """Tables with the same columns."""

    places: list[str]
    label: str
    read_as: str
    rows: list[Mapping[str, str]]
    n_rows: int = 0


def _survey_parts(file: GivenFile) -> tuple[tuple[SurveyedColumn, ...], tuple[SurveyedTable, ...]]:
    """Look into the tables inside a file. Those that cannot be read are left out: the facts name them."""
    found: dict[tuple[str, ...], _Alike] = {}
    for part in _list_tables(file):
        rows: list[Mapping[str, str]] = []
        n_rows = 0
        with suppress(InverseDeidError), input_errors():
            check_names(part.head.names, ReadOptions())
            for n_rows, row in enumerate(part.head.rows, start=1):  # noqa: B007 - counts all rows
                if len(rows) < MAX_ROWS:
                    rows.append(row)
            if not (names := _list_names(part.head.names, rows)):
                continue  # empty, as the facts say
            alike = found.setdefault(names, _Alike([], part.label, part.head.read_as, []))
            alike.places.append(part.place)
            alike.rows += rows[: MAX_ROWS - len(alike.rows)]
            alike.n_rows += n_rows
    if sum(map(len, found)) > MAX_COLUMNS:
        n = MAX_COLUMNS
        raise FormatError(_("has tables with more than {n:,} columns together. Split it", n=n))
    columns = tuple(
        replace(column, table=number)
        for number, (names, alike) in enumerate(found.items())
        for column in _survey_rows(names, alike.rows)
    )
    tables = tuple(
        SurveyedTable(tuple(one.places), one.label, one.n_rows, one.read_as) for one in found.values()
    )
    return columns, tables


def _list_tables(file: GivenFile) -> Iterator[TablePart]:
    with input_errors():
        source = file.format.open(io.BytesIO(file.data), ReadOptions(), file.name)
    if isinstance(source, Container):
        yield from source.tables()


def _read_facts(file: GivenFile, options: ReadOptions) -> tuple[FileFacts, FormatError | None]:
    """Read a file to its end; return its facts, and the first problem."""
    n_documents = 0
    failures: list[Failure] = []
    with input_errors():
        source = file.format.open(io.BytesIO(file.data), options, file.name)
    for record in guard_records(source.records()):
        if record.problem:
            place = record.place or f"{_(source.unit)} {record.number}"
            failures.append(Failure(f"{file.name} {place}", record.problem, record.remedies))
        elif not record.is_frame and (record.docs or record.report is not None):
            n_documents += 1
    facts = msgspec.structs.replace(
        find_facts(source, file.name),
        n_documents=n_documents,
        n_failures=len(failures),
        failures=tuple(failures[:MAX_FAILURES]),
    )
    first = FormatError(failures[0].reason, remedies=failures[0].remedies) if failures else None
    return facts, first


def _survey_rows(named: Sequence[str], rows: Sequence[Mapping[str, str]]) -> tuple[SurveyedColumn, ...]:
    return tuple(_survey(one, [row.get(one, "") for row in rows]) for one in _list_names(named, rows))


def _list_names(named: Sequence[str], rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*named, *(key for row in rows for key in row)]))[:MAX_COLUMNS]


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
