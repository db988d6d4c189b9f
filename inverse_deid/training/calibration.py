"""Choose the operating points on held-out documents: `low` and `high` for a wanted recall or precision.

Two models, for example before and after fine-tuning, are compared at one recall, since their
thresholds differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.thresholds import EVERYTHING_MASKED, LEAST_HIGH, Thresholds
from inverse_deid.core.values import BoolArray, FloatArray, RuleVerdicts
from inverse_deid.masking.combine import combine, compute_shifts, log_density
from inverse_deid.training.config import CalibrationConfig

LOW_HIGH_LOGITS = 1.0
"""Logits from `low` up to `high`: the bonus of dictionary-safe words."""

_NO_PHI = "no PHI among the held-out documents. Give more documents, or hold out a larger share"
_LOWEST = 0.01
"""The lowest `high`."""
MARGIN = 3e-6
"""More than the rounding of single precision, so that a threshold masks the token that set it."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredCorpus:
    """The held-out tokens of one corpus, all documents one after the other.

    `is_phi` is bool and `p_safe` float32, both (n_tokens,), with the verdicts of the rules. `densities`,
    float64 (n_tokens,), is the `log_density` of each token's document. `identifiers`, int64 (n_tokens,), is
    the number of each token's identifier, from 0 on, -1 = of none; they are those of `n_documents`. A corpus
    without them gives no evidence.
    """

    name: str
    is_phi: BoolArray = field(repr=False)
    p_safe: FloatArray = field(repr=False)
    verdicts: RuleVerdicts = field(repr=False)
    densities: npt.NDArray[np.float64] = field(repr=False)
    identifiers: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    n_documents: int = 0


def densities(p_safe: Sequence[FloatArray]) -> npt.NDArray[np.float64]:
    """`ScoredCorpus.densities` from the `p_safe` of each document."""
    lengths = [len(p) for p in p_safe]
    return np.repeat(np.array([log_density(p) for p in p_safe], np.float64), lengths)


def thresholds_at(high: float, like: Thresholds = EVERYTHING_MASKED) -> Thresholds:
    """Return the thresholds whose `high`, in (0, 1), is given, with the slope of `like`.

    Example:
        >>> round(thresholds_at(0.9).low, 3)
        0.768
    """
    logit = np.log(high / (1 - high)) - LOW_HIGH_LOGITS
    return replace(like, low=float(1 / (1 + np.exp(-logit))), high=float(high))


def calibrate(
    corpora: Sequence[ScoredCorpus], recall: float, like: Thresholds = EVERYTHING_MASKED
) -> Thresholds:
    """Return the smallest thresholds at which the corpora together reach a recall of PHI tokens, in (0, 1].

    The corpora are taken together, so that a few mistakes of annotators in a small one do not set
    the threshold for all. `like` gives the slope.

    Raises:
        ConfigurationError: There is no PHI token to calibrate on.
    """
    needed = [score_from_high(corpus, like)[corpus.is_phi] for corpus in corpora]
    at = np.concatenate(needed or [np.zeros(0)])
    if not len(at):
        raise ConfigurationError(_NO_PHI)
    at.sort()
    wanted = at[max(0, int(np.ceil(recall * len(at))) - 1)]
    return thresholds_at(float(np.clip(wanted + MARGIN, _LOWEST, 1 - MARGIN)), like)


def calibrate_precision(
    corpora: Sequence[ScoredCorpus],
    precision: float,
    like: Thresholds = EVERYTHING_MASKED,
    *,
    highest: float = 1.0,
) -> Thresholds:
    """Return the largest thresholds at which each corpus for itself reaches the wanted precision.

    Corpora without PHI are skipped. `precision`, in (0, 1], is the share of PHI among the masked
    tokens, `highest` the upper limit of `high`, and `like` gives the slope. If even the smallest
    thresholds mask too much, they are returned.

    Raises:
        ConfigurationError: There is no PHI token to calibrate on.
    """
    with_phi = [corpus for corpus in corpora if corpus.is_phi.any()]
    if not with_phi:
        raise ConfigurationError(_NO_PHI)
    needed = [score_from_high(corpus, like) for corpus in with_phi]
    values = np.unique(np.concatenate(needed)) + MARGIN
    top = min(highest, 1 - MARGIN)
    candidates = np.append(values[(values >= _LOWEST) & (values < top)], top)
    pairs = zip(with_phi, needed, strict=True)
    precisions = [_precisions(corpus.is_phi, at, candidates) for corpus, at in pairs]
    reached = np.all(np.array(precisions) >= precision, axis=0)
    return thresholds_at(float(candidates[reached].max(initial=_LOWEST)), like)


def _precisions(
    is_phi: BoolArray, at: npt.NDArray[np.float64], candidates: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the share of PHI among what each candidate for `high` masks; 1 where it masks nothing."""
    order = np.argsort(at, kind="stable")
    hits = np.append(0, np.cumsum(is_phi[order]))
    n_masked = np.searchsorted(at[order], candidates)
    return np.where(n_masked, hits[n_masked] / np.maximum(n_masked, 1), 1.0)


def operating_points(corpora: Sequence[ScoredCorpus], config: CalibrationConfig) -> dict[str, Thresholds]:
    """Return the three named operating points; none masks more than the one before it.

    No `high` is below `LEAST_HIGH`, so that masking takes them as they are.
    """
    strict = calibrate(corpora, config.strict_recall, config.like)
    balanced = calibrate(corpora, config.balanced_recall, config.like)
    balanced = min(balanced, strict, key=lambda pair: pair.high)
    lenient = calibrate_precision(corpora, config.lenient_precision, config.like, highest=balanced.high)
    found = {"strict": strict, "balanced": balanced, "lenient": lenient}
    return {name: thresholds_at(max(pair.high, LEAST_HIGH), config.like) for name, pair in found.items()}


def floor_lines(corpora: Sequence[ScoredCorpus], lenient: Thresholds, precision: float) -> list[str]:
    """Return a line for each corpus with PHI whose wanted precision `calibrate_precision` did not reach."""
    reached = {
        corpus.name: _precisions(
            corpus.is_phi, score_from_high(corpus, lenient), np.array([lenient.high])
        ).item()
        for corpus in corpora
        if corpus.is_phi.any()
    }
    return [
        f"lenient: of what the smallest thresholds mask in {name}, {100 * share:.1f} % is PHI; "
        f"{100 * precision:g} % was wanted and is out of reach"
        for name, share in reached.items()
        if share < precision
    ]


def score_from_high(
    corpus: ScoredCorpus, like: Thresholds = EVERYTHING_MASKED, *, adaptive: bool = True
) -> npt.NDArray[np.float64]:
    """Return `p_safe` on the scale of `high`: a token is masked where `high` is above it.

    `like` gives the slope. `adaptive` adds `LOW_HIGH_LOGITS` for words that the rules call safe.

    Returns:
        float64 (n_tokens,), in [0, 1]; 0 where the rules or a NaN mask, 1 where `p_safe` is 1, since no
        threshold is above it.
    """
    p = np.clip(corpus.p_safe.astype(np.float64), 1e-7, 1 - 1e-7)
    earned = np.where(corpus.verdicts.earns_low & adaptive, LOW_HIGH_LOGITS, 0.0)
    earned -= compute_shifts(corpus.verdicts, corpus.densities, like)
    seen = np.where(corpus.p_safe >= 1, 1.0, 1 / (1 + np.exp(-(np.log(p / (1 - p)) + earned))))
    return np.where(corpus.verdicts.always_masked | np.isnan(corpus.p_safe), 0.0, seen)


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Recall and precision of PHI tokens at a pair of thresholds; None = undefined."""

    recall: float | None
    precision: float | None


def measure(corpus: ScoredCorpus, thresholds: Thresholds) -> OperatingPoint:
    """Return the recall and precision of masking at a pair of thresholds, before document passes."""
    categories = np.zeros(len(corpus.is_phi), np.uint8)
    decisions = combine(corpus.verdicts, corpus.p_safe, categories, thresholds, corpus.densities)
    masked = ~decisions.keep
    hits = int((masked & corpus.is_phi).sum())
    n_phi, n_masked = int(corpus.is_phi.sum()), int(masked.sum())
    return OperatingPoint(hits / n_phi if n_phi else None, hits / n_masked if n_masked else None)


def measure_all(
    corpora: Sequence[ScoredCorpus], points: Mapping[str, Thresholds]
) -> dict[str, dict[str, Mapping[str, float | None]]]:
    """Return the recall and precision of each corpus at each operating point, as values for a manifest."""
    return {
        corpus.name: {name: asdict(measure(corpus, pair)) for name, pair in points.items()}
        for corpus in corpora
    }


@dataclass(frozen=True, slots=True)
class AtOneRecall:
    """Precision of the model that was started from, and of the one that came out, at a recall both reach."""

    recall: float
    before: float
    after: float


def at_one_recall(
    before: Sequence[ScoredCorpus],
    after: Sequence[ScoredCorpus],
    points_before: Mapping[str, Thresholds],
    points_after: Mapping[str, Thresholds],
    name: str = "balanced",
) -> dict[str, AtOneRecall | None]:
    """Compare two models on each corpus at the recall that the second has at one operating point.

    Both have scored the same corpora, in the same order. The slope is that of their operating points.

    Returns:
        By corpus; None where there is no PHI or none of it is masked.
    """
    found: dict[str, AtOneRecall | None] = {}
    for one, other in zip(before, after, strict=True):
        found[one.name] = None
        if recall := measure(other, points_after[name]).recall:
            was = precision_at(one, recall, points_before[name])
            found[one.name] = AtOneRecall(recall, was, precision_at(other, recall, points_after[name]))
    return found


def precision_at(corpus: ScoredCorpus, recall: float, like: Thresholds = EVERYTHING_MASKED) -> float:
    """Return the precision at the smallest threshold that reaches a recall. Ties are masked together.

    The corpus must contain PHI, and the recall is in (0, 1]. `like` gives the slope.

    Example:
        >>> from inverse_deid.core.values import RuleVerdicts
        >>> corpus = ScoredCorpus("x", np.array([True, False, True]), np.array([0.1, 0.2, 0.3], np.float32),
        ...     RuleVerdicts.silent(3), np.zeros(3))
        >>> precision_at(corpus, 0.5), round(precision_at(corpus, 1.0), 3)
        (1.0, 0.667)
    """
    at = score_from_high(corpus, like)
    of_phi = np.sort(at[corpus.is_phi])
    limit = of_phi[max(0, int(np.ceil(recall * len(of_phi) - 1e-9)) - 1)]
    return float(corpus.is_phi[at <= limit].mean())


def recall_at_precision(is_phi: BoolArray, p_safe: FloatArray, precision: float) -> float:
    """Return the highest recall of PHI tokens at which the masked ones have that share of PHI, in [0, 1].

    Tokens with the lowest `p_safe`, float32 (n_tokens,), are masked first. The recall is 0 if no threshold
    reaches the precision or there is no PHI.

    Example:
        >>> recall_at_precision(np.array([True, True, False]), np.array([0.1, 0.9, 0.5]), 1.0)
        0.5
    """
    n_phi = int(is_phi.sum())
    if not n_phi:
        return 0.0
    order = np.argsort(p_safe, kind="stable")
    hits = np.cumsum(is_phi[order])
    # A threshold masks all tokens of one value or none: look where the value changes.
    last_of_value = np.append(np.diff(p_safe[order]) > 0, True)
    reached = (hits / np.arange(1, len(order) + 1) >= precision) & last_of_value
    return float(hits[reached].max(initial=0) / n_phi)
