"""Measure the runs of an ablation, and what can be made of the base networks without training."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inverse_deid.core.thresholds import EVERYTHING_MASKED, Thresholds
from inverse_deid.core.values import RuleVerdicts
from inverse_deid.research.studies.ablation_report import Outcome
from inverse_deid.research.studies.analysed import AnalysedCorpus, scored
from inverse_deid.research.studies.combinations import (
    LEARNERS,
    Scores,
    averaged,
    learned,
    least,
    without_safe,
)
from inverse_deid.research.studies.decided import after_passes, decide
from inverse_deid.research.studies.measures import (
    MaskedShares,
    average_precision,
    masked_shares,
    precision_at_recall,
)
from inverse_deid.training.calibration import calibrate, score_from_high

RECALLS = (0.98, 0.99, 0.995)
SLOPES = (0.0, 0.4, 0.8, 1.2)

UNTRAINED = {
    "mean-2": "mean of 2 base networks",
    "mean-3": "mean of 3 base networks",
    "minimum-2": "minimum of 2 base networks",
    "minimum-3": "minimum of 3 base networks",
    "single-threshold": "one threshold instead of the adaptive one",
    **{f"slope-{slope:g}": f"density slope {slope:g}" for slope in SLOPES},
    "logistic": "learned combiner: logistic regression",
    "trees": "learned combiner: boosted trees",
    "passes": "base with document passes",
}
"""What needs no training of its own, with titles."""

Verdicts = Mapping[str, RuleVerdicts]
"""By the name of the corpus."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judge:
    """Measures scores, at thresholds calibrated on held-out documents.

    Args:
        held_out: Calibrated on.
        compared: Judged besides.
        verdicts: Of both.
        recall: What calibration aims at.
        like: Thresholds with the slope to use.
    """

    held_out: tuple[AnalysedCorpus, ...] = field(repr=False)
    compared: tuple[AnalysedCorpus, ...] = field(repr=False)
    verdicts: Verdicts = field(repr=False)
    recall: float
    like: Thresholds = EVERYTHING_MASKED

    def outcomes(
        self, name: str, run: str, scores: Scores, verdicts: Verdicts | None = None
    ) -> Iterator[Outcome]:
        """Measure one network, or what stands for one.

        Args:
            name: The variant.
            run: Its seed.
            scores: By corpus.
            verdicts: Other ones than the rules'.
        """
        verdicts = self.verdicts if verdicts is None else verdicts
        thresholds = self._thresholds(scores, verdicts)
        for corpus in (*self.held_out, *self.compared):
            mine, found = verdicts[corpus.name], scores[corpus.name]
            seen = scored(corpus, found, mine)
            needed = score_from_high(seen, self.like)
            keep = decide(found, thresholds, mine, seen.densities).keep
            values = {"average precision": average_precision(corpus.is_phi, needed)}
            for recall in RECALLS:
                values[f"precision at {recall:g}"] = precision_at_recall(corpus.is_phi, needed, recall)
            values |= _values(masked_shares(corpus.is_phi, ~keep, corpus.documents))
            yield Outcome(name, run, corpus.name, corpus in self.compared, values)

    def _thresholds(self, scores: Scores, verdicts: Verdicts) -> Thresholds:
        seen = [scored(corpus, scores[corpus.name], verdicts[corpus.name]) for corpus in self.held_out]
        return calibrate(seen, self.recall, self.like)

    def pooled(self, networks: Mapping[int, Scores], sizes: Sequence[int]) -> Iterator[Outcome]:
        """Mean and minimum over every choice of so many networks."""
        for size in sizes:
            for some in itertools.combinations(sorted(networks), size):
                run, members = "+".join(map(str, some)), [networks[seed] for seed in some]
                yield from self.outcomes(f"mean-{size}", run, averaged(members))
                yield from self.outcomes(f"minimum-{size}", run, least(members))

    def untrained(self, networks: Mapping[int, Scores]) -> tuple[list[Outcome], list[str]]:
        """One threshold, learned combiners and document passes, and what could not be measured."""
        plain = {name: without_safe(one) for name, one in self.verdicts.items()}
        outcomes: list[Outcome] = []
        notes: dict[str, None] = {}
        for seed, scores in networks.items():
            outcomes += self.outcomes("single-threshold", str(seed), scores, plain)
            for slope in SLOPES:
                other = dataclasses.replace(self, like=Thresholds(1.0, 1.0, slope))
                outcomes += other.outcomes(f"slope-{slope:g}", str(seed), scores)
            outcomes += self._with_passes(str(seed), scores)
            for learner in LEARNERS:
                try:
                    combined = learned(learner, scores, self.verdicts, self.held_out, self.compared)
                except ImportError:
                    notes[f"{learner} was not measured: install scikit-learn (extra `experiments`)."] = None
                    continue
                if combined is None:
                    notes[f"{learner} was not measured: too few held-out documents with PHI."] = None
                    continue
                outcomes += self.outcomes(learner, str(seed), combined, plain)
        return outcomes, list(notes)

    def _with_passes(self, run: str, scores: Scores) -> Iterator[Outcome]:
        """The base with the passes over whole documents, at its own thresholds."""
        thresholds = self._thresholds(scores, self.verdicts)
        for corpus in (*self.held_out, *self.compared):
            verdicts = self.verdicts[corpus.name]
            found = scores[corpus.name]
            seen = scored(corpus, found, verdicts)
            keep = after_passes(corpus, verdicts, decide(found, thresholds, verdicts, seen.densities))
            shares = masked_shares(corpus.is_phi, ~keep, corpus.documents)
            yield Outcome("passes", run, corpus.name, corpus in self.compared, _values(shares))


def _values(shares: MaskedShares) -> dict[str, float | None]:
    return {"recall": shares.recall, "precision": shares.precision, "without a leak": shares.without_leak}
