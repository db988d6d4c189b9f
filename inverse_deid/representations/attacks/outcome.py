"""What an attack achieved, and what guessing achieves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import keras
import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import BoolArray, FloatArray, IntArray
from inverse_deid.representations.sentences import Sentence

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What an attacker has, and what he attacks.

    Args:
        representer: The frozen representation, which is published.
        known: Sentences of his own documents.
        held_out: Sentences of other documents, which the representation was not trained on;
            their PHI tokens that have a vector are what he is after.
        matrix: float32 (n_words + 1, word_dim), row 0 is zero.
    """

    representer: keras.Model = field(repr=False)
    known: Sequence[Sentence] = field(repr=False)
    held_out: Sequence[Sentence] = field(repr=False)
    matrix: FloatArray = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """An attack on held-out documents.

    Args:
        name: What was tried, in a few words.
        hits: int64 (n_documents,), how often it was right in each document.
        trials: int64 (n_documents,), how often it was tried.
        chance: Share that is right without the representation.
    """

    name: str
    hits: Int64Array = field(repr=False)
    trials: Int64Array = field(repr=False)
    chance: float

    @property
    def share(self) -> float:
        """Share that was right, over all documents."""
        return float(self.hits.sum() / self.trials.sum())


def outcome(name: str, right: BoolArray, documents: Sequence[int], chance: float) -> Outcome:
    """Count by document.

    Args:
        name: Of the attack.
        right: bool (n_trials,).
        documents: The document of each trial.
        chance: As `Outcome` says.

    Raises:
        ConfigurationError: Nothing was tried.

    Example:
        >>> outcome("guess", np.array([True, False, True]), [0, 0, 4], 0.5).hits.tolist()
        [1, 1]
    """
    if not len(right):
        raise ConfigurationError(
            "no PHI token of the held-out documents has a word vector; nothing to attack"
        )
    _, numbers = np.unique(np.asarray(documents), return_inverse=True)
    return Outcome(
        name, np.bincount(numbers, right).astype(np.int64), np.bincount(numbers).astype(np.int64), chance
    )


def phi_rows(sentences: Sequence[Sentence]) -> IntArray:
    """The words of all PHI tokens that have a vector: int32 (n_tokens,)."""
    return np.concatenate(
        [np.zeros(0, np.int32), *(sentence.rows[sentence.movable] for sentence in sentences)]
    )


def phi_documents(sentences: Sequence[Sentence]) -> list[int]:
    """The document of each of them."""
    return [sentence.document for sentence in sentences for _ in range(int(sentence.movable.sum()))]


def blind_chance(known: Sequence[Sentence], held_out: Sequence[Sentence]) -> float:
    """Share of held-out PHI tokens that are the most frequent PHI word of the attacker's own documents.

    That is what he gets right without looking at a representation.
    """
    own, wanted = phi_rows(known), phi_rows(held_out)
    return float((wanted == np.bincount(own).argmax()).mean()) if len(own) and len(wanted) else 0.0
