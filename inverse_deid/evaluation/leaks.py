"""The list of leaks: every missed gold token in its context, for people to grade.

The list is the only output of the evaluation with text of the narratives. It shows no more than
the masked output: masked text is hidden. A spreadsheet program may reorder its rows, drop columns
of text, replace commas by semicolons, or reformat numbers and dates. Reading relies only on
`number`, `leak`, `type` and `grade`.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from pathlib import Path

import numpy as np

from inverse_deid.core.errors import FormatError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import BoolArray, Document
from inverse_deid.core.wording import N_, _, ngettext
from inverse_deid.evaluation.measures.counts import Range, check_masks, count_masked_before, find_gold_tokens
from inverse_deid.evaluation.provenance import name_files
from inverse_deid.formats.records import MAX_RECORD_BYTES
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.formats.tables.csv_table import neutralise, restore
from inverse_deid.text.tokenizer import tokenize

CONTEXT_TOKENS = 6

HIDDEN = "[...]"
"""Replaces masked text in the list."""

COLUMNS = (
    *("number", "leak", "document", "start", "end", "type"),
    *("token", "left", "right"),
    *("grade", "note"),
)
"""The leak, its text, and the cells that a reviewer fills in."""

_NEEDED = frozenset({"number", "leak", "type", "grade"})
_NUMBER = re.compile(r"([0-9]{1,9}) of ([0-9]{1,9})")
_LEAK_ID = re.compile(r"(L[0-9a-f]{12})-[0-9a-f]{8}")
_MAX_ROWS_SHOWN = 10
_SAVE = N_("Save the graded list as CSV (UTF-8)")


@dataclass(frozen=True, slots=True)
class Leak:
    """A missed gold token."""

    document: str
    start: int  # code points of the original text
    end: int
    type: PhiType
    token: str = field(repr=False)  # its visible part in the output
    left: str = field(default="", repr=False)  # the output before it, in one line
    right: str = field(default="", repr=False)  # the output after it, in one line

    @property
    def id(self) -> str:
        """A hash of document id and offsets. The part before the dash identifies the document.

        Example:
            >>> Leak("case-1", 3, 8, PhiType.PATIENT, "Ann").id
            'Lba225b9895ea-0546c21c'
        """
        return f"L{_digest(self.document)[:12]}-{_digest(f'{self.document} {self.start} {self.end}')[:8]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class ListedLeak:
    """A row of a list that was read."""

    row: int  # as a spreadsheet counts, its header is row 1
    number: int  # its place in the list as written, from 1
    n_leaks: int  # the length of that list
    id: str
    type: PhiType
    cells: Mapping[str, str] = field(repr=False)  # a person may have changed them

    @property
    def document(self) -> str:
        """A name of the document that, unlike its id, a spreadsheet cannot reformat."""
        return self.id.partition("-")[0]


def find_leaks(doc: Document, masks: Sequence[Range], n_context: int = CONTEXT_TOKENS) -> Iterator[Leak]:
    """Yield the leaks of a document in text order, with `n_context` tokens of the original on each side.

    Raises:
        AnnotationError: A mask is empty, reversed or outside the text.

    Example:
        >>> from inverse_deid.core.values import PhiSpan
        >>> doc = Document("a", "Mr Ann Li-Wu left", (PhiSpan(3, 12, PhiType.PATIENT),))
        >>> leak = next(find_leaks(doc, [(3, 9)]))
        >>> leak.left, leak.token, leak.right
        ('Mr [...]-', 'Wu', 'left')
    """
    check_masks(doc, masks)
    before = count_masked_before(len(doc.text), masks)
    tokens = tokenize(doc.text)
    gold = find_gold_tokens(doc, tokens)
    places = list(zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True))
    hidden = np.diff(before) > 0
    missed = before[gold.ends] - before[gold.starts] < gold.ends - gold.starts
    for i in np.flatnonzero(missed):
        start, end, token = int(gold.starts[i]), int(gold.ends[i]), int(gold.tokens[i])
        first = places[max(token - n_context, 0)][0] if n_context else start
        last = places[min(token + n_context, len(places) - 1)][1] if n_context else end
        yield Leak(
            doc.id,
            start,
            end,
            doc.spans[int(gold.spans[i])].type,
            *(
                _hide_masked(doc.text, hidden, *place)
                for place in ((start, end), (first, start), (end, last))
            ),
        )


def _hide_masked(text: str, hidden: BoolArray, start: int, end: int) -> str:
    runs = groupby(range(start, end), key=lambda i: bool(hidden[i]))
    piece = "".join(HIDDEN if is_hidden else "".join(text[i] for i in run) for is_hidden, run in runs)
    return " ".join(piece.split())


def write_leak_list(leaks: Sequence[Leak]) -> Iterator[bytes]:
    """Yield the list as CSV with a header, in UTF-8 with a byte-order mark for spreadsheet programs."""
    yield _write_row(COLUMNS).encode("utf-8-sig")
    for number, leak in enumerate(leaks, start=1):
        cells = (
            _("{number} of {n_leaks}", number=number, n_leaks=len(leaks)),
            leak.id,
            leak.document,
            str(leak.start),
            str(leak.end),
            leak.type.value,
            leak.token,
            leak.left,
            leak.right,
            "",
            "",
        )
        yield _write_row(cells).encode("utf-8", "replace")


def _write_row(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow([neutralise(cell) for cell in cells])
    return line.getvalue()


def read_leak_list(path: Path) -> list[ListedLeak]:
    """Read a whole list, in the order in which it was written.

    Raises:
        InputError: The file cannot be read, is not a list of leaks, or rows are missing,
            repeated or of another list. Names rows, never their text.
    """
    with name_files(path):
        with input_errors(), open_input(path) as stream:
            text = stream.read().decode("utf-8-sig", "replace")
        return _check_whole([_parse_row(*numbered) for numbered in _read_rows(text)])


def _read_rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    header, rows = _open_table(text)
    for number in count(2):
        try:
            row = next(rows, None)
        except csv.Error:
            raise FormatError(
                _("row {number} is not a row of a table. {save}", number=number, save=_SAVE)
            ) from None
        if row is None:
            return
        if len(row) > len(header) and any(row[len(header) :]):
            raise FormatError(
                _("row {number} has more cells than the header. {save}", number=number, save=_SAVE)
            )
        if any(row):
            cells = [restore(cell) for cell in row] + [""] * (len(header) - len(row))
            yield number, dict(zip(header, cells, strict=False))


def _open_table(text: str) -> tuple[list[str], Iterator[list[str]]]:
    csv.field_size_limit(MAX_RECORD_BYTES)
    for delimiter in (",", ";", "\t"):
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        header: list[str] | None = None
        try:
            header = next(rows, None)
        except csv.Error:
            continue
        if header is not None and set(header) >= _NEEDED:
            return header, rows
    raise FormatError(
        _(
            "not a list of leaks. Its first row does not name {needed}. Give the output of `inverse-deid "
            "leaks list`. {save}",
            needed=", ".join(sorted(_NEEDED)),
            save=_SAVE,
        )
    )


def _parse_row(row: int, cells: Mapping[str, str]) -> ListedLeak:
    number, leak = _NUMBER.fullmatch(cells["number"].strip()), _LEAK_ID.fullmatch(cells["leak"].strip())
    types = [fine for fine in PhiType if fine.value == cells["type"].strip()]
    if not (number and leak and types):
        raise FormatError(
            _("row {row}: the number, leak or type was changed. Leave these columns as they are", row=row)
        )
    return ListedLeak(row, int(number[1]), int(number[2]), leak[0], types[0], cells)


def _check_whole(rows: Sequence[ListedLeak]) -> list[ListedLeak]:
    n_leaks = rows[0].n_leaks if rows else 0
    foreign = [leak.row for leak in rows if leak.n_leaks != n_leaks or not 1 <= leak.number <= n_leaks]
    if foreign:
        raise FormatError(_("{rows}: of another list. Give the rows of one list", rows=name_rows(foreign)))
    last_row = {leak.number: leak.row for leak in rows}
    if twice := [leak.row for leak in rows if leak.row != last_row[leak.number]]:
        raise FormatError(_("{rows}: repeated. Give every leak once", rows=name_rows(twice)))
    if len(rows) < n_leaks:
        missing = next(number for number in range(1, n_leaks + 1) if number not in last_row)
        raise FormatError(
            _(
                "{n_leaks:,} of {n_leaks_2:,} leaks are missing. The first is number {missing}. Give the "
                "whole list",
                n_leaks=n_leaks - len(rows),
                n_leaks_2=n_leaks,
                missing=missing,
            )
        )
    return sorted(rows, key=lambda leak: leak.number)


def name_rows(rows: Sequence[int]) -> str:
    """Name rows in a message, only the first 10.

    Example:
        >>> name_rows([2, 5]), name_rows(range(1, 13))
        ('rows 2, 5', 'rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more')
    """
    more = (
        _(" and {n_rows:,} more", n_rows=len(rows) - _MAX_ROWS_SHOWN) if len(rows) > _MAX_ROWS_SHOWN else ""
    )
    return ngettext(
        "row {rows}{more}",
        "rows {rows}{more}",
        len(rows),
        rows=", ".join(map(str, rows[:_MAX_ROWS_SHOWN])),
        more=more,
    )
