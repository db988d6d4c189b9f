"""What an attack achieved, and what guessing achieves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import keras
import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import BoolArray, FloatArray, IntArray
from inverse_deid.research.representations.sentences import Sentence

Int64Array = npt.NDArray[np.int64]
_Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The means of an attacker, and the attacked documents.

    Args:
        representer: The frozen representation, which is published.
        known: Sentences of his own documents.
        held_out: Sentences of other documents, which the representation was not trained on;
            tokens of theirs that have a vector are what he is after.
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

    @property
    def margin(self) -> float:
        """Half the width of a 95 % interval of the share: linearised, documents drawn as wholes."""
        n_documents = len(self.trials)
        if n_documents < 2:
            return 1.0
        residuals = self.hits - self.share * self.trials
        variance = n_documents / (n_documents - 1) * float((residuals**2).sum())
        return min(1.0, float(_Z * math.sqrt(variance) / self.trials.sum()))


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
            "no PHI token of the held-out documents has a word vector. Nothing to attack"
        )
    _, numbers = np.unique(np.asarray(documents), return_inverse=True)
    return Outcome(
        name, np.bincount(numbers, right).astype(np.int64), np.bincount(numbers).astype(np.int64), chance
    )


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The tokens that an attacker is after, sentence after sentence.

    Args:
        rows: int32 (n_tokens,), their words.
        classes: int32 (n_tokens,), index into `HyperClass`, which every encoded file tells.
        documents: int (n_tokens,), the document of each.
    """

    rows: IntArray = field(repr=False)
    classes: IntArray = field(repr=False)
    documents: IntArray = field(repr=False)


def are_targets(sentence: Sentence, *, safe: bool = False) -> BoolArray:
    """Which tokens are attacked, bool (n_tokens,): PHI with a vector, or else the safe ones with a vector."""
    return (sentence.rows > 0) & (sentence.classes == 0) if safe else sentence.movable


def targets(sentences: Sequence[Sentence], *, safe: bool = False) -> Targets:
    """The tokens that `are_targets` names."""
    chosen = [are_targets(sentence, safe=safe) for sentence in sentences]
    none = np.zeros(0, np.int32)
    return Targets(
        np.concatenate([none, *(s.rows[of] for s, of in zip(sentences, chosen, strict=True))]),
        np.concatenate([none, *(s.classes[of] for s, of in zip(sentences, chosen, strict=True))]),
        np.repeat([s.document for s in sentences], [int(of.sum()) for of in chosen]),
    )


def blind_chance(known: Targets, wanted: Targets) -> float:
    """Share of tokens that are the most frequent word of their class in the attacker's own documents.

    That is what he gets right without looking at a vector.
    """
    right = 0
    for number in np.unique(wanted.classes):
        own = known.rows[known.classes == number]
        if len(own):
            right += int((wanted.rows[wanted.classes == number] == np.bincount(own).argmax()).sum())
    return right / max(1, len(wanted.rows))
