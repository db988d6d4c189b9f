"""Which weights a site takes and which changes it gives: the rules of distributed selective SGD.

Source: Festag and Spreckelsen 2020, "Distributed Selective Stochastic Gradient Descent" and
figure 5; Shokri and Shmatikov 2015.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import FloatArray

IndexArray = npt.NDArray[np.int64]

_ROUNDING = 1e-9
"""So that 0.29 of 100 is 29, although 0.29 * 100 is less in binary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectiveSettings:
    """What a site decides for itself; no other site learns it.

    Args:
        download: Share of the global weights taken before each epoch, in [0, 1] (theta_d).
        upload: Share of all weights whose changes are given after it at most, in [0, 1] (theta_u).
        gamma: Changes are clamped to [-gamma, gamma].
        tau: Changes that are not larger in absolute value are kept back.
    """

    download: float = 0.1
    upload: float = 0.5
    gamma: float = 10.0
    tau: float = 0.0001

    def __post_init__(self) -> None:
        for name in ("download", "upload"):
            share = getattr(self, name)
            if not 0 <= share <= 1:
                raise ConfigurationError(f"{name} is a share between 0 and 1, given {share:g}")
        if not 0 < self.gamma < math.inf or not 0 <= self.tau < math.inf:
            raise ConfigurationError("gamma is above 0, tau at least 0, both finite")


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


def n_of(share: float, n_weights: int) -> int:
    """How many weights a share is, rounded down.

    Example:
        >>> n_of(0.5, 9), n_of(0.29, 100)
        (4, 29)
    """
    return math.floor(share * n_weights + _ROUNDING)


def most_updated(counts: IndexArray, share: float, rng: np.random.Generator) -> IndexArray:
    """The weights that were updated most often.

    Args:
        counts: int64 (n_weights,), how often each was updated.
        share: theta_d.
        rng: Draws among weights of equal count, of which the paper says nothing; by
            their position, the first layers would always come first.

    Returns:
        int64 (n,), rising.

    Example:
        >>> most_updated(np.array([3, 0, 5, 1]), 0.5, np.random.default_rng(0))
        array([0, 2])
    """
    order = np.lexsort((rng.random(len(counts)), -counts))
    return np.sort(order[: n_of(share, len(counts))])


def selected_changes(changes: FloatArray, settings: SelectiveSettings, rng: np.random.Generator) -> Selected:
    """The changes that leave a site: large enough, clamped, and drawn at random down to theta_u.

    Args:
        changes: float32 (n_weights,), weights after the local epoch minus those before it.
        settings: The site's.
        rng: The site's; draws uniformly without replacement.

    Returns:
        At most theta_u of all weights; fewer where fewer changes exceed tau.

    Raises:
        ValueError: A change is not finite.
    """
    if not np.isfinite(changes).all():
        raise ValueError("a change is not a finite number")
    candidates = np.flatnonzero(np.abs(changes) > settings.tau)
    n_drawn = min(n_of(settings.upload, len(changes)), len(candidates))
    drawn = np.sort(rng.choice(candidates, n_drawn, replace=False)) if n_drawn else candidates[:0]
    gamma = np.float32(settings.gamma)
    return Selected(drawn, np.clip(changes[drawn], -gamma, gamma).astype(np.float32))
