"""Names, places and jobs from Faker's locale providers (MIT licence): surrogates are drawn from them.

Only names in the letters A to Z are drawn, so that they can be written in every encoding.
"""

from __future__ import annotations

import importlib
import random
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
_ENGLISH = ("en_US", "en_NZ")
_OF_SEXES = ("last_names_male", "last_names_female")
_FEMALE = ("first_names_female",)
_MALE = ("first_names_male",)
_GIVEN = ("first_names", "first_romanized_names", *_FEMALE, *_MALE)
_SURNAMES = ("last_names", "last_romanized_names", "unisex_last_names", *_OF_SEXES)
_NOT_DRAWN = frozenset(
    (
        *("patient", "doctor", "nurse", "baby", "mother", "father", "male", "female", "girl", "boy"),
        *("sick", "ill", "pain", "rash", "hives", "fever", "dead"),
    )
)
"""Names that would change what a text says of a person.

Other words are drawn about as often as they are names. If no made-up name were a word, every *Rose* or *Hope*
in a text would be an original that was missed.
"""
_WORDS_AS_SURNAMES = """
    Alderman Alley Angel Ash Askew Bacon Bales Barrow Bath Battle Beach Beam Beaver Beavers Beers
    Billings Bills Bland Bliss Bloom Blue Bonds Bone Bower Bowling Box Brand Brill Brothers Bunch Burden
    Buss Cable Camp Card Cash Castle Champion Chance Cheek Chow Cloud Coats Cone Cope Cote Cotton Couch
    Counts Coy Craft Crews Crisp Crook Crouch Crow Daily Darling Deal Dent Dial Diamond Dill Dodge Doll
    Doss Dove Dowdy Driver Dukes Dye East Eddy Edge Elder Falcon Fine Fish Flint Foreman Forte Fortune
    Fountain Franks Free Freed Friend Gable Gale Givens Gold Goldsmith Greenfield Grooms Grove Groves
    Guest Hand Handy Harden Harder Harms Harp Hatch Havens Hawk Head Heard Hedges Helms High Hooks Hope
    Hopper Ivy Jack Joiner Jolly Joy Justice Keen Keener Keys Kitchen Kitchens Lackey Lake Lance Land
    Laws Lay Layman Lea Lemon Lemons Light Lively Main Majors Maples March Mark Mast Masters Mead Means
    Medley Meek Minor Mock Motley Mull Muse Nettles Nix Nobles Ogle Pack Packer Painter Parish Parson
    Partridge Pate Peek Pence Penny Peoples Pepper Piper Ponder Pool Queen Quick Rains Ransom Rector
    Reedy Ricks Rider Robins Root Rose Rouse Royal Ruff Rushing Sage Salter Sample Sands Scales Seal
    Seals Seaman Self Sell Shank Shanks Shay Sheets Shell Shin Shoemaker Shook Shore Silver Skipper
    Slack Smalls Smiley South Sowers Spear Squires Stamper Staples Starling Sterling Strange Stringer
    Stump Swain Swan Sweet Swisher Tam Temple Thorn Thrasher Tong Trotter Trout Tuck Vest Vines Wagoner
    Warden Weathers Wheat Whiting Wicker Wicks Wilder Wiles Will Wing Withers Woo Woody Workman Younger
"""
"""Surnames that are English words. Faker lacks nearly all of them, or does not say how frequent they are.

Source: among the most frequent ones, United States Census Bureau, 2000 surname file.
"""
_OF_WORDS = 4.0
"""How much oftener than a rare name one of them is drawn."""
_MOST_OFTEN = 25.0
"""How much oftener than a rare name the most frequent ones are drawn. More would let persons share a name."""


def faker_words(kind: str, locales: Iterable[str], attributes: Iterable[str]) -> tuple[str, ...]:
    """Return the entries of some lists of some providers, sorted and unique.

    Args:
        kind: Of provider, for example `person`.
        locales: For example `de_DE`; "" = the general provider. A locale may lack a list.
        attributes: Names of the lists.

    Raises:
        ConfigurationError: Faker is not installed.
    """
    names = list(attributes)
    modules = (f"faker.providers.{kind}.{locale}".rstrip(".") for locale in locales)
    providers = [_import_faker(module).Provider for module in modules]
    lists = (getattr(provider, name, None) for provider in providers for name in names)
    entries = (entry for found in lists if isinstance(found, Mapping | Sequence) for entry in found)
    return tuple(sorted({str(entry[0] if isinstance(entry, tuple) else entry) for entry in entries}))


def _read_frequencies(attributes: Iterable[str]) -> dict[str, float]:
    # The share of the bearers, in the mean of the English lists that state it.
    names = list(attributes)
    providers = [_import_faker(f"faker.providers.person.{locale}").Provider for locale in _ENGLISH]
    lists = [getattr(provider, name, None) for provider in providers for name in names]
    found: dict[str, float] = defaultdict(float)
    weighted = [one for one in lists if isinstance(one, Mapping)]
    for one in weighted:
        total = sum(one.values())
        for name, weight in one.items():
            found[str(name)] += weight / total / len(weighted)
    return found


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
    """Names by first letter, a to z, and what the lists know of names."""

    given: Mapping[Sex, Mapping[str, tuple[str, ...]]] = field(repr=False)  # by sex and first letter
    surnames: Mapping[str, tuple[str, ...]] = field(repr=False)  # by first letter
    either: Mapping[str, tuple[str, ...]] = field(repr=False)  # given names that are surnames
    all_surnames: tuple[str, ...] = field(repr=False)  # in one list, without those that are given names
    sexes: Mapping[str, Sex] = field(repr=False)  # of known given names, without case and accents
    known_surnames: frozenset[str] = field(repr=False)  # without case and accents
    weights: Mapping[str, float] = field(repr=False)  # how much oftener than a rare name each is drawn

    def knows(self, name: str) -> bool:
        return name in self.sexes or name in self.known_surnames

    def shuffle(self, pool: Sequence[str], rng: random.Random) -> list[str]:
        """Return names in a random order in which frequent ones come first more often.

        Source:
            Efraimidis and Spirakis 2006, weighted random sampling.
        """
        return sorted(pool, key=lambda name: -(rng.random() ** (1 / self.weights.get(name, 1.0))))


@cache
def load_surrogate_names() -> SurrogateNames:
    """Read the names of all locales of Faker; this takes a fraction of a second, once.

    Raises:
        ConfigurationError: Faker is not installed.
    """
    female, male, surnames, given_names = (
        set(faker_words("person", person_locales(), lists)) for lists in (_FEMALE, _MALE, _SURNAMES, _GIVEN)
    )
    surnames |= set(_WORDS_AS_SURNAMES.split())
    sexes = dict.fromkeys(_fold_all(given_names), Sex.NEUTRAL)
    sexes |= dict.fromkeys(_fold_all(female) - _fold_all(male), Sex.FEMALE)
    sexes |= dict.fromkeys(_fold_all(male) - _fold_all(female), Sex.MALE)
    given = {
        Sex.FEMALE: _by_letter(name for name in female if sexes[fold(name)] is Sex.FEMALE),
        Sex.MALE: _by_letter(name for name in male if sexes[fold(name)] is Sex.MALE),
        Sex.NEUTRAL: _by_letter(female & male),
    }
    alone = _by_letter(surnames - female - male)
    every = tuple(name for letter in string.ascii_lowercase for name in alone[letter])
    return SurrogateNames(
        given,
        _by_letter(surnames),
        _by_letter(surnames & (female | male)),
        every,
        sexes,
        frozenset(_fold_all(surnames)),
        _weigh(surnames, female | male),
    )


def _weigh(surnames: Iterable[str], given: Iterable[str]) -> dict[str, float]:
    # How much oftener than a rare name each is drawn, 1 to `_MOST_OFTEN`.
    weights: dict[str, float] = dict.fromkeys(_WORDS_AS_SURNAMES.split(), _OF_WORDS)
    for names, lists in ((set(surnames), _SURNAMES), (set(given), (*_FEMALE, *_MALE))):
        for name, share in _read_frequencies(lists).items():
            weights[name] = max(weights.get(name, 1.0), min(1 + len(names) * share, _MOST_OFTEN))
    return weights


def _fold_all(names: Iterable[str]) -> set[str]:
    return {fold(name) for name in names}


def _by_letter(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        if _DRAWN.fullmatch(name) and fold(name) not in _NOT_DRAWN:
            found[name[0].lower()].append(name)
    return {letter: tuple(found[letter]) for letter in string.ascii_lowercase}
