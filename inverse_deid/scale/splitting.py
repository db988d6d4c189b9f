"""Cutting files into partitions, always between two records.

JSON Lines are cut behind line ends, CSV tables behind rows (the table is parsed, for a
quoted cell may hold line ends), Parquet files between row groups. The records before a
partition are counted, so that ids and messages are those of the serial engine. A file
that is small, packed or cannot be parsed is one partition: what is wrong with it is said
when it is masked.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import BinaryIO

from inverse_deid.core.errors import InputError
from inverse_deid.formats.csv_table import CsvTable
from inverse_deid.formats.encodings import split_mark
from inverse_deid.formats.parquet_table import ParquetTable
from inverse_deid.formats.records import MAX_RECORD_BYTES, ReadOptions, Source
from inverse_deid.formats.registry import open_source
from inverse_deid.scale.inputs import InputFile
from inverse_deid.scale.partitions import Partition
from inverse_deid.scale.storage import open_place, storage_errors

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where a partition ends: offset (or row group) and the records up to there."""

    end: int
    n_records: int


def split(file: InputFile, options: ReadOptions, partition_bytes: int) -> list[Partition]:
    """Cut one file into partitions of about `partition_bytes`; at least one.

    Args:
        file: The file.
        options: How it is read.
        partition_bytes: Size of a partition as it lies in the file, at least 1.

    Raises:
        InputError: The file cannot be used at all.
    """
    whole = Partition(
        file.place.address, file.place.printable, file.name, file.format, file.fingerprint, end=file.n_bytes
    )
    has_row_groups = file.format.is_split_by_row_group
    if file.is_packed or (file.n_bytes <= partition_bytes and not has_row_groups):
        return [whole]
    with open_place(file.place) as stream, storage_errors(file.place):
        source = open_source(stream, PurePosixPath(file.name).name, file.format, options)
    with open_place(file.place) as stream, storage_errors(file.place):
        head_bytes, cuts = _cuts(stream, source, options, partition_bytes)
    if has_row_groups and not cuts:
        return [replace(whole, end=0)]
    return list(_partitions(whole, head_bytes, cuts)) if len(cuts) > 1 or has_row_groups else [whole]


def _partitions(whole: Partition, head_bytes: int, cuts: list[_Cut]) -> Iterator[Partition]:
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
    """Length of the head, and the cuts."""
    if isinstance(source, ParquetTable):
        return 0, list(_row_group_cuts(stream, partition_bytes))
    if isinstance(source, CsvTable):
        return _row_cuts(stream, source, options, partition_bytes)
    mark = len(split_mark(stream, options.encoding)[1].mark)
    stream.seek(0)
    return mark, list(_line_cuts(stream, partition_bytes))


def _line_cuts(stream: BinaryIO, partition_bytes: int) -> Iterator[_Cut]:
    """Behind the first line end after every so many bytes."""
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
    """Behind the first row that ends after every so many bytes; no cut if the table cannot be parsed."""
    stream, codec = split_mark(stream, options.encoding)
    csv.field_size_limit(MAX_RECORD_BYTES)
    text = io.TextIOWrapper(stream, codec.name, "strict", newline="")
    lines = _CountedLines(text, len(codec.mark))
    rows = csv.reader(lines, delimiter=table.layout.delimiter, strict=True)
    cuts: list[_Cut] = []
    n_rows = 0
    try:
        next(rows)
        head_bytes = start = lines.n_bytes
        for n_rows, _ in enumerate(rows, start=1):
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
    """Between row groups, as many together as have so many bytes."""
    import pyarrow.parquet

    metadata = pyarrow.parquet.ParquetFile(stream).metadata
    n_bytes, n_rows = 0, 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        n_bytes, n_rows = n_bytes + group.total_byte_size, n_rows + group.num_rows
        if n_bytes >= partition_bytes or number == metadata.num_row_groups - 1:
            yield _Cut(number + 1, n_rows)
            n_bytes = 0


def partitions_of(
    files: list[InputFile], options: ReadOptions, partition_bytes: int
) -> tuple[list[list[Partition]], list[tuple[str, str]]]:
    """The partitions of every file, and the files that cannot be used with the reason."""
    planned: list[list[Partition]] = []
    refused: list[tuple[str, str]] = []
    for file in files:
        try:
            planned.append(split(file, options, partition_bytes))
        except InputError as error:
            refused.append((file.place.printable, str(error)))
    return planned, refused
