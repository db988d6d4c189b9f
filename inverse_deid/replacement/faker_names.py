"""Names, places and jobs from Faker's locale providers (MIT licence): surrogates are drawn from them.

Only names in the letters A to Z are drawn, so that they can be written in every encoding.
"""

from __future__ import annotations

import importlib
import re
import string
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pkgutil import iter_modules
from typing import Any

from inverse_deid.core.extras import missing_extra
from inverse_deid.text.matching import fold

_DRAWN = re.compile("[A-Z][a-z]{2,10}")
_OF_SEXES = ("last_names_male", "last_names_female")
_FEMALE = ("first_names_female",)
_MALE = ("first_names_male",)
_GIVEN = ("first_names", "first_romanized_names", *_FEMALE, *_MALE)
_SURNAMES = ("last_names", "last_romanized_names", "unisex_last_names", *_OF_SEXES)
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


def faker_words(kind: str, locales: Iterable[str], attributes: Iterable[str]) -> tuple[str, ...]:
    """Return the entries of some lists of some providers, sorted and unique.

    Args:
        kind: Of provider, for example `person`.
        locales: For example `de_DE`; "" = the general provider. A locale may lack a list.
        attributes: Names of the lists.

    Raises:
        ConfigurationError: Faker is not installed.

    Example:
        >>> "Anna" in faker_words("person", ["de_DE", "pl_PL"], ["first_names_female"])
        True
    """
    names = list(attributes)
    modules = (f"faker.providers.{kind}.{locale}".rstrip(".") for locale in locales)
    providers = [_import_faker(module).Provider for module in modules]
    lists = (getattr(provider, name, None) for provider in providers for name in names)
    entries = (entry for found in lists if isinstance(found, Mapping | Sequence) for entry in found)
    return tuple(sorted({str(entry[0] if isinstance(entry, tuple) else entry) for entry in entries}))


def person_locales() -> list[str]:
    """Return all locales that have names of persons, sorted.

    Raises:
        ConfigurationError: Faker is not installed.
    """
    package = _import_faker("faker.providers.person")
    return sorted(module.name for module in iter_modules(package.__path__) if module.ispkg)


def faker_version() -> str:
    """Return the version of Faker; the lists change with it.

    Raises:
        ConfigurationError: Faker is not installed.
    """
    return str(_import_faker("faker").VERSION)


def _import_faker(name: str) -> Any:  # noqa: ANN401 - Faker's modules have no types
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise missing_extra("making up names", "Faker", "surrogates") from None


class Sex(StrEnum):
    """The sex that the lists give to a given name."""

    FEMALE = "female"
    MALE = "male"
    NEUTRAL = "neutral"
    """In the lists of both, or in none."""


@dataclass(frozen=True, slots=True)
class SurrogateNames:
    """Names by first letter, a to z, and what the lists know of names.

    Args:
        given: Given names, by sex and first letter.
        surnames: Surnames by first letter.
        all_surnames: The same in one list.
        sexes: Sex of known given names, by the name without case and accents.
        known_surnames: Known surnames, without case and accents.
    """

    given: Mapping[Sex, Mapping[str, tuple[str, ...]]] = field(repr=False)
    surnames: Mapping[str, tuple[str, ...]] = field(repr=False)
    all_surnames: tuple[str, ...] = field(repr=False)
    sexes: Mapping[str, Sex] = field(repr=False)
    known_surnames: frozenset[str] = field(repr=False)

    def sex_of(self, name: str) -> Sex:
        """Return the sex of a name, without case and accents."""
        return self.sexes.get(name, Sex.NEUTRAL)

    def knows(self, name: str) -> bool:
        """Tell whether the lists have a name, without case and accents."""
        return name in self.sexes or name in self.known_surnames


@cache
def load_surrogate_names() -> SurrogateNames:
    """Read the names of all locales of Faker; this takes a fraction of a second, once.

    Raises:
        ConfigurationError: Faker is not installed.
    """
    female, male, surnames, given_names = (
        set(faker_words("person", person_locales(), lists)) for lists in (_FEMALE, _MALE, _SURNAMES, _GIVEN)
    )
    sexes = dict.fromkeys(_fold_all(given_names), Sex.NEUTRAL)
    sexes |= dict.fromkeys(_fold_all(female) - _fold_all(male), Sex.FEMALE)
    sexes |= dict.fromkeys(_fold_all(male) - _fold_all(female), Sex.MALE)
    given = {
        Sex.FEMALE: _by_letter(name for name in female if sexes[fold(name)] is Sex.FEMALE),
        Sex.MALE: _by_letter(name for name in male if sexes[fold(name)] is Sex.MALE),
        Sex.NEUTRAL: _by_letter(female & male),
    }
    lasts = _by_letter(surnames - female - male)
    every = tuple(name for letter in string.ascii_lowercase for name in lasts[letter])
    return SurrogateNames(given, lasts, every, sexes, frozenset(_fold_all(surnames)))


def _fold_all(names: Iterable[str]) -> set[str]:
    return {fold(name) for name in names}


def _by_letter(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        if _DRAWN.fullmatch(name) and fold(name) not in _NOT_DRAWN:
            found[name[0].lower()].append(name)
    return {letter: tuple(found[letter]) for letter in string.ascii_lowercase}
