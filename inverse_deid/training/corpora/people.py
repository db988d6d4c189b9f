"""People: pools of names of many origins, drawing a name, its many forms and its small mishaps.

Source: Faker's locale providers (MIT licence), `origins.toml` for origins that Faker
writes in other scripts, and any word lists the caller adds.
"""

from __future__ import annotations

import random
import re
import tomllib
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from inverse_deid.lexicon import load_lexicon
from inverse_deid.lexicon.entries import word_key
from inverse_deid.replacement.surrogates.faker_names import faker_words
from inverse_deid.training.corpora.wordlists import load_lists, read_data, words

_LATIN = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff][A-Za-z\u00c0-\u024f\u1e00-\u1eff'\u2019 -]*")
_GIVEN = ["first_names", "first_names_female", "first_names_male", "first_romanized_names"]
_SURNAMES = ["last_names", "last_romanized_names", "unisex_last_names", "male_last_names", "last_names_male"]
_WEIGHTS = {
    "en": 5, "en_US": 8, "en_GB": 3, "en_IE": 2, "en_IN": 2, "es_MX": 2, "vi_VN": 2, "ga_IE": 1,
    "vietnamese": 2, "cantonese": 2, "thai": 2, "first_nations": 2, "native_american": 2,
}  # fmt: skip
_COINED_TRIES = 8


@dataclass(frozen=True, slots=True)
class NameOrigin:
    """Given names and surnames that go together, of a locale such as `de_DE`, at least one of each.

    `weight` is how often it is drawn, relative to the others.
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
            yield NameOrigin(code, lists[key], lists[f"{code}_surnames"], _WEIGHTS.get(code, 1))


def _gather(provider: str, codes: Iterable[str], attributes: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(_LATIN.fullmatch, faker_words(provider, codes, attributes)))


_MISSPELT_SHARE = 0.02
_WITHOUT_ACCENTS_SHARE = 0.15


@dataclass(frozen=True, slots=True)
class Person:
    """One invented person."""

    given: str = field(repr=False)
    surname: str = field(repr=False)
    middle: str = field(repr=False, default="")
    nickname: str = field(repr=False, default="")


def draw_person(rng: random.Random, pools: NamePools, *, surname: str | None = None) -> Person:
    """Invent a person, optionally of a given family."""
    given = draw_given(rng, pools)
    nickname = rng.choice(words("nicknames")) if rng.random() < 0.3 else given[: max(3, len(given) // 2)]
    return Person(given, surname or draw_surname(rng, pools), draw_given(rng, pools), nickname)


def draw_given(rng: random.Random, pools: NamePools) -> str:
    """Draw a given name: from a pool, a word that is a name, very short, doubled or newly coined."""
    draw = rng.random()
    origin = pools.origin(rng)
    name = rng.choice(origin.given)
    if draw < 0.06:
        return rng.choice(words("name_words"))
    if draw < 0.09:
        return rng.choice(words("short_names"))
    if draw < 0.11:
        return f"{name}-{rng.choice(origin.given)}"
    if draw < 0.15:
        return _splice(name, rng.choice(origin.given))
    return coin_name(rng) if draw < 0.2 else name


def draw_surname(rng: random.Random, pools: NamePools) -> str:
    """Draw a surname: from a pool, a word, very short, doubled, with a particle or newly coined."""
    draw = rng.random()
    origin = pools.origin(rng)
    name = rng.choice(origin.surnames)
    if draw < 0.08:
        return rng.choice(words("surname_words"))
    if draw < 0.12:
        return rng.choice(words("short_names"))
    if draw < 0.16:
        return f"{name}{rng.choice('- ')}{rng.choice(origin.surnames)}"
    if draw < 0.22:
        return rng.choice(words("surname_affixes")).format(name)
    if draw < 0.32:
        return _splice(name, rng.choice(origin.surnames))
    return coin_name(rng) if draw < 0.38 else name


def coin_name(rng: random.Random) -> str:
    """Coin a pronounceable name of two or three syllables that no list of the packaged lexicon has.

    Example:
        >>> coin_name(random.Random(4)).isalpha()
        True
    """
    listed, lists = _listed_words(), load_lists("syllables")
    sounds = [key.removesuffix("_onsets") for key in lists if key.endswith("_onsets")]
    name = ""
    for _ in range(_COINED_TRIES):
        sound = rng.choice(sounds)
        parts = [
            "onsets",
            "vowels",
            "middles",
            *(("vowels", "middles") if rng.random() < 0.3 else ()),
            "ends",
        ]
        name = "".join(rng.choice(lists[f"{sound}_{part}"]) for part in parts)
        if word_key(name) not in listed:
            break
    return name


@cache
def _listed_words() -> Container[str]:
    words_of_lists: Container[str] = load_lexicon().artefact.words
    return words_of_lists


def _splice(first: str, second: str) -> str:
    """Return a coined name: the head of one and the tail of the other."""
    head = first[: max(2, len(first) // 2)].strip(" '-")
    tail = second[len(second) // 2 :].strip(" '-").lower()
    return head + tail


def _initial(name: str) -> str:
    return next((char.upper() for char in name if char.isalpha()), "X")


def _break_by_hyphen(name: str) -> str:
    """Return a name whose longest part a hyphen parts at the line end."""
    part = max(name.split(" "), key=len)
    head, tail = part[: (len(part) + 1) // 2].rstrip("-"), part[(len(part) + 1) // 2 :].lstrip("-")
    return name.replace(part, f"{head}-\n{tail}", 1) if tail else name


def _surname_initials(surname: str) -> str:
    """Return the initials of a surname with its particles: `vdH`, `dlC`, `McG`."""
    head = "Mc" if surname.startswith("Mc") and len(surname) > 2 else ""
    return head + "".join(part[0] for part in surname[len(head) :].replace("-", " ").split() if part)


def _spell(letter: str) -> str:
    return next((word for word in words("spelling_alphabet") if word.startswith(letter)), "Unknown")


FORMS: dict[str, Callable[[Person], str]] = {
    "full": lambda p: f"{p.given} {p.surname}",
    "full_middle": lambda p: f"{p.given} {p.middle} {p.surname}",
    "full_middle_initial": lambda p: f"{p.given} {_initial(p.middle)}. {p.surname}",
    "full_caps_surname": lambda p: f"{p.given} {p.surname.upper()}",
    "initial_surname": lambda p: f"{_initial(p.given)}. {p.surname}",
    "initial_surname_bare": lambda p: f"{_initial(p.given)} {p.surname}",
    "initials_surname": lambda p: f"{_initial(p.given)}.{_initial(p.middle)}. {p.surname}",
    "last": lambda p: p.surname,
    "last_caps": lambda p: p.surname.upper(),
    "first": lambda p: p.given,
    "first_initial": lambda p: f"{p.given} {_initial(p.surname)}.",
    "first_initial_bare": lambda p: f"{p.given} {_initial(p.surname)}",
    "lastfirst": lambda p: f"{p.surname}, {p.given}",
    "lastfirst_middle": lambda p: f"{p.surname}, {p.given} {_initial(p.middle)}",
    "lastfirst_caps": lambda p: f"{p.surname}, {p.given}".upper(),
    "lastfirst_tight": lambda p: f"{p.surname},{p.given}".upper(),
    "lastfirst_half": lambda p: f"{p.surname.upper()}, {p.given}",
    "lastfirst_plain": lambda p: f"{p.surname} {p.given}",
    "lastfirst_plain_caps": lambda p: f"{p.surname} {p.given}".upper(),
    "last_initial": lambda p: f"{p.surname} {_initial(p.given)}",
    "last_initials": lambda p: f"{p.surname} {_initial(p.given)}{_initial(p.middle)}",
    "last_initial_dot": lambda p: f"{p.surname} {_initial(p.given)}.",
    "last_comma_initial": lambda p: f"{p.surname}, {_initial(p.given)}.",
    "initials": lambda p: _initial(p.given) + _initial(p.surname),
    "initials_three": lambda p: _initial(p.given) + _initial(p.middle) + _initial(p.surname),
    "initials_dots": lambda p: f"{_initial(p.given)}.{_initial(p.surname)}.",
    "initials_dots_spaced": lambda p: f"{_initial(p.given)}. {_initial(p.surname)}.",
    "initials_lower": lambda p: (_initial(p.given) + _initial(p.surname)).lower(),
    "initials_three_lower": lambda p: (_initial(p.given) + _initial(p.middle) + _initial(p.surname)).lower(),
    "initial_dot": lambda p: f"{_initial(p.given)}.",
    "glued": lambda p: (p.surname + p.given).replace(" ", ""),
    "camel": lambda p: (p.given + p.surname).replace(" ", ""),
    "nickname": lambda p: p.nickname,
    "full_lower": lambda p: f"{p.given} {p.surname}".lower(),
    "first_lower": lambda p: p.given.lower(),
    "first_caps": lambda p: p.given.upper(),
    "last_lower": lambda p: p.surname.lower(),
    "lastfirst_lower": lambda p: f"{p.surname}, {p.given}".lower(),
    "initial_surname_lower": lambda p: f"{_initial(p.given)} {p.surname}".lower(),
    "first_initial_lower": lambda p: f"{p.given} {_initial(p.surname)}".lower(),
    "full_caps": lambda p: f"{p.given} {p.surname}".upper(),
    "full_line_broken": lambda p: f"{p.given}\n{p.surname}",
    "lastfirst_line_broken": lambda p: f"{p.surname},\n{p.given}",
    "full_hyphen_broken": lambda p: _break_by_hyphen(f"{p.given} {p.surname}"),
    "last_hyphen_broken": lambda p: _break_by_hyphen(p.surname),
    "initials_particle": lambda p: _initial(p.given) + _surname_initials(p.surname),
    "full_known_as": lambda p: f"{p.given} ({p.nickname}) {p.surname}",
    "initials_hyphen": lambda p: f"{_initial(p.given)}-{_initial(p.middle)} {p.surname}",
    "spelled": lambda p: f"Trauma {_spell(_initial(p.given))}",
    "full_junior": lambda p: f"{p.given} {p.surname} Jr",
    "lastfirst_third": lambda p: f"{p.surname}, {p.given} III",
    "full_nickname": lambda p: f'{p.given} "{p.nickname}" {p.surname}',
    "caret": lambda p: f"{p.surname}^{p.given}^{_initial(p.middle)}".upper(),
}


@cache
def load_form_weights() -> Mapping[str, Mapping[str, float]]:
    """Return how often each form of `FORMS` is drawn, by role (`name_forms.toml`)."""
    return tomllib.loads(read_data("name_forms.toml"))


def draw_form(rng: random.Random, role: str) -> str:
    """Draw a form for a person of the role."""
    weights = load_form_weights()[role]
    return rng.choices(list(weights), list(weights.values()))[0]


def write_name(person: Person, rng: random.Random, role: str = "PATIENT", form: str | None = None) -> str:
    """Write a person's name in the form, or in one drawn for the role.

    Example:
        >>> write_name(Person("Ada", "Okafor"), random.Random(0), form="lastfirst")
        'Okafor, Ada'
    """
    text = FORMS[form or draw_form(rng, role)](person)
    if not text.isascii() and rng.random() < _WITHOUT_ACCENTS_SHARE:
        text = without_accents(text)
    return misspell(text, rng) if len(text) > 5 and rng.random() < _MISSPELT_SHARE else text


def without_accents(text: str) -> str:
    """Return the name as a keyboard without accents writes it.

    Example:
        >>> without_accents("Nuñez-Çelik")
        'Nunez-Celik'
    """
    return "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))


def misspell(text: str, rng: random.Random) -> str:
    """Drop, double or swap one inner letter."""
    inner = [i for i in range(1, len(text) - 1) if text[i].isalpha() and text[i + 1].isalpha()]
    if not inner:
        return text
    i = rng.choice(inner)
    changed = rng.choice((text[i + 1], text[i] * 2 + text[i + 1], text[i + 1] + text[i]))
    return text[:i] + changed + text[i + 2 :]
