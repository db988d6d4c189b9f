"""Sentences, or their vectors, gathered into padded batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray, FloatArray, IntArray
from inverse_deid.research.representations.casing import CasingArray
from inverse_deid.research.representations.sentences import Sentence

_FEWEST_STEPS = 2
"""A batch has at least so many columns: a chain over one would have no step."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorSentence:
    """A sentence as a sequence of vectors: of words, or private ones.

    Args:
        vectors: float32 (n_tokens, dim).
        casings: uint8 (n_tokens,).
        classes: int32 (n_tokens,), index into `HyperClass`.
    """

    vectors: FloatArray = field(repr=False)
    casings: CasingArray = field(repr=False)
    classes: IntArray = field(repr=False)

    def __len__(self) -> int:
        return len(self.vectors)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Padded sentences.

    Args:
        vectors: float32 (batch, time, dim), 0 on padding.
        casings: int32 (batch, time).
        classes: int32 (batch, time).
        valid: bool (batch, time).
    """

    vectors: FloatArray = field(repr=False)
    casings: IntArray = field(repr=False)
    classes: IntArray = field(repr=False)
    valid: BoolArray = field(repr=False)


def with_vectors(sentences: Sequence[Sentence], matrix: FloatArray) -> list[VectorSentence]:
    """Look the words of sentences up.

    Args:
        sentences: Any.
        matrix: float32 (n_words + 1, dim); row 0 is zero.
    """
    return [VectorSentence(matrix[s.rows], s.casings, s.classes) for s in sentences]


def padded(sentences: Sequence[VectorSentence]) -> Batch:
    """Pad sentences to the length of the longest."""
    lengths = np.array([len(sentence) for sentence in sentences])
    longest = max(_FEWEST_STEPS, int(lengths.max()))
    return Batch(
        vectors=stacked([s.vectors for s in sentences], longest, np.float32),
        casings=stacked([s.casings for s in sentences], longest, np.int32),
        classes=stacked([s.classes for s in sentences], longest, np.int32),
        valid=np.arange(longest) < lengths[:, None],
    )


def stacked(rows: Sequence[npt.NDArray[np.generic]], longest: int, dtype: npt.DTypeLike) -> np.ndarray:
    """Rows of unequal length one above the other, padded with 0 to `longest`."""
    full = np.zeros((len(rows), longest, *rows[0].shape[1:]), dtype)
    for i, row in enumerate(rows):
        full[i, : len(row)] = row
    return full


def batch_numbers(lengths: Sequence[int], size: int, rng: np.random.Generator | None) -> Iterator[list[int]]:
    """Which sentences go together: those of similar length, the batches in random order.

    Args:
        lengths: Tokens of each sentence.
        size: Sentences a batch.
        rng: Breaks ties and orders the batches; without one the order is by length.
    """
    jitter = rng.uniform(0, 4, len(lengths)) if rng is not None else np.zeros(len(lengths))
    order = np.argsort(np.array(lengths) + jitter, kind="stable").tolist()
    groups = [order[start : start + size] for start in range(0, len(order), size)]
    for group in rng.permutation(len(groups)) if rng is not None else range(len(groups)):
        yield groups[group]


def batches(
    sentences: Sequence[VectorSentence], size: int, rng: np.random.Generator | None = None
) -> Iterator[Batch]:
    """All sentences once, in batches of `size`; see `batch_numbers`."""
    for numbers in batch_numbers([len(sentence) for sentence in sentences], size, rng):
        yield padded([sentences[i] for i in numbers])
