"""Reading one partition as the source that the serial engine would read."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from inverse_deid.core.errors import InputError
from inverse_deid.formats.records import ReadOptions, Source
from inverse_deid.formats.registry import input_errors, open_source
from inverse_deid.scale.partitions import Partition
from inverse_deid.scale.storage import ByteRange, fingerprint_of, open_place, place_of, storage_errors


@contextmanager
def open_partition(partition: Partition, options: ReadOptions) -> Iterator[Source]:
    """Open a partition; its records have the numbers that they have in the whole file.

    Args:
        partition: What is read.
        options: How the file is read.

    Raises:
        InputError: The file is not what it was, or cannot be used.
    """
    place = place_of(partition.address)
    check_unchanged(partition)
    with open_place(place) as whole:
        stream, options = _part(whole, partition, options)
        with closing(stream):
            with storage_errors(place), input_errors():
                name = PurePosixPath(partition.name).name
                source = open_source(stream, name, partition.format, options)
            yield source


def check_unchanged(partition: Partition) -> None:
    """Refuse a partition of a file that is not what it was.

    Raises:
        InputError: It has changed, or cannot be read any more.
    """
    if fingerprint_of(place_of(partition.address)) != partition.fingerprint:
        raise InputError("has changed since the run was planned; run again with --force")


def _part(whole: BinaryIO, partition: Partition, options: ReadOptions) -> tuple[BinaryIO, ReadOptions]:
    """The bytes of a partition, and how they are read."""
    if partition.format.is_split_by_row_group and not partition.is_packed:
        row_groups = (partition.start, partition.end)
        return whole, replace(options, n_before=partition.n_before, row_groups=row_groups)
    if partition.is_packed:
        return cast(BinaryIO, gzip.open(whole, "rb")), options
    if partition.is_whole:
        return whole, options
    part = ByteRange(whole, partition.head_bytes, partition.start, partition.end)
    return io.BufferedReader(part, 1 << 20), replace(options, n_before=partition.n_before)
