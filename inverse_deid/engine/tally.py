"""Counts of what was done: documents, tokens by reason, failures. Never a word of a narrative."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from inverse_deid.core.errors import InverseDeidError, Remedy
from inverse_deid.core.values import MaskedDocument, Reason
from inverse_deid.core.wording import N_
from inverse_deid.files.facts import MAX_FAILURES, Failure, FileFacts
from inverse_deid.formats.tables.kept_cells import KeptChanges

MAX_DOCUMENTS_LISTED = 1000
MARKERS_LEFT = N_("its replacements could not be computed, so markers were left")


@dataclass(slots=True)
class Tally:
    """Running counts of a file or of a whole run."""

    n_documents: int = 0  # written, including documents masked completely after a failure
    n_failed_documents: int = 0  # of these, masked completely because a stage failed
    n_tokens: int = 0  # of the originals
    n_failures: int = 0  # failed documents, left out records and failed files
    failures: list[Failure] = field(default_factory=list)  # the first of them
    warnings: list[Failure] = field(default_factory=list)  # what was masked, but not as the user may expect
    columns: dict[str, str] = field(default_factory=dict)  # the `ColumnFate` of each column of a table
    tokens_by_reason: list[int] = field(default_factory=lambda: [0] * len(Reason))  # in the order of `Reason`
    stand_ins: dict[str, int] = field(default_factory=dict)  # by sort: masks that show no marker (date, age)
    n_other_language: int = 0  # written, and seem not to be English
    other_language: list[str] = field(default_factory=list)  # the ids of the first of their texts
    removed: dict[str, int] = field(default_factory=dict)  # parts of office files that were left out, by kind
    read_as: dict[str, int] = field(default_factory=dict)  # files by the encoding that was found
    n_files: int = 0  # of a whole run, found and planned
    n_found_complete: int = 0  # files that an earlier run had completed

    def __post_init__(self) -> None:
        if len(self.tokens_by_reason) != len(Reason):
            raise ValueError("a tally of other reasons")

    @property
    def facts(self) -> FileFacts:
        """What every surface shows."""
        return FileFacts(
            n_documents=self.n_documents,
            read_as=dict(self.read_as),
            columns=dict(self.columns),
            removed=dict(self.removed),
            n_other_language=self.n_other_language,
            other_language=tuple(self.other_language),
            n_failures=self.n_failures,
            failures=tuple(self.failures),
            warnings=tuple(self.warnings),
        )

    def add_case(self, texts: Iterable[MaskedDocument], *, is_case: bool = True) -> None:
        """Count one written case of several texts; a part around the cases is not one."""
        self.n_documents += is_case
        has_failed = False
        other_language: list[str] = []
        for masked in texts:
            other_language += [masked.id] * masked.other_language
            self.n_tokens += len(masked.tokens)
            counts = np.bincount(masked.decisions.reasons, minlength=len(Reason)).tolist()
            self._count_masks(counts, masked.stand_ins)
            has_failed |= masked.failed
        self.n_failed_documents += has_failed and is_case
        self.n_other_language += bool(other_language) and is_case
        self._list_other_language(other_language)

    def _count_masks(self, by_reason: Sequence[int], stand_ins: Mapping[str, int]) -> None:
        self.tokens_by_reason = [a + b for a, b in zip(self.tokens_by_reason, by_reason, strict=True)]
        for sort, n in stand_ins.items():
            self.stand_ins[sort] = self.stand_ins.get(sort, 0) + n

    def _list_other_language(self, ids: Sequence[str]) -> None:
        self.other_language += ids[: MAX_DOCUMENTS_LISTED - len(self.other_language)]

    def note_columns(self, columns: Mapping[str, str]) -> None:
        """Note what became of the columns of a table."""
        self.columns |= columns

    def add_facts(self, facts: FileFacts) -> None:
        """Add what is known of a file beside its documents: columns, parts, encoding, warnings, failures."""
        self.note_columns(facts.columns)
        self.note_removed(facts.removed)
        for how, n in facts.read_as.items():
            self.read_as[how] = self.read_as.get(how, 0) + n
        self.n_failures += facts.n_failures
        self.failures += facts.failures[: MAX_FAILURES - len(self.failures)]
        self.warnings += facts.warnings[: MAX_FAILURES - len(self.warnings)]

    def note_removed(self, removed: Mapping[str, int]) -> None:
        """Count parts of office files that were left out."""
        for kind, n in removed.items():
            self.removed[kind] = self.removed.get(kind, 0) + n

    def note_kept(self, changes: KeptChanges) -> None:
        """Count what was written instead of dates and ages in kept columns."""
        self._count_masks([0] * len(Reason), changes.replaced)
        self.note_removed(changes.emptied)

    def fail(self, where: str, reason: str | InverseDeidError, remedies: tuple[Remedy, ...] = ()) -> None:
        """Note a failure; an error has its own remedies."""
        self.n_failures += 1
        if len(self.failures) < MAX_FAILURES:
            remedies = reason.remedies if isinstance(reason, InverseDeidError) else remedies
            self.failures.append(Failure(where, str(reason), remedies))

    def merge(self, other: Tally) -> None:
        """Add the counts of another file."""
        self.n_documents += other.n_documents
        self.n_failed_documents += other.n_failed_documents
        self.n_tokens += other.n_tokens
        self.add_facts(other.facts)
        self.n_other_language += other.n_other_language
        self._list_other_language(other.other_language)
        self.n_found_complete += other.n_found_complete
        self._count_masks(other.tokens_by_reason, other.stand_ins)

    def rename(self, old: str, new: str) -> Tally:
        """Return the same counts; failures and warnings that begin with one name begin with another."""
        return self.change_places(lambda where: new + where.removeprefix(old))

    def change_places(self, change: Callable[[str], str]) -> Tally:
        """Return the same counts, with other places of failures and warnings."""
        failures = [one._replace(where=change(one.where)) for one in self.failures]
        warnings = [one._replace(where=change(one.where)) for one in self.warnings]
        return replace(self, failures=failures, warnings=warnings)

    def as_json(self) -> dict[str, Any]:
        """Return a dictionary that msgspec reads; it says nothing of the run that counted."""
        stored: dict[str, Any] = msgspec.to_builtins(self)
        del stored["n_files"], stored["n_found_complete"]
        return stored

    def as_numbers(self) -> dict[str, Any]:
        """Return the counts alone: no name of a column or file, no id, no reason of a failure or warning.

        Example:
            >>> Tally(n_failures=1, columns={"text": "masked", "dob": "dropped"}).as_numbers()["columns"]
            {'dropped': 1, 'masked': 1}
        """
        numbers = self.as_json()
        del numbers["failures"], numbers["warnings"], numbers["other_language"]
        return {**numbers, "columns": dict(sorted(Counter(map(str, self.columns.values())).items()))}
