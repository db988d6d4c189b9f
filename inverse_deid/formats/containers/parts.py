"""The parts of a container: each is opened, masked and written by its own format.

The records of the parts follow each other as records of the container, numbered through. Each says which
part it is of, so that the sink gives it to the right one. A part that cannot be read or written is left out
of the new container, and listed.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, BinaryIO, Protocol

from inverse_deid.core.errors import (
    FormatError,
    InputError,
    InverseDeidError,
    RefusedRecordError,
    Remedy,
    StageError,
    UnreadableInputError,
)
from inverse_deid.core.values import MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.containers.office_package import UNREADABLE
from inverse_deid.formats.nesting import Nesting
from inverse_deid.formats.records import (
    FindsOut,
    Format,
    PartPlace,
    ReadOptions,
    Record,
    RemovesParts,
    ReportingSink,
    Sink,
    Source,
    TableHead,
    Warns,
    Writable,
)

_DAMAGED = N_("is damaged. Pack it again")
IF_UNKNOWN = Remedy(step=N_("save it as a file of its own and mask that"))
"""What to do with a part whose suffix is unknown. No option names the format of one part."""
_BLANK = b"\xef\xbb\xbf \t\r\n"
_BLOCK_BYTES = 64 * 1024
MAX_PART_BYTES = 256 * 1024 * 1024
"""The largest part, before and after masking: it is kept in memory until it is complete, never on a disk."""


def refuse_size() -> FormatError:
    """Return the error for a part that is too large."""
    return FormatError(
        _(
            "is larger than {max_part_bytes} MiB. Mask it as a file of its own",
            max_part_bytes=MAX_PART_BYTES >> 20,
        )
    )


def refuse(problem: InputError) -> Source:
    """Raise what is wrong with a part, in place of opening it.

    Raises:
        InputError: Always.
    """
    raise problem


@dataclass(frozen=True, slots=True)
class PartFile:
    """The bytes of a part, and how they are read."""

    kind: Format
    name: str = field(repr=False)  # the id of its document, if it is one
    options: ReadOptions = field(repr=False)
    # Unpacks it, or raises an `InverseDeidError`; None = it has no bytes of its own.
    unpack: Callable[[], BinaryIO] | None = field(repr=False)

    def look(self) -> TableHead | None:
        """Show its columns, None = it is not a table."""
        if self.unpack is None or self.kind.look is None:
            return None
        return self.kind.look(self.unpack(), self.options, self.name)


@dataclass(frozen=True, slots=True)
class Part:
    """A file inside a container."""

    number: int  # in its container, in the order of the file
    name: str = field(repr=False)  # in the new container
    label: str = field(repr=False)  # names it in messages
    # Opens it, or raises an `InverseDeidError` that says why it is left out.
    open: Callable[[], Source] = field(repr=False)
    # The case that it belongs to if it is one document, "" = it is a case of its own.
    case_id: str = field(default="", repr=False)
    file: PartFile | None = None  # None = it is the text of a message, or cannot be read


@dataclass(frozen=True, slots=True)
class TablePart:
    """A table inside a container: its place (`Nesting.place`), what messages call it, and its first rows."""

    place: str
    label: str = field(repr=False)
    head: TableHead = field(repr=False)


class PartWriter(Protocol):
    """Writes the new container."""

    def add(self, part: Part, data: BinaryIO) -> None:
        """Take a masked part, whole."""
        ...

    def finish(self) -> None:
        """Write what is left to write; the target stays open."""
        ...


class Container:
    """An open container (a `Source`).

    Args:
        parts: Its parts, in order.
        writer: Writes a new container of the same kind.
        removed: What is left out without a failure, by kind; it may grow while parts are read.
        read_as: The number of texts by the encoding that was found; it may grow likewise.
    """

    unit = N_("record")
    resumable = False
    text_encoding = "utf-8"

    def __init__(
        self,
        parts: Iterable[Part],
        writer: Callable[[Writable], PartWriter],
        removed: Mapping[str, int],
        read_as: Mapping[str, int] | None = None,
    ) -> None:
        self._parts = parts
        self.writer = writer
        self._removed = dict(removed)
        self._read_as = dict(read_as or {})
        self._columns: dict[str, str] = {}
        self.warnings: dict[str, str] = {}  # by place
        self.is_written = False  # a reader alone does not keep the parts
        self.opened: dict[int, tuple[Part, Source]] = {}  # those that were not yet written
        self.failed: set[int] = set()  # those that must not be written

    @property
    def columns(self) -> Mapping[str, str]:
        return self._columns

    @property
    def removed(self) -> Mapping[str, int]:
        """How many parts of each kind are not written, of the container and of all parts."""
        return self._removed

    @property
    def read_as(self) -> Mapping[str, int]:
        """The number of files that were read, by the encoding that was found."""
        return self._read_as

    def records(self) -> Iterator[Record]:
        """Yield the records of all parts, and one with a problem for each part that is left out."""
        number = 0
        for part in self._parts:
            for record in self._records_of(part):
                number += 1
                yield replace(record, number=number)

    def tables(self, place: Nesting = Nesting(), label: str = "") -> Iterator[TablePart]:  # noqa: B008 - frozen
        """Yield the tables in it and in containers inside it. Those that cannot be opened are left out."""
        for part in self._parts:
            here, shown = place.at(part.number), f"{label}, {part.label}" if label else part.label
            inner: Source | None = None
            head: TableHead | None = None
            with suppress(InverseDeidError, *UNREADABLE):
                head = None if part.file is None else part.file.look()
                inner = part.open() if part.file is not None and part.file.kind.is_container else None
            if head is not None:
                yield TablePart(here.place, shown, head)
            if isinstance(inner, Container):
                yield from inner.tables(here, shown)

    def find(self, name: str) -> tuple[Format, bytes] | None:
        """Return the format and bytes of the part that is the document of this name.

        None = there is none, or several are called so, such as `b.zip/a.png` and `a.png` in `b.zip`.

        Raises:
            InverseDeidError: It cannot be unpacked.
        """
        found = list(islice(self._find_all(name), 2))
        return found[0] if len(found) == 1 else None

    def _find_all(self, name: str) -> Iterator[tuple[Format, bytes]]:
        for part in self._parts:
            file = part.file
            if file is None:
                continue
            if file.name == name and file.unpack is not None:
                yield file.kind, file.unpack().read()
            if file.kind.is_container and name.startswith(f"{file.name}/"):
                inner = part.open()
                if isinstance(inner, Container):
                    yield from inner._find_all(name)

    def _records_of(self, part: Part) -> Iterator[Record]:
        try:
            source = part.open()
        except InverseDeidError as error:
            self.failed.add(part.number)
            yield Record.refuse(0, error, part.label)
            return
        if isinstance(source, Container):
            source.is_written = self.is_written
        if self.is_written:
            self.opened[part.number] = part, source
        found = source.records()
        while (record := _next_record(found)) is not None:
            if record.number == 0 and record.problem:
                self.failed.add(part.number)
            place = record.place or f"{_(source.unit)} {record.number}"
            is_document = source.unit == "document"
            is_whole = not record.number or is_document
            yield replace(
                record,
                part=PartPlace(part.number, record.number, record.part),
                place=part.label if is_whole else f"{part.label} {place}",
                case_id=record.case_id or (part.case_id if is_document else ""),
            )
        self._note(part, source)

    def _note(self, part: Part, source: Source) -> None:
        self._columns |= source.columns
        if isinstance(source, Warns):
            self.warnings |= {f"{part.label} {place}": text for place, text in source.warnings.items()}
        if isinstance(source, RemovesParts):
            for kind, n in source.removed.items():
                self._removed[kind] = self._removed.get(kind, 0) + n
        if isinstance(source, FindsOut):
            for how, n in source.read_as.items():
                self._read_as[how] = self._read_as.get(how, 0) + n

    def sink(self, target: Writable, *, resumed: bool = False) -> ContainerSink:
        self.is_written = True
        return ContainerSink(target, self)


def _next_record(found: Iterator[Record]) -> Record | None:
    # A record with the number 0 = the part breaks off, None = the end.
    try:
        return next(found, None)
    except InverseDeidError as error:
        return Record.refuse(0, error)
    except UNREADABLE:
        return Record(0, problem=_DAMAGED)


class _MaskedPart(io.BytesIO):
    def write(self, data: Any, /) -> int:  # noqa: ANN401 - as its base
        if self.tell() + len(data) > MAX_PART_BYTES:
            self.truncate(0)
            raise refuse_size()
        return super().write(data)


class ContainerSink:
    """Writes the masked parts into a new container (a `Sink`)."""

    def __init__(self, target: Writable, source: Container) -> None:
        self._source = source
        self._writer = source.writer(target)
        self._number = -1  # of the part that is being written
        self._sink: Sink | None = None
        self._data: _MaskedPart | None = None
        self._n_written = self._n_refused = 0  # records of this part
        self._n_parts = 0  # that were written
        self._reports: dict[str, Any] = {}

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Write one record into its part.

        Raises:
            RefusedRecordError: It cannot be written. If a broken part was begun, all of it is left out.
            StageError: It is not a record of a container.
        """
        if record.part is None:
            raise StageError(_("a record of no part cannot be written into a container"))
        sink = self._move_to(record.part.part)
        refused: RefusedRecordError | None = None
        try:
            sink.write(_inner(record, record.part), masked)
            self._n_written += 1
        except RefusedRecordError:
            self._n_refused += 1
            raise
        except InverseDeidError as error:
            self._source.failed.add(self._number)
            refused = RefusedRecordError(str(error), remedies=error.remedies)
        if refused is not None:
            raise refused

    def leave_out(self, record: Record) -> None:
        if record.part is None or record.part.part in self._source.failed:
            return
        sink = self._move_to(record.part.part)
        self._n_refused += 1
        if isinstance(sink, ReportingSink):
            try:
                sink.leave_out(_inner(record, record.part))
            except StageError:
                self._source.failed.add(self._number)

    def as_json(self) -> dict[str, Any]:
        """Return what was done to the case reports in it, by part."""
        return self._reports

    def _move_to(self, number: int) -> Sink:
        if number != self._number or self._sink is None:
            self._finish_before(number)
            self._begin(number)
        if self._sink is None:
            raise StageError(_("a part of a container was written before"))
        return self._sink

    def _begin(self, number: int) -> None:
        self._number, self._n_written, self._n_refused = number, 0, 0
        self._data = _MaskedPart()
        opened = self._source.opened.get(number)
        self._sink = None if opened is None else opened[1].sink(self._data)

    def _finish_before(self, number: float) -> None:
        for one in sorted(self._source.opened):
            if one < number:
                if one != self._number:
                    self._begin(one)
                self._finish_part()

    def _finish_part(self) -> None:
        part, _ = self._source.opened.pop(self._number)
        sink, data = self._sink, self._data
        self._sink = self._data = None
        if sink is None or data is None:
            return
        try:
            is_lost = self._n_refused and not self._n_written
            if isinstance(sink, ContainerSink) and not sink.finish_parts():
                return
            sink.finish()
            if part.number not in self._source.failed and not is_lost:
                data.seek(0)
                self._writer.add(part, data)
                self._n_parts += 1
            if isinstance(sink, ReportingSink) and (report := sink.as_json()):
                self._reports[part.name] = report
        finally:
            data.close()

    def finish(self) -> None:
        self.finish_parts()
        self._writer.finish()

    def finish_parts(self) -> int:
        """Write the parts that are left, and return how many there are now."""
        self._finish_before(float("inf"))
        return self._n_parts


def _inner(record: Record, place: PartPlace) -> Record:
    return replace(record, number=place.record, part=place.inner)


def open_part(file: PartFile) -> Source:
    """Open a part with its format.

    Raises:
        InverseDeidError: It cannot be read, or is left out.
    """
    if file.unpack is None:
        raise StageError(_("a part without bytes was to be opened"))
    kind, options, problem = file.kind, file.options, ""
    stream = file.unpack()
    if kind.look is not None and _is_blank(stream):
        raise UnreadableInputError(_("is empty. Give a file with text"))
    chosen = options if kind.look is None else options.choose_part()
    try:
        source = kind.open(stream, chosen or replace(options, part_columns={}), file.name)
    except UNREADABLE:
        problem = _DAMAGED
    if problem:
        raise StageError(problem)
    if chosen is None:
        raise FormatError(_("has columns that could not be listed, so nothing was chosen for it"))
    return rename_document(source, options.new_name) if kind.is_single_document else source


def _is_blank(stream: BinaryIO) -> bool:
    # Whether a table has nothing in it; read from the beginning afterwards.
    is_blank = not any(block.strip(_BLANK) for block in iter(lambda: stream.read(_BLOCK_BYTES), b""))
    stream.seek(0)
    return is_blank


def rename_document(source: Source, new_name: str) -> Source:
    """Return a source of one document whose id is not written, but a new one; "" = its id is written."""
    return _Renamed(source, new_name) if new_name else source


class _Renamed:
    """A file of one document whose name must not show (a `Source`)."""

    def __init__(self, source: Source, new_name: str) -> None:
        self._source = source
        self._new_name = new_name
        self.unit, self.resumable, self.text_encoding = source.unit, False, source.text_encoding
        self.columns = source.columns
        self.removed = source.removed if isinstance(source, RemovesParts) else {}
        self.read_as = source.read_as if isinstance(source, FindsOut) else {}

    def records(self) -> Iterator[Record]:
        for record in self._source.records():
            yield replace(record, new_id=self._new_name)

    def sink(self, target: Writable, *, resumed: bool = False) -> Sink:
        return self._source.sink(target)


def inside(options: ReadOptions, new_part: str, number: int) -> ReadOptions:
    """Return the options for a part; with new names, its records have ids of the new names alone."""
    new_name = f"{options.new_name}/{new_part}" if options.new_name else ""
    return replace(options, new_name=new_name, nesting=(options.nesting or Nesting()).at(number))
