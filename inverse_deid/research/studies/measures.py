"""How well an order of tokens, or a choice among them, finds PHI; one token is one decision.

`needed` is the threshold above which a token is masked: the lower, the earlier. Tokens
of one value are masked together, so every figure is taken where the value changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray

Float64Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Recall and precision of masking at every threshold that matters, recall rising.

    Args:
        recall: float64 (n_points,).
        precision: float64 (n_points,).
    """

    recall: Float64Array
    precision: Float64Array


def curve(is_phi: BoolArray, needed: Float64Array) -> Curve | None:
    """The curve of an order of tokens; None without PHI.

    Args:
        is_phi: bool (n_tokens,).
        needed: float64 (n_tokens,).
    """
    n_phi = int(is_phi.sum())
    if not n_phi:
        return None
    order = np.argsort(needed, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(needed[order]) > 0, True))
    hits = np.cumsum(is_phi[order])[ends]
    return Curve(hits / n_phi, hits / (ends + 1))


def average_precision(is_phi: BoolArray, needed: Float64Array) -> float | None:
    """Mean of the precision over the steps of recall; None without PHI.

    Example:
        >>> average_precision(np.array([True, False, True]), np.array([0.1, 0.2, 0.3]))
        0.8333333333333333
    """
    points = curve(is_phi, needed)
    if points is None:
        return None
    return float((np.diff(points.recall, prepend=0.0) * points.precision).sum())


def precision_at_recall(is_phi: BoolArray, needed: Float64Array, recall: float) -> float | None:
    """Precision at the lowest threshold that reaches a recall; None without PHI.

    Example:
        >>> precision_at_recall(np.array([True, False, True]), np.array([0.1, 0.2, 0.3]), 0.5)
        1.0
    """
    points = curve(is_phi, needed)
    if points is None:
        return None
    return float(points.precision[np.searchsorted(points.recall, recall - 1e-12)])


@dataclass(frozen=True, slots=True)
class MaskedShares:
    """Recall, precision, and share of the documents with PHI that leak none; None = undefined."""

    recall: float | None
    precision: float | None
    without_leak: float | None


def masked_shares(is_phi: BoolArray, is_masked: BoolArray, documents: npt.NDArray[np.int32]) -> MaskedShares:
    """Count a choice of tokens.

    Args:
        is_phi: bool (n_tokens,).
        is_masked: bool (n_tokens,).
        documents: int32 (n_tokens,), the number of each token's document.

    Example:
        >>> flags = np.array([True, True, False])
        >>> masked_shares(flags, np.array([True, False, True]), np.array([0, 1, 1], np.int32))
        MaskedShares(recall=0.5, precision=0.5, without_leak=0.5)
    """
    hits, n_phi, n_masked = int((is_phi & is_masked).sum()), int(is_phi.sum()), int(is_masked.sum())
    with_phi = len(np.unique(documents[is_phi]))
    leaking = len(np.unique(documents[is_phi & ~is_masked]))
    return MaskedShares(
        hits / n_phi if n_phi else None,
        hits / n_masked if n_masked else None,
        1 - leaking / with_phi if with_phi else None,
    )


def mean(values: list[float | None]) -> float | None:
    """The mean of what is defined, None of nothing."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def spread(values: list[float | None]) -> float | None:
    """Largest minus smallest of what is defined, None of fewer than two."""
    known = [value for value in values if value is not None]
    return max(known) - min(known) if len(known) > 1 else None
