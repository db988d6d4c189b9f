"""The exact recall/precision curve of `p_safe` alone, and the reliability of `p_safe`.

One rule for ties: a token is masked if `p_safe < threshold`, as in `mask`. An unknown
`p_safe` (NaN) is masked at every threshold. A token of the text is PHI if a gold span
touches it. `mask` also applies rules and document passes, so its figures need not be on
the curve.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.values import BoolArray
from inverse_deid.core.wording import _
from inverse_deid.evaluation.measures.counts import Int64Array
from inverse_deid.evaluation.measures.figures import ReportPart, Share
from inverse_deid.evaluation.measures.uncertainty import CONFIDENCE, Float64Array, Interval, clopper_pearson

N_BINS = 10
_STRAIGHT = 1e-12
"""A point closer to the line between its neighbours is not a corner."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Recall and precision at rising thresholds. All arrays are float64 (n_points,)."""

    thresholds: Float64Array = field(repr=False)  # of `p_safe`. The last one is infinite and masks everything
    recall: Float64Array = field(repr=False)  # share of the PHI tokens that is masked. It never falls
    precision: Float64Array = field(repr=False)  # share of the masked tokens that is PHI
    safe_kept: Float64Array = field(repr=False)  # share of the safe tokens that is kept. It never rises
    average_precision: float  # precision at each threshold, weighted by what it adds to recall

    def __len__(self) -> int:
        return len(self.thresholds)


def recall_precision_curve(is_phi: BoolArray, p_safe: npt.ArrayLike) -> Curve | None:
    """Return the curve at every threshold that makes a difference and masks something.

    `is_phi`, bool (n_tokens,), is the gold truth. `p_safe`, (n_tokens,), is the probability of *safe*, NaN =
    unknown. The curve has one point per distinct value. It is None if there is no PHI or no safe token.

    Raises:
        StageError: The lengths differ, or a value is not a probability.

    Example:
        >>> curve = recall_precision_curve(np.array([True, False, True]), [0.1, 0.9, 0.9])
        >>> curve.thresholds.tolist(), curve.recall.tolist(), curve.safe_kept.tolist()
        ([0.9, inf], [0.5, 1.0], [1.0, 0.0])
    """
    scores = _check_scores(is_phi, p_safe)
    values, group = np.unique(np.where(np.isnan(scores), -np.inf, scores), return_inverse=True)
    masked = np.cumsum(np.bincount(group, minlength=len(values)))
    hits = np.cumsum(np.bincount(group[is_phi], minlength=len(values)))
    n_phi = int(is_phi.sum())
    n_safe = len(is_phi) - n_phi
    if not (n_phi and n_safe):
        return None
    recall, precision = hits / n_phi, hits / masked
    return Curve(
        thresholds=np.append(values[1:], np.inf),
        recall=recall,
        precision=precision,
        safe_kept=(n_safe - (masked - hits)) / n_safe,
        average_precision=float((np.diff(recall, prepend=0.0) * precision).sum()),
    )


def _check_scores(is_phi: BoolArray, p_safe: npt.ArrayLike) -> Float64Array:
    scores = np.asarray(p_safe, np.float64)
    if scores.shape != is_phi.shape or scores.ndim != 1:
        raise StageError(
            _(
                "p_safe of shape {shape} for {shape_2} tokens. Give one per token",
                shape=scores.shape,
                shape_2=is_phi.shape,
            )
        )
    if ((scores < 0) | (scores > 1)).any():
        raise StageError(_("p_safe is outside [0, 1]. Give probabilities, and NaN where p_safe is unknown"))
    return scores


def choose_corners(points: Float64Array, n_points: int) -> Int64Array:
    """Choose the points that are needed to draw a line: their numbers in rising order, int64.

    Start with both ends and add the point farthest from the lines drawn so far, until all
    points, float64 (n, n_dimensions), are on them or `n_points` (at least 2) are chosen.

    Raises:
        ConfigurationError: Fewer than 2 points are asked for.

    Source: Douglas and Peucker 1973, with the worst line first.
    """
    if n_points < 2:
        raise ConfigurationError(_("a line of {n_points} points. Ask for at least 2", n_points=n_points))
    if len(points) <= n_points:
        return np.arange(len(points))
    kept = [0, len(points) - 1]
    lines = [_find_farthest(points, *kept)]
    while len(kept) < n_points and lines:
        distance, first, middle, last = heapq.heappop(lines)
        if -distance <= _STRAIGHT:
            break
        kept.append(middle)
        for start, end in ((first, middle), (middle, last)):
            if end - start > 1:
                heapq.heappush(lines, _find_farthest(points, start, end))
    return np.sort(kept)


def _find_farthest(points: Float64Array, first: int, last: int) -> tuple[float, int, int, int]:
    # Negative distance, first, number and last of the point farthest from the line.
    line = points[last] - points[first]
    offsets = points[first + 1 : last] - points[first]
    length = float(line @ line)
    along = np.clip(offsets @ line / length, 0, 1) if length else np.zeros(len(offsets))
    distances = np.sqrt(((offsets - along[:, None] * line) ** 2).sum(1))
    worst = int(distances.argmax())
    return -float(distances[worst]), first, first + 1 + worst, last


class ReliabilityBin(ReportPart, frozen=True):
    """Tokens with `p_safe` in [low, high), and how many of them are really safe. The last bin includes 1.

    The mean is None without tokens. The interval is Clopper-Pearson. It treats tokens as independent and
    is therefore too narrow.
    """

    low: float
    high: float
    tokens: int
    mean_p_safe: float | None
    safe: Share
    interval: Interval | None


class Reliability(ReportPart, frozen=True):
    """Whether about 90 % of the tokens with a `p_safe` of 90 % are safe."""

    # Mean distance of `p_safe` and the share that is really safe, over bins of equal width, weighted by
    # tokens; None without tokens.
    expected_calibration_error: float | None
    unknown: int  # tokens without `p_safe`, which are in no bin
    bins: list[ReliabilityBin]


def measure_reliability(
    is_phi: BoolArray, p_safe: npt.ArrayLike, n_bins: int = N_BINS, confidence: float = CONFIDENCE
) -> Reliability:
    """Compare `p_safe` with the share of tokens that is really safe, in bins of equal width.

    Arguments and errors as for `recall_precision_curve`.

    Source: Guo et al. 2017, "On calibration of modern neural networks" (expected
        calibration error).

    Example:
        >>> is_phi = np.array([False, False, True, True])
        >>> found = measure_reliability(is_phi, [0.9, 0.7, 0.8, np.nan], n_bins=2)
        >>> [bin.safe for bin in found.bins], round(found.expected_calibration_error, 4), found.unknown
        ([Share(part=0, whole=0), Share(part=2, whole=3)], 0.1333, 1)
    """
    if n_bins < 1:
        raise ConfigurationError(_("{n_bins} bins. Ask for at least one", n_bins=n_bins))
    scores = _check_scores(is_phi, p_safe)
    is_known = ~np.isnan(scores)
    known, is_safe = scores[is_known], ~is_phi[is_known]
    edges = np.arange(n_bins + 1) / n_bins
    numbers = np.minimum(np.searchsorted(edges, known, side="right") - 1, n_bins - 1)
    wholes = np.bincount(numbers, minlength=n_bins)
    parts = np.bincount(numbers[is_safe], minlength=n_bins)
    sums = np.bincount(numbers, weights=known, minlength=n_bins)
    columns = (edges[:-1], edges[1:], sums, parts, wholes)
    bins = [
        ReliabilityBin(
            low=low,
            high=high,
            tokens=whole,
            mean_p_safe=total / whole if whole else None,
            safe=Share(part, whole),
            interval=clopper_pearson(part, whole, confidence),
        )
        for low, high, total, part, whole in zip(*(column.tolist() for column in columns), strict=True)
    ]
    error = float(np.abs(sums - parts).sum() / len(known)) if len(known) else None
    return Reliability(expected_calibration_error=error, unknown=int((~is_known).sum()), bins=bins)


@dataclass(frozen=True, slots=True)
class ScoreFigures:
    """What a report says of `p_safe`. `curve` is None if there is no PHI or no safe token."""

    curve: Curve | None
    reliability: Reliability


def measure_scores(is_phi: BoolArray, p_safe: npt.ArrayLike, confidence: float = CONFIDENCE) -> ScoreFigures:
    """Return curve and reliability of the same tokens. Arguments and errors as theirs."""
    return ScoreFigures(
        recall_precision_curve(is_phi, p_safe), measure_reliability(is_phi, p_safe, confidence=confidence)
    )
