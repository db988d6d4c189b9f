"""Read a file record by record, and write it again with masked texts: the work of a child process.

Both are generators that ask whoever masks (`core.child_process`). They ask with plain data: texts, kept cells
and places, but no part of the file as its format has it.
"""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import BinaryIO

import msgspec

from inverse_deid.core.batches import BATCH_CHARS, BATCH_RECORDS, FIRST_BATCH_CHARS, cut_batches
from inverse_deid.core.errors import ConfigurationError, InputError, RefusedRecordError, Remedy, StageError
from inverse_deid.core.values import KnownIdentifier, MaskedDocument
from inverse_deid.core.wording import _
from inverse_deid.files.facts import Failure, FileFacts
from inverse_deid.files.given import GivenFile, open_given
from inverse_deid.formats.records import FindsOut, Format, ReadOptions, Record, RemovesParts, Source, Warns
from inverse_deid.formats.registry import input_errors
from inverse_deid.formats.renames import Kind, Renames
from inverse_deid.formats.tables.kept_cells import KeptCell, KeptChanges
from inverse_deid.masking.case_reports import replacements_of, texts_of
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.replacers import MaskedCase

_PIECE_BYTES = 1024 * 1024
_FIRST_ROWS = 100


class ReadRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a record without its file, see `Record`.

    Args:
        number: Its position as people count it.
        place: Where people find it ("row 3").
        bare: Its texts as a case without what is known of them, None = no text.
        known: What is known of texts, each once: all texts of a case report share it.
        known_of: The position in `known` of each text.
        kept: Its values of kept columns.
        copied: If there are unchecked columns: its values of all columns that are copied, checked or not.
        columns: The column of each text, () = the file has one text per record.
        new_id: What is written instead of its id, "" = its id.
        problem: Why it cannot be masked, "" = it can.
        remedies: What mends the problem.
        is_numbered: It has no id of its own.
        is_report: It is a case safety report, or the part around such reports.
        is_frame: It is the part around case safety reports.
    """

    number: int
    place: str
    bare: CaseTexts | None = None
    known: tuple[tuple[str | KnownIdentifier, ...], ...] = ()
    known_of: tuple[int, ...] = ()
    kept: tuple[KeptCell, ...] = ()
    copied: tuple[KeptCell, ...] = ()
    columns: tuple[str, ...] = ()
    new_id: str = ""
    problem: str = ""
    remedies: tuple[Remedy, ...] = ()
    is_numbered: bool = False
    is_report: bool = False
    is_frame: bool = False

    def __repr__(self) -> str:
        return f"ReadRecord(number={self.number})"

    @classmethod
    def of(cls, record: Record, unit: str) -> ReadRecord:
        """Return a record without its file; `unit` is the name of a record."""
        is_readable = not record.problem or record.is_frame  # whoever writes a frame can mask all of it
        texts = texts_of(record) if is_readable and (record.docs or record.report is not None) else None
        docs = () if texts is None else texts.docs
        known: dict[tuple[str | KnownIdentifier, ...], int] = {}
        for doc in docs:
            known.setdefault(doc.known, len(known))
        bare = tuple(replace(doc, known=()) for doc in docs)
        return cls(
            number=record.number,
            place=record.place or (f"{_(unit)} {record.number}" if record.number else ""),
            bare=None if texts is None else replace(texts, docs=bare),
            known=tuple(known),
            known_of=tuple(known[doc.known] for doc in docs),
            kept=record.kept,
            columns=record.columns,
            new_id=record.new_id,
            problem=record.problem,
            remedies=record.remedies,
            is_numbered=record.is_numbered,
            is_report=record.report is not None,
            is_frame=record.is_frame,
        )

    @property
    def texts(self) -> CaseTexts | None:
        """Its texts as a case, None = no text."""
        if self.bare is None:
            return None
        docs = zip(self.bare.docs, self.known_of, strict=True)
        return replace(self.bare, docs=tuple(replace(doc, known=self.known[at]) for doc, at in docs))


class ReadBatch(msgspec.Struct, frozen=True):
    """Some records of a file, and how many of its bytes were read for them and all before them."""

    records: list[ReadRecord]
    n_bytes_read: int = 0


@dataclass(frozen=True, slots=True)
class MaskedRecord:
    """What is written of a record: its masked texts, the case they are of, and its kept cells."""

    docs: tuple[MaskedDocument, ...]
    case: MaskedCase | None = field(default=None, repr=False)
    changes: KeptChanges | None = None


@dataclass(frozen=True, slots=True)
class Writing:
    """How case safety reports are written: the key of the pseudonyms of their ids, and the marker."""

    key: bytes = field(repr=False)
    marker: str


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What was written of a file.

    Args:
        facts: Of the file; failures are records that were refused when they were written.
        n_cases: Records with text that were written.
    """

    facts: FileFacts
    n_cases: int


def read_cases(file: GivenFile, options: ReadOptions) -> Generator[ReadBatch, None, FileFacts]:
    """Yield the records of a file in batches, and return the facts of the file.

    Raises:
        InputError: The file cannot be read.
        ConfigurationError: A package that the format needs is missing.
    """
    reader = _CountingReader(file.data)
    with input_errors():
        source = file.format.open(io.BufferedReader(reader), options, file.name)
    copied = _read_copied(file, options)
    for batch in batch_records(guard_records(source.records())):
        read = [ReadRecord.of(record, source.unit) for record in batch]
        yield ReadBatch(
            [msgspec.structs.replace(one, copied=_take_copied(copied, one)) for one in read], reader.n_bytes
        )
    return find_facts(source, file.name)


def _read_copied(file: GivenFile, options: ReadOptions) -> Iterator[Record] | None:
    # Values of unchecked columns are in no record, so the file is read as if they were checked.
    # None = it has no such column.
    if not options.copies_unchecked:
        return None
    with input_errors():
        source = file.format.open(io.BytesIO(file.data), options.check_all(), file.name)
    return guard_records(source.records())


def _take_copied(copied: Iterator[Record] | None, read: ReadRecord) -> tuple[KeptCell, ...]:
    if copied is None:
        return ()
    record = next(copied, None)
    if record is None or record.number != read.number:
        raise StageError(_("the copied columns do not fit the records, so nothing of the file is used"))
    return record.kept


def read_first(name: str, data: bytes, options: ReadOptions) -> list[ReadRecord]:
    """Return the first records of a file, which is unpacked; raises as `open_given` and `read_cases`.

    Of a file with several tables in it, the first of each are returned.
    """
    batches = read_cases(open_given(name, data), options)
    if not options.part_columns:
        return next(batches, ReadBatch([])).records
    first: list[ReadRecord] = []
    counts: Counter[tuple[str, ...]] = Counter()
    for batch in batches:
        for record in batch.records:
            columns = tuple(cell.column for cell in record.kept)
            counts[columns] += 1
            if counts[columns] <= _FIRST_ROWS:
                first.append(record)
    return first


Writes = Generator[ReadBatch | bytes, Sequence[MaskedRecord | None] | None, Written]
"""Asks for what is written of each record of a batch (None = left out), and gives the bytes of the file."""


def write_cases(file: GivenFile, options: ReadOptions, writing: Writing) -> Writes:
    """Write a file again, with what the answers say of each of its records.

    Raises:
        InputError: The file cannot be read.
        ConfigurationError: A package that the format needs is missing.
    """
    target = io.BytesIO()
    refused: list[Failure] = []
    n_cases = 0
    with input_errors():
        source = file.format.open(io.BytesIO(file.data), options, file.name)
    sink = source.sink(target)
    for batch in batch_records(guard_records(source.records())):
        asked = [ReadRecord.of(record, source.unit) for record in batch]
        answers = yield ReadBatch(asked)
        if answers is None or len(answers) != len(batch):
            raise StageError(_("there are not as many answers as records"))
        for record, read, answer in zip(batch, asked, answers, strict=True):
            if answer is None:
                continue
            try:
                sink.write(settle_record(record, answer, writing), answer.docs)
            except RefusedRecordError as error:
                refused.append(Failure(read.place, str(error), error.remedies))
            else:
                n_cases += read.bare is not None and not read.is_frame
        if target.tell() >= _PIECE_BYTES:
            yield _take(target)
    sink.finish()
    if target.tell():
        yield _take(target)
    facts = msgspec.structs.replace(
        find_facts(source, file.name), failures=tuple(refused), n_failures=len(refused)
    )
    return Written(facts=facts, n_cases=n_cases)


def settle_record(record: Record, masked: MaskedRecord, writing: Writing) -> Record:
    """Return a record with what is written instead of its kept cells and of its fields."""
    if masked.changes is not None:
        record = replace(record, changes=masked.changes)
    if record.report is not None and masked.case is not None:
        record = replace(record, fields=replacements_of(masked.case, writing.key, writing.marker))
    return record


def list_names(file: GivenFile, options: ReadOptions) -> dict[Kind, list[str]]:
    """Return the ids and parts of a file that get new names, by kind, in the order in which they come.

    `options` have `renames`.
    """
    renames = options.renames or Renames()
    give_names(file.format, io.BytesIO(file.data), replace(options, renames=renames), file.name)
    return {kind: list(names) for kind, names in renames.numbers.items()}


def give_names(kind: Format, stream: BinaryIO, options: ReadOptions, name: str) -> None:
    """Let the `renames` of options number the ids and parts of a file, and close it.

    Files of one document each, and case safety reports, are left alone.
    """
    if kind.is_single_document or kind.holds_cases:
        return
    # Kept columns would wait for a writer.
    options = replace(options, keep_columns=(), keep_all_columns=False, keep_unchecked=())
    with stream, input_errors():
        source = kind.open(stream, options, name)
        for _ignored in source.records():
            pass


def take_out(file: GivenFile, options: ReadOptions, numbers: frozenset[int]) -> bytes | None:
    """Return a file without some of its records, None = the others would be read in another way."""
    blank = file.format.blank
    if blank is None:
        return None
    with suppress(InputError, ConfigurationError), input_errors():
        written = blank(file.data, options, file.name, numbers)
        before = _list_contents(file, options, without=numbers)
        after = _list_contents(replace(file, data=written), options)
        if all(one == other for one, other in zip_longest(before, after)):
            return written
    return None


def _list_contents(
    file: GivenFile, options: ReadOptions, *, without: frozenset[int] = frozenset()
) -> Iterator[tuple[object, ...]]:
    """Yield what is in the records of a file, except for those that are taken out and blank ones."""
    for record in file.format.open(io.BytesIO(file.data), options, file.name).records():
        if record.number not in without and (record.docs or record.problem):
            texts = [(doc.id, doc.text) for doc in record.docs]
            yield record.number, texts, record.columns, record.carried, record.problem


def find_facts(source: Source, name: str) -> FileFacts:
    """Return what a source knows of its file; complete once it was read to its end."""
    warnings = source.warnings if isinstance(source, Warns) else {}
    return FileFacts(
        columns=dict(source.columns),
        removed=dict(source.removed) if isinstance(source, RemovesParts) else {},
        read_as=dict(source.read_as) if isinstance(source, FindsOut) else {},
        warnings=tuple(Failure(f"{name} {place}", text) for place, text in warnings.items()),
    )


def batch_records(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield the records of a file in the batches of a run."""
    return cut_batches(
        records,
        lambda record: record.n_chars,
        most=BATCH_CHARS,
        first=FIRST_BATCH_CHARS,
        n_items=BATCH_RECORDS,
    )


def guard_records(records: Iterator[Record]) -> Iterator[Record]:
    """Return the same records; what breaks while the file is read becomes a typed error."""
    while True:
        with input_errors():
            record = next(records, None)
        if record is None:
            return
        yield record


def _take(target: io.BytesIO) -> bytes:
    """Return what was written so far, and forget it."""
    piece = target.getvalue()
    target.seek(0)
    target.truncate()
    return piece


class _CountingReader(io.RawIOBase):
    """Reads the bytes of a file and counts how many were read."""

    def __init__(self, data: bytes) -> None:
        self._stream = io.BytesIO(data)
        self.n_bytes = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self.n_bytes = self._stream.seek(offset, whence)  # its encoding was found out, and it is read again
        return self.n_bytes

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        n = self._stream.readinto(buffer)
        self.n_bytes += n
        return n
