"""What a comparison is told, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from inverse_deid.evaluation.counts import Range
from inverse_deid.evaluation.evaluation import Evaluation, Intervals


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSettings:
    """What is compared.

    Args:
        test: Annotated file or folder that no system has learned from.
        train: Annotated files or folders that systems may learn from.
        systems: Names out of `SYSTEMS`; none = the usual ones.
        masks: Files of masks of other tools, by the name of the tool.
        reference: What the others are held against; None = `REFERENCE`, if it runs.
        seed: Of learning, resampling and swapping.
        n_epochs: Of the systems that train a network; None = their own number.
    """

    test: Path
    train: tuple[Path, ...] = ()
    systems: tuple[str, ...] = ()
    masks: Mapping[str, Path] = field(default_factory=dict)
    reference: str | None = None
    seed: int = 1
    n_epochs: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """What a system did.

    Args:
        name: Of the system.
        title: Of the system.
        source: Of the system.
        learned_from: Documents it learned from; None if it learns nothing here.
        learning_seconds: Wall time of that.
        tokens_per_second: Of masking; None if its masks were read.
        masks: Of each document, by id.
        evaluation: Of these masks.
        intervals: Of the figures.
    """

    name: str
    title: str
    source: str
    learned_from: int | None
    learning_seconds: float | None
    tokens_per_second: float | None
    masks: Mapping[str, Sequence[Range]] = field(repr=False)
    evaluation: Evaluation = field(repr=False)
    intervals: Intervals = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """What the systems did on the same documents.

    Args:
        settings: What was asked for.
        results: One a system, in the order of the tables.
        reference: The system that the others are held against; None = there is none.
        hashes: SHA-256 of each file that was given, by its path, from before the first system ran.
        clusters: For each document the number of its group, see `near_duplicate_groups`.
        notes: What was left out and why.
    """

    settings: ComparisonSettings
    results: tuple[Result, ...]
    reference: str | None
    hashes: Mapping[str, str] = field(repr=False)
    clusters: tuple[int, ...] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def reference_result(self) -> Result | None:
        """What the others are held against."""
        return next((result for result in self.results if result.name == self.reference), None)
