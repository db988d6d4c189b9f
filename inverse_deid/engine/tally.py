"""Counts of what was done: documents, tokens by reason, failures. Never a word of a narrative."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from inverse_deid.core.values import MaskedDocument, Reason

MAX_FAILURES_LISTED = 1000
MARKERS_LEFT = "its replacements could not be computed; markers were left"


@dataclass(frozen=True, slots=True)
class Failure:
    """A file or record that was not masked as it should have been."""

    where: str
    reason: str


@dataclass(slots=True)
class Tally:
    """Running counts of a file or of a whole run.

    Args:
        n_documents: Written, including documents that were masked completely after a failure.
        n_failed_documents: Of these, masked completely because a stage failed.
        n_tokens: Tokens of the originals.
        n_failures: Failed documents, left out records and failed files.
        failures: The first of them.
        columns: What became of each column of a table, see `ColumnFate`.
        tokens_by_reason: Counts in the order of `Reason`.
        stand_ins: Masks that show something else than a marker, by its sort (date, age).
        n_found_complete: Files that an earlier run had completed.
    """

    n_documents: int = 0
    n_failed_documents: int = 0
    n_tokens: int = 0
    n_failures: int = 0
    failures: list[Failure] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    tokens_by_reason: list[int] = field(default_factory=lambda: [0] * len(Reason))
    stand_ins: dict[str, int] = field(default_factory=dict)
    n_found_complete: int = 0

    def add_case(self, texts: Iterable[MaskedDocument], *, is_case: bool = True) -> None:
        """Count one written case of several texts; a part around the cases is not one."""
        self.n_documents += is_case
        has_failed = False
        for masked in texts:
            self._count(masked)
            has_failed |= masked.failed
        self.n_failed_documents += has_failed and is_case

    def _count(self, masked: MaskedDocument) -> None:
        self.n_tokens += len(masked.tokens)
        counts = np.bincount(masked.decisions.reasons, minlength=len(Reason)).tolist()
        self.tokens_by_reason = [a + b for a, b in zip(self.tokens_by_reason, counts, strict=True)]
        self._count_stand_ins(masked.stand_ins)

    def _count_stand_ins(self, counts: Mapping[str, int]) -> None:
        for sort, n in counts.items():
            self.stand_ins[sort] = self.stand_ins.get(sort, 0) + n

    def note_columns(self, columns: Mapping[str, str]) -> None:
        """Note what became of the columns of a table."""
        self.columns |= columns

    def fail(self, where: str, reason: str) -> None:
        """Note a failure."""
        self.n_failures += 1
        if len(self.failures) < MAX_FAILURES_LISTED:
            self.failures.append(Failure(where, reason))

    def merge(self, other: Tally) -> None:
        """Add the counts of another file."""
        self.n_documents += other.n_documents
        self.n_failed_documents += other.n_failed_documents
        self.n_tokens += other.n_tokens
        self.n_failures += other.n_failures
        self.failures += other.failures[: MAX_FAILURES_LISTED - len(self.failures)]
        self.note_columns(other.columns)
        self.n_found_complete += other.n_found_complete
        pairs = zip(self.tokens_by_reason, other.tokens_by_reason, strict=True)
        self.tokens_by_reason = [a + b for a, b in pairs]
        self._count_stand_ins(other.stand_ins)

    def rename(self, old: str, new: str) -> Tally:
        """Return the same counts; failures that begin with one name begin with another."""
        failures = [replace(one, where=new + one.where.removeprefix(old)) for one in self.failures]
        return replace(self, failures=failures)

    def as_json(self) -> dict[str, Any]:
        """Return a dictionary that `from_json` reads."""
        stored = asdict(self)
        del stored["n_found_complete"]
        return {**stored, "failures": [[failure.where, failure.reason] for failure in self.failures]}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Tally:
        """Read the tally that `as_json` wrote.

        Raises:
            ValueError: It counts other reasons than this version knows.
        """
        if len(stored["tokens_by_reason"]) != len(Reason):
            raise ValueError("a tally of other reasons")
        failures = [Failure(where, reason) for where, reason in stored["failures"]]
        return cls(**{**stored, "failures": failures})
