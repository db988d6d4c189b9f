"""Whether two systems differ on the same documents: a paired permutation test.

Source: Phipson and Smyth 2010 (p values of random permutations).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.evaluation.counts import Counts, Int64Array
from inverse_deid.evaluation.resampling import (
    SEED,
    Figure,
    flatten_counts,
    order_rows,
    split_rows,
    sum_clusters,
    weigh_counts,
)
from inverse_deid.evaluation.uncertainty import Float64Array

N_PERMUTATIONS = 10_000

_MAX_ENUMERATED = 12
"""Most clusters of which all swaps are tried (4,096)."""
_ROUNDING = 1e-12
"""Smaller differences count as equal."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Whether two systems differ on the same documents.

    Args:
        difference: Figure of the first system less that of the second, in [-1, 1].
        p_value: In (0, 1], two-sided: how often a difference at least as large arises when each
            cluster's two results are assigned to the systems by chance.
        n_permutations: Number of swaps tried.
        is_exact: Whether these were all swaps.
        n_differing: Clusters in which the systems differ. The others decide nothing.
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
        StageError: The counts are of different documents, the clusters have another
            length, or the figure is not a ratio of sums.
    """
    _check_same_documents(counts_a, counts_b)
    if n_permutations < 1:
        raise ConfigurationError(f"{n_permutations} permutations. Try at least one.")
    a, b = (
        sum_clusters(flatten_counts(counts), clusters) @ weigh_counts(counts, lambda rows: {"": figure(rows)})
        for counts in (counts_a, counts_b)
    )
    return paired_ratio_test(a, b, n_permutations=n_permutations, seed=seed, most_enumerated=_MAX_ENUMERATED)


def paired_ratio_test(
    a: Float64Array,
    b: Float64Array,
    *,
    n_permutations: int = N_PERMUTATIONS,
    seed: int = SEED,
    most_enumerated: int = _MAX_ENUMERATED,
) -> PairedTest | None:
    """Test any figure that is a ratio of sums over clusters, as `paired_permutation_test`.

    Args:
        a: float64 (n_clusters, 2), what each cluster adds to part and whole in the first system.
        b: The same for the second system.
        n_permutations: Random swaps.
        seed: Of these.
        most_enumerated: Most differing clusters of which all swaps are tried.

    Returns:
        None if the figure is undefined for one of the systems.
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
    for swaps in _swap_all(len(gaps)) if is_exact else _swap_randomly(len(gaps), n_permutations, seed):
        moved = swaps @ gaps
        swapped_a, swapped_b = total_a + moved, total_b - moved
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.abs(swapped_a[:, 0] / swapped_a[:, 1] - swapped_b[:, 0] / swapped_b[:, 1])
        hits += len(found) - int((found < abs(observed) - _ROUNDING).sum())
    p_value = hits / n_tried if is_exact else (hits + 1) / (n_tried + 1)
    return PairedTest(observed, p_value, n_tried, is_exact, len(gaps))


def _swap_all(n_clusters: int) -> Iterator[Int64Array]:
    """Yield all rows of zeros and ones, in chunks. Ones are swapped clusters."""
    first = 0
    for n_chunk in split_rows(2**n_clusters, n_clusters):
        yield np.arange(first, first + n_chunk)[:, None] >> np.arange(n_clusters) & 1
        first += n_chunk


def _swap_randomly(n_clusters: int, n_rows: int, seed: int) -> Iterator[Int64Array]:
    """Yield random rows of zeros and ones, in chunks."""
    rng = np.random.default_rng(seed)
    for n_chunk in split_rows(n_rows, n_clusters):
        yield rng.integers(0, 2, (n_chunk, n_clusters))


def _check_same_documents(a: Counts, b: Counts) -> None:
    """Refuse counts that differ where only the gold decides."""
    for name in ("tokens", "safe", "phi", "documents", "entities"):
        if not np.array_equal(getattr(a, name), getattr(b, name)):
            raise StageError(
                f"the two systems differ in {name} of the gold. Evaluate both on the same documents, "
                "in the same order."
            )
