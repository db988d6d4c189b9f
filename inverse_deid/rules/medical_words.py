"""Tells which masked words are drugs or medical terms: they get no made-up name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from inverse_deid.core.phi import HyperClass
from inverse_deid.lexicon import WordFlag, WordTable
from inverse_deid.replacement.reserved import GENERIC_WORDS
from inverse_deid.rules.analysis import MIN_LOWER_RATIO

_NAMES = WordFlag.SURNAME | WordFlag.FIRST_NAME | WordFlag.CITY | WordFlag.COUNTRY | WordFlag.STATE
_ADDRESSES = WordFlag.STREET | WordFlag.HOSPITAL


class LooksUpWords(Protocol):
    """Looks words up; a `Lexicon` does."""

    def lookup(self, words: Sequence[str]) -> WordTable:
        """Return what is known of each word, in order."""
        ...


@dataclass(frozen=True, slots=True)
class MedicalWords:
    """Tells drugs and medical terms among the words of a mask.

    Drugs always count. Other medical terms do not count if they are labels (`study`, `room`), in an
    address or the name of a hospital (`Mill Lane`), more often names than words (`Charles`), or words
    of an occupation. Shorthand counts in a number (`ALT 4512`), and alone in capitals (`ASA`): it may
    be initials, but also a drug or a finding.

    Args:
        lexicon: The dictionaries.

    Example:
        >>> from inverse_deid.lexicon import load_lexicon
        >>> words = MedicalWords(load_lexicon())
        >>> words.among(["Benadryl"], HyperClass.NAME), words.among(["Margaret"], HyperClass.NAME)
        (True, False)
    """

    lexicon: LooksUpWords = field(repr=False)

    def among(self, words: Sequence[str], category: HyperClass) -> bool:
        """Tell whether one of the words is a drug or a medical term.

        Args:
            words: Of one mask.
            category: What they are taken for.
        """
        told = [word for word in words if word.lower() not in GENERIC_WORDS]
        table = self.lexicon.lookup(told)
        flags = [WordFlag(bits) for bits in table.flags.tolist()]
        if any(one & WordFlag.DRUG for one in flags):
            return True
        if len(words) == 1 and words[0].isupper() and any(one & WordFlag.SHORTHAND for one in flags):
            return True
        if category is HyperClass.PROFESSION or any(one & _ADDRESSES for one in flags):
            return False
        if category is HyperClass.ID and any(one & WordFlag.SHORTHAND for one in flags):
            return True
        return any(map(_is_term, flags, table.lower_ratio.tolist()))


def _is_term(flags: WordFlag, lower_ratio: float) -> bool:
    """Tell whether it is a medical term, and not a name that is rarely a word."""
    is_name = bool(flags & _NAMES) and not lower_ratio >= MIN_LOWER_RATIO
    return bool(flags & WordFlag.MEDICAL) and not is_name
