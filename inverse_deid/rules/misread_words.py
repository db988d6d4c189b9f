"""Words in which optical recognition mistook one character: `rec0vered`, `patlent`.

A word that no list has reads as the only word that one confusion away is confidently safe. The rules and the
network then see that word. Whether a place allows it is for `find_misread` to say: never where anything
else speaks for a name or an identifier.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray
from inverse_deid.lexicon import SAFE_FLAGS, UNSAFE_FLAGS, Lexicon, WordFlag
from inverse_deid.rules.disguised_words import LEET

Flags = npt.NDArray[np.uint32]

_PAIRS = "0o 0O 1l 1I Il lI 5s 5S 6b 6G 8B 2z 2Z 9g ce ec nu un rm vt ft tf"
CONFUSABLE: dict[str, str] = {}
"""The letters that each written character may stand for."""
for _pair in _PAIRS.split():
    CONFUSABLE[_pair[0]] = CONFUSABLE.get(_pair[0], "") + _pair[1]

MIN_LETTERS = 6
"""Letters of a word that is long enough to be recognised whatever the document."""
_MAX_LETTERS = 40
"""Of a longer word every character may be tried, and each try reads all of it."""
_MIN_TWICE_MISREAD = 8
"""Of a word with two confusions, at least one of them a digit."""
_MIN_SHORT = 3
"""Of a shorter word, in a document with a long misread one; one less with a digit."""
_NAME_FLAGS = UNSAFE_FLAGS & ~WordFlag.TOP_LEVEL_DOMAIN
_COMMON_FLAGS = WordFlag.STOP_WORD | WordFlag.COMMON_ENGLISH
_LEAST_LOWER_RATIO = 0.9
"""Of a word that is also in a list of names, this share of mentions must be in lower case."""


class MisreadWords:
    """Finds what a misread word means; remembers recent answers.

    Example:
        >>> from inverse_deid.lexicon import load_lexicon
        >>> words = MisreadWords(load_lexicon())
        >>> words.meant("rec0vered"), words.meant("patient"), words.meant("A1B2C3")
        ('recovered', '', '')
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self.meant = lru_cache(4096)(self._meant)

    def among(self, words: Sequence[str], flags: Flags) -> tuple[BoolArray, BoolArray]:
        """Tell which words read as another one, and which of these as one that no list of names has.

        Args:
            words: Distinct ones.
            flags: uint32 (n_words,), the `WordFlag`s of each; a word with any reads as it is written.

        Returns:
            bool (n_words,) each.
        """
        misread, no_name = np.zeros(len(words), np.bool_), np.zeros(len(words), np.bool_)
        for i in np.flatnonzero(flags == 0).tolist():
            meant = self.meant(words[i])
            misread[i] = meant != ""
            no_name[i] = misread[i] and not self._lexicon.flags(meant) & _NAME_FLAGS
        return misread, no_name

    def _meant(self, word: str) -> str:
        # Of the same length, "" = the word itself.
        if (
            not _MIN_SHORT - (not word.isalpha()) <= len(word) <= _MAX_LETTERS
            or not word.isascii()
            or word.isdigit()
            or self._lexicon.flags(word)
        ):
            return ""
        digits = [i for i, sign in enumerate(word) if sign.isdigit()]
        found: dict[str, str] = {}
        for places in self._choose_places(word, digits):
            if found and len(places) > len(digits) > 0:
                break  # fewer confusions explain the word
            for letters in product(*(CONFUSABLE.get(word[place], "") for place in places)):
                signs = list(word)
                for place, letter in zip(places, letters, strict=True):
                    signs[place] = letter
                read = "".join(signs)
                if (read.islower() or read.isupper() or read.istitle()) and self._lexicon.flags(read):
                    found.setdefault(read.lower(), read)
        if len(found) != 1:
            return ""
        ((read, written),) = found.items()
        return written if self._is_safe(read, word) else ""

    def _choose_places(self, word: str, digits: Sequence[int]) -> Sequence[tuple[int, ...]]:
        # Every digit, a letter in a long word.
        most = 2 if digits and len(word) >= _MIN_TWICE_MISREAD else 1
        if len(digits) > most or (len(digits) == 1 and self._is_glued(word, digits[0])):
            return ()
        if not digits:
            return [(place,) for place in range(len(word))]
        written = tuple(digits)
        letters = [i for i in range(len(word)) if i not in digits] if len(digits) < most else []
        return [written, *((*written, place) for place in letters)]

    def _is_glued(self, word: str, digit: int) -> bool:
        # As in `tablet5`. 0 is not a number alone.
        pieces = [piece for piece in (word[:digit], word[digit + 1 :]) if piece]
        return word[digit] != "0" and len(pieces) == 1 and bool(self._lexicon.flags(pieces[0]))

    def _is_safe(self, read: str, word: str) -> bool:
        # A short one must be common, as it has many neighbours.
        table = self._lexicon.lookup([read])
        flags = int(table.flags[0])
        usually_lower = float(table.lower_ratio[0]) >= _LEAST_LOWER_RATIO
        if not flags & _COMMON_FLAGS and self._lexicon.flags(word.translate(LEET)) & _NAME_FLAGS:
            return False
        if len(word) < MIN_LETTERS:
            is_shortest = len(word) < _MIN_SHORT or (len(word) == _MIN_SHORT and word.isalpha())
            return bool(flags & (WordFlag.STOP_WORD if is_shortest else _COMMON_FLAGS)) and usually_lower
        return bool(flags & SAFE_FLAGS) and (usually_lower or not flags & _NAME_FLAGS)
