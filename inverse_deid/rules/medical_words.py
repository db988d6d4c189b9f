"""Which masked words are drugs or medical terms: no made-up name may stand for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from inverse_deid.core.phi import HyperClass
from inverse_deid.lexicon import WordFlag, WordTable
from inverse_deid.replacement.surrogate_draws import GENERIC_WORDS
from inverse_deid.rules.allowlist import MIN_LOWER_RATIO

HoldsMedicalWord = Callable[[Sequence[str], HyperClass], bool]
"""Of the words of a mask and what they are taken for, whether one is a drug or a medical term."""

_NAMES = WordFlag.SURNAME | WordFlag.FIRST_NAME | WordFlag.CITY | WordFlag.COUNTRY | WordFlag.STATE
_ADDRESSES = WordFlag.STREET | WordFlag.HOSPITAL


class LooksUpWords(Protocol):
    """Knows words; a `Lexicon` does."""

    def lookup(self, words: Sequence[str]) -> WordTable:
        """What is known of each word, in order."""
        ...


@dataclass(frozen=True, slots=True)
class MedicalWords:
    """Tells drugs and medical terms among the words of a mask.

    Drugs always count. Other medical terms do not where they are labels (`study`, `room`), parts of an
    address (`clinic`, `lane`), more often names than words (`Rose`), or words of an occupation; shorthand
    (`ALT`) counts in what is taken for a number alone, since elsewhere it may be initials.

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
        """Whether one of the words is a drug or a medical term.

        Args:
            words: Of one mask.
            category: What they are taken for.
        """
        told = [word for word in words if word.lower() not in GENERIC_WORDS]
        table = self.lexicon.lookup(told)
        found = zip(table.flags.tolist(), table.lower_ratio.tolist(), strict=True)
        return any(_is_medical(WordFlag(flags), ratio, category) for flags, ratio in found)


def _is_medical(flags: WordFlag, lower_ratio: float, category: HyperClass) -> bool:
    if flags & WordFlag.DRUG:
        return True
    if category is HyperClass.PROFESSION or flags & _ADDRESSES:
        return False
    if category is HyperClass.ID and flags & WordFlag.SHORTHAND:
        return True
    is_name = bool(flags & _NAMES) and not lower_ratio >= MIN_LOWER_RATIO
    return bool(flags & WordFlag.MEDICAL) and not is_name
