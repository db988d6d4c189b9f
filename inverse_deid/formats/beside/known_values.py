"""A sidecar file: identifiers that documents must not show, by the id of the document.

CSV: a header with `id` and columns named after their content (`name`, `initials`, `date`, `number`,
`organisation`, `address`, `phone`, `email`, or `known` for anything); several of one sort are `name`, `name
2` and so on. JSON Lines: `{"id": 7, "known": ["Amara Okonkwo"], "date": "1980-05-12"}` with the same names; a
value is a string or a list of strings. Dates are written `1980-05-12` or `19800512`. A row beyond the limits
of `core.values` is refused. The file is as confidential as the documents.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from inverse_deid.core.errors import FormatError, UnreadableInputError
from inverse_deid.core.values import KnownIdentifier, KnownSort, day_of, find_known_problem
from inverse_deid.core.wording import _
from inverse_deid.formats.tables.strict_json import RepeatedKeyError, parse_json

KnownOfDocuments = Mapping[str, tuple[KnownIdentifier, ...]]

_MAX_PROBLEMS_SHOWN = 10
_COLUMN = re.compile(r"(?P<sort>[a-z]+)(?:[\s_-]*\d+)?")
SORTS = {"known": KnownSort.OTHER, **{str(sort): sort for sort in KnownSort}}
"""The names of columns, and what they contain."""

Row = tuple[int, str, list[tuple[str, str]], str]
"""Number, id, column and value of each cell, and what is wrong with it ("" = nothing)."""


def read_known_values(path: Path) -> KnownOfDocuments:
    """Read a sidecar: JSON Lines if its name ends in `.jsonl` or `.ndjson`, else CSV.

    Raises:
        UnreadableInputError: The file cannot be read or is not UTF-8.
        FormatError: Rows that cannot be used, or a repeated id; all are named by number.
    """
    text = _text(path)
    is_json = path.suffix.lower() in (".jsonl", ".ndjson")
    rows = _json_rows(text) if is_json else _csv_rows(path, text)
    return _gather(path, rows)


def _text(path: Path) -> str:
    problem = ""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        problem = _("cannot be read ({strerror}). Check the path", strerror=error.strerror)
    except UnicodeError:
        problem = _("is not UTF-8 text. Save it as UTF-8")
    raise UnreadableInputError(f"{path} {problem}")


def _gather(path: Path, rows: Iterable[Row]) -> dict[str, tuple[KnownIdentifier, ...]]:
    known: dict[str, tuple[KnownIdentifier, ...]] = {}
    problems: list[str] = []
    for number, doc_id, cells, refusal in rows:
        values, found = values_of(cells)
        problem = (
            refusal or found or ("" if values else _("has no value")) or ("" if doc_id else _("has no id"))
        )
        if problem:
            problems.append(
                _("row {number} (id {doc_id}) {problem}", number=number, doc_id=doc_id, problem=problem)
                if doc_id
                else _("row {number} {problem}", number=number, problem=problem)
            )
        elif doc_id in known:
            problems.append(
                _(
                    "row {number} has the id of another row. Put all values of a document into one",
                    number=number,
                )
            )
        else:
            known[doc_id] = values
    if problems:
        more = len(problems) - _MAX_PROBLEMS_SHOWN
        rest = _("; and {more} more", more=more) if more > 0 else ""
        raise FormatError(f"{path}: {'; '.join(problems[:_MAX_PROBLEMS_SHOWN])}{rest}")
    if not known:
        raise FormatError(_("{path} has no rows. Give ids and known values", path=path))
    return known


def values_of(cells: Iterable[tuple[str, str]]) -> tuple[tuple[KnownIdentifier, ...], str]:
    """Return the identifiers in the named cells of a document, and what is wrong with one ("" = nothing)."""
    values: dict[KnownIdentifier, None] = {}
    for column, text in cells:
        match = _COLUMN.fullmatch(column.strip().lower())
        sort = SORTS.get(match["sort"]) if match else None
        if sort is None:
            known = ", ".join(name for name in SORTS if name != "other")
            return (), _("has an unknown column. Use id, {known}", known=known)
        value = text.strip()
        if not any(map(str.isalnum, value)):
            continue
        if sort is KnownSort.DATE:
            day = day_of(value)
            if day is None:
                return (), _("has a date that is not written like 1980-05-12")
            value = f"{day:%Y%m%d}"
        values[KnownIdentifier(value, sort)] = None
    problem = find_known_problem(tuple(values))
    return (() if problem else tuple(values)), problem


def _csv_rows(path: Path, text: str) -> Iterator[Row]:
    # The header is row 1.
    rows = csv.reader(text.splitlines(keepends=True), strict=True)
    problem = ""
    try:
        header = [cell.strip() for cell in next(rows, [])]
    except csv.Error:
        header = []
    if header.count("id") != 1 or len(header) < 2:
        raise FormatError(_("{path} has no header with one column id and columns of known values", path=path))
    place = header.index("id")
    try:
        for number, row in enumerate(rows, start=2):
            if not row:
                continue
            if len(row) != len(header):
                yield (
                    number,
                    "",
                    [],
                    _("has {n_row} cells, not {n_header}", n_row=len(row), n_header=len(header)),
                )
                continue
            cells = [
                (name, cell) for i, (name, cell) in enumerate(zip(header, row, strict=True)) if i != place
            ]
            yield number, row[place].strip(), cells, ""
    except csv.Error:
        problem = _("has a quote that is not closed or not doubled")
    if problem:
        raise FormatError(_("{path} {problem}. Save the table again as CSV", path=path, problem=problem))


def _json_rows(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            parsed = parse_json(line)
        except RepeatedKeyError as error:
            yield number, "", [], str(error)
            continue
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            yield number, "", [], _("is not a JSON object")
            continue
        doc_id = parsed.pop("id", None)
        if isinstance(doc_id, bool) or not isinstance(doc_id, str | int):
            yield number, "", [], _("has no id that is text or a whole number")
            continue
        given = [
            (str(key), value)
            for key, values in parsed.items()
            for value in (values if isinstance(values, list) else [values])
        ]
        cells = [(key, value) for key, value in given if isinstance(value, str)]
        is_text = len(cells) == len(given)
        yield number, str(doc_id), cells, "" if is_text else _("has a value that is not a string")
