"""The agreement of two people who judged the same things on an ordered scale.

Agreement is observed and beyond chance (Cohen's kappa, unweighted and with linear
weights: one step apart is half as far as two). Judgements in one document are not
independent, so intervals come from resampled documents.

Source: Cohen 1960 (kappa), Cohen 1968 (weighted kappa).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inverse_deid.core.values import BoolArray
from inverse_deid.evaluation.counts import Int64Array
from inverse_deid.evaluation.figures import Share
from inverse_deid.evaluation.resampling import N_RESAMPLES
from inverse_deid.evaluation.uncertainty import CONFIDENCE, Float64Array

NOT_JUDGED = -1

_MAX_UNDEFINED = 0.05
"""An interval is left out if more than this share of the resamples leaves kappa undefined."""


@dataclass(frozen=True, slots=True)
class Kappa:
    """Agreement beyond chance, in [-1, 1].

    Args:
        value: None if chance alone leaves no room for disagreement.
        low: Lower end of the interval; None if there are too few documents for one.
        high: Upper end.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """The judgements of things that two people both judged.

    Args:
        observed: Things that both judged equally.
        kappa: Every disagreement counts equally.
        linear_kappa: A disagreement counts by its number of steps.
        table: Things by the judgement of the first (rows) and the second (columns).
    """

    observed: Share
    kappa: Kappa
    linear_kappa: Kappa
    table: tuple[tuple[int, ...], ...]


def measure_agreement(judgements: Int64Array, documents: Int64Array, *, n_steps: int, seed: int) -> Agreement:
    """Compare the judgements of two people.

    Args:
        judgements: int64 (2, n), in [0, n_steps), or `NOT_JUDGED`.
        documents: int64 (n,), number of the document of each thing.
        n_steps: Of the scale.
        seed: Of the resampling of documents.
    """
    both: BoolArray = (judgements != NOT_JUDGED).all(0)
    first, second = judgements[:, both]
    _, numbers = np.unique(documents[both], return_inverse=True)
    tables = np.zeros((int(numbers.max(initial=-1)) + 1, n_steps, n_steps))
    np.add.at(tables, (numbers, first, second), 1)
    drawn = _resample_tables(tables, seed)
    table = tables.sum(0)
    return Agreement(
        Share(int(np.trace(table)), int(table.sum())),
        _estimate_kappa(table, drawn, _weigh_equally(n_steps)),
        _estimate_kappa(table, drawn, _weigh_by_steps(n_steps)),
        tuple(tuple(int(n) for n in row) for row in table),
    )


def cohen_kappa(table: Sequence[Sequence[int]], *, linear: bool = False) -> float | None:
    """Return Cohen's kappa of the judgements of two people, or None if it is undefined.

    Args:
        table: Counts, (n_steps, n_steps), as in `Agreement.table`.
        linear: A disagreement counts by its number of steps.

    Example:
        >>> cohen_kappa([[20, 5, 0], [10, 15, 0], [0, 0, 0]])
        0.4
    """
    weigh = _weigh_by_steps if linear else _weigh_equally
    value = _compute_kappas(np.asarray(table, np.float64), weigh(len(table)))
    return None if np.isnan(value) else float(value)


def _weigh_equally(n_steps: int) -> Float64Array:
    """Return weights of disagreement, (n_steps, n_steps), all equal."""
    return np.asarray(1.0 - np.eye(n_steps), np.float64)


def _weigh_by_steps(n_steps: int) -> Float64Array:
    """Return weights of disagreement, (n_steps, n_steps), by distance, 1 from end to end."""
    steps = np.arange(n_steps)
    return np.asarray(np.abs(np.subtract.outer(steps, steps)) / max(n_steps - 1.0, 1.0), np.float64)


def _resample_tables(tables: Float64Array, seed: int) -> Float64Array:
    """Return the tables of resamples, (n_resamples, n_steps, n_steps). One document has no resamples."""
    n_documents = len(tables)
    if n_documents < 2:
        return tables[:0]
    evenly = np.full(n_documents, 1 / n_documents)
    times = np.random.default_rng(seed).multinomial(n_documents, evenly, N_RESAMPLES)
    return np.asarray(np.tensordot(times.astype(np.float64), tables, 1), np.float64)


def _estimate_kappa(table: Float64Array, drawn: Float64Array, weights: Float64Array) -> Kappa:
    value = _compute_kappas(table, weights)
    resampled = _compute_kappas(drawn, weights)
    defined = resampled[~np.isnan(resampled)]
    if np.isnan(value):
        return Kappa(None)
    if len(defined) < (1 - _MAX_UNDEFINED) * N_RESAMPLES or np.ptp(defined) == 0:
        return Kappa(float(value))
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Kappa(float(value), float(low), float(high))


def _compute_kappas(tables: Float64Array, weights: Float64Array) -> Float64Array:
    """Return kappa of each table (..., n_steps, n_steps), NaN where it is undefined."""
    n = tables.sum((-2, -1))
    by_chance = tables.sum(-1)[..., :, None] * tables.sum(-2)[..., None, :]
    found, expected = (weights * tables).sum((-2, -1)) * n, (weights * by_chance).sum((-2, -1))
    undefined = expected == 0
    return np.asarray(np.where(undefined, np.nan, 1 - found / np.where(undefined, 1, expected)), np.float64)
