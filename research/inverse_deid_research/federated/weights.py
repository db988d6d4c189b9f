"""The weights that sites share, in a fixed order; the networks and the changes that sites send back.

The matrix of word vectors is public and fixed, and never among the weights: a changed row would
tell that its word occurs in a site's documents.

Source of distributed selective SGD: Festag and Spreckelsen 2020, "Distributed Selective Stochastic
Gradient Descent" and figure 5; Shokri and Shmatikov 2015.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError, UpdateError
from inverse_deid.core.values import FloatArray
from inverse_deid_research.federated.settings import SelectiveSettings

if TYPE_CHECKING:
    import keras

IndexArray = npt.NDArray[np.int64]
Weights = list[FloatArray]
"""One float32 array a variable, in the order of the layout."""

_ROUNDING = 1e-9
"""So that 0.29 of 100 is 29, although 0.29 * 100 is less in binary."""


@dataclass(frozen=True, slots=True)
class WeightLayout:
    """Which weights are shared, in order."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def n_numbers(self) -> int:
        return sum(int(np.prod(shape)) for shape in self.shapes)

    @property
    def fingerprint(self) -> str:
        """Changes with any name or shape."""
        return hashlib.sha256(repr((self.names, self.shapes)).encode()).hexdigest()

    def flatten(self, weights: Sequence[FloatArray]) -> FloatArray:
        """Join all numbers in one vector: float32 (n_numbers,)."""
        return np.concatenate([np.asarray(array, np.float32).ravel() for array in weights])

    def split(self, vector: FloatArray) -> Weights:
        """Cut a vector, float32 (n_numbers,), into the arrays."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = np.split(vector, ends)
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]


def read_layout(network: keras.Model) -> WeightLayout:
    """Return the layout of trainable weights; `ConfigurationError` if word vectors are among them."""
    variables: list[Any] = network.trainable_variables
    if any(variable.path.startswith("word_embedding/") for variable in variables):
        raise ConfigurationError(
            "network.learn_words must be false: changed word vectors tell which words a site has"
        )
    return WeightLayout(
        tuple(variable.path for variable in variables), tuple(tuple(v.shape) for v in variables)
    )


def copy_weights(network: keras.Model) -> Weights:
    return [np.asarray(variable).copy() for variable in network.trainable_variables]


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """The network of a site after its epoch; the tokens it trained on are its weight in a mean."""

    weights: Weights = field(repr=False)
    n_tokens: int

    def find_problem(self, layout: WeightLayout) -> str | None:
        """Describe in a few words why the update cannot be used; None if it can."""
        if tuple(array.shape for array in self.weights) != layout.shapes:
            return "sent weights of a wrong shape"
        if not all(np.issubdtype(array.dtype, np.floating) for array in self.weights):
            return "sent weights that are not floating-point numbers"
        if not all(np.isfinite(array).all() for array in self.weights):
            return "sent a weight that is not a finite number"
        if self.n_tokens < 1:
            return "trained on no token"
        return None


def average_weights(updates: Sequence[Update]) -> Weights:
    """Return the mean of at least one network, weighted by the tokens that each was trained on (FedAvg).

    Source: McMahan et al. 2017, algorithm 1.
    """
    n_tokens = np.array([update.n_tokens for update in updates], np.float64)
    shares = n_tokens / n_tokens.sum()
    stacked = zip(*(update.weights for update in updates), strict=True)
    return [
        np.einsum("s...,s->...", np.stack(arrays).astype(np.float64), shares).astype(np.float32)
        for arrays in stacked
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Selected:
    """Some of the numbers of a vector: int64 (n,) indices, rising, none twice, and float32 (n,) values."""

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
    """Choose the share theta_d of the weights that were updated most often: int64 (n,), rising.

    `counts`, int64 (n_weights,), says how often each was updated. `rng` draws among weights of equal count,
    which the paper leaves open. Chosen by position, the first layers would always come first.

    Example:
        >>> choose_most_updated(np.array([3, 0, 5, 1]), 0.5, np.random.default_rng(0))
        array([0, 2])
    """
    order = np.lexsort((rng.random(len(counts)), -counts))
    return np.sort(order[: count_share(share, len(counts))])


def select_changes(changes: FloatArray, settings: SelectiveSettings, rng: np.random.Generator) -> Selected:
    """Choose the changes that leave a site: large enough, clamped, and drawn at random down to theta_u.

    Changes are float32 (n_weights,), weights after the local epoch minus those before it; `ValueError` if
    one is not finite. At most theta_u of all weights leave; fewer where fewer changes exceed tau.
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
        self.weights = np.array(weights, np.float32)
        self.counts = np.zeros(len(weights), np.int64) if counts is None else np.array(counts, np.int64)

    def download(self, share: float, rng: np.random.Generator) -> Selected:
        """Return the share of the weights that was updated most often, with their present values."""
        indices = choose_most_updated(self.counts, share, rng)
        return Selected(indices, self.weights[indices])

    def upload(self, changes: Selected) -> None:
        """Add changes to the weights and count them.

        `UpdateError` if a change is not finite or out of range, or occurs twice; then nothing was changed.
        """
        indices, values = changes.indices, changes.values
        if indices.shape != values.shape or indices.ndim != 1:
            raise UpdateError("sent changes of a wrong shape")
        in_range = len(indices) == 0 or (indices.min() >= 0 and indices.max() < len(self.weights))
        if not in_range or len(np.unique(indices)) != len(indices):
            raise UpdateError("sent changes of weights that do not exist, or changed one twice")
        if not np.isfinite(values).all():
            raise UpdateError("sent a change that is not a finite number")
        self.weights[indices] += values
        self.counts[indices] += 1
