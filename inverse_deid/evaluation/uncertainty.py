"""How far a figure may lie from the truth: intervals, and a test between two systems.

Tokens of one document are not independent: who is named once is named again, and a
form is filled in the same way on every page. So no token is ever drawn by itself, but
whole *clusters*: documents, or groups of documents such as those of one patient.

Every figure is a ratio of sums over documents. Results do not depend on the order of the
documents or on how clusters are numbered, only on the seed.

Source: Clopper and Pearson 1934 (exact binomial interval); Korn and Graubard 1998 (the
same with a number of independent units instead of trials); Efron and Tibshirani 1993,
chapter 13 (percentile interval); Field and Welsh 2007 (drawing whole clusters); Phipson
and Smyth 2010 (p values of random permutations).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.evaluation.counts import Counts
from inverse_deid.evaluation.figures import Share
from inverse_deid.evaluation.gold_tokens import Int64Array

Float64Array = npt.NDArray[np.float64]
Figure = Callable[[Counts], Share]
Key = TypeVar("Key", bound=Hashable)

N_RESAMPLES = 2_000
N_PERMUTATIONS = 10_000
CONFIDENCE = 0.95
SEED = 1

_MAX_ENUMERATED = 12
"""Up to so many clusters all swaps are tried (4,096)."""
_MAX_CELLS = 1 << 21
"""Of the weights that are in memory at a time."""
_ROUNDING = 1e-12
"""Differences that are this near count as equal."""


class Method(StrEnum):
    """Where an interval comes from."""

    CLOPPER_PEARSON = "Clopper-Pearson"
    BOOTSTRAP = "cluster bootstrap, percentiles"
    ALIKE = "Clopper-Pearson over clusters, as resamples are alike"


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval of a share, with both bounds in [0, 1].

    Args:
        low: Lower bound.
        high: Upper bound.
        confidence: In (0, 1); both tails outside are equally probable.
        method: Where it comes from.

    Raises:
        StageError: The bounds are out of order or out of range.
    """

    low: float
    high: float
    confidence: float
    method: Method

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= 1:
            raise StageError(f"an interval from {self.low} to {self.high}; bounds of a share lie in [0, 1]")


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Whether two systems differ on the same documents.

    Args:
        difference: Figure of the first system less that of the second, in [-1, 1].
        p_value: In (0, 1], two-sided: how often a difference at least as large comes about
            when each cluster's two results are assigned to the systems by chance.
        n_permutations: Swaps tried; all there are if `is_exact`.
        is_exact: Whether they were enumerated.
        n_differing: Clusters in which the systems differ; the others decide nothing.
    """

    difference: float
    p_value: float
    n_permutations: int
    is_exact: bool
    n_differing: int


def clopper_pearson(part: int, whole: int, confidence: float = CONFIDENCE) -> Interval | None:
    """The exact interval of a share of independent units, such as documents; None of nothing.

    Args:
        part: Units that have it, in [0, whole].
        whole: Units.
        confidence: In (0, 1).

    Raises:
        ConfigurationError: An argument is out of range.

    Example:
        >>> none_missed = clopper_pearson(299, 299, confidence=0.9)
        >>> round(none_missed.low, 4), none_missed.high
        (0.99, 1.0)
    """
    _check_confidence(confidence)
    if not 0 <= part <= whole:
        raise ConfigurationError(f"{part} of {whole} is no share; give a part between 0 and the whole")
    return (
        Interval(*_beta_bounds(part, whole, confidence), confidence, Method.CLOPPER_PEARSON)
        if whole
        else None
    )


def _beta_bounds(part: float, whole: int, confidence: float) -> tuple[float, float]:
    """Clopper and Pearson's bounds; after Korn and Graubard the part need not be whole."""
    tail = (1 - confidence) / 2
    low = float(betaincinv(part, whole - part + 1, tail)) if part > 0 else 0.0
    high = float(betaincinv(part + 1, whole - part, 1 - tail)) if part < whole else 1.0
    return low, high


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
    _check_confidence(confidence)
    if n_resamples < 1:
        raise ConfigurationError(f"{n_resamples} resamples; draw at least one")
    rows = _summed(_flat(counts), clusters)
    sums = rows[_order(rows)] @ _weights(counts, figures)
    drawn = _drawn_sums(sums, n_resamples, seed)
    return {
        key: _interval(sums[:, 2 * i : 2 * i + 2], drawn[:, 2 * i : 2 * i + 2], confidence)
        for i, key in enumerate(figures(counts.total()))
    }


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ConfigurationError(f"a confidence of {confidence}; give one between 0 and 1, such as 0.95")


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
    return Interval(*_beta_bounds(part / whole * n_trials, n_trials, confidence), confidence, Method.ALIKE)


def _drawn_sums(sums: Float64Array, n_resamples: int, seed: int) -> Float64Array:
    """float64 (n_resamples, n_columns): the sums over as many clusters, drawn with replacement."""
    rng = np.random.default_rng(seed)
    n_clusters = len(sums)

    def weights(n_rows: int) -> Int64Array:
        draws = rng.integers(0, n_clusters, (n_rows, n_clusters)) + n_clusters * np.arange(n_rows)[:, None]
        return np.bincount(draws.ravel(), minlength=n_rows * n_clusters).reshape(n_rows, n_clusters)

    if not n_clusters:
        return np.zeros((n_resamples, sums.shape[1]))
    return np.concatenate([weights(n_rows) @ sums for n_rows in _chunks(n_resamples, n_clusters)])


def _chunks(n_rows: int, n_columns: int) -> Iterator[int]:
    """Numbers of rows that are small enough for the memory and add up."""
    most = max(1, _MAX_CELLS // max(1, n_columns))
    for first in range(0, n_rows, most):
        yield min(most, n_rows - first)


def _order(rows: Float64Array) -> Int64Array:
    """Sorts rows, so that the order of documents changes no draw."""
    return np.lexsort(rows.T[::-1]) if rows.size else np.arange(len(rows))


def _flat(counts: Counts) -> Float64Array:
    """float64 (n_documents, n_columns): all counts of a document in a row."""
    columns = [getattr(counts, entry.name) for entry in fields(counts)]
    return (
        np.hstack([column.reshape(len(counts), int(np.prod(column.shape[1:]))) for column in columns]) * 1.0
    )


def _summed(rows: Float64Array, clusters: npt.ArrayLike | None) -> Float64Array:
    """The sum of the rows of each cluster: float64 (n_clusters, n_columns)."""
    if clusters is None:
        return rows
    names = np.asarray(clusters)
    if names.shape != (len(rows),):
        raise StageError(f"clusters of shape {names.shape} for {len(rows):,} documents; give one a document")
    found, numbers = np.unique(names, return_inverse=True)
    sums = np.zeros((len(found), rows.shape[1]))
    np.add.at(sums, numbers, rows)
    return sums


def _weights(counts: Counts, figures: Callable[[Counts], Mapping[Key, Share]]) -> Float64Array:
    """float64 (n_columns, 2 * n_figures): what each count adds to part and whole of each figure.

    A ratio of sums weighs a count alike in all documents: the weights are what the
    figures are for a single count of one. Counts that are 0 everywhere weigh nothing.
    """
    totals = _flat(counts.total())
    used = np.flatnonzero(totals)
    units = _of_flat(np.eye(totals.size, dtype=np.int64)[used], counts)
    expected = _numbers(figures(counts))
    weights = np.zeros((totals.size, len(expected)))
    for i, column in enumerate(used):
        weights[column] = _numbers(figures(units.take([i])))
    if not np.array_equal((totals @ weights)[0], expected):
        raise StageError("a figure is no ratio of sums of counts and cannot be resampled")
    return weights


def _numbers(shares: Mapping[Key, Share]) -> list[int]:
    return [number for share in shares.values() for number in (share.part, share.whole)]


def _of_flat(flat: Int64Array, like: Counts) -> Counts:
    """The counts of which `_flat` makes these rows."""
    columns: dict[str, Int64Array] = {}
    position = 0
    for entry in fields(like):
        shape = getattr(like, entry.name).shape[1:]
        n_columns = int(np.prod(shape))
        columns[entry.name] = flat[:, position : position + n_columns].reshape(len(flat), *shape)
        position += n_columns
    return Counts(**columns)


def paired_permutation_test(
    counts_a: Counts,
    counts_b: Counts,
    figure: Figure,
    clusters: npt.ArrayLike | None = None,
    *,
    n_permutations: int = N_PERMUTATIONS,
    seed: int = SEED,
) -> PairedTest | None:
    """Test whether two systems differ in a figure, on the same documents in the same order.

    If they did not, the two results of a cluster could as well be the other way round.
    All swaps are tried if the systems differ in at most 12 clusters; else random ones, and
    p is (hits + 1) / (n_permutations + 1). Swaps that leave a figure undefined are hits.

    Args:
        counts_a: Of the first system.
        counts_b: Of the second.
        figure: One of `FIGURES`, or any other ratio of sums of counts.
        clusters: As in `bootstrap`.
        n_permutations: Random swaps.
        seed: Of these.

    Returns:
        None if the figure is undefined for one of the systems.

    Raises:
        ConfigurationError: `n_permutations` is less than one.
        StageError: The counts are of different documents, clusters have another
            length, or the figure is no ratio of sums.
    """
    _check_same_documents(counts_a, counts_b)
    if n_permutations < 1:
        raise ConfigurationError(f"{n_permutations} permutations; try at least one")
    a, b = (
        _summed(_flat(counts), clusters) @ _weights(counts, lambda rows: {"": figure(rows)})
        for counts in (counts_a, counts_b)
    )
    total_a, total_b = a.sum(0), b.sum(0)
    if not (total_a[1] and total_b[1]):
        return None
    gaps = (b - a)[(a != b).any(1)]
    gaps = gaps[_order(gaps)]
    observed = float(total_a[0] / total_a[1] - total_b[0] / total_b[1])
    is_exact = len(gaps) <= _MAX_ENUMERATED
    n_tried = 2 ** len(gaps) if is_exact else n_permutations
    hits = 0
    for swaps in _all_swaps(len(gaps)) if is_exact else _random_swaps(len(gaps), n_permutations, seed):
        moved = swaps @ gaps
        hits += _hits(total_a + moved, total_b - moved, abs(observed))
    p_value = hits / n_tried if is_exact else (hits + 1) / (n_tried + 1)
    return PairedTest(observed, p_value, n_tried, is_exact, len(gaps))


def _hits(a: Float64Array, b: Float64Array, least: float) -> int:
    """How many of these pairs of (part, whole) differ at least so much, or are undefined."""
    with np.errstate(invalid="ignore", divide="ignore"):
        gaps = np.abs(a[:, 0] / a[:, 1] - b[:, 0] / b[:, 1])
    return len(gaps) - int((gaps < least - _ROUNDING).sum())


def _all_swaps(n_clusters: int) -> Iterator[Int64Array]:
    """All rows of zeros and ones, the swapped clusters."""
    yield np.arange(2**n_clusters)[:, None] >> np.arange(n_clusters) & 1


def _random_swaps(n_clusters: int, n_rows: int, seed: int) -> Iterator[Int64Array]:
    rng = np.random.default_rng(seed)
    for n_chunk in _chunks(n_rows, n_clusters):
        yield rng.integers(0, 2, (n_chunk, n_clusters))


def _check_same_documents(a: Counts, b: Counts) -> None:
    """What the gold alone decides must be equal."""
    for name in ("tokens", "safe", "phi", "documents", "entities"):
        if not np.array_equal(getattr(a, name), getattr(b, name)):
            raise StageError(
                f"the two systems differ in {name} of the gold; evaluate both on the same documents, "
                "in the same order"
            )
