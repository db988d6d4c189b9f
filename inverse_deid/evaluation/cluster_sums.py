"""Counts summed by cluster, and what each count adds to a figure.

A cluster is what is drawn or swapped as one: a document, or a group of documents such as
those of one patient. Every figure is a ratio of sums over documents.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import fields
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import StageError
from inverse_deid.evaluation.counts import Counts
from inverse_deid.evaluation.figures import Share
from inverse_deid.evaluation.gold_tokens import Int64Array
from inverse_deid.evaluation.uncertainty import Float64Array

Figure = Callable[[Counts], Share]
Key = TypeVar("Key", bound=Hashable)

_MAX_CELLS = 1 << 21
"""Of the weights that are in memory at a time."""


def chunks(n_rows: int, n_columns: int) -> Iterator[int]:
    """Numbers of rows of so many columns that are small enough for the memory and add up to `n_rows`."""
    most = max(1, _MAX_CELLS // max(1, n_columns))
    for first in range(0, n_rows, most):
        yield min(most, n_rows - first)


def row_order(rows: Float64Array) -> Int64Array:
    """Sorts rows, so that the order of documents changes no draw: int64 (n_rows,)."""
    return np.lexsort(rows.T[::-1]) if rows.size else np.arange(len(rows))


def flat_counts(counts: Counts) -> Float64Array:
    """float64 (n_documents, n_columns): all counts of a document in a row."""
    columns = [getattr(counts, entry.name) for entry in fields(counts)]
    return (
        np.hstack([column.reshape(len(counts), int(np.prod(column.shape[1:]))) for column in columns]) * 1.0
    )


def summed(rows: Float64Array, clusters: npt.ArrayLike | None) -> Float64Array:
    """The sum of the rows of each cluster: float64 (n_clusters, n_columns).

    Args:
        rows: float64 (n_documents, n_columns).
        clusters: (n_documents,), equal numbers or names for documents of one cluster; None:
            each document by itself.

    Raises:
        StageError: Clusters of another length.
    """
    if clusters is None:
        return rows
    names = np.asarray(clusters)
    if names.shape != (len(rows),):
        raise StageError(f"clusters of shape {names.shape} for {len(rows):,} documents; give one a document")
    found, numbers = np.unique(names, return_inverse=True)
    sums = np.zeros((len(found), rows.shape[1]))
    np.add.at(sums, numbers, rows)
    return sums


def ratio_weights(counts: Counts, figures: Callable[[Counts], Mapping[Key, Share]]) -> Float64Array:
    """float64 (n_columns, 2 * n_figures): what each count adds to part and whole of each figure.

    A ratio of sums weighs a count alike in all documents: the weights are what the
    figures are for a single count of one. Counts that are 0 everywhere weigh nothing.
    """
    totals = flat_counts(counts.total())
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
