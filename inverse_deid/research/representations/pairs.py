"""Real and fake pairs for the adversaries: the same sentence, or one with one PHI token moved.

Of a sentence and its moved twin, either is on either side equally often, in real
pairs as in fake ones. So one side alone says nothing of the answer: an adversary that only
notices odd words stays at chance, and what it gains it gains from the representation.

Source: Friedrich et al. 2019, section 5.3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import BoolArray, FloatArray
from inverse_deid.research.representations.batches import batch_numbers, stacked, with_vectors
from inverse_deid.research.representations.neighbours import Neighbours
from inverse_deid.research.representations.sentences import Sentence


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two sentences of one length.

    Args:
        first: What the representation under attack is made of.
        second: What it is compared with: its words, and their representation.
        same: Whether they are the same sentence.
        moved: Place of the token that differs between a sentence and its twin.
    """

    first: Sentence = field(repr=False)
    second: Sentence = field(repr=False)
    same: bool
    moved: int


@dataclass(frozen=True, slots=True, eq=False)
class PairBatch:
    """Padded pairs.

    Args:
        first: float32 (batch, time, word_dim), word vectors.
        second: float32 (batch, time, word_dim), word vectors.
        valid: bool (batch, time).
        same: float32 (batch,), 1 = the same sentence.
    """

    first: FloatArray = field(repr=False)
    second: FloatArray = field(repr=False)
    valid: BoolArray = field(repr=False)
    same: FloatArray = field(repr=False)


def movable_sentences(sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences that have a PHI token with neighbours.

    Raises:
        ConfigurationError: There is none.
    """
    found = [sentence for sentence in sentences if sentence.movable.any()]
    if not found:
        raise ConfigurationError(
            "no PHI token of the documents has a word vector, so none can be moved. "
            "Give word vectors with names and places"
        )
    return found


def twin(sentence: Sentence, table: Neighbours, rng: np.random.Generator) -> tuple[Sentence, int]:
    """The sentence with one of its PHI tokens moved to a neighbour other than itself, and which."""
    place = int(rng.choice(np.flatnonzero(sentence.movable)))
    nearest = table.of(sentence.rows[place : place + 1])[0]
    rows = sentence.rows.copy()
    rows[place] = nearest[rng.integers(1, table.n)]
    return dataclasses.replace(sentence, rows=rows), place


def pairs(sentences: Sequence[Sentence], table: Neighbours, rng: np.random.Generator) -> list[Pair]:
    """A real and a fake pair of every sentence.

    Args:
        sentences: From `movable_sentences`.
        table: Neighbours of their PHI tokens, N at least 2.
        rng: Draws tokens, neighbours and sides.
    """
    made = []
    for sentence in sentences:
        moved, place = twin(sentence, table, rng)
        sides = [sentence, moved]
        real, fake = int(rng.integers(2)), int(rng.integers(2))
        made.append(Pair(sides[real], sides[real], same=True, moved=place))
        made.append(Pair(sides[fake], sides[1 - fake], same=False, moved=place))
    return made


def pair_batches(
    given: Sequence[Pair], matrix: FloatArray, size: int, rng: np.random.Generator | None = None
) -> Iterator[PairBatch]:
    """All pairs once, in batches of `size`; word vectors are looked up in `matrix`."""
    for numbers in batch_numbers([len(pair.first) for pair in given], size, rng):
        chosen = [given[i] for i in numbers]
        longest = max(len(pair.first) for pair in chosen)
        sides = [
            with_vectors(side, matrix) for side in ([p.first for p in chosen], [p.second for p in chosen])
        ]
        first, second = (stacked([s.vectors for s in side], longest, np.float32) for side in sides)
        lengths = np.array([len(pair.first) for pair in chosen])
        valid = np.arange(longest) < lengths[:, None]
        yield PairBatch(first, second, valid, np.array([pair.same for pair in chosen], np.float32))
