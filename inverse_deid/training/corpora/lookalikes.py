"""Names that are also a word, a drug, a disease or a month, with phrases in which they are that."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from inverse_deid.training.corpora.names import NamePools
from inverse_deid.training.corpora.people import FORMS, Person, draw_person
from inverse_deid.training.corpora.wordlists import load_lines

_OWN_FORMS: Mapping[bool, Mapping[str, str]] = MappingProxyType(
    {
        True: {"": "last", "lower": "last_lower", "caps": "last_caps"},
        False: {"": "first", "lower": "first_lower", "caps": "first_caps"},
    }
)
"""By whether the surname is the word: the forms that show the word alone."""


@dataclass(frozen=True, slots=True)
class Lookalike:
    """A person whose name is a word, and what the word is otherwise.

    Args:
        person: Has the word as surname or given name.
        is_surname: Whether it is the surname.
        phrases: Hold the word as what it is when it is no name; in the language of `templates.py`.
    """

    person: Person
    is_surname: bool
    phrases: tuple[str, ...] = field(repr=False)

    def write(self, form: str) -> str:
        """The name in a form of `FORMS`, or the word alone: empty, `lower` or `caps`."""
        return FORMS[_OWN_FORMS[self.is_surname].get(form, form)](self.person)


def draw_lookalike(rng: random.Random, pools: NamePools) -> Lookalike:
    """Draw a word that is a name, and invent the rest of the person.

    Example:
        >>> from inverse_deid.training.corpora.names import load_name_pools
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
    """Whether it is a surname, the name and the phrases of every line of `lookalikes.toml`."""
    rows = []
    for kind, lines in load_lines("lookalikes").items():
        for line in lines:
            name, _, phrases = line.partition(": ")
            rows.append((kind == "surnames", name, tuple(phrases.split("; "))))
    return tuple(rows)
