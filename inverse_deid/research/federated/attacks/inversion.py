"""What a change of weights tells of the documents that it was learned from.

Two readings, both exact where they apply. *Characters*: the weights of a character that does
not occur do not move. *Words*: the change of a token LSTM's kernel is a sum over tokens of the
token's input times an error; so its rows for the word vectors span no more than the vectors of
the words that occur. The vocabulary is public: a word whose vector lies in that span did occur.
With as many different words as dimensions the span is the whole space, and tells nothing.

Source: Petrov et al. 2024, "DAGER: Exact Gradient Inversion for Large Language Models"
(the span check), here for an LSTM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import FloatArray
from inverse_deid.network.batches import Example
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.encoding import PAD, character_codes, one_hot_characters
from inverse_deid.research.federated.weights import Layout

_FAINTEST = 1e-5
"""Directions of the span that are weaker than this share of the strongest one are rounding."""
_FARTHEST = 0.05
"""A vector this far from the span, as a share of its length, is not in it."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What an attempt named, against what was there.

    Args:
        right: Named and there.
        named: Named.
        there: To be named.
    """

    right: int
    named: int
    there: int

    @property
    def precision(self) -> float | None:
        """Share of the named that were there; None if nothing was named."""
        return self.right / self.named if self.named else None

    @property
    def recall(self) -> float | None:
        """Share of what was there that was named."""
        return self.right / self.there if self.there else None


def recovered(named: set[int], there: set[int]) -> Recovered:
    """Compare.

    Example:
        >>> recovered({1, 2, 3}, {2, 3, 4, 5}).precision
        0.6666666666666666
    """
    return Recovered(len(named & there), len(named), len(there))


def named_characters(change: Sequence[FloatArray], layout: Layout, config: NetworkConfig) -> set[int]:
    """Numbers of the characters that a change of weights gives away.

    Args:
        change: After - before, as arrays.
        layout: Of the weights.
        config: Of the network. Learned characters are numbered by their code, one-hot ones by
            their dimension.
    """
    part = "character_embedding/" if config.characters == "learned" else "character_lstm/"
    arrays = [array for name, array in _named(change, layout, part) if not name.endswith(_NO_INPUT)]
    moved = np.any([np.any(array != 0, axis=1) for array in arrays], axis=0)
    return set(np.flatnonzero(moved).tolist())


def characters_there(examples: Sequence[Example], config: NetworkConfig) -> set[int]:
    """Those that the network read."""
    words = sorted({word for example in examples for word in example.words})
    codes, _ = character_codes(words, config.max_characters)
    there = np.unique(codes[codes != PAD])
    if config.characters == "one-hot":
        there = np.unique(one_hot_characters(config.char_dim)[there].argmax(axis=1))
    return set(there.tolist())


def named_words(
    change: Sequence[FloatArray], layout: Layout, config: NetworkConfig, matrix: FloatArray
) -> set[int]:
    """Rows of the public word matrix that a change of weights gives away.

    Args:
        change: After - before, as arrays.
        layout: Of the weights.
        config: Of the network.
        matrix: float32 (n_words + 1, word_dim); row 0 stands for unknown words.
    """
    start = 2 * config.char_units
    part = slice(start, start + config.word_dim)
    kernels = [array[part] for name, array in _named(change, layout, "token_lstm_0/") if _is_kernel(name)]
    span = _span(np.concatenate(kernels, axis=1).astype(np.float64))
    if span.shape[1] in (0, config.word_dim):
        return set()
    vectors = matrix[1:].astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1)
    away = np.sqrt(np.maximum(lengths**2 - ((vectors @ span) ** 2).sum(axis=1), 0))
    near = (away <= _FARTHEST * lengths) & (lengths > 0)
    return set((np.flatnonzero(near) + 1).tolist())


def words_there(examples: Sequence[Example]) -> set[int]:
    """Rows of the known words."""
    rows = {int(row) for example in examples for row in example.word_rows}
    return rows - {0}


_NO_INPUT = ("recurrent_kernel", "bias")


def _is_kernel(name: str) -> bool:
    return name.endswith("kernel") and not name.endswith("recurrent_kernel")


def _named(change: Sequence[FloatArray], layout: Layout, part: str) -> list[tuple[str, FloatArray]]:
    return [(name, array) for name, array in zip(layout.names, change, strict=True) if part in name]


def _span(columns: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """An orthonormal basis of what columns span, without rounding: (n_rows, rank)."""
    left, strengths, _ = np.linalg.svd(columns, full_matrices=False)
    if not strengths.any():
        return left[:, :0]
    return left[:, strengths > _FAINTEST * strengths[0]]
