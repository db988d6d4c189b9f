"""A corpus under the combiners of the study: at fixed thresholds, at equal recall, with intervals.

A combiner has a margin for every token: by how many logits its thresholds can rise until the token is
masked. So each combiner has one curve, and all are compared at the same recall. Intervals come from drawing
groups of related documents and, within each variant, runs. All systems share the draws.

Source: Field and Welsh 2007 (whole clusters); Efron and Tibshirani 1993, chapter 13 (percentiles).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from inverse_deid.core.phi import HIPAA_TYPES
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import BoolArray, Decisions, FloatArray, RuleVerdicts
from inverse_deid.evaluation.evaluation import Evaluation
from inverse_deid.evaluation.measures.counts import TYPE_NUMBER
from inverse_deid.evaluation.measures.figures import FIGURES
from inverse_deid.evaluation.measures.resampling import flatten_counts, n_drawn, sum_clusters, weigh_counts
from inverse_deid.training.corpus import near_duplicate_groups
from inverse_deid_research.studies.scoring import AnalysedCorpus, Float64Array, TokenScores
from inverse_deid_research.thesis.published import judge_as_published

PAIRS: Mapping[str, Thresholds] = {"low": Thresholds(0.8, 0.9), "high": Thresholds(0.9, 0.95)}
"""The published pairs. The lower one chooses the epoch."""
ACCEPTABLE_PRECISION = 0.5
"""Below it the thesis calls a precision not acceptable."""

ALONE, PUBLISHED, OURS = "network alone", "published combiner", "our combiner"
ALWAYS = "published combiner, numbers and holidays never kept"
EITHER, BETWEEN, CRF = "published combiner or CRF", "published combiner, mean with CRF", "CRF alone"
COMBINERS = (ALONE, PUBLISHED, ALWAYS, OURS, EITHER, BETWEEN, CRF)
"""The others are compared with the first."""

Integers = npt.NDArray[np.integer]

N_DRAWS = 2_000
_PERCENTILES = (2.5, 97.5)

T = TypeVar("T")


class Figure(NamedTuple):
    """HIPAA recall and PHI precision; None = undefined."""

    recall: float | None
    precision: float | None


@dataclass(frozen=True, slots=True, eq=False)
class JudgedCorpus:
    """A corpus with the verdicts of the thesis's rules and of ours, and `p_safe` of an independent CRF.

    `always` are those of the thesis with written-out numbers and holidays that are never kept.
    """

    corpus: AnalysedCorpus
    published: RuleVerdicts = field(repr=False)
    always: RuleVerdicts = field(repr=False)
    ours: RuleVerdicts = field(repr=False)
    crf: FloatArray = field(repr=False)  # float32 (n_tokens,)
    clusters: Integers = field(repr=False)  # (n_documents,), the number of the group of related documents

    def evaluate_pair(self, scores: Mapping[str, TokenScores], pair: str) -> Evaluation:
        """Evaluate the published combiner at a published pair; scores by corpus."""
        return self.corpus.evaluate(scores[self.corpus.name].decide(PAIRS[pair], self.published).keep)

    def evaluate_alone(self, scores: Mapping[str, TokenScores], threshold: float) -> Evaluation:
        """Evaluate the network alone; scores by corpus."""
        return self.corpus.evaluate(scores[self.corpus.name].decide(Thresholds(threshold, threshold)).keep)

    def measure_pair(self, scores: Mapping[str, TokenScores], pair: str) -> Figure:
        """Return the figure of the published combiner, by tokens that PHI touches."""
        is_masked = ~scores[self.corpus.name].decide(PAIRS[pair], self.published).keep
        is_phi, is_hipaa = self.corpus.is_phi, self.is_hipaa
        return Figure(_share(is_masked & is_hipaa, is_hipaa), _share(is_masked & is_phi, is_masked))

    @property
    def is_hipaa(self) -> BoolArray:
        """Bool (n_tokens,)."""
        return np.isin(self.corpus.types, [TYPE_NUMBER[one] for one in HIPAA_TYPES])

    def margins(self, combiner: str, scores: Mapping[str, TokenScores]) -> Float64Array:
        """Return by how many logits thresholds can rise until a token is masked: float64 (n_tokens,).

        The reference are the published thresholds of 0.9 and 0.95.
        """
        given, high = scores[self.corpus.name], PAIRS["high"]
        if combiner == CRF:
            return log_odds(self.crf)
        if combiner == ALONE:
            return log_odds(given.p_safe)
        if combiner == BETWEEN:
            odds = (log_odds(given.p_safe) + log_odds(self.crf)) / 2
            between = np.where(np.isnan(given.p_safe), np.nan, 1 / (1 + np.exp(-odds)))
            given = dataclasses.replace(given, p_safe=between.astype(np.float32))
        verdicts = {OURS: self.ours, ALWAYS: self.always}.get(combiner, self.published)
        found = find_margins(given.decide(high, verdicts))
        return np.where(self.crf < 0.5, -np.inf, found) if combiner == EITHER else found

    def trace(self, margins: Float64Array, is_target: BoolArray) -> Curve:
        """Return the curve of a combiner for the recall of some PHI tokens."""
        return trace_curve(margins, is_target, self.corpus.is_phi, self.clusters[self.corpus.documents])


def judge_corpus(corpus: AnalysedCorpus, crf: FloatArray) -> JudgedCorpus:
    """Judge a corpus by the rules of the thesis and by ours."""
    clusters = np.unique(near_duplicate_groups(corpus.docs), return_inverse=True)[1]
    return JudgedCorpus(
        corpus=corpus,
        published=judge_as_published(corpus),
        always=judge_as_published(corpus, always=True),
        ours=corpus.verdicts("case-aware"),
        crf=crf,
        clusters=clusters,
    )


def _share(part: BoolArray, whole: BoolArray) -> float | None:
    return float(part.sum() / whole.sum()) if whole.any() else None


def log_odds(p: FloatArray) -> Float64Array:
    """Return the log odds of probabilities, kept within seven digits of 0 and 1; NaN = minus infinity."""
    inner = np.clip(np.asarray(p, np.float64), 1e-7, 1 - 1e-7)
    return np.where(np.isnan(inner), -np.inf, np.log(inner) - np.log1p(-inner))


def find_margins(decisions: Decisions) -> Float64Array:
    """Return the log odds of `p_safe` above the threshold of each token: float64 (n_tokens,).

    Tokens that are always masked have minus infinity.

    Example:
        >>> from inverse_deid.masking.combine import combine
        >>> silent, p_safe = RuleVerdicts.silent(2), np.array([0.5, 0.9], np.float32)
        >>> verdicts = dataclasses.replace(silent, never=np.array([False, True]))
        >>> find_margins(combine(verdicts, p_safe, np.zeros(2, np.uint8), Thresholds(0.5, 0.5))).tolist()
        [0.0, -inf]
    """
    never = np.isinf(decisions.thresholds)
    limits = np.where(never, np.float32(0.5), decisions.thresholds)
    return np.where(never, -np.inf, log_odds(decisions.p_safe) - log_odds(limits))


def find_best(figures: Mapping[T, Figure]) -> T:
    """Return the key of the best figure: the highest recall among those of acceptable precision.

    The thesis asks for the "highest HIPAA-recall combined with acceptable precision". If
    no precision is acceptable, the highest one decides; of equals the first.

    Example:
        >>> find_best({"a": Figure(0.99, 0.4), "b": Figure(0.98, 0.6), "c": Figure(0.97, 0.9)})
        'b'
    """

    def rank(key: T) -> tuple[bool, float, float]:
        recall, precision = (value or 0.0 for value in figures[key])
        is_acceptable = precision >= ACCEPTABLE_PRECISION
        return (True, recall, precision) if is_acceptable else (False, precision, recall)

    return max(figures, key=rank)


def find_best_pair(figures: Iterable[Mapping[str, Figure]]) -> str:
    """Return the pair of thresholds that is best for most runs, the higher one of equals."""
    votes = [find_best(one) for one in figures]
    return "low" if votes.count("low") > votes.count("high") else "high"


class Estimate(NamedTuple):
    """A mean over runs with its 95 % interval; None = undefined."""

    value: float | None
    low: float | None
    high: float | None

    @property
    def verdict(self) -> str:
        """Whether a gain was found: the aim is above 0, and only an interval on one side of 0 decides.

        Example:
            >>> [Estimate(0.1, *ends).verdict for ends in ((0.05, 0.2), (-0.1, 0.2), (-0.2, -0.1))]
            ['reached', 'undecided', 'missed']
        """
        if self.low is None or self.high is None:
            return "undecided"
        return "reached" if self.low > 0 else "missed" if self.high < 0 else "undecided"


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """How often groups of documents and runs are drawn; the first row is the data as they are."""

    clusters: Float64Array = field(repr=False)  # (n_draws, n_clusters)
    runs: Float64Array = field(repr=False)  # (n_draws, n_runs), whose rows sum to 1

    def estimate(self, drawn: Float64Array) -> Estimate:
        """Return the mean over runs of a figure, float64 (n_draws, n_runs), with its interval."""
        return summarise((drawn * self.runs).sum(axis=1))


def draw(clusters: Integers, variants: Sequence[str], n_draws: int = N_DRAWS, seed: int = 1) -> Draws:
    """Draw as many clusters as there are, and `n_drawn` runs of each variant, with replacement.

    `clusters` has the number of the cluster of each document, `variants` the variant of each run.
    """
    rng = np.random.default_rng(seed)
    n_clusters = int(clusters.max()) + 1
    drawn = rng.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), n_draws)
    runs = np.zeros((n_draws, len(variants)))
    for variant in sorted(set(variants)):
        members = np.flatnonzero(np.array(variants) == variant)
        n, n_of_runs = len(members), n_drawn(len(members))
        runs[:, members] = rng.multinomial(n_of_runs, np.full(n, 1 / n), n_draws) * n / n_of_runs
    return Draws(
        np.vstack([np.ones(n_clusters), drawn]), np.vstack([np.ones(len(variants)), runs]) / len(variants)
    )


def summarise(drawn: Float64Array) -> Estimate:
    """Return the first of some draws with the percentiles of the others."""
    defined = drawn[1:][~np.isnan(drawn[1:])]
    if np.isnan(drawn[0]) or not len(defined):
        return Estimate(None, None, None)
    return Estimate(float(drawn[0]), *np.percentile(defined, _PERCENTILES).tolist())


def draw_figures(
    evaluations: Sequence[Evaluation], names: Sequence[str], clusters: Integers, draws: Draws
) -> dict[str, Float64Array]:
    """Return some of `FIGURES` of the evaluation of each run in every draw: float64 (n_draws, n_runs)."""
    columns = []
    for evaluation in evaluations:
        counts = evaluation.counts
        weights = weigh_counts(counts, lambda rows: {name: FIGURES[name](rows) for name in names})
        columns.append(draws.clusters @ (sum_clusters(flatten_counts(counts), clusters) @ weights))
    sums = np.stack(columns, axis=1)
    with np.errstate(invalid="ignore"):
        return {name: sums[..., 2 * i] / sums[..., 2 * i + 1] for i, name in enumerate(names)}


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """What each cluster adds at every step of a rising threshold, float32 (n_clusters, n_steps)."""

    found: FloatArray = field(repr=False)  # target tokens
    phi: FloatArray = field(repr=False)  # all masked PHI tokens
    masked: FloatArray = field(repr=False)  # all masked tokens

    def precisions(self, recalls: Sequence[float], clusters: Float64Array) -> Float64Array:
        """Return the precision at the lowest threshold of each recall: float64 (n_recalls, n_draws).

        `clusters` are weights, float64 (n_draws, n_clusters). NaN = a draw without target tokens.
        """
        found, phi, masked = (np.cumsum(clusters @ one, axis=1) for one in self._columns)
        rows = np.arange(len(clusters))
        precisions = np.full((len(recalls), len(clusters)), np.nan)
        for i, recall in enumerate(recalls):
            steps = (found >= recall * found[:, -1:] - 1e-9).argmax(axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                precisions[i] = np.where(found[:, -1] > 0, phi[rows, steps] / masked[rows, steps], np.nan)
        return precisions

    @property
    def _columns(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.found, self.phi, self.masked


def trace_curve(margins: Float64Array, is_target: BoolArray, is_phi: BoolArray, clusters: Integers) -> Curve:
    """Return the curve of margins, with a step where a target token is masked. All are (n_tokens,).

    Example:
        >>> margins, target = np.array([0.0, 1.0, 2.0, 3.0]), np.array([True, False, True, False])
        >>> curve = trace_curve(margins, target, target, np.array([0, 0, 0, 0]))
        >>> curve.precisions([0.5, 1.0], np.ones((1, 1))).round(2).tolist()
        [[1.0], [0.67]]
    """
    steps = np.unique(margins[is_target])
    at = np.searchsorted(steps, margins)
    counted = at < len(steps)
    n_clusters = int(clusters.max()) + 1
    cells = clusters * len(steps) + at

    def count(which: BoolArray) -> FloatArray:
        found = np.bincount(cells[which & counted], minlength=n_clusters * len(steps))
        return found.reshape(n_clusters, len(steps)).astype(np.float32)

    return Curve(count(is_target), count(is_phi), count(np.ones(len(margins), np.bool_)))


def compare_at_recall(
    curves: Mapping[str, Sequence[Curve]], recalls: Sequence[float], draws: Draws
) -> dict[tuple[float, str], tuple[Estimate, Estimate]]:
    """Return the mean precision of each system at each recall, and its gain over the first system.

    Every system has one curve per run, in the same order. The gain is paired: both systems have the same
    runs and documents in each draw.
    """
    means: dict[str, Float64Array] = {}
    for name, of_runs in curves.items():
        precisions = functools.cache(lambda curve: curve.precisions(recalls, draws.clusters))
        found = np.stack([precisions(curve) for curve in of_runs], axis=-1)
        means[name] = (found * draws.runs).sum(axis=-1)
    first = next(iter(means.values()))
    return {
        (recall, name): (summarise(mean[i]), summarise(mean[i] - first[i]))
        for i, recall in enumerate(recalls)
        for name, mean in means.items()
    }
