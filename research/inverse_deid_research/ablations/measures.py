"""Measure the runs of an ablation, and what can be made of the base networks without training."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from inverse_deid.core.thresholds import EVERYTHING_MASKED, Thresholds
from inverse_deid.core.values import FloatArray, RuleVerdicts
from inverse_deid.training.calibration import calibrate, score_from_high
from inverse_deid_research.studies.scoring import (
    AnalysedCorpus,
    TokenScores,
    average_precision,
    measure_masks,
    precision_at_recall,
)

RECALLS = (0.98, 0.99, 0.995)
SLOPES = (0.0, 0.4, 0.8, 1.2)
_FOLDS = 5

Learner = Literal["logistic", "trees"]
LEARNERS: tuple[Learner, ...] = ("logistic", "trees")

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
"""What needs no training, with titles."""

Scores = Mapping[str, TokenScores]
Verdicts = Mapping[str, RuleVerdicts]
"""Both by the name of the corpus."""

Row = dict[str, Any]
"""One run on one corpus: variant, seeds, corpus, is_compared, and measures in [0, 1], None = undefined."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judge:
    """Measures scores, at thresholds calibrated to a recall on held-out documents.

    Nothing is trained or calibrated on the compared corpora. `verdicts` are of both; `like` are
    thresholds with the slope to use.
    """

    held_out: tuple[AnalysedCorpus, ...] = field(repr=False)
    compared: tuple[AnalysedCorpus, ...] = field(repr=False)
    verdicts: Verdicts = field(repr=False)
    recall: float
    like: Thresholds = EVERYTHING_MASKED

    def measure(
        self,
        name: str,
        seeds: str,
        scores: Scores,
        verdicts: Verdicts | None = None,
        *,
        has_passes: bool = False,
    ) -> Iterator[Row]:
        """Measure one network, or what takes the place of one, on every corpus.

        Other verdicts may replace those of the rules. Passes over whole documents give no order of tokens,
        and so no curve.
        """
        verdicts = self.verdicts if verdicts is None else verdicts
        read = [scores[one.name].for_calibration(one, verdicts[one.name]) for one in self.held_out]
        thresholds = calibrate(read, self.recall, self.like)
        for corpus in (*self.held_out, *self.compared):
            mine, found, is_phi = verdicts[corpus.name], scores[corpus.name], corpus.is_phi
            seen = found.for_calibration(corpus, mine)
            decisions = found.decide(thresholds, mine, seen.densities)
            keep, curve = decisions.keep, dict[str, float | None]()
            if has_passes:
                keep = corpus.run_document_passes(mine, decisions)
            else:
                needed = score_from_high(seen, self.like)
                curve = {f"precision at {r:g}": precision_at_recall(is_phi, needed, r) for r in RECALLS}
                curve["average precision"] = average_precision(is_phi, needed)
            yield {
                "variant": name,
                "seeds": seeds,
                "corpus": corpus.name,
                "is_compared": corpus in self.compared,
                **measure_masks(is_phi, ~keep, corpus.documents),
                **curve,
            }

    def measure_pools(self, networks: Mapping[int, Scores], sizes: Sequence[int]) -> Iterator[Row]:
        """Measure mean and minimum over every choice of networks of these sizes."""
        for size in sizes:
            for some in itertools.combinations(sorted(networks), size):
                seeds, members = "+".join(map(str, some)), [networks[seed] for seed in some]
                yield from self.measure(f"mean-{size}", seeds, pool_scores(members, np.mean))
                yield from self.measure(f"minimum-{size}", seeds, pool_scores(members, np.min))

    def measure_untrained(self, networks: Mapping[int, Scores]) -> tuple[list[Row], list[str]]:
        """Measure one threshold, slopes, passes and learned combiners.

        Returns:
            The rows, and what could not be measured.
        """
        plain = {name: drop_safe(one) for name, one in self.verdicts.items()}
        rows: list[Row] = []
        notes: dict[str, None] = {}
        for seed, scores in networks.items():
            rows += self.measure("single-threshold", str(seed), scores, plain)
            for slope in SLOPES:
                other = dataclasses.replace(self, like=Thresholds(1.0, 1.0, slope))
                rows += other.measure(f"slope-{slope:g}", str(seed), scores)
            rows += self.measure("passes", str(seed), scores, has_passes=True)
            for learner in LEARNERS:
                try:
                    learned = learn_combiner(learner, scores, self.verdicts, self.held_out, self.compared)
                except ImportError:
                    notes[f"{learner} was not measured: install scikit-learn (extra `train`)."] = None
                    continue
                if learned is None:
                    notes[f"{learner} was not measured: too few held-out documents with PHI."] = None
                    continue
                rows += self.measure(learner, str(seed), learned, plain)
        return rows, list(notes)


def pool_scores(networks: Sequence[Scores], pool: Callable[..., FloatArray]) -> dict[str, TokenScores]:
    """Pool `p_safe` over networks by `np.mean`, or by `np.min`: all must call a token safe."""
    pooled = {name: pool([scores[name].p_safe for scores in networks], axis=0) for name in networks[0]}
    return {name: dataclasses.replace(networks[0][name], p_safe=p) for name, p in pooled.items()}


def drop_safe(verdicts: RuleVerdicts) -> RuleVerdicts:
    """Return verdicts that call nothing safe: one threshold for all, but what always masks still does."""
    none = np.zeros_like(verdicts.safe)
    return dataclasses.replace(verdicts, safe=none, fact=none)


def learn_combiner(
    learner: Learner,
    scores: Scores,
    verdicts: Verdicts,
    held_out: Sequence[AnalysedCorpus],
    compared: Sequence[AnalysedCorpus],
) -> dict[str, TokenScores] | None:
    """Return `p_safe` of every corpus by a model over logit, verdicts and features; None if impossible.

    Each fold of held-out documents is judged by a model of the others, and may leave one class only. The
    compared corpora are judged by a model of all held-out documents.

    Raises:
        ImportError: scikit-learn is not installed.
    """
    from threadpoolctl import threadpool_limits

    inputs = {c.name: _inputs(c, scores[c.name], verdicts[c.name]) for c in (*held_out, *compared)}
    x = np.concatenate([inputs[corpus.name] for corpus in held_out])
    is_safe = np.concatenate([~corpus.is_phi for corpus in held_out])
    folds = np.concatenate([corpus.documents % _FOLDS for corpus in held_out])
    crossed = np.zeros(len(x), np.float32)
    # With more threads than free cores they wait for each other: one thread is many times faster.
    with threadpool_limits(1):
        for fold in np.unique(folds):
            mine = folds == fold
            if len(np.unique(is_safe[~mine])) < 2:
                return None
            crossed[mine] = _predict(_make_model(learner).fit(x[~mine], is_safe[~mine]), x[mine])
        judge = _make_model(learner).fit(x, is_safe)
        ends = np.cumsum([len(corpus.types) for corpus in held_out])[:-1]
        found = dict(zip((corpus.name for corpus in held_out), np.split(crossed, ends), strict=True))
        found |= {corpus.name: _predict(judge, inputs[corpus.name]) for corpus in compared}
    return {name: dataclasses.replace(scores[name], p_safe=p) for name, p in found.items()}


def _inputs(corpus: AnalysedCorpus, scores: TokenScores, verdicts: RuleVerdicts) -> FloatArray:
    """float32 (n_tokens, 4 + n_features)."""
    p = np.clip(np.nan_to_num(scores.p_safe.astype(np.float64)), 1e-7, 1 - 1e-7)
    flags = [np.log(p / (1 - p)), verdicts.safe, verdicts.never, verdicts.veto]
    features = np.concatenate([analysis.features for analysis in corpus.analyses])
    return np.concatenate([np.stack(flags, axis=1), features], axis=1).astype(np.float32)


def _predict(model: Any, rows: FloatArray) -> FloatArray:  # noqa: ANN401 - of scikit-learn
    return np.asarray(model.predict_proba(rows)[:, 1], np.float32)


def _make_model(learner: Learner) -> Any:  # noqa: ANN401 - scikit-learn is imported only here
    if learner == "logistic":
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        learning_rate=0.1, max_iter=100, max_leaf_nodes=15, min_samples_leaf=30, random_state=0
    )
