"""The server of distributed selective SGD: global weights and how often each was updated."""

from __future__ import annotations

import numpy as np

from inverse_deid.core.errors import UpdateError
from inverse_deid.core.values import FloatArray
from inverse_deid.research.federated.selection import IndexArray, Selected, most_updated


class ParameterServer:
    """Holds no data and manages nobody: sites take and give whenever they like.

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
        """The share of the weights that was updated most often, with their values now."""
        indices = most_updated(self._counts, share, rng)
        return Selected(indices, self._weights[indices])

    def upload(self, changes: Selected) -> None:
        """Add changes to the weights and count them.

        Raises:
            UpdateError: Not finite, out of range, or an index twice; nothing was changed.
        """
        indices, values = changes.indices, changes.values
        if indices.shape != values.shape or indices.ndim != 1:
            raise UpdateError("sent changes of a wrong shape")
        in_range = len(indices) == 0 or (indices.min() >= 0 and indices.max() < len(self._weights))
        if not in_range or len(np.unique(indices)) != len(indices):
            raise UpdateError("sent changes of weights that do not exist, or twice of one")
        if not np.isfinite(values).all():
            raise UpdateError("sent a change that is not a finite number")
        self._weights[indices] += values
        self._counts[indices] += 1
