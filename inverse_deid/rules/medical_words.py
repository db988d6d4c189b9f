"""Masked words that are drugs or medical terms. They are not replaced by a made-up name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from inverse_deid.core.phi import HyperClass
from inverse_deid.lexicon import Lexicon, WordFlag
from inverse_deid.replacement.surrogates.reserved import GENERIC_WORDS
from inverse_deid.rules.analysis import MIN_LOWER_RATIO

_NAMES = WordFlag.SURNAME | WordFlag.FIRST_NAME | WordFlag.CITY | WordFlag.COUNTRY | WordFlag.STATE
_ADDRESSES = WordFlag.STREET | WordFlag.HOSPITAL


@dataclass(frozen=True, slots=True)
class MedicalWords:
    """Finds drugs and medical terms among the words of a mask.

    Drugs always count. Other medical terms do not count if they are labels (`study`, `room`), in an
    address or the name of a hospital (`Mill Lane`), more often names than words (`Charles`), or words
    of an occupation. Shorthand counts in a number (`ALT 4512`), and alone in capitals (`ASA`): it may
    be initials, but also a drug or a finding.

    Example:
        >>> from inverse_deid.lexicon import load_lexicon
        >>> words = MedicalWords(load_lexicon())
        >>> words.among(["Benadryl"], HyperClass.NAME), words.among(["Margaret"], HyperClass.NAME)
        (True, False)
    """

    lexicon: Lexicon = field(repr=False)

    def among(self, words: Sequence[str], category: HyperClass) -> bool:
        """Tell whether one of the words of a mask of this category is a drug or a medical term."""
        chosen = [word for word in words if word.lower() not in GENERIC_WORDS]
        table = self.lexicon.lookup(chosen)
        flags = [WordFlag(bits) for bits in table.flags.tolist()]
        if any(one & WordFlag.DRUG for one in flags):
            return True
        if len(words) == 1 and words[0].isupper() and any(one & WordFlag.SHORTHAND for one in flags):
            return True
        if category is HyperClass.PROFESSION or any(one & _ADDRESSES for one in flags):
            return False
        if category is HyperClass.ID and any(one & WordFlag.SHORTHAND for one in flags):
            return True
        # A name counts only if it is usually a word.
        return any(
            one & WordFlag.MEDICAL and (not one & _NAMES or ratio >= MIN_LOWER_RATIO)
            for one, ratio in zip(flags, table.lower_ratio.tolist(), strict=True)
        )
