"""From the addresses that the user gave to partitions, always cut between two records.

JSON Lines are cut after line ends, CSV tables after rows (the table is parsed, because a quoted cell may
contain line ends), Parquet files between row groups. The records before a partition are counted, so that
ids and messages are those of the serial engine. A file that is small, packed or cannot be parsed is one
partition: its faults are reported when it is masked.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import BinaryIO, NamedTuple

from inverse_deid.core.errors import FormatError, InputError, OutputExistsError, Remedy
from inverse_deid.core.wording import N_, _
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.encodings import split_mark
from inverse_deid.formats.records import MAX_RECORD_BYTES, Format, ReadOptions, Source
from inverse_deid.formats.registry import format_of, without_gz
from inverse_deid.formats.tables.csv_table import CsvTable
from inverse_deid.formats.tables.parquet_table import ParquetTable
from inverse_deid.scale.partitions import Partition
from inverse_deid.scale.storage import Place, fingerprint_of, name_below, open_place, place_of, storage_errors

_BLOCK_BYTES = 1 << 20


def find_inputs(addresses: Sequence[str], out: Place, kind: Format | None) -> tuple[list[Partition], Tally]:
    """Return all files, each as one partition, in a fixed order, and a tally of what cannot be masked.

    Files in the output folder are not inputs. Without a format, the suffix tells it.
    """
    tally = Tally()
    found: dict[str, Partition] = {}
    for address in addresses:
        place = place_of(address)
        try:
            files = list(_list_files(place, out))
        except InputError as error:
            tally.fail(place.printable, error)
            continue
        if not files:
            tally.fail(place.printable, _("contains no files. Give a folder with case narratives"))
        for file, name in files:
            try:
                one = _read_input(file, name, kind)
                if one.name in found:
                    raise OutputExistsError(
                        _(
                            "would become {name}, as would {shown}. Mask one into another folder",
                            name=one.name,
                            shown=found[one.name].shown,
                        )
                    )
                found[one.name] = one
            except InputError as error:
                tally.fail(file.printable, error)
    return list(found.values()), tally


def _list_files(place: Place, out: Place) -> Iterator[tuple[Place, str]]:
    # Without hidden ones.
    with storage_errors(place):
        if not place.fs.isdir(place.path):
            place.fs.info(place.path)
            yield place, PurePosixPath(place.path).name
            return
        paths = sorted(place.fs.find(place.path))
    own = f"{out.path.rstrip('/')}/" if type(out.fs) is type(place.fs) else None
    for path in paths:
        file = Place(place.fs, path)
        name = name_below(file, place)
        is_hidden = any(part.startswith(".") for part in PurePosixPath(name).parts)
        if not is_hidden and not (own is not None and path.startswith(own)):
            yield file, name


def _read_input(file: Place, name: str, kind: Format | None) -> Partition:
    kind = kind or format_of(PurePosixPath(name))
    if not kind.can_be_split:
        raise FormatError(
            _("is {kind}, and the engine ray reads jsonl, csv and parquet", kind=kind),
            remedies=[Remedy("engine", step=N_("mask it without {}"))],
        )
    with storage_errors(file):
        info = file.fs.info(file.path)
    name = without_gz(PurePosixPath(name)).as_posix()
    stamp = repr([info.get("created"), info.get("ino")])  # of local files: hard to guess, unlike a content
    return Partition(
        file.address, file.printable, name, kind, fingerprint_of(file), stamp, end=int(info["size"])
    )


class _Cut(NamedTuple):
    """Where a partition ends: offset (or row group) and the records up to there."""

    end: int
    n_records: int


def split(whole: Partition, options: ReadOptions, partition_bytes: int) -> list[Partition]:
    """Cut one file into partitions of about `partition_bytes` of the file; at least one.

    Raises:
        InputError: The file cannot be used at all.
    """
    place = place_of(whole.address)
    has_row_groups = whole.format.is_split_by_row_group
    if whole.is_packed or (whole.end <= partition_bytes and not has_row_groups):
        return [whole]
    with open_place(place) as stream, storage_errors(place):
        source = whole.format.open(stream, options, PurePosixPath(whole.name).name)
    with open_place(place) as stream, storage_errors(place):
        head_bytes, cuts = _cuts(stream, source, options, partition_bytes)
    if has_row_groups and not cuts:
        return [replace(whole, end=0)]
    return list(_make_partitions(whole, head_bytes, cuts)) if len(cuts) > 1 or has_row_groups else [whole]


def _make_partitions(whole: Partition, head_bytes: int, cuts: list[_Cut]) -> Iterator[Partition]:
    start, n_before = 0, 0
    for index, cut in enumerate(cuts):
        yield replace(
            whole,
            index=index,
            n_partitions=len(cuts),
            head_bytes=head_bytes if index else 0,
            start=start,
            end=cut.end,
            n_before=n_before,
        )
        start, n_before = cut.end, cut.n_records


def _cuts(
    stream: BinaryIO, source: Source, options: ReadOptions, partition_bytes: int
) -> tuple[int, list[_Cut]]:
    if isinstance(source, ParquetTable):
        return 0, list(_row_group_cuts(stream, partition_bytes))
    if isinstance(source, CsvTable):
        return _row_cuts(stream, source, options, partition_bytes)
    mark = len(split_mark(stream, options.usual_encoding)[1].mark)
    stream.seek(0)
    return mark, list(_line_cuts(stream, partition_bytes))


def _line_cuts(stream: BinaryIO, partition_bytes: int) -> Iterator[_Cut]:
    # After the first line end that follows each `partition_bytes`.
    end, n_lines, room = 0, 0, partition_bytes
    while block := stream.read(min(_BLOCK_BYTES, room)):
        end, n_lines, room = end + len(block), n_lines + block.count(b"\n"), room - len(block)
        while room <= 0 and not block.endswith(b"\n"):
            block = stream.readline(_BLOCK_BYTES)
            if not block:
                break
            end, n_lines = end + len(block), n_lines + block.count(b"\n")
        if room <= 0:
            yield _Cut(end, n_lines)
            room = partition_bytes
    if room < partition_bytes:
        yield _Cut(end, n_lines)


def _row_cuts(
    stream: BinaryIO, table: CsvTable, options: ReadOptions, partition_bytes: int
) -> tuple[int, list[_Cut]]:
    # After the first row that ends after each `partition_bytes`. No cut if parsing fails.
    stream, codec = split_mark(stream, options.usual_encoding)
    csv.field_size_limit(MAX_RECORD_BYTES)
    text = io.TextIOWrapper(stream, codec.name, "strict", newline="")
    lines = _CountedLines(text, len(codec.mark))
    rows = csv.reader(lines, delimiter=table.layout.delimiter, strict=True)
    cuts: list[_Cut] = []
    n_rows = 0
    try:
        next(rows)
        head_bytes = start = lines.n_bytes
        for n_rows, _ignored in enumerate(rows, start=1):
            if lines.n_bytes - start >= partition_bytes:
                cuts.append(_Cut(lines.n_bytes, n_rows))
                start = lines.n_bytes
    except (csv.Error, UnicodeError, StopIteration):
        return 0, []
    finally:
        text.detach()
    if lines.n_bytes > start:
        cuts.append(_Cut(lines.n_bytes, n_rows))
    return head_bytes, cuts


class _CountedLines:
    """The lines of a text, untranslated, and how many bytes they took."""

    def __init__(self, text: io.TextIOWrapper, n_bytes: int) -> None:
        self._text = text
        self._is_ascii_wide = len("a".encode(text.encoding)) == 1
        self.n_bytes = n_bytes

    def __iter__(self) -> _CountedLines:
        return self

    def __next__(self) -> str:
        line = next(self._text)
        is_plain = self._is_ascii_wide and line.isascii()
        self.n_bytes += len(line) if is_plain else len(line.encode(self._text.encoding))
        return line


def _row_group_cuts(stream: BinaryIO, partition_bytes: int) -> Iterator[_Cut]:
    # Cut between row groups that have about `partition_bytes` together.
    import pyarrow.parquet

    metadata = pyarrow.parquet.ParquetFile(stream).metadata
    n_bytes, n_rows = 0, 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        n_bytes, n_rows = n_bytes + group.total_byte_size, n_rows + group.num_rows
        if n_bytes >= partition_bytes or number == metadata.num_row_groups - 1:
            yield _Cut(number + 1, n_rows)
            n_bytes = 0


def split_all(
    files: Sequence[Partition], options: ReadOptions, partition_bytes: int, tally: Tally
) -> list[list[Partition]]:
    """Return the partitions of every file; files that cannot be used are noted in the tally."""
    planned: list[list[Partition]] = []
    for file in files:
        try:
            planned.append(split(file, options, partition_bytes))
        except InputError as error:
            tally.fail(file.shown, error)
    return planned
