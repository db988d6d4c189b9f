"""Words that hide a whole name: glued to another word, written with digits, or in base64.

`KnownWords` also serves the rules that look for names in several pieces.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence

import numpy as np

from inverse_deid.core.values import BoolArray
from inverse_deid.lexicon import SAFE_FLAGS, Lexicon, WordFlag
from inverse_deid.rules.shapes import is_glued_quantity

NAME_FLAGS = WordFlag.SURNAME | WordFlag.FIRST_NAME
_CLINICAL = WordFlag.SHORTHAND | WordFlag.MEDICAL | WordFlag.DRUG | WordFlag.STOP_WORD | WordFlag.UNIT
MIN_NAME = 4
"""A word of at least this many letters that is in no list may be a name."""
LEET = str.maketrans("01345789@$!", "oieastbgasi")
LEET_L = str.maketrans("1!", "ll")
"""The letters that digits and signs replace; `1` and `!` replace either letter."""


class KnownWords:
    """Asks the dictionaries about words that are not single tokens."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon

    def are_safe(self, pieces: Sequence[str]) -> bool:
        """Tell whether every piece is a word of three letters or more that may be let back."""
        return all(len(p) >= 3 and bool(self._lexicon.flags(p) & SAFE_FLAGS) for p in pieces)

    def is_name(self, word: str) -> bool:
        return len(word) >= 3 and bool(self._lexicon.flags(word) & NAME_FLAGS)

    def is_only_name(self, word: str) -> bool:
        """Tell whether it is a name and not a word that may be let back."""
        found = self._lexicon.flags(word)
        return len(word) >= 3 and bool(found & NAME_FLAGS) and not found & SAFE_FLAGS

    def is_known(self, word: str) -> bool:
        return bool(self._lexicon.flags(word) & SAFE_FLAGS)

    def is_clinical(self, word: str) -> bool:
        """Tell whether it is a word of medicine or grammar, shorthand included."""
        return bool(self._lexicon.flags(word) & _CLINICAL)


_ROLE = (
    r"patients?|pts?|subject|client|reporter|consumer|doctor|dr|mrs?|ms|miss|prof|sir|nurse|physician|"
    r"pharmacist|name|surname|initials?|mother|father|wife|husband|son|daughter|sister|brother|mom|dad|by|from|with"
)
_GLUED_CAPITAL = re.compile(rf"(?:(?i:{_ROLE}))([A-Z][^\W\d_A-Z]+(?:[A-Z][^\W\d_A-Z]+)?)")
_GLUED_FUNCTION = re.compile(
    r"(?i:the|a|an|had|has|that|and|when|for|with|to|by|from|of|gave|told|saw|was|is|her|his|then|but|said|asked|"
    r"because|after|before|while)([A-Z][^\W\d_A-Z]{3,})"
)
_GLUED_SMALL = re.compile(
    r"(?i:patient|reporter|consumer|doctor|physician|nurse|dr|mrs?|miss|name|wife|husband)([^\W\d_]{4,})"
)
_GLUED_TITLE = re.compile(r"([A-Z][^\W\d_A-Z]{2,})(?:MD|RN|PhD|DO|NP|PA|GP)")
_CAMEL = re.compile(r"(?:[A-Z][a-z]{2,}){2,}")
_CAMEL_PART = re.compile(r"[A-Z][a-z]+")
_MEASURES = re.compile(r"(?:\d+[a-z]{0,2}x)+\d+[a-z]{0,2}", re.IGNORECASE)
_WORD_AND_TIME = re.compile(
    r"([^\W\d_]+)(?:\d{1,4}[ap]m|\d{0,2}(?:1st|2nd|3rd|[04-9]th)|\d?1[123]th)", re.IGNORECASE
)
_INNER_DIGIT = re.compile(r"[^\W\d_][0134578]{1,3}[a-z]")
_STAGE = re.compile(r"(?:G\d{1,2}p\d{1,2}|[TN]\d[nm]\d|H\d{1,2}n\d{1,2})\w{0,4}", re.IGNORECASE)
_LEADING_LETTERS = re.compile(r"[^\W\d_]+")
_HIDDEN_TEXT = re.compile(r"[A-Za-z\u00c0-\u024f]{2}[A-Za-z0-9\u00c0-\u024f .,'@-]{2,}")
_BASE64 = re.compile(r"(?=[A-Za-z0-9]*(?:[a-z][A-Z]|\d))(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[A-Za-z0-9]{8,}")
_HEX_PAIRS = re.compile(r"(?:[0-9a-fA-F]{2}){4,}")


def find_disguised_words(words: Sequence[str], lexicon: Lexicon) -> BoolArray:
    """Tell which words hide a name: bool (n_words,).

    Example:
        >>> from inverse_deid.lexicon import load_lexicon
        >>> find_disguised_words(["reporterPetrovic", "0k0nkw0", "HbA1c", "patient"], load_lexicon()).tolist()
        [True, True, False, False]
    """
    known = KnownWords(lexicon)
    found = (len(word) >= MIN_NAME and _is_disguised(word, known) for word in words)
    return np.fromiter(found, np.bool_, len(words))


def _is_disguised(word: str, words: KnownWords) -> bool:
    if word.isdigit() or word.isupper():
        return False
    if word.isalpha() and word.islower():
        return _is_glued_small(word, words)
    if not word.isalpha():
        return _is_leet(word, words) or _is_text_in_code(word)
    return _is_glued_small(word, words) or _is_glued(word, words) or _is_text_in_code(word)


def _is_glued(word: str, words: KnownWords) -> bool:
    # `reporterPetrovic`, `hadPetrovic`, `drOkonkwo`, `SmithMD`, `JohnSmith`.
    glued = _GLUED_FUNCTION.fullmatch(word)
    if glued is not None and not words.is_known(word) and words.is_only_name(glued.group(1)):
        return True
    glued = _GLUED_CAPITAL.fullmatch(word) or _GLUED_TITLE.fullmatch(word)
    if glued is not None and not words.is_known(word):
        return words.is_name(glued.group(1)) or not words.is_known(glued.group(1))
    if _CAMEL.fullmatch(word) is None or words.is_known(word):
        return False
    parts = _CAMEL_PART.findall(word)
    return all(map(words.is_name, parts)) and any(map(words.is_only_name, parts))


def _is_glued_small(word: str, words: KnownWords) -> bool:
    # `drokonkwo`, `patientpetrovic`.
    glued = _GLUED_SMALL.fullmatch(word)
    return glued is not None and not words.is_known(word) and words.is_only_name(glued.group(1))


def _is_leet(word: str, words: KnownWords) -> bool:
    # Not `2pills`, `q4hours`, `T4N1M0`, `at7pm`, `50mg`.
    read = word.translate(LEET)
    if not read.isalpha() or is_glued_quantity(word) or _MEASURES.fullmatch(word):
        return False
    readings = (read, word.translate(LEET_L).translate(LEET))
    timed = _WORD_AND_TIME.fullmatch(word)
    is_timed = timed is not None and words.is_known(timed.group(1))
    if _is_leet_name(word, readings, words) or (not is_timed and any(map(words.is_only_name, readings))):
        return True
    if is_timed:
        return False
    pieces = [piece for piece in re.split(r"\d+", word) if len(piece) >= 3]
    if sum(map(str.isalpha, word)) < MIN_NAME or _INNER_DIGIT.search(word) is None:
        return False
    is_quantity = is_glued_quantity(_LEADING_LETTERS.sub("", word, count=1))
    return not (is_quantity or (pieces and all(map(words.is_known, pieces))))


def _is_leet_name(word: str, readings: Sequence[str], words: KnownWords) -> bool:
    # `Gr4c3`, `Sm1th`, `K1ng`, not `Day5`, `Her4th`, `G1p0`.
    if not word[0].isupper() or not word[1:].islower() or _STAGE.fullmatch(word):
        return False
    first = _LEADING_LETTERS.match(word)
    begins = first.group() if first else ""
    rest = word[len(begins) :]
    if len(begins) >= 3 and words.is_known(begins) and (rest.isdigit() or is_glued_quantity(rest)):
        return False
    if rest.isdigit() and len(begins) < MIN_NAME:
        return False
    return any(map(words.is_name, readings))


def _is_text_in_code(word: str) -> bool:
    # Whether base64 or hexadecimal digits encode letters.
    try:
        if _HEX_PAIRS.fullmatch(word):
            return _HIDDEN_TEXT.fullmatch(bytes.fromhex(word).decode()) is not None
        if _BASE64.fullmatch(word):
            whole = word[: len(word) // 4 * 4]
            return _HIDDEN_TEXT.fullmatch(base64.b64decode(whole).decode()) is not None
    except (UnicodeDecodeError, binascii.Error):
        pass
    return False
