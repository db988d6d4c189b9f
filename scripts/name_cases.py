"""Invented texts with planted names, words, hospitals and jobs, for `report_names.py`.

The data are in `name_sets/`. None of them is trained on: templates differ from those of the generator,
and `listing` says which names the lexicon or the generator's pools have.
"""

from __future__ import annotations

import itertools
import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from inverse_deid.lexicon import load_lexicon
from inverse_deid.lexicon.entries import word_key
from inverse_deid.training.corpora.people import load_name_pools
from inverse_deid.training.corpora.templates import load_lookalikes
from inverse_deid.training.corpora.wordlists import words

FOLDER = Path(__file__).parent / "name_sets"
LISTED, UNLISTED = "in our lists", "not in our lists"
SEXES = ("women", "men")
_SLOT = re.compile(r"\{(\w+)\}")
_WORD = re.compile(r"[^\W\d_]{2,}")
_NOT_OF_THE_NAME = re.compile(r"(?:the|Ms|Mrs|Miss|Mr|Dr)\b\.? ")
_TITLES = {"women": ("Ms.", "Mrs.", "Miss", "Dr."), "men": ("Mr.", "Mr", "Dr.", "Dr")}
_N_SENTENCES = (5, 8)


@dataclass(frozen=True, slots=True)
class Person:
    """An invented person of a region."""

    given: str = field(repr=False)
    surname: str = field(repr=False)
    sex: str


@dataclass(frozen=True, slots=True)
class Case:
    """A text with one planted phrase, half-open offsets `start` to `end`.

    `table` and `labels` say which figures it counts for. `is_phi` is false for a control: a phrase that a
    reader needs.
    """

    table: str
    labels: tuple[str, ...]
    text: str = field(repr=False)
    start: int
    end: int
    is_phi: bool = True


_NAME_FORMS: Mapping[str, tuple[str, Callable[[Person, random.Random], str]]] = {
    "title and surname": ("sentences", lambda p, rng: f"{rng.choice(_TITLES[p.sex])} {p.surname}"),
    "full name": ("sentences", lambda p, _: f"{p.given} {p.surname}"),
    "surname, first name": ("lists", lambda p, _: f"{p.surname}, {p.given}"),
    "first name": ("sentences", lambda p, _: p.given),
    "surname": ("sentences", lambda p, _: p.surname),
    "initials and surname": ("sentences", lambda p, rng: f"{p.given[0]}.{rng.choice('ABEJKM')}. {p.surname}"),
    "possessive": ("possessive", lambda p, _: p.surname),
    "capitals": ("lists", lambda p, _: f"{p.given} {p.surname}".upper()),
    "full name, lower case": ("lower", lambda p, _: f"{p.given} {p.surname}".lower()),
    "surname, lower case": ("lower", lambda p, _: p.surname.lower()),
    "first name, lower case": ("lower", lambda p, _: p.given.lower()),
    "with credentials": ("credential", lambda p, _: f"{p.given} {p.surname}"),
}  # fmt: skip
NAME_FORMS = tuple(_NAME_FORMS)


@cache
def read_set(name: str) -> Mapping[str, object]:
    """Return a file of `name_sets/`."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def items(value: object) -> tuple[str, ...]:
    """Return the items of a list: lines if there are several, else parts between semicolons."""
    text = str(value).strip()
    parts = text.splitlines() if "\n" in text else text.split(";")
    return tuple(filter(None, (part.strip() for part in parts)))


def templates(name: str) -> tuple[str, ...]:
    """Return the templates of a kind."""
    return items(read_set("templates")[name])


@cache
def regions() -> Mapping[str, tuple[Person, ...]]:
    """Return the people of each region: each given name with another surname."""
    people = {}
    for region, lists in read_set("names").items():
        surnames = items(lists["surnames"])  # type: ignore[index]
        people[region] = tuple(
            Person(given, surnames[(i + shift) % len(surnames)], sex)
            for shift, sex in enumerate(SEXES)
            for i, given in enumerate(items(lists[sex]))  # type: ignore[index]
        )
    return people


@cache
def _training_words() -> frozenset[str]:
    """Return the parts of all names that the generator of training documents draws from."""
    names: list[str] = [name for _, name, _ in load_lookalikes()]
    for origin in load_name_pools().origins:
        names += (*origin.given, *origin.surnames)
    for name in ("name_words", "surname_words", "short_names", "nicknames"):
        names += words(name)
    return frozenset(word_key(part) for name in names for part in _WORD.findall(name))


@cache
def _lexicon_words() -> Mapping[str, int]:
    listed: Mapping[str, int] = load_lexicon().artefact.words
    return listed


def listing(name: str) -> str:
    """Return `LISTED` if any part of a name is in the lexicon or is trained on.

    Example:
        >>> listing("Smith-Zqwxv"), listing("Zqwxv")
        ('in our lists', 'not in our lists')
    """
    keys = [word_key(part) for part in _WORD.findall(name)]
    return LISTED if any(key in _lexicon_words() or key in _training_words() for key in keys) else UNLISTED


def fill(template: str, rng: random.Random, name: str = "") -> tuple[str, int, int]:
    """Return the text and where the name without title or article is in it (0, 0 without a name)."""
    text, position, start, end = "", 0, 0, 0
    for match in _SLOT.finditer(template):
        text += template[position : match.start()]
        if match[1] == "name":
            outside = _NOT_OF_THE_NAME.match(name)
            start, end = len(text) + (outside.end() if outside else 0), len(text) + len(name)
            text += name
        else:
            text += rng.choice(items(read_set("templates")[match[1]]))
        position = match.end()
    return text + template[position:], start, end


def _cases(
    table: str, kind: str, planted: Sequence[tuple[tuple[str, ...], str]], seed: str, *, is_phi: bool = True
) -> Iterator[Case]:
    """Plant each phrase into one template of a kind, taken in turn."""
    rng = random.Random(f"{table}:{seed}")
    for template, (labels, phrase) in zip(itertools.cycle(templates(kind)), planted, strict=False):
        yield Case(table, labels, *fill(template, rng, phrase), is_phi)


def region_cases() -> Iterator[Case]:
    """Yield every person of every region in every form; labels are region, sex, form, listing."""
    for number, form in enumerate(NAME_FORMS):
        kind, write = _NAME_FORMS[form]
        rng = random.Random(number)
        planted = []
        for region, people in regions().items():
            for person in people:
                name = write(person, rng)
                bare = name.partition(" ")[2] if form == "title and surname" else name
                planted.append(((region, person.sex, form, listing(bare)), name))
        yield from _cases("regions", kind, planted, form)


def trained_words() -> frozenset[str]:
    """Return the words that training uses as names."""
    names = [*words("name_words"), *words("surname_words"), *(name for _, name, _ in load_lookalikes())]
    return frozenset(map(word_key, names))


def word_cases() -> Iterator[Case]:
    """Yield words as names, with and without a capital, and phrases in which they are only words."""
    for kind in ("given", "surnames"):
        names, controls = [], []
        for line in items(read_set("lookalikes")[kind]):
            name, _, phrases = line.partition(": ")
            trained = "trained on" if word_key(name) in trained_words() else "not trained on"
            names.append(((kind, trained), name))
            controls += [((kind, trained), name, phrase) for phrase in phrases.split("; ")]
        for turn, writing in enumerate(("capital", "no capital")):
            planted = [((*labels, writing), name if turn == 0 else name.lower()) for labels, name in names]
            for template in ("sentences", "subject_or_object") if turn == 0 else ("lower", "lower"):
                rotated = planted[turn:] + planted[:turn]
                yield from _cases("words", template, rotated, f"{kind}{writing}{template}")
        for labels, name, phrase in controls:
            match = re.search(rf"(?i)\b{name}\b", phrase)
            if match:
                text = (
                    f"{phrase[0].upper()}{phrase[1:]}, {fill('and {symptom} began.', random.Random(name))[0]}"
                )
                yield Case("words", (*labels, "control"), text, match.start(), match.end(), is_phi=False)


def bare_surname_cases() -> Iterator[Case]:
    """Yield surnames without a title as subject or object, three sentences each; labels are the listing."""
    people = [person for group in regions().values() for person in group]
    surnames = list(dict.fromkeys(person.surname for person in people))
    for turn in range(3):
        planted = [((listing(name),), name) for name in surnames[turn:] + surnames[:turn]]
        yield from _cases("bare surnames", "subject_or_object", planted, str(turn))


def hospital_cases() -> Iterator[Case]:
    """Yield hospitals without a telling word, and units of a hospital, which identify nobody."""
    sets = read_set("lookalikes")
    names = [part.strip() for line in items(sets["hospitals"]) for part in line.split(";")]
    for turn in range(3):
        planted = [(("name",), name) for name in names[turn:] + names[:turn]]
        planted += [(("abbreviation",), name) for name in items(sets["abbreviations"])]
        yield from _cases("hospitals", "hospital", planted, str(turn))
    units = [(("unit",), name) for _ in range(6) for name in items(sets["units"])]
    yield from _cases("hospitals", "unit", units, "unit", is_phi=False)


def job_cases() -> Iterator[Case]:
    """Yield each job as the patient's own and as the role of somebody else."""
    jobs = items(read_set("lookalikes")["jobs"])
    for kind, label in (("own_job", "the patient's own job"), ("role", "role of somebody else")):
        turns = range(len(templates(kind)))
        planted = [((label,), jobs[(i + turn) % len(jobs)]) for turn in turns for i in range(len(jobs))]
        yield from _cases("jobs", kind, planted, kind, is_phi=kind == "own_job")


def narrative_cases(n_narratives: int) -> Iterator[Case]:
    """Yield invented narratives with one planted name each that is in no list; the label is its form."""
    rng = random.Random("narratives")
    people = [person for group in regions().values() for person in group]
    forms = [form for form in NAME_FORMS if form != "surname, first name"]
    made = 0
    while made < n_narratives:
        person, form = rng.choice(people), forms[made % len(forms)]
        if any(listing(name) == LISTED for name in (person.given, person.surname)):
            continue
        kind, write = _NAME_FORMS[form]
        sentence, start, end = fill(rng.choice(templates(kind)), rng, write(person, rng))
        chosen = rng.sample(templates("narrative"), rng.randint(*_N_SENTENCES))
        sentences = [fill(template, rng)[0] for template in chosen]
        before = rng.randint(0, len(sentences))
        head = "".join(f"{text} " for text in sentences[:before])
        text = " ".join([*sentences[:before], sentence, *sentences[before:]])
        yield Case("narratives", (form,), text, len(head) + start, len(head) + end)
        made += 1
