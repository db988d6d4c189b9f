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
_LOCALES = [
    "az_AZ",
    "cs_CZ",
    "da_DK",
    "de_AT",
    "de_CH",
    "de_DE",
    "en",
    "en_GB",
    "en_IE",
    "en_IN",
    "en_KE",
    "en_NG",
    "en_NZ",
    "en_PK",
    "en_TH",
    "en_US",
    "es_AR",
    "es_CL",
    "es_CO",
    "es_ES",
    "es_MX",
    "et_EE",
    "fi_FI",
    "fr_BE",
    "fr_CA",
    "fr_CH",
    "fr_DZ",
    "fr_FR",
    "ga_IE",
    "ha_NG",
    "hr_HR",
    "hu_HU",
    "id_ID",
    "ig_NG",
    "is_IS",
    "it_IT",
    "ja_JP",
    "lt_LT",
    "lv_LV",
    "nl_BE",
    "nl_NL",
    "no_NO",
    "pl_PL",
    "pt_BR",
    "pt_PT",
    "ro_RO",
    "sk_SK",
    "sl_SI",
    "sv_SE",
    "sw",
    "tr_TR",
    "tw_GH",
    "uz_UZ",
    "vi_VN",
    "yo_NG",
    "zh_CN",
    "zh_TW",
    "zu_ZA",
]


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
    origins = [_origin(code) for code in _LOCALES] + list(_own_origins())
    if extra_given or extra_surnames:
        given, surnames = extra_given or origins[6].given, extra_surnames or origins[6].surnames
        origins.append(NameOrigin("extra", given, surnames, weight=12))
    cities = _gather("address", _LOCALES_WITH_PLACES, ("cities", "city_names", "province_lgus", "villages"))
    sample = tuple(dict.fromkeys((*words("cities"), *cities[:: max(1, len(cities) // 6000)])))
    streets = _gather("address", _LOCALES_WITH_PLACES, ("streets", "street_names"))
    return NamePools(tuple(origins), sample + extra_cities, streets)


_LOCALES_WITH_PLACES = [
    "cs_CZ",
    "da_DK",
    "de_AT",
    "de_CH",
    "de_DE",
    "en_BD",
    "en_IN",
    "en_PH",
    "fi_FI",
    "hr_HR",
    "id_ID",
    "it_IT",
    "nl_BE",
    "nl_NL",
    "pl_PL",
    "pt_PT",
    "ro_RO",
    "sk_SK",
    "sl_SI",
    "sv_SE",
    "zu_ZA",
    "vi_VN",
]


def _origin(code: str) -> NameOrigin:
    given = _gather("person", (code,), _GIVEN)
    surnames = _gather("person", (code,), _SURNAMES)
    return NameOrigin(code, given, surnames or given, _WEIGHTS.get(code, 1))


def _own_origins() -> Iterator[NameOrigin]:
    lists = load_lists("origins")
    for key in lists:
        code, _, part = key.rpartition("_")
        if part == "given":
            yield NameOrigin(code, lists[key], lists[f"{code}_surnames"])


def _gather(provider: str, codes: Iterable[str], attributes: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(_LATIN.fullmatch, faker_words(provider, codes, attributes)))
