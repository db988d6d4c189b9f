"""Intervals, and tests of two systems, from resampled clusters.

A cluster is drawn (or swapped) as one: a document, or a group of documents such as those of one
patient. Every figure is a ratio of sums over documents. Results depend on the seed, but not on
the order of the documents or on how clusters are numbered.

Source: Efron and Tibshirani 1993, chapter 13 (percentile interval); Field and Welsh 2007
(drawing whole clusters); Rao and Wu 1988 (drawing one fewer of few); Phipson and Smyth 2010 (p values of
random permutations).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.wording import _
from inverse_deid.evaluation.measures.counts import Counts, Int64Array
from inverse_deid.evaluation.measures.figures import Share
from inverse_deid.evaluation.measures.uncertainty import (
    CONFIDENCE,
    Float64Array,
    Interval,
    Method,
    beta_bounds,
    check_confidence,
)

N_RESAMPLES = 2_000
SEED = 1

Figure = Callable[[Counts], Share]
Key = TypeVar("Key", bound=Hashable)

_MAX_CELLS = 1 << 21
"""Of the weights that are in memory at a time."""


def bootstrap_all(
    counts: Counts,
    figures: Callable[[Counts], Mapping[Key, Share]],
    clusters: npt.ArrayLike | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
) -> dict[Key, Interval | None]:
    """Return the percentile intervals of figures over the same resampled clusters, None if undefined.

    Each resample draws as many clusters as there are, with replacement. Draws with nothing to
    measure are left out. If both percentiles are one value (nothing was missed, or there is
    only one cluster), they would claim certainty. The interval is then that of Clopper and
    Pearson with each cluster that has something to measure as one trial, and `method` says so.
    Percentiles of fewer than about 20 clusters are too close to each other.

    `figures` returns all figures of some documents, always under the same keys. Each is a ratio of sums of
    counts. `clusters` (n_documents,) has equal numbers or names for documents that are drawn together.

    Raises:
        ConfigurationError: `n_resamples` or `confidence` is out of range.
        StageError: The clusters have another length, or a figure is not a ratio of sums.
    """
    check_confidence(confidence)
    if n_resamples < 1:
        raise ConfigurationError(_("{n_resamples} resamples. Draw at least one", n_resamples=n_resamples))
    rows = sum_clusters(flatten_counts(counts), clusters)
    sums = rows[order_rows(rows)] @ weigh_counts(counts, figures)
    drawn = _draw_sums(sums, n_resamples, seed)
    return {
        key: _interval(sums[:, 2 * i : 2 * i + 2], drawn[:, 2 * i : 2 * i + 2], confidence)
        for i, key in enumerate(figures(counts.total()))
    }


def bootstrap_share(
    parts: npt.ArrayLike,
    wholes: npt.ArrayLike,
    n_resamples: int = N_RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
) -> Interval | None:
    """Return the interval of one share that is counted by cluster, with arguments as `bootstrap_all`.

    `parts` and `wholes`, both (n_clusters,), are the counts of each cluster. Returns None if there
    is nothing to measure.
    """
    check_confidence(confidence)
    sums = np.stack([np.asarray(parts, np.float64), np.asarray(wholes, np.float64)], axis=1)
    return _interval(sums, _draw_sums(sums[order_rows(sums)], n_resamples, seed), confidence)


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of one system less that of another on the same documents, with the bounds of its interval.

    All are in [-1, 1]. An interval of no width means that the systems do not differ in any document.
    """

    value: float
    low: float
    high: float

    def judge(self, aim: float = 0.0) -> Literal["higher", "lower", "undecided"]:
        """Say on which side of an aim the whole interval is.

        Example:
            >>> Difference(-0.01, -0.03, 0.0).judge(), Difference(-0.01, -0.03, 0.0).judge(-0.05)
            ('undecided', 'higher')
        """
        return "higher" if self.low > aim else "lower" if self.high < aim else "undecided"


def bootstrap_difference(
    a: Float64Array,
    b: Float64Array,
    *,
    n_resamples: int = N_RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
) -> Difference | None:
    """Return how far a figure of `a` is from that of `b`, both over the same resampled clusters.

    `a` and `b` are parts and wholes by run of a system, float64 (n_runs, n_clusters, 2), or by run and by
    network (n_runs, n_networks, n_clusters, 2). The figure of a system is the mean of its runs, that of a
    run the mean of its networks, each a ratio of sums. Each draw also draws the runs again (`n_drawn`): the
    same ones for both systems if their numbers of runs are equal. Draws with nothing to measure are left out.

    Returns:
        None if a figure is undefined.

    Example:
        >>> one, other = np.array([[[1, 2], [2, 2]]]), np.array([[[0, 2], [1, 2]]])
        >>> bootstrap_difference(one, other)
        Difference(value=0.5, low=0.5, high=0.5)
    """
    check_confidence(confidence)
    of_a, of_b = (parts.reshape(-1, *parts.shape[-2:]) for parts in (a, b))
    sums = np.hstack([*of_a, *of_b]).astype(np.float64)
    drawn = np.vstack([sums.sum(0), _draw_sums(sums[order_rows(sums)], n_resamples, seed)])
    with np.errstate(invalid="ignore", divide="ignore"):
        figures = drawn[:, ::2] / drawn[:, 1::2]
    means = []
    for n_runs, networks in ((len(a), figures[:, : len(of_a)]), (len(b), figures[:, len(of_a) :])):
        by_run = networks.reshape(len(figures), n_runs, -1).mean(2)
        runs = np.random.default_rng([seed, n_runs]).integers(n_runs, size=(n_resamples, n_drawn(n_runs)))
        of_draws = np.take_along_axis(by_run[1:], runs, axis=1).mean(1)
        means.append(np.append(by_run[0].mean(), of_draws))
    value, *found = (means[0] - means[1]).tolist()
    if np.isnan(value):
        return None
    tail = (1 - confidence) / 2
    return Difference(value, *np.nanquantile([value, *found], [tail, 1 - tail]).tolist())


def n_drawn(n_runs: int) -> int:
    """Return how many runs a draw takes, with replacement: one fewer than there are, but at least one.

    With all n, the mean of a draw has only (n - 1) / n of the variance that the mean of the runs has.

    Example:
        >>> [n_drawn(n) for n in (1, 2, 5)]
        [1, 1, 4]
    """
    return max(1, n_runs - 1)


def paired_difference(
    counts_a: Counts,
    counts_b: Counts,
    figure: Figure,
    clusters: npt.ArrayLike | None = None,
    *,
    seed: int = SEED,
) -> Difference | None:
    """Return how far two systems are apart in a figure, on the same documents in the same order.

    Raises:
        StageError: As `paired_permutation_test`.
    """
    a, b = _share_by_cluster(counts_a, counts_b, figure, clusters)
    return bootstrap_difference(a[None], b[None], seed=seed)


def _interval(sums: Float64Array, drawn: Float64Array, confidence: float) -> Interval | None:
    """Return the interval of (n_clusters, 2) and (n_resamples, 2) parts and wholes."""
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


def _draw_sums(sums: Float64Array, n_resamples: int, seed: int) -> Float64Array:
    """Return float64 (n_resamples, n_columns): sums over as many clusters, drawn with replacement."""
    rng = np.random.default_rng(seed)
    n_clusters = len(sums)

    def weights(n_rows: int) -> Int64Array:
        draws = rng.integers(0, n_clusters, (n_rows, n_clusters)) + n_clusters * np.arange(n_rows)[:, None]
        return np.bincount(draws.ravel(), minlength=n_rows * n_clusters).reshape(n_rows, n_clusters)

    if not n_clusters:
        return np.zeros((n_resamples, sums.shape[1]))
    return np.concatenate([weights(n_rows) @ sums for n_rows in split_rows(n_resamples, n_clusters)])


def split_rows(n_rows: int, n_columns: int) -> Iterator[int]:
    """Yield numbers of rows that add up to `n_rows`, each small enough for the memory."""
    most = max(1, _MAX_CELLS // max(1, n_columns))
    for first in range(0, n_rows, most):
        yield min(most, n_rows - first)


def order_rows(rows: Float64Array) -> Int64Array:
    """Return the order of sorted rows, int64 (n_rows,), so that the order of documents changes no draw."""
    return np.lexsort(rows.T[::-1]) if rows.size else np.arange(len(rows))


def flatten_counts(counts: Counts) -> Float64Array:
    """Return float64 (n_documents, n_columns): all counts of a document in a row."""
    columns = [getattr(counts, entry.name) for entry in fields(counts)]
    return (
        np.hstack([column.reshape(len(counts), int(np.prod(column.shape[1:]))) for column in columns]) * 1.0
    )


def sum_clusters(rows: Float64Array, clusters: npt.ArrayLike | None) -> Float64Array:
    """Return the sum of the rows of each cluster: float64 (n_clusters, n_columns).

    Documents of one cluster have equal numbers or names. None makes each document a cluster.

    Raises:
        StageError: The clusters have another length.
    """
    if clusters is None:
        return rows
    names = np.asarray(clusters)
    if names.shape != (len(rows),):
        raise StageError(
            _(
                "clusters of shape {shape} for {n_rows:,} documents. Give one per document",
                shape=names.shape,
                n_rows=len(rows),
            )
        )
    found, numbers = np.unique(names, return_inverse=True)
    sums = np.zeros((len(found), rows.shape[1]))
    np.add.at(sums, numbers, rows)
    return sums


def weigh_counts(counts: Counts, figures: Callable[[Counts], Mapping[Key, Share]]) -> Float64Array:
    """Return float64 (n_columns, 2 * n_figures): what each count adds to part and whole of each figure.

    A ratio of sums weighs a count equally in all documents, so the weights are the figures
    of a single count of one. Counts that are 0 everywhere weigh nothing.
    """
    totals = flatten_counts(counts.total())
    used = np.flatnonzero(totals)
    units = _unflatten(np.eye(totals.size, dtype=np.int64)[used], counts)
    expected = _list_parts(figures(counts))
    weights = np.zeros((totals.size, len(expected)))
    for i, column in enumerate(used):
        weights[column] = _list_parts(figures(units.take([i])))
    if not np.array_equal((totals @ weights)[0], expected):
        raise StageError(_("a figure must be a ratio of sums of counts to be resampled"))
    return weights


def _list_parts(shares: Mapping[Key, Share]) -> list[int]:
    return [number for share in shares.values() for number in (share.part, share.whole)]


def _unflatten(flat: Int64Array, like: Counts) -> Counts:
    columns: dict[str, Int64Array] = {}
    position = 0
    for entry in fields(like):
        shape = getattr(like, entry.name).shape[1:]
        n_columns = int(np.prod(shape))
        columns[entry.name] = flat[:, position : position + n_columns].reshape(len(flat), *shape)
        position += n_columns
    return Counts(**columns)


N_PERMUTATIONS = 10_000

_MAX_ENUMERATED = 12
"""Most clusters of which all swaps are tried (4,096)."""
_ROUNDING = 1e-12
"""Smaller differences count as equal."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Whether two systems differ on the same documents: the first figure less the second, in [-1, 1].

    The two-sided p value, in (0, 1], is how often a difference at least as large arises when each cluster's
    two results are assigned to the systems by chance, in `n_permutations` swaps (all of them, if exact).
    The systems differ in `n_differing` clusters. The others decide nothing.
    """

    difference: float
    p_value: float
    n_permutations: int
    is_exact: bool
    n_differing: int


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

    If they do not, the two results of a cluster are interchangeable. All swaps are tried if the
    systems differ in at most 12 clusters. Otherwise swaps are random, and p is
    (hits + 1) / (n_permutations + 1). Swaps that leave a figure undefined are hits.

    Returns:
        None if the figure is undefined for one of the systems.

    Raises:
        ConfigurationError: `n_permutations` is less than one.
        StageError: The counts are of different documents, the clusters have another
            length, or the figure is not a ratio of sums.
    """
    if n_permutations < 1:
        raise ConfigurationError(
            _("{n_permutations} permutations. Try at least one", n_permutations=n_permutations)
        )
    a, b = _share_by_cluster(counts_a, counts_b, figure, clusters)
    return paired_ratio_test(a, b, n_permutations=n_permutations, seed=seed, most_enumerated=_MAX_ENUMERATED)


def _share_by_cluster(
    counts_a: Counts, counts_b: Counts, figure: Figure, clusters: npt.ArrayLike | None
) -> tuple[Float64Array, Float64Array]:
    """Return what each cluster adds to part and whole in each system, both float64 (n_clusters, 2)."""
    _check_same_documents(counts_a, counts_b)
    a, b = (
        sum_clusters(flatten_counts(counts), clusters) @ weigh_counts(counts, lambda rows: {"": figure(rows)})
        for counts in (counts_a, counts_b)
    )
    return a, b


def paired_ratio_test(
    a: Float64Array,
    b: Float64Array,
    *,
    n_permutations: int = N_PERMUTATIONS,
    seed: int = SEED,
    most_enumerated: int = _MAX_ENUMERATED,
) -> PairedTest | None:
    """Test any figure that is a ratio of sums over clusters, as `paired_permutation_test`.

    `a` and `b` are what each cluster adds to part and whole in each system, float64 (n_clusters, 2).
    """
    total_a, total_b = a.sum(0), b.sum(0)
    if not (total_a[1] and total_b[1]):
        return None
    gaps = (b - a)[(a != b).any(1)]
    gaps = gaps[order_rows(gaps)]
    observed = float(total_a[0] / total_a[1] - total_b[0] / total_b[1])
    is_exact = len(gaps) <= most_enumerated
    n_tried = 2 ** len(gaps) if is_exact else n_permutations
    hits = 0
    for swaps in _swap(len(gaps), n_tried, None if is_exact else np.random.default_rng(seed)):
        moved = swaps @ gaps
        swapped_a, swapped_b = total_a + moved, total_b - moved
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.abs(swapped_a[:, 0] / swapped_a[:, 1] - swapped_b[:, 0] / swapped_b[:, 1])
        hits += len(found) - int((found < abs(observed) - _ROUNDING).sum())
    p_value = hits / n_tried if is_exact else (hits + 1) / (n_tried + 1)
    return PairedTest(observed, p_value, n_tried, is_exact, len(gaps))


def _swap(n_clusters: int, n_rows: int, rng: np.random.Generator | None) -> Iterator[Int64Array]:
    # Rows of zeros and ones (swapped). Without `rng` all of them.
    first = 0
    for n_chunk in split_rows(n_rows, n_clusters):
        if rng is None:
            yield np.arange(first, first + n_chunk)[:, None] >> np.arange(n_clusters) & 1
        else:
            yield rng.integers(0, 2, (n_chunk, n_clusters))
        first += n_chunk


def _check_same_documents(a: Counts, b: Counts) -> None:
    for name in ("tokens", "safe", "phi", "documents", "entities"):
        if not np.array_equal(getattr(a, name), getattr(b, name)):
            raise StageError(
                _(
                    "the two systems differ in {name} of the gold. Evaluate both on the same documents, "
                    "in the same order",
                    name=name,
                )
            )
