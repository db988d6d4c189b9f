"""Names that surrogates are drawn from, by first letter, and what names tell of the sex.

Source: the locale providers of Faker (MIT licence). Only names in the letters A to Z are
drawn, so that they can be written in every encoding.
"""

from __future__ import annotations

import re
import string
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

from inverse_deid.replacement.faker_lists import faker_words, person_locales
from inverse_deid.text.folding import folded

_DRAWN = re.compile("[A-Z][a-z]{2,10}")
_FEMALE = ("first_names_female",)
_MALE = ("first_names_male",)
_GIVEN = ("first_names", "first_romanized_names", *_FEMALE, *_MALE)
_SURNAMES = (
    "last_names",
    "last_romanized_names",
    "unisex_last_names",
    "last_names_male",
    "last_names_female",
)
_NOT_DRAWN = frozenset(
    (
        *("april", "august", "augustus", "june", "july", "may", "march", "january", "december", "monday"),
        *("sunday", "friday", "virginia", "georgia", "carolina", "dakota", "london", "paris", "jordan"),
        *("israel", "india", "china", "chad", "kenya", "brazil", "england", "ireland", "france", "sydney"),
        *("parkinson", "alzheimer", "crohn", "hodgkin", "addison", "graves", "cushing", "raynaud", "bell"),
        *("wilson", "down", "turner", "marfan", "ray", "bright", "still", "fallot", "paget", "reye", "barr"),
        *("patient", "doctor", "nurse", "baby", "mother", "father", "male", "female", "angel", "christian"),
        *("ever", "will", "mark", "rose", "drew", "case", "day", "long", "short", "young", "sick", "ill"),
        *("pain", "hand", "foot", "eye", "back", "heart", "love", "joy", "hope", "grace", "precious", "may"),
    )
)
"""Names that read as something else: months, places, diseases, common words."""


class Sex(StrEnum):
    """What the lists say of a given name."""

    FEMALE = "female"
    MALE = "male"
    NEUTRAL = "neutral"
    """It stands in the lists of both, or in none."""


@dataclass(frozen=True, slots=True)
class SurrogateNames:
    """Names by first letter, a to z, and what is known of names.

    Args:
        given: Given names, by sex and first letter.
        surnames: Surnames by first letter.
        all_surnames: The same in one list.
        sexes: Sex of given names that the lists know, by the name without case and accents.
        known_surnames: Surnames that the lists know, without case and accents.
    """

    given: Mapping[Sex, Mapping[str, tuple[str, ...]]] = field(repr=False)
    surnames: Mapping[str, tuple[str, ...]] = field(repr=False)
    all_surnames: tuple[str, ...] = field(repr=False)
    sexes: Mapping[str, Sex] = field(repr=False)
    known_surnames: frozenset[str] = field(repr=False)

    def sex_of(self, name: str) -> Sex:
        """The sex that the lists give a name, without case and accents."""
        return self.sexes.get(name, Sex.NEUTRAL)

    def knows(self, name: str) -> bool:
        """Whether it is a name, without case and accents."""
        return name in self.sexes or name in self.known_surnames


@cache
def load_surrogate_names() -> SurrogateNames:
    """Read the names of all locales of Faker; takes a fraction of a second, once.

    Raises:
        ConfigurationError: Faker is not installed.
    """
    female, male, surnames, given_names = (
        set(faker_words("person", person_locales(), lists)) for lists in (_FEMALE, _MALE, _SURNAMES, _GIVEN)
    )
    sexes = dict.fromkeys(_folded(given_names), Sex.NEUTRAL)
    sexes |= dict.fromkeys(_folded(female) - _folded(male), Sex.FEMALE)
    sexes |= dict.fromkeys(_folded(male) - _folded(female), Sex.MALE)
    given = {
        Sex.FEMALE: _by_letter(name for name in female if sexes[folded(name)] is Sex.FEMALE),
        Sex.MALE: _by_letter(name for name in male if sexes[folded(name)] is Sex.MALE),
        Sex.NEUTRAL: _by_letter(female & male),
    }
    lasts = _by_letter(surnames - female - male)
    every = tuple(name for letter in string.ascii_lowercase for name in lasts[letter])
    return SurrogateNames(given, lasts, every, sexes, frozenset(_folded(surnames)))


def _folded(names: Iterable[str]) -> set[str]:
    return {folded(name) for name in names}


def _by_letter(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        if _DRAWN.fullmatch(name) and folded(name) not in _NOT_DRAWN:
            found[name[0].lower()].append(name)
    return {letter: tuple(found[letter]) for letter in string.ascii_lowercase}
