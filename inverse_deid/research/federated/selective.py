"""Distributed selective SGD: which weights a site takes, which changes it gives, and the server between.

Source: Festag and Spreckelsen 2020, "Distributed Selective Stochastic Gradient Descent" and
figure 5; Shokri and Shmatikov 2015.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import UpdateError
from inverse_deid.core.values import FloatArray
from inverse_deid.research.federated.settings import SelectiveSettings

IndexArray = npt.NDArray[np.int64]

_ROUNDING = 1e-9
"""So that 0.29 of 100 is 29, although 0.29 * 100 is less in binary."""


@dataclass(frozen=True, slots=True, eq=False)
class Selected:
    """Some of the numbers of a vector.

    Args:
        indices: int64 (n,), rising, no index twice.
        values: float32 (n,), the weights or changes there.
    """

    indices: IndexArray
    values: FloatArray

    def __len__(self) -> int:
        return len(self.indices)


def count_share(share: float, n_weights: int) -> int:
    """Return how many weights a share is, rounded down.

    Example:
        >>> count_share(0.5, 9), count_share(0.29, 100)
        (4, 29)
    """
    return math.floor(share * n_weights + _ROUNDING)


def choose_most_updated(counts: IndexArray, share: float, rng: np.random.Generator) -> IndexArray:
    """Choose the weights that were updated most often.

    Args:
        counts: int64 (n_weights,), how often each was updated.
        share: theta_d.
        rng: Draws among weights of equal count, which the paper leaves open. Chosen by
            position, the first layers would always come first.

    Returns:
        int64 (n,), rising.

    Example:
        >>> choose_most_updated(np.array([3, 0, 5, 1]), 0.5, np.random.default_rng(0))
        array([0, 2])
    """
    order = np.lexsort((rng.random(len(counts)), -counts))
    return np.sort(order[: count_share(share, len(counts))])


def select_changes(changes: FloatArray, settings: SelectiveSettings, rng: np.random.Generator) -> Selected:
    """Choose the changes that leave a site: large enough, clamped, and drawn at random down to theta_u.

    Changes are float32 (n_weights,), weights after the local epoch minus those before it. At most
    theta_u of all weights leave; fewer where fewer changes exceed tau.

    Raises:
        ValueError: A change is not finite.
    """
    if not np.isfinite(changes).all():
        raise ValueError("a change is not a finite number")
    candidates = np.flatnonzero(np.abs(changes) > settings.tau)
    n_drawn = min(count_share(settings.upload, len(changes)), len(candidates))
    drawn = np.sort(rng.choice(candidates, n_drawn, replace=False)) if n_drawn else candidates[:0]
    gamma = np.float32(settings.gamma)
    return Selected(drawn, np.clip(changes[drawn], -gamma, gamma).astype(np.float32))


class ParameterServer:
    """Global weights and how often each was updated; sites take and give whenever they like.

    Args:
        weights: float32 (n_weights,), the common start; copied.
        counts: int64 (n_weights,), updates so far; None = none. Copied.
    """

    def __init__(self, weights: FloatArray, counts: IndexArray | None = None) -> None:
        self._weights = np.array(weights, np.float32)
        self._counts = np.zeros(len(weights), np.int64) if counts is None else np.array(counts, np.int64)

    @property
    def weights(self) -> FloatArray:
        """A copy of the global weights: float32 (n_weights,)."""
        return self._weights.copy()

    @property
    def counts(self) -> IndexArray:
        """A copy of the update counts: int64 (n_weights,)."""
        return self._counts.copy()

    def download(self, share: float, rng: np.random.Generator) -> Selected:
        """Return the share of the weights that was updated most often, with their present values."""
        indices = choose_most_updated(self._counts, share, rng)
        return Selected(indices, self._weights[indices])

    def upload(self, changes: Selected) -> None:
        """Add changes to the weights and count them.

        Raises:
            UpdateError: A change is not finite or out of range, or occurs twice. Nothing was changed.
        """
        indices, values = changes.indices, changes.values
        if indices.shape != values.shape or indices.ndim != 1:
            raise UpdateError("sent changes of a wrong shape")
        in_range = len(indices) == 0 or (indices.min() >= 0 and indices.max() < len(self._weights))
        if not in_range or len(np.unique(indices)) != len(indices):
            raise UpdateError("sent changes of weights that do not exist, or changed one twice")
        if not np.isfinite(values).all():
            raise UpdateError("sent a change that is not a finite number")
        self._weights[indices] += values
        self._counts[indices] += 1
