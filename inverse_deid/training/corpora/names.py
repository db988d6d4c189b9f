"""Pools of personal names of many origins, taken from open lists.

Source: Faker's locale providers (MIT licence), `origins.toml` for origins that Faker
writes in other scripts, and any word lists the caller adds.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from inverse_deid.replacement.faker_names import faker_words
from inverse_deid.training.corpora.wordlists import load_lists, words

_LATIN = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff][A-Za-z\u00c0-\u024f\u1e00-\u1eff'\u2019 -]*")
_GIVEN = ["first_names", "first_names_female", "first_names_male", "first_romanized_names"]
_SURNAMES = ["last_names", "last_romanized_names", "unisex_last_names", "male_last_names", "last_names_male"]
_WEIGHTS = {"en": 5, "en_US": 8, "en_GB": 3, "en_IE": 2, "en_IN": 2, "es_MX": 2, "vi_VN": 2, "ga_IE": 1}


@dataclass(frozen=True, slots=True)
class NameOrigin:
    """Given names and surnames that go together.

    Args:
        code: The locale, for example `de_DE`.
        given: Given names, at least one.
        surnames: Surnames, at least one.
        weight: How often it is drawn, relative to the others.
    """

    code: str
    given: Sequence[str] = field(repr=False)
    surnames: Sequence[str] = field(repr=False)
    weight: int = 1


@dataclass(frozen=True, slots=True)
class NamePools:
    """Everything names of people and places are drawn from."""

    origins: tuple[NameOrigin, ...] = field(repr=False)
    cities: Sequence[str] = field(repr=False)
    streets: Sequence[str] = field(repr=False)

    def origin(self, rng: random.Random) -> NameOrigin:
        """Draw an origin by weight."""
        return rng.choices(self.origins, [origin.weight for origin in self.origins])[0]


@lru_cache(maxsize=8)
def load_name_pools(
    extra_given: tuple[str, ...] = (),
    extra_surnames: tuple[str, ...] = (),
    extra_cities: tuple[str, ...] = (),
) -> NamePools:
    """Read the names of Faker's locales and our own; added lists become one more, frequent origin.

    Example:
        >>> len(load_name_pools().origins) > 70
        True
    """
    origins = list(_own_origins())
    for code in reversed(words("locales")):
        given, surnames = (_gather("person", (code,), kind) for kind in (_GIVEN, _SURNAMES))
        origins.insert(0, NameOrigin(code, given, surnames or given, _WEIGHTS.get(code, 1)))
    if extra_given or extra_surnames:
        usual = origins[6]
        added = NameOrigin("extra", extra_given or usual.given, extra_surnames or usual.surnames, weight=12)
        origins.append(added)
    cities = _gather(
        "address", words("locales_with_places"), ("cities", "city_names", "province_lgus", "villages")
    )
    sample = tuple(dict.fromkeys((*words("cities"), *cities[:: max(1, len(cities) // 6000)])))
    streets = _gather("address", words("locales_with_places"), ("streets", "street_names"))
    return NamePools(tuple(origins), sample + extra_cities, streets)


def _own_origins() -> Iterator[NameOrigin]:
    lists = load_lists("origins")
    for key in lists:
        code, _, part = key.rpartition("_")
        if part == "given":
            yield NameOrigin(code, lists[key], lists[f"{code}_surnames"])


def _gather(provider: str, codes: Iterable[str], attributes: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(_LATIN.fullmatch, faker_words(provider, codes, attributes)))
