"""What is known of a partition that is done: a small file beside the outputs, without any text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from inverse_deid.core.files import WrittenState
from inverse_deid.engine.tally import Tally
from inverse_deid.scale.partitions import Partition
from inverse_deid.scale.storage import Place, write_atomically

RUN_FOLDER = ".inverse-deid"
RECEIPTS = f"{RUN_FOLDER}/done"


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
        """A dictionary that `from_json` takes back."""
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
        """The receipt that `as_json` described."""
        written = None if stored["written"] is None else WrittenState(*stored["written"])
        tally = Tally.from_json(stored["tally"])
        return cls(stored["target"], stored["fingerprint"], stored["settings"], written, tally)

    def is_of(self, partition: Partition, settings: str) -> bool:
        """Whether it is for this partition, its file as it is now, and these settings."""
        told = (self.target, self.fingerprint, self.settings)
        return told == (partition.target, partition.fingerprint, settings)


def receipt_name(target: str) -> str:
    """Where the receipt of an output lies below the output folder.

    Example:
        >>> receipt_name("a/cases.part-00000.csv")
        '.inverse-deid/done/a/cases.part-00000.csv.json'
    """
    return f"{RECEIPTS}/{target}.json"


def write_receipt(out: Place, receipt: Receipt) -> None:
    """Keep a receipt; the output must stand under its name by then.

    Raises:
        OutputError: It cannot be written.
    """
    write_atomically(out.child(receipt_name(receipt.target)), json.dumps(receipt.as_json()).encode())
