"""The weights that sites share, in a fixed order; the networks that sites send back, and their mean.

The matrix of word vectors is public and fixed, and never among the weights: a changed row would
tell that its word occurs in a site's documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import FloatArray

if TYPE_CHECKING:
    import keras

Weights = list[FloatArray]
"""One float32 array a variable, in the order of the layout."""

_WORD_MATRIX = "word_embedding/"


@dataclass(frozen=True, slots=True)
class WeightLayout:
    """Which weights are shared, in order."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def n_numbers(self) -> int:
        """Numbers of all arrays together."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    @property
    def fingerprint(self) -> str:
        """Changes with any name or shape."""
        return hashlib.sha256(repr((self.names, self.shapes)).encode()).hexdigest()

    def flatten(self, weights: Sequence[FloatArray]) -> FloatArray:
        """Join all numbers in one vector: float32 (n_numbers,).

        Example:
            >>> arrays = [np.ones(2, np.float32), np.zeros((1, 1), np.float32)]
            >>> WeightLayout(("a", "b"), ((2,), (1, 1))).flatten(arrays)
            array([1., 1., 0.], dtype=float32)
        """
        return np.concatenate([np.asarray(array, np.float32).ravel() for array in weights])

    def split(self, vector: FloatArray) -> Weights:
        """Cut a vector, float32 (n_numbers,), into the arrays."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = np.split(vector, ends)
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]


def read_layout(network: keras.Model) -> WeightLayout:
    """Return the layout of trainable weights; `ConfigurationError` if word vectors are among them."""
    variables: list[Any] = network.trainable_variables
    if any(variable.path.startswith(_WORD_MATRIX) for variable in variables):
        raise ConfigurationError(
            "network.learn_words must be false: changed word vectors tell which words a site has"
        )
    return WeightLayout(
        tuple(variable.path for variable in variables), tuple(tuple(v.shape) for v in variables)
    )


def copy_weights(network: keras.Model) -> Weights:
    """Return copies of the trainable weights."""
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
