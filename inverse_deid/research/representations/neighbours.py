"""The nearest words of a word by cosine, computed once for the words that need them.

Source: Friedrich et al. 2019, section 4. The search is scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import FloatArray, IntArray
from inverse_deid.research.representations.sentences import Sentence


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The N nearest rows of some rows of a word matrix.

    Args:
        rows: int32 (n_rows,), sorted: the words that have an entry.
        nearest: int32 (n_rows, N); the first column is the word itself, nearer ones come first.
    """

    rows: IntArray = field(repr=False)
    nearest: IntArray = field(repr=False)

    @property
    def n(self) -> int:
        """N: the choices for each word, itself included."""
        return int(self.nearest.shape[1])

    def of(self, rows: IntArray) -> IntArray:
        """int32 (len(rows), N); every row must have an entry."""
        return self.nearest[np.searchsorted(self.rows, rows)]


def neighbours(matrix: FloatArray, rows: IntArray, n: int) -> Neighbours:
    """Find the nearest rows by cosine, the row itself first.

    Args:
        matrix: float32 (n_words + 1, word_dim); row 0 stands for unknown words and is never a neighbour.
        rows: int32 (any,), rows to look up; may repeat, 0 is passed over.
        n: How many, the word itself included; 1 to n_words.

    Raises:
        ConfigurationError: `n` is out of range.

    Example:
        >>> plane = np.array([[0, 0], [1, 0], [0, 1], [1, 0.1]], np.float32)
        >>> neighbours(plane, np.array([1, 1, 2], np.int32), 2).nearest.tolist()
        [[1, 3], [2, 3]]
    """
    from sklearn.neighbors import NearestNeighbors

    if not 1 <= n <= len(matrix) - 1:
        raise ConfigurationError(
            f"{n} neighbours are asked for and {len(matrix) - 1} words have a vector. Give 1 to that many"
        )
    wanted = np.unique(rows[rows > 0]).astype(np.int32)
    if not len(wanted):
        return Neighbours(wanted, np.zeros((0, n), np.int32))
    search = NearestNeighbors(n_neighbors=n, metric="cosine", algorithm="brute").fit(matrix[1:])
    found = search.kneighbors(matrix[wanted], return_distance=False).astype(np.int32) + 1
    return Neighbours(wanted, _itself_first(wanted, found))


def _itself_first(rows: IntArray, found: IntArray) -> IntArray:
    """Words of one direction tie with the word itself: put it first, drop it elsewhere, or the last."""
    is_self = found == rows[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    others = found[~is_self].reshape(len(found), -1)
    return np.concatenate([rows[:, None], others], axis=1)


def phi_neighbours(matrix: FloatArray, sentences: Sequence[Sentence], n: int) -> Neighbours:
    """The neighbours of all PHI tokens of some sentences; fails as `neighbours` does."""
    moved = [sentence.rows[sentence.movable] for sentence in sentences]
    return neighbours(matrix, np.concatenate([np.zeros(0, np.int32), *moved]), n)
