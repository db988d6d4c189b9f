"""The dictionaries as one immutable artefact: build, load, explain."""

from inverse_deid.lexicon.entries import SAFE_FLAGS, UNSAFE_FLAGS, PhraseKind, WordFlag
from inverse_deid.lexicon.lexicon import Lexicon, WordTable, load_lexicon

__all__ = [
    "SAFE_FLAGS",
    "UNSAFE_FLAGS",
    "Lexicon",
    "PhraseKind",
    "WordFlag",
    "WordTable",
    "load_lexicon",
]
