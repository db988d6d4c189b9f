"""The template language of sentences and layouts, and the case it is filled from.

`{DOCTOR}` is an identifier of that type, `{DOCTOR.last}` in that form (a name form, a kind of
date, a form of age or profession), `{DATE=April}` that very text; `{dose}` is a safe slot of
`safe.toml`; `<<a|b>>` chooses. `{PATIENT.twin}` is a name that is also a word (`twin_full` the full
name of that person), `{twin}` a phrase with the word itself.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache

from inverse_deid.core.phi import PhiType
from inverse_deid.training.corpora import ages, dates, places
from inverse_deid.training.corpora.identifiers import fill_pattern
from inverse_deid.training.corpora.people import FORMS, NamePools, Person, draw_person, write_name
from inverse_deid.training.corpora.surrogates import SurrogateMaker, TextBuilder
from inverse_deid.training.corpora.wordlists import load_lines, load_lists

_RANGE = re.compile(r"\[(\d[\d,]*(?:\.\d+)?)-(\d[\d,]*(?:\.\d+)?)\]")
_CHOICE = re.compile(r"<<([^<>]*)>>")
_SLOT = re.compile(r"\{([A-Za-z_]+)(?:\.([a-z_]+)|=([^{}]+))?\}")
_TWIN = "twin"
_N_LOOKALIKES = 3
_STRANGER_SHARE = 0.35
_ROLES = (PhiType.PATIENT, PhiType.RELATIVE, PhiType.DOCTOR)
_DAY_MONTH_SWAP = (("{m}/{d}/", "{d}/{m}/"), ("{mm}/{dd}/", "{dd}/{mm}/"), ("{m}/{d}", "{d}/{m}"))


_OWN_FORMS: Mapping[bool, Mapping[str, str]] = {
    True: {"": "last", "lower": "last_lower", "caps": "last_caps"},
    False: {"": "first", "lower": "first_lower", "caps": "first_caps"},
}
"""By whether the surname is the word: the forms that show the word alone."""


@dataclass(frozen=True, slots=True)
class Lookalike:
    """A person whose surname or given name is also a word, and phrases (templates) with the word as such."""

    person: Person
    is_surname: bool
    phrases: tuple[str, ...] = field(repr=False)

    def write(self, form: str) -> str:
        """Write the name in a form of `FORMS`, or the word alone: empty, `lower` or `caps`."""
        return FORMS[_OWN_FORMS[self.is_surname].get(form, form)](self.person)


def draw_lookalike(rng: random.Random, pools: NamePools) -> Lookalike:
    """Draw a word that is a name, and invent the rest of the person.

    Example:
        >>> from inverse_deid.training.corpora.people import load_name_pools
        >>> drawn = draw_lookalike(random.Random(0), load_name_pools())
        >>> any(drawn.write("").casefold() in phrase.casefold() for phrase in drawn.phrases)
        True
    """
    is_surname, name, phrases = rng.choice(load_lookalikes())
    person = draw_person(rng, pools, surname=name if is_surname else None)
    if not is_surname:
        person = dataclasses.replace(person, given=name, nickname=name)
    return Lookalike(person, is_surname, phrases)


@cache
def load_lookalikes() -> tuple[tuple[bool, str, tuple[str, ...]], ...]:
    """Return every line of `lookalikes.toml`: whether it is a surname, the name, the phrases."""
    rows = []
    for kind, lines in load_lines("lookalikes").items():
        for line in lines:
            name, _, phrases = line.partition(": ")
            rows.append((kind == "surnames", name, tuple(phrases.split("; "))))
    return tuple(rows)


@dataclass(slots=True)
class Cast:
    """The people and habits of one invented case.

    Of the people of a role, the first is the most frequent. `date_patterns` are those that this writer
    uses most, and the events are around the last day.
    """

    people: dict[PhiType, list[Person]] = field(repr=False)
    lookalikes: list[Lookalike] = field(repr=False)
    date_patterns: list[str]
    last_day: date = field(repr=False)
    day_first: bool = False


def draw_cast(rng: random.Random, maker: SurrogateMaker) -> Cast:
    """Invent a patient, a family that shares surnames, clinicians and habits of dating."""
    patient = draw_person(rng, maker.names)
    family = [
        draw_person(rng, maker.names, surname=patient.surname if rng.random() < 0.6 else None)
        for _ in range(3)
    ]
    clinicians = [draw_person(rng, maker.names) for _ in range(4)]
    people = {PhiType.PATIENT: [patient], PhiType.RELATIVE: family, PhiType.DOCTOR: clinicians}
    habit = rng.choice(("us_numeric", "us_numeric", "numeric", "compact", "written", "iso", "short", "short"))
    patterns = [dates.draw_pattern(rng, habit)]
    lookalikes = [draw_lookalike(rng, maker.names) for _ in range(_N_LOOKALIKES)]
    return Cast(people, lookalikes, patterns, dates.random_date(rng), day_first=rng.random() < 0.4)


def fill(template: str, builder: TextBuilder, cast: Cast, maker: SurrogateMaker) -> None:
    """Write a template into the builder; names that are words and the words themselves fit together."""
    rng = maker.rng
    while "<<" in template:
        chosen = _CHOICE.sub(lambda match: rng.choice(match.group(1).split("|")), template)
        if chosen == template:
            break
        template = chosen
    lookalike = rng.choice(cast.lookalikes)
    phrases = itertools.cycle(rng.sample(lookalike.phrases, len(lookalike.phrases)))
    position = 0
    for match in _SLOT.finditer(template):
        builder.add(template[position : match.start()])
        name, form, literal = match.groups()
        if literal:
            builder.mark(literal, PhiType[name])
        elif name == _TWIN:
            fill(next(phrases), builder, cast, maker)
        elif name.islower():
            builder.add(draw_safe(name, rng))
        elif form and form.startswith(_TWIN):
            builder.mark(lookalike.write(form.removeprefix(_TWIN).removeprefix("_")), PhiType[name])
        else:
            builder.mark(write_identifier(PhiType[name], form, cast, maker), PhiType[name])
        position = match.end()
    builder.add(template[position:])


def write_identifier(phi_type: PhiType, form: str | None, cast: Cast, maker: SurrogateMaker) -> str:
    """Write an identifier of the cast, or a new one, in the form."""
    rng = maker.rng
    if phi_type in _ROLES:
        return _name(phi_type, form, cast, maker)
    if phi_type is PhiType.DATE:
        return _date(form, cast, rng)
    if phi_type is PhiType.AGE and form:
        return ages.draw_age_as(form, rng)
    if phi_type is PhiType.PROFESSION and form:
        return places.draw_work(rng, form)
    person = (
        cast.people[PhiType.PATIENT][0] if rng.random() < 0.6 else rng.choice(cast.people[PhiType.DOCTOR])
    )
    return maker.draw(phi_type, person)


def _name(role: PhiType, form: str | None, cast: Cast, maker: SurrogateMaker) -> str:
    rng = maker.rng
    known = cast.people[role]
    person = known[0] if rng.random() < 0.4 else rng.choice(known)
    if role is not PhiType.PATIENT and rng.random() < _STRANGER_SHARE:
        person = draw_person(rng, maker.names)
    return write_name(person, rng, role.value, form)


def _date(form: str | None, cast: Cast, rng: random.Random) -> str:
    if form is not None:
        pattern = dates.draw_pattern(rng, form)
    else:
        pattern = cast.date_patterns[0] if rng.random() < 0.65 else dates.draw_pattern(rng)
    if cast.day_first:
        for american, other in _DAY_MONTH_SWAP:
            pattern = pattern.replace(american, other)
    near = date.fromordinal(max(1, cast.last_day.toordinal() + rng.randint(-120, 120)))
    day = near if rng.random() < 0.75 else dates.random_date(rng)
    return dates.render_date(pattern, day, rng)


def draw_safe(slot: str, rng: random.Random) -> str:
    """Fill a safe slot: an item of that list of `safe.toml`, its `[low-high]` drawn.

    Example:
        >>> "/" in draw_safe("bp", random.Random(0))
        True
    """
    item = rng.choice(load_lists("safe")[slot])
    if "#" in item or "@" in item or "?" in item:
        item = fill_pattern(item, rng)
    item = item.replace("¤", "#")  # a number sign that is text

    def draw_number(match: re.Match[str]) -> str:
        """Draw a number with as many decimals as the range has, and with its comma above a thousand."""
        low, high = match.groups()
        decimals = max(len(part.partition(".")[2]) for part in (low, high))
        value = rng.uniform(float(low.replace(",", "")), float(high.replace(",", "")))
        return f"{value:{',' if ',' in low + high else ''}.{decimals}f}"

    return _RANGE.sub(draw_number, item)
