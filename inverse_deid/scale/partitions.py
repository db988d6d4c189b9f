"""Partitions: the parts of an input that are masked at one go, each into a file of its own."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import PurePosixPath

from inverse_deid.formats.records import Format
from inverse_deid.formats.registry import FORMATS


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of one file; it holds offsets and counts, no text.

    Args:
        address: Of the file.
        shown: How messages name the file.
        name: Of the file in the output folder.
        format: Of the file.
        fingerprint: Of the whole file, when the run was planned.
        index: Its place among the partitions of the file, from 0.
        n_partitions: How many the file has.
        head_bytes: Length of what stands before the records of every partition: byte-order mark, header.
        start: Offset of the part in bytes; for Parquet the first row group.
        end: Offset behind it; for Parquet the row group behind the last.
        n_before: Records of the file before this part.
    """

    address: str
    shown: str
    name: str
    format: Format
    fingerprint: str
    index: int = 0
    n_partitions: int = 1
    head_bytes: int = 0
    start: int = 0
    end: int = 0
    n_before: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its file."""
        return self.n_partitions == 1

    @property
    def is_packed(self) -> bool:
        """Whether its file is gzip, which cannot be read from its middle."""
        return self.address.lower().endswith(".gz")

    @property
    def target(self) -> str:
        """The name of its output in the output folder; see `target_name`."""
        return target_name(self.name, self.index)

    def as_json(self) -> str:
        """A text that `from_json` takes back."""
        return json.dumps({**dataclasses.asdict(self), "format": self.format.name})

    @classmethod
    def from_json(cls, stored: str) -> Partition:
        """The partition that `as_json` described."""
        fields = json.loads(stored)
        return cls(**{**fields, "format": FORMATS[fields["format"]]})


def target_name(name: str, index: int) -> str:
    """The output of a partition.

    Example:
        >>> target_name("north/cases.jsonl", 3)
        'north/cases.part-00003.jsonl'
    """
    path = PurePosixPath(name)
    return path.with_name(f"{path.stem}.part-{index:05}{path.suffix}").as_posix()
