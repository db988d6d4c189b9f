"""The numbers that sites share: trainable weights in a fixed order, as arrays or as one vector.

The matrix of word vectors is public and fixed, and never among them: a row that had
changed would tell that the word stands in a site's documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
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
class Layout:
    """Which weights are shared, in order.

    Args:
        names: Path of each variable.
        shapes: Shape of each.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def n_numbers(self) -> int:
        """How many numbers all arrays hold together."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    @property
    def fingerprint(self) -> str:
        """Changes with any name or shape."""
        return hashlib.sha256(repr((self.names, self.shapes)).encode()).hexdigest()

    def fits(self, weights: Sequence[np.ndarray]) -> bool:
        """Whether arrays have these shapes."""
        return tuple(tuple(array.shape) for array in weights) == self.shapes

    def flat(self, weights: Sequence[FloatArray]) -> FloatArray:
        """All numbers as one vector: float32 (n_numbers,).

        Example:
            >>> arrays = [np.ones(2, np.float32), np.zeros((1, 1), np.float32)]
            >>> Layout(("a", "b"), ((2,), (1, 1))).flat(arrays)
            array([1., 1., 0.], dtype=float32)
        """
        return np.concatenate([np.asarray(array, np.float32).ravel() for array in weights])

    def arrays(self, vector: FloatArray) -> Weights:
        """The arrays that make up a vector.

        Args:
            vector: float32 (n_numbers,).
        """
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = np.split(vector, ends)
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]


def layout_of(network: keras.Model) -> Layout:
    """The layout of a network's trainable weights.

    Raises:
        ConfigurationError: Its word vectors are trainable.
    """
    variables: list[Any] = network.trainable_variables
    if any(variable.path.startswith(_WORD_MATRIX) for variable in variables):
        raise ConfigurationError(
            "network.learn_words cannot be used by sites together: changed word vectors tell their words; "
            "set it to false"
        )
    return Layout(tuple(variable.path for variable in variables), tuple(tuple(v.shape) for v in variables))


def weights_of(network: keras.Model) -> Weights:
    """Copies of the trainable weights."""
    return [np.asarray(variable).copy() for variable in network.trainable_variables]
