"""Partitions, the parts of an input that are masked into one file each, and the receipts of those done."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from inverse_deid.core.files import WrittenState
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.records import Format
from inverse_deid.formats.registry import FORMATS

RUN_FOLDER = ".inverse-deid"
"""Below the output folder; contains notes of the run and receipts, no text of narratives."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of one file; it contains offsets and counts, no text.

    Args:
        address: Of the file.
        shown: How messages name the file.
        name: Of the file in the output folder.
        format: Of the file.
        fingerprint: Of the whole file, when the run was planned.
        index: Its place among the partitions of the file, from 0.
        n_partitions: How many the file has.
        head_bytes: Length of what every partition begins with: byte-order mark, header.
        start: Offset of the part in bytes; for Parquet the first row group.
        end: Offset after it; for Parquet the row group after the last.
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
        """Return a text that `from_json` reads."""
        return json.dumps({**dataclasses.asdict(self), "format": self.format.name})

    @classmethod
    def from_json(cls, stored: str) -> Partition:
        """Read the partition that `as_json` wrote."""
        fields = json.loads(stored)
        return cls(**{**fields, "format": FORMATS[fields["format"]]})


def target_name(name: str, index: int) -> str:
    """Return the name of the output of a partition.

    Example:
        >>> target_name("north/cases.jsonl", 3)
        'north/cases.part-00003.jsonl'
    """
    path = PurePosixPath(name)
    return path.with_name(f"{path.stem}.part-{index:05}{path.suffix}").as_posix()


@dataclass(frozen=True, slots=True)
class Receipt:
    """A partition that is done.

    Args:
        target: Its output, below the output folder.
        fingerprint: Of its input file.
        settings: Fingerprint of all that shapes the output.
        written: Size and SHA-256 of the output; None = no document of it could be written.
        tally: What was counted.
    """

    target: str
    fingerprint: str
    settings: str
    written: WrittenState | None
    tally: Tally

    def as_json(self) -> dict[str, Any]:
        """Return a dictionary that `from_json` reads."""
        written = None if self.written is None else [self.written.n_bytes, self.written.sha256]
        return {
            "target": self.target,
            "fingerprint": self.fingerprint,
            "settings": self.settings,
            "written": written,
            "tally": self.tally.as_json(),
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Receipt:
        """Read the receipt that `as_json` wrote."""
        written = None if stored["written"] is None else WrittenState(*stored["written"])
        tally = Tally.from_json(stored["tally"])
        return cls(stored["target"], stored["fingerprint"], stored["settings"], written, tally)

    def is_of(self, partition: Partition, settings: str) -> bool:
        """Tell whether it is for this partition, its file as it is now, and these settings."""
        own = (self.target, self.fingerprint, self.settings)
        return own == (partition.target, partition.fingerprint, settings)


def receipt_name(target: str) -> str:
    """Return the place of the receipt of an output below the output folder.

    Example:
        >>> receipt_name("a/cases.part-00000.csv")
        '.inverse-deid/done/a/cases.part-00000.csv.json'
    """
    return f"{RUN_FOLDER}/done/{target}.json"
