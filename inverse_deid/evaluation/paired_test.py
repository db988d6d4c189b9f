"""Whether two systems differ on the same documents: a paired permutation test.

Source: Phipson and Smyth 2010 (p values of random permutations).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.evaluation.cluster_sums import (
    Figure,
    chunks,
    flat_counts,
    ratio_weights,
    row_order,
    summed,
)
from inverse_deid.evaluation.counts import Counts
from inverse_deid.evaluation.gold_tokens import Int64Array
from inverse_deid.evaluation.resampling import SEED
from inverse_deid.evaluation.uncertainty import Float64Array

N_PERMUTATIONS = 10_000

_MAX_ENUMERATED = 12
"""Up to so many clusters all swaps are tried (4,096)."""
_ROUNDING = 1e-12
"""Differences that are this near count as equal."""


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
        summed(flat_counts(counts), clusters) @ ratio_weights(counts, lambda rows: {"": figure(rows)})
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
    """As `paired_permutation_test`, of any figure that is a ratio of sums over clusters.

    Args:
        a: float64 (n_clusters, 2), what each cluster adds to part and whole, first system.
        b: The same of the second.
        n_permutations: Random swaps.
        seed: Of these.
        most_enumerated: Up to so many differing clusters all swaps are tried.

    Returns:
        None if the figure is undefined for one of the systems.
    """
    total_a, total_b = a.sum(0), b.sum(0)
    if not (total_a[1] and total_b[1]):
        return None
    gaps = (b - a)[(a != b).any(1)]
    gaps = gaps[row_order(gaps)]
    observed = float(total_a[0] / total_a[1] - total_b[0] / total_b[1])
    is_exact = len(gaps) <= most_enumerated
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
    first = 0
    for n_chunk in chunks(2**n_clusters, n_clusters):
        yield np.arange(first, first + n_chunk)[:, None] >> np.arange(n_clusters) & 1
        first += n_chunk


def _random_swaps(n_clusters: int, n_rows: int, seed: int) -> Iterator[Int64Array]:
    rng = np.random.default_rng(seed)
    for n_chunk in chunks(n_rows, n_clusters):
        yield rng.integers(0, 2, (n_chunk, n_clusters))


def _check_same_documents(a: Counts, b: Counts) -> None:
    """What the gold alone decides must be equal."""
    for name in ("tokens", "safe", "phi", "documents", "entities"):
        if not np.array_equal(getattr(a, name), getattr(b, name)):
            raise StageError(
                f"the two systems differ in {name} of the gold; evaluate both on the same documents, "
                "in the same order"
            )
