"""The casing feature: what a network without characters sees of how a word is written.

Source: Reimers and Gurevych 2017, "Optimal hyperparameters for deep LSTM-networks for
sequence labeling tasks", section 4 (the feature and its seven values).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
import numpy.typing as npt

CasingArray = npt.NDArray[np.uint8]


class Casing(IntEnum):
    """How a word is written. The order is part of the file format."""

    NUMERIC = 0
    MAINLY_NUMERIC = 1
    ALL_LOWER = 2
    ALL_UPPER = 3
    INITIAL_UPPER = 4
    CONTAINS_DIGIT = 5
    OTHER = 6


N_CASINGS = len(Casing)


def casing_of(word: str) -> Casing:
    """The casing of one word; the first of the definitions that holds.

    Args:
        word: A token.

    Example:
        >>> [casing_of(word).name for word in ("40", "400m", "rash", "ECG", "Velmo", "b12x", "pH")]
        ['NUMERIC', 'MAINLY_NUMERIC', 'ALL_LOWER', 'ALL_UPPER', 'INITIAL_UPPER', 'CONTAINS_DIGIT', 'OTHER']
    """
    n_digits = sum(map(str.isdigit, word))
    tests = (
        (Casing.NUMERIC, word.isdigit()),
        (Casing.MAINLY_NUMERIC, 2 * n_digits > len(word)),
        (Casing.ALL_LOWER, word.isalpha() and word.islower()),
        (Casing.ALL_UPPER, word.isalpha() and word.isupper()),
        (Casing.INITIAL_UPPER, word[:1].isupper() and n_digits == 0),
        (Casing.CONTAINS_DIGIT, n_digits > 0),
    )
    return next((casing for casing, holds in tests if holds), Casing.OTHER)


def casings(words: Sequence[str]) -> CasingArray:
    """The casing of each word: uint8 (n_words,), values of `Casing`."""
    return np.fromiter(map(casing_of, words), np.uint8, len(words))
