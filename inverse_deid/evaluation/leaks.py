"""The list of leaks: every missed gold token in its context, for people to grade.

The list is the only output of the evaluation that holds text of the narratives.
It shows what the masked output shows and no more: what was masked is hidden in
the list too. A spreadsheet program may reorder its rows, drop its columns of
text, write semicolons instead of commas or spoil what looks like a number or a
date; reading relies on `number`, `leak`, `type` and `grade` alone.
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

from inverse_deid.core.errors import FormatError, InputError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import BoolArray, Document
from inverse_deid.evaluation.counts import Range, check_masks, masked_before
from inverse_deid.evaluation.gold_tokens import GoldTokens, Int64Array, gold_tokens
from inverse_deid.formats.csv_table import neutralise, restore
from inverse_deid.formats.records import MAX_RECORD_BYTES
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.text.tokenizer import tokenize

CONTEXT_TOKENS = 6
"""How many tokens are shown on each side of a leak."""

HIDDEN = "[...]"
"""What stands in the list for anything that was masked."""

COLUMNS = (
    *("number", "leak", "document", "start", "end", "type"),
    *("token", "left", "right"),
    *("grade", "note"),
)
"""Which leak; its text; what a reviewer fills in."""

_NEEDED = frozenset({"number", "leak", "type", "grade"})
_NUMBER = re.compile(r"([0-9]{1,9}) of ([0-9]{1,9})")
_LEAK_ID = re.compile(r"(L[0-9a-f]{12})-[0-9a-f]{8}")
_MAX_ROWS_SHOWN = 10
_SAVE = "save the graded list as CSV (UTF-8)"


@dataclass(frozen=True, slots=True)
class Leak:
    """A missed gold token.

    Args:
        document: Id of the document.
        start: Offset of its first character, in code points of the original text.
        end: Offset behind its last character.
        type: Of the identifier that it belongs to.
        token: What is left of it in the output.
        left: What the output shows before it, in one line.
        right: What the output shows behind it, in one line.
    """

    document: str
    start: int
    end: int
    type: PhiType
    token: str = field(repr=False)
    left: str = field(default="", repr=False)
    right: str = field(default="", repr=False)

    @property
    def id(self) -> str:
        """A hash of document id and offsets; what stands before its dash is that of the document.

        Example:
            >>> Leak("case-1", 3, 8, PhiType.PATIENT, "Ann").id
            'Lba225b9895ea-0546c21c'
        """
        return f"L{_digest(self.document)[:12]}-{_digest(f'{self.document} {self.start} {self.end}')[:8]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class ListedLeak:
    """A row of a list as it came back.

    Args:
        row: As a spreadsheet counts it; the header is row 1.
        number: Its place in the list as it was written, from 1.
        n_leaks: The length of that list.
        id: See `Leak.id`.
        type: Of the identifier.
        cells: All its cells by column, as a person may have changed them.
    """

    row: int
    number: int
    n_leaks: int
    id: str
    type: PhiType
    cells: Mapping[str, str] = field(repr=False)

    @property
    def document(self) -> str:
        """Tells documents apart; a spreadsheet cannot spoil it as it may their ids."""
        return self.id.partition("-")[0]


def missed_tokens(doc: Document, masks: Sequence[Range]) -> GoldTokens:
    """The gold tokens of which any character is not masked: those that `counts` does not recall.

    Args:
        doc: With its gold spans.
        masks: Half-open ranges of the original text, in any order; they may overlap.

    Raises:
        AnnotationError: A mask is empty, reversed or leaves the text.
    """
    return _missed(doc, _masked_before(doc, masks))[0]


def _masked_before(doc: Document, masks: Sequence[Range]) -> Int64Array:
    """How many characters before each offset are masked: int64 (n_characters + 1,)."""
    check_masks(doc, masks)
    return masked_before(len(doc.text), masks)


def _missed(doc: Document, before: Int64Array) -> tuple[GoldTokens, list[Range]]:
    """The missed gold tokens, and where the tokens of the text stand."""
    tokens = tokenize(doc.text)
    gold = gold_tokens(doc, tokens)
    missed = before[gold.ends] - before[gold.starts] < gold.ends - gold.starts
    found = GoldTokens(
        gold.starts[missed],
        gold.ends[missed],
        gold.types[missed],
        gold.spans[missed],
        gold.tokens[missed],
        gold.n_tokens,
    )
    return found, list(zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True))


def leaks_of(doc: Document, masks: Sequence[Range], n_context: int = CONTEXT_TOKENS) -> Iterator[Leak]:
    """The leaks of a document in text order.

    Args:
        doc: With its gold spans.
        masks: Half-open ranges of the original text, in any order; they may overlap.
        n_context: How many tokens of the original are shown, or hidden, on each side.

    Raises:
        AnnotationError: A mask is empty, reversed or leaves the text.

    Example:
        >>> from inverse_deid.core.values import PhiSpan
        >>> doc = Document("a", "Mr Ann Li-Wu left", (PhiSpan(3, 12, PhiType.PATIENT),))
        >>> leak = next(leaks_of(doc, [(3, 9)]))
        >>> leak.left, leak.token, leak.right
        ('Mr [...]-', 'Wu', 'left')
    """
    before = _masked_before(doc, masks)
    missed, places = _missed(doc, before)
    hidden = np.diff(before) > 0
    for i, token in enumerate(missed.tokens.tolist()):
        start, end = int(missed.starts[i]), int(missed.ends[i])
        first = places[max(token - n_context, 0)][0] if n_context else start
        last = places[min(token + n_context, len(places) - 1)][1] if n_context else end
        yield Leak(
            doc.id,
            start,
            end,
            doc.spans[int(missed.spans[i])].type,
            *(_shown(doc.text, hidden, *place) for place in ((start, end), (first, start), (end, last))),
        )


def _shown(text: str, hidden: BoolArray, start: int, end: int) -> str:
    """A piece of the text as the output shows it, in one line."""
    runs = groupby(range(start, end), key=lambda i: bool(hidden[i]))
    piece = "".join(HIDDEN if is_hidden else "".join(text[i] for i in run) for is_hidden, run in runs)
    return " ".join(piece.split())


def leak_list(leaks: Sequence[Leak]) -> Iterator[bytes]:
    """The list as CSV with a header, in UTF-8 with a mark so that spreadsheet programs know it."""
    yield _csv_row(COLUMNS).encode("utf-8-sig")
    for number, leak in enumerate(leaks, start=1):
        cells = (
            f"{number} of {len(leaks)}",
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
        yield _csv_row(cells).encode("utf-8", "replace")


def _csv_row(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow([neutralise(cell) for cell in cells])
    return line.getvalue()


def read_leak_list(path: Path) -> list[ListedLeak]:
    """Read a list back, whole, in the order in which it was written.

    Raises:
        InputError: The file cannot be read, is no list of leaks, or rows are missing,
            there twice or of another list; names rows and shows nothing of their text.
    """
    try:
        with input_errors(), open_input(path) as stream:
            text = stream.read().decode("utf-8-sig", "replace")
        return _whole([_listed(*numbered) for numbered in _rows(text)])
    except InputError as error:
        raise type(error)(f"{path}: {error}") from error


def _rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The number of each row and its cells by column; empty rows are passed over."""
    header, rows = _opened(text)
    for number in count(2):
        try:
            row = next(rows, None)
        except csv.Error:
            raise FormatError(f"row {number} is no row of a table; {_SAVE}") from None
        if row is None:
            return
        if len(row) > len(header) and any(row[len(header) :]):
            raise FormatError(f"row {number} has more cells than the header; {_SAVE}")
        if any(row):
            cells = [restore(cell) for cell in row] + [""] * (len(header) - len(row))
            yield number, dict(zip(header, cells, strict=False))


def _opened(text: str) -> tuple[list[str], Iterator[list[str]]]:
    """The header and the rows behind it; the delimiter is the one with which the header makes sense."""
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
        f"is no list of leaks: its first row does not name {', '.join(sorted(_NEEDED))}; "
        f"give what `inverse-deid leaks list` wrote; {_SAVE}"
    )


def _listed(row: int, cells: Mapping[str, str]) -> ListedLeak:
    number, leak = _NUMBER.fullmatch(cells["number"].strip()), _LEAK_ID.fullmatch(cells["leak"].strip())
    types = [fine for fine in PhiType if fine.value == cells["type"].strip()]
    if not (number and leak and types):
        raise FormatError(
            f"row {row} has no number, leak or type as the list was written; leave these columns as they are"
        )
    return ListedLeak(row, int(number[1]), int(number[2]), leak[0], types[0], cells)


def _whole(rows: Sequence[ListedLeak]) -> list[ListedLeak]:
    """The leaks sorted by number, if they are all of one list and all are there."""
    n_leaks = rows[0].n_leaks if rows else 0
    foreign = [leak.row for leak in rows if leak.n_leaks != n_leaks or not 1 <= leak.number <= n_leaks]
    if foreign:
        raise FormatError(f"{named_rows(foreign)}: of another list; give the rows of one list")
    last_row = {leak.number: leak.row for leak in rows}
    if twice := [leak.row for leak in rows if leak.row != last_row[leak.number]]:
        raise FormatError(f"{named_rows(twice)}: there more than once; give every leak once")
    if len(rows) < n_leaks:
        missing = next(number for number in range(1, n_leaks + 1) if number not in last_row)
        raise FormatError(
            f"{n_leaks - len(rows):,} of {n_leaks:,} leaks are missing, the first is number {missing}; "
            "give the whole list"
        )
    return sorted(rows, key=lambda leak: leak.number)


def named_rows(rows: Sequence[int]) -> str:
    """Rows for a message, only the first of many.

    Example:
        >>> named_rows([2, 5]), named_rows(range(1, 13))
        ('rows 2, 5', 'rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more')
    """
    more = f" and {len(rows) - _MAX_ROWS_SHOWN:,} more" if len(rows) > _MAX_ROWS_SHOWN else ""
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows[:_MAX_ROWS_SHOWN]))}{more}"
