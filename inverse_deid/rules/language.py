"""Which documents seem not to be English: their dictionaries and their network do not serve."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray, IntArray
from inverse_deid.lexicon import SAFE_FLAGS, WordFlag
from inverse_deid.text.tokenizer import JoinedTokens

MIN_WORDS = 4
"""A document with fewer words is undecided."""

_MIN_LETTERS = 20
_MAX_STOP_WORDS = 0.2
_MAX_KNOWN_WORDS = 0.7
_MAX_SHARED_STOP_WORDS = 1 / 3
_MAX_KNOWN_OF_SHARED = 0.5
_MIN_FOREIGN_LETTERS = 0.5


def find_other_languages(
    tokens: JoinedTokens,
    flags: npt.NDArray[np.uint32],
    *,
    written: BoolArray,
    foreign: BoolArray,
    n_chars: IntArray,
) -> BoolArray:
    """Tell which documents seem not to be English: bool (n_docs,).

    English notes in telegraphic style have few stop words, but nearly all their words are in the
    dictionaries. Tables and lists of names have few words that count. So a document is named if it has
    few stop words and few known words, or mostly letters of scripts other than Latin and Greek. Other
    languages share short words with English (*am, die, on, a*), so a third may be stop words if most of the
    words are unknown.

    Args:
        tokens: Of several documents.
        flags: uint32 (n_tokens,), the `WordFlag`s.
        written: bool (n_tokens,), words of two letters or more without a capital beginning, or in capitals.
        foreign: bool (n_tokens,), words of another script.
        n_chars: int32 (n_tokens,).
    """
    n_docs = len(tokens.docs)

    def count(chosen: BoolArray, weights: IntArray | None = None) -> npt.NDArray[np.float64]:
        chosen_weights = None if weights is None else weights[chosen]
        return np.bincount(tokens.doc[chosen], chosen_weights, minlength=n_docs).astype(np.float64)

    n_words, n_letters = count(written), count(written | foreign, n_chars)
    n_stop = count(written & ((flags & np.uint32(WordFlag.STOP_WORD)) != 0))
    n_known = count(written & ((flags & np.uint32(SAFE_FLAGS)) != 0))
    n_foreign = count(foreign, n_chars)
    few = (n_stop < _MAX_STOP_WORDS * n_words) & (n_known < _MAX_KNOWN_WORDS * n_words)
    few |= (n_stop < _MAX_SHARED_STOP_WORDS * n_words) & (n_known < _MAX_KNOWN_OF_SHARED * n_words)
    return np.asarray(
        ((n_words >= MIN_WORDS) & few)
        | ((n_foreign >= _MIN_LETTERS) & (n_foreign >= _MIN_FOREIGN_LETTERS * n_letters))
    )
