"""Intervals from drawing whole clusters again: documents, or those of one patient.

Results do not depend on the order of the documents or on how clusters are numbered, only
on the seed.

Source: Efron and Tibshirani 1993, chapter 13 (percentile interval); Field and Welsh 2007
(drawing whole clusters).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.evaluation.cluster_sums import (
    Figure,
    Key,
    chunks,
    flat_counts,
    ratio_weights,
    row_order,
    summed,
)
from inverse_deid.evaluation.counts import Counts
from inverse_deid.evaluation.figures import Share
from inverse_deid.evaluation.gold_tokens import Int64Array
from inverse_deid.evaluation.uncertainty import (
    CONFIDENCE,
    Float64Array,
    Interval,
    Method,
    beta_bounds,
    check_confidence,
)

N_RESAMPLES = 2_000
SEED = 1


def bootstrap(
    counts: Counts,
    figure: Figure,
    clusters: npt.ArrayLike | None = None,
    n_resamples: int = N_RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
) -> Interval | None:
    """The percentile interval of a figure over resampled clusters.

    As many clusters as there are get drawn with replacement, again and again; draws
    without anything to measure are left out. If both percentiles are one value (nothing
    was missed, or there is one cluster alone), they would claim certainty. Then the
    interval is that of Clopper and Pearson with each cluster that has something to
    measure as one trial, and `method` says so. Percentiles of fewer than some 20 clusters
    are too near to each other.

    Args:
        counts: One row a document.
        figure: One of `FIGURES`, or any other ratio of sums of counts.
        clusters: (n_documents,), equal numbers or names for documents that are drawn
            together; None: each document by itself.
        n_resamples: Draws.
        confidence: In (0, 1).
        seed: Of the draws.

    Returns:
        None if the figure is undefined.

    Raises:
        ConfigurationError: `n_resamples` or `confidence` is out of range.
        StageError: Clusters of another length, or the figure is no ratio of sums.

    Example:
        >>> from inverse_deid.evaluation.figures import FIGURES
        >>> bootstrap(Counts.stack([]), FIGURES["recall_all"]) is None
        True
    """
    return bootstrap_all(
        counts,
        lambda rows: {"": figure(rows)},
        clusters,
        n_resamples=n_resamples,
        confidence=confidence,
        seed=seed,
    )[""]


def bootstrap_all(
    counts: Counts,
    figures: Callable[[Counts], Mapping[Key, Share]],
    clusters: npt.ArrayLike | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
) -> dict[Key, Interval | None]:
    """As `bootstrap`, for many figures on the same draws.

    Args:
        counts: One row a document.
        figures: Gives all figures of some documents, always under the same keys.
        clusters: As in `bootstrap`.
        n_resamples: Draws.
        confidence: In (0, 1).
        seed: Of the draws.

    Raises:
        ConfigurationError: As `bootstrap`.
        StageError: As `bootstrap`.
    """
    check_confidence(confidence)
    if n_resamples < 1:
        raise ConfigurationError(f"{n_resamples} resamples; draw at least one")
    rows = summed(flat_counts(counts), clusters)
    sums = rows[row_order(rows)] @ ratio_weights(counts, figures)
    drawn = _drawn_sums(sums, n_resamples, seed)
    return {
        key: _interval(sums[:, 2 * i : 2 * i + 2], drawn[:, 2 * i : 2 * i + 2], confidence)
        for i, key in enumerate(figures(counts.total()))
    }


def share_interval(
    parts: npt.ArrayLike,
    wholes: npt.ArrayLike,
    n_resamples: int = N_RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
) -> Interval | None:
    """As `bootstrap`, for one share that is counted by cluster.

    Args:
        parts: (n_clusters,), what has it.
        wholes: (n_clusters,), of how many.
        n_resamples: Draws.
        confidence: In (0, 1).
        seed: Of the draws.

    Returns:
        None if there is nothing to measure.

    Example:
        >>> found = share_interval([1, 3, 2], [4, 4, 4])
        >>> found.low < 0.5 < found.high
        True
    """
    check_confidence(confidence)
    sums = np.stack([np.asarray(parts, np.float64), np.asarray(wholes, np.float64)], axis=1)
    return _interval(sums, _drawn_sums(sums[row_order(sums)], n_resamples, seed), confidence)


def _interval(sums: Float64Array, drawn: Float64Array, confidence: float) -> Interval | None:
    """From (n_clusters, 2) and (n_resamples, 2) of parts and wholes."""
    part, whole = sums.sum(0).tolist()
    if not whole:
        return None
    defined = drawn[drawn[:, 1] > 0]
    tail = (1 - confidence) / 2
    if len(defined):
        low, high = np.quantile(defined[:, 0] / defined[:, 1], [tail, 1 - tail]).tolist()
        if low < high:
            return Interval(low, high, confidence, Method.BOOTSTRAP)
    n_trials = int((sums[:, 1] > 0).sum())
    return Interval(*beta_bounds(part / whole * n_trials, n_trials, confidence), confidence, Method.ALIKE)


def _drawn_sums(sums: Float64Array, n_resamples: int, seed: int) -> Float64Array:
    """float64 (n_resamples, n_columns): the sums over as many clusters, drawn with replacement."""
    rng = np.random.default_rng(seed)
    n_clusters = len(sums)

    def weights(n_rows: int) -> Int64Array:
        draws = rng.integers(0, n_clusters, (n_rows, n_clusters)) + n_clusters * np.arange(n_rows)[:, None]
        return np.bincount(draws.ravel(), minlength=n_rows * n_clusters).reshape(n_rows, n_clusters)

    if not n_clusters:
        return np.zeros((n_resamples, sums.shape[1]))
    return np.concatenate([weights(n_rows) @ sums for n_rows in chunks(n_resamples, n_clusters)])
