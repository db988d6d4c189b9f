"""Places and employers: cities, streets, hospitals, organisations, landmarks, professions."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping

from inverse_deid.training.corpora.identifiers import fill_pattern
from inverse_deid.training.corpora.people import NamePools, coin_name, draw_given, draw_surname
from inverse_deid.training.corpora.wordlists import words

_SLOT = re.compile(r"\{(stem|plural|compound|city|saint|surname|given|coined)\}")


def draw_city(rng: random.Random, pools: NamePools) -> str:
    """Draw a city: well known, from an open list, or coined (`Ashcombe`)."""
    draw = rng.random()
    if draw < 0.45:
        return rng.choice(words("cities"))
    if draw < 0.85:
        return rng.choice(pools.cities)
    ending = rng.choice(words("place_endings"))
    coined = rng.choice(words("place_stems")).replace(" ", "") + ending
    affix = rng.choice(words("city_affixes"))
    return affix.format(coined)


def draw_hospital(rng: random.Random, pools: NamePools) -> str:
    """Draw a hospital, practice, nursing home, laboratory or pharmacy, with the word or without it."""
    name = _fill(rng.choice(words("hospitals")), rng, pools)
    return name.lower() if rng.random() < 0.08 else name


def draw_organisation(rng: random.Random, pools: NamePools) -> str:
    """Draw a school, employer, insurer, club or public body."""
    name = _fill(rng.choice(words("organisations")), rng, pools)
    return name.lower() if rng.random() < 0.08 else name


def draw_landmark(rng: random.Random, pools: NamePools) -> str:
    """Draw a place other than a city: island, bridge, park, post box, farm."""
    return _fill(rng.choice(words("landmarks")), rng, pools)


def draw_street(rng: random.Random, pools: NamePools) -> str:
    """Draw a street, mostly with a house number."""
    number = fill_pattern(
        rng.choice(("#", "##", "##", "###", "####", "#####", "##@", "#a", "##-##", "##/#", "#-#-##")), rng
    )
    draw = rng.random()
    if draw < 0.18:
        foreign = rng.choice(words("street_foreign") if draw < 0.1 else pools.streets)
        return rng.choice((f"{foreign} {number}", f"{number} {foreign}", f"{number}, {foreign}", foreign))
    stem = rng.choice(
        (rng.choice(words("street_words")), rng.choice(words("place_stems")), draw_surname(rng, pools))
    )
    street = f"{stem} {rng.choice(words('street_types'))}"
    unit = fill_pattern(rng.choice(words("buildings")), rng)
    return rng.choice(
        (
            f"{number} {street}",
            f"{number} {street}",
            f"{number} {street}",
            f"{number} {street}, {unit}",
            street,
            f"{number} {rng.choice('NSEW')} {street}",
            f"{number} {street} {unit}",
            f"{stem} House, {number} {street}",
        )
    )


def draw_profession(rng: random.Random) -> str:
    """Draw an occupation as a phrase in lower case."""
    return rng.choice(words("professions"))


def draw_work(rng: random.Random, form: str) -> str:
    """What somebody does for a living in plain speech, in one of `WORK_FORMS`.

    Example:
        >>> draw_work(random.Random(2), "does").split()[0].endswith("s")
        True
    """
    verb, _, rest = fill_pattern(rng.choice(words("work")), rng).partition(" ")
    return f"{WORK_FORMS[form](verb)} {rest}"


def _third_person(verb: str) -> str:
    if re.fullmatch(r".+[^aeo]y", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("ch", "sh", "s", "x")) else "s")


def _progressive(verb: str) -> str:
    if verb.endswith("e") and not verb.endswith("oe"):
        return verb[:-1] + "ing"
    return (verb + verb[-1] if verb in _DOUBLING else verb) + "ing"


_DOUBLING = frozenset(["bag", "cut", "dig", "fit", "log", "mop", "run", "trap", "trim"])
WORK_FORMS: Mapping[str, Callable[[str], str]] = {"do": str, "does": _third_person, "doing": _progressive}
"""How plain speech puts the verb: used to `drive a cab`, she `drives a cab`, `driving a cab`."""


def _fill(pattern: str, rng: random.Random, pools: NamePools) -> str:
    text = fill_pattern(pattern, rng) if re.search(r"[@#~]|\{yyyy\}", pattern) else pattern
    return _SLOT.sub(lambda match: _slot(match.group(1), rng, pools), text)


def _slot(name: str, rng: random.Random, pools: NamePools) -> str:
    stem = rng.choice(words("place_stems"))
    if name == "stem":
        return stem
    if name == "plural":
        return stem + "s"
    if name == "compound":
        return stem.split()[0] + rng.choice(words("place_endings"))
    if name == "saint":
        return rng.choice(words("saints"))
    if name == "coined":
        return coin_name(rng)
    return {"city": draw_city, "surname": draw_surname, "given": draw_given}[name](rng, pools)
