"""The spellings of a known identifier: names and their initials, numbers, phones, dates."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from itertools import product

from inverse_deid.core.values import KnownIdentifier, KnownSort
from inverse_deid.replacement.date_parts import MONTHS, ORDINALS
from inverse_deid.text.folding import folded
from inverse_deid.text.tokenizer import tokenize

MIN_SIGNS = 4
"""A value of at least this many letters and digits is masked everywhere, in capitals or not."""

MAX_INITIALS = 5
"""Most letters of initials."""

MIN_FUZZY_LETTERS = 5
_MIN_PART = 3
_MIN_GLUED_NAME = 5
_MIN_DIGITS_ALONE = 5
_PHONE_DIGITS = 7
_PARTICLE_WORDS = (
    "al af av bin d da das de del den der des di do dos du el la las le los mac mc ibn o of och ten ter "
    "und van von vom y zu zur"
)
_PARTICLES = frozenset(_PARTICLE_WORDS.split())
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "\u0131": "i", "ħ": "h"}
)
_ISO_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)", re.ASCII)
_PHONE = re.compile(r"[+\d][\d\s()./-]{6,}", re.ASCII)


@lru_cache(maxsize=1 << 16)
def plain(word: str) -> str:
    """Return a word without case and accents, with plain letters also for ø, ł and the like.

    Example:
        >>> plain("Søren") == plain("SOREN")
        True
    """
    return word.lower() if word.isascii() else folded(word).translate(_LETTERS)


@dataclass(frozen=True, slots=True)
class DateWords:
    """The names of each part of a day, without case and accents."""

    days: frozenset[str] = field(repr=False)
    months: frozenset[str] = field(repr=False)
    month_names: frozenset[str] = field(repr=False)
    years: frozenset[str] = field(repr=False)


@dataclass(slots=True)
class Spellings:
    """All spellings of some values, without case and accents.

    Args:
        sequences: Words that are masked in this order, whatever is between them.
        glued: Masked as one word, or as several with little between them.
        parts: Words of names: masked unless they are common words in lower case.
        capitalised: Words that are masked if they begin with a capital letter.
        inside: Masked inside a longer word that is not common.
        fuzzy: Names that are also found with typos.
        initials: Stated initials.
        derived_initials: Initials of known names.
        phones: Last digits of phone numbers.
        dates: Days.
    """

    sequences: set[tuple[str, ...]] = field(default_factory=set, repr=False)
    glued: set[str] = field(default_factory=set, repr=False)
    parts: set[str] = field(default_factory=set, repr=False)
    capitalised: set[str] = field(default_factory=set, repr=False)
    inside: set[str] = field(default_factory=set, repr=False)
    fuzzy: set[str] = field(default_factory=set, repr=False)
    initials: set[str] = field(default_factory=set, repr=False)
    derived_initials: set[str] = field(default_factory=set, repr=False)
    phones: set[str] = field(default_factory=set, repr=False)
    dates: list[DateWords] = field(default_factory=list, repr=False)


def spellings(known: Iterable[str | KnownIdentifier]) -> Spellings:
    """Return the spellings of some values; the sort of a plain string follows from its looks."""
    found = Spellings()
    for value in known:
        identifier = KnownIdentifier(value) if isinstance(value, str) else value
        for sort in _sorts(identifier):
            _add(found, identifier.value, sort)
    return found


def day_of(value: str) -> date | None:
    """Return the day of `CCYYMMDD` or `CCYY-MM-DD`, None = not such a day."""
    match = _ISO_DATE.fullmatch(value.strip())
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def _sorts(identifier: KnownIdentifier) -> Iterator[KnownSort]:
    if identifier.sort is not KnownSort.OTHER:
        yield identifier.sort
        return
    value = identifier.value
    if "@" in value:
        yield KnownSort.EMAIL
    elif not any(map(str.isdigit, value)):
        yield KnownSort.NAME
    else:
        yield KnownSort.NUMBER
        if day_of(value) is not None:
            yield KnownSort.DATE
        if _PHONE.fullmatch(value):
            yield KnownSort.PHONE


def _add(found: Spellings, value: str, sort: KnownSort) -> None:
    words = tuple(plain(word) for word in tokenize(value).words)
    if not words:
        return
    if sum(map(len, words)) >= MIN_SIGNS:
        found.sequences.add(words)
        found.glued.add("".join(words))
    if sort is KnownSort.NAME:
        _add_name(found, value, words)
        if not value.isascii():
            other = unicodedata.normalize("NFC", value).casefold().translate(_UMLAUTS)
            _add_name(found, other, tuple(plain(word) for word in tokenize(other).words))
    elif sort is KnownSort.DATE:
        _add_date(found, value)
    elif sort in _ADDERS:
        _ADDERS[sort](found, words)


def _add_initials(found: Spellings, words: tuple[str, ...]) -> None:
    letters = "".join(words)
    if 2 <= len(letters) <= MAX_INITIALS:
        found.initials.add(letters)


def _add_place(found: Spellings, words: tuple[str, ...]) -> None:
    found.capitalised.update(word for word in words if len(word) > MIN_SIGNS and word.isalpha())


def _add_email(found: Spellings, words: tuple[str, ...]) -> None:
    """Add the part before the domain, run together from its words."""
    for n_words in range(1, len(words)):
        local = "".join(words[:n_words])
        if len(local) > MIN_SIGNS and n_words < len(words) - 1:
            found.glued.add(local)


def _add_name(found: Spellings, value: str, words: tuple[str, ...]) -> None:
    if len(words) == 1 and len(words[0]) < MIN_SIGNS:
        found.capitalised.add(words[0])
    if sum(map(len, words)) >= MIN_SIGNS:
        found.glued.add("".join(words))
    names = [word for word in words if word.isalpha() and word not in _PARTICLES]
    found.parts.update(name for name in names if len(name) >= _MIN_PART)
    found.fuzzy.update(name for name in names if len(name) >= MIN_FUZZY_LETTERS)
    found.inside.update(name for name in names if len(name) > MIN_FUZZY_LETTERS)
    if " " not in value.strip() and len("".join(words)) >= MIN_FUZZY_LETTERS:
        found.fuzzy.add("".join(words))
    for given, family in _given_and_family(words):
        _add_person(found, given, family)


def _given_and_family(words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Return given and family names: either end of a name can be the surname, with its particles."""
    names = [i for i, word in enumerate(words) if word not in _PARTICLES and word.isalpha()]
    if len(names) < 2:
        return
    first_particle = next((i for i in range(1, len(words)) if words[i] in _PARTICLES), names[-1])
    for family, given in (
        (words[names[-1] :], words[: names[-1]]),
        (words[: names[0] + 1], words[names[0] + 1 :]),
        (words[first_particle:], words[:first_particle]),
    ):
        letters = tuple(word for word in given if word.isalpha() and word not in _PARTICLES)
        if letters and family:
            yield letters, "".join(family)


def _add_person(found: Spellings, given: tuple[str, ...], family: str) -> None:
    letters = "".join(name[0] for name in given)
    before = {letters, letters[0], given[0], "".join(given)}
    glued = {a + b for x in before for a, b in ((x, family), (family, x))}
    found.glued.update(word for word in glued if len(word) >= _MIN_GLUED_NAME)
    if len(family) >= 2:
        found.sequences.update(order for x in before for order in ((x, family), (family, x)))
    found.derived_initials.update({letters[0] + family[0], (letters + family[0])[:MAX_INITIALS]})
    found.derived_initials.update({family[0] + letters[0]} if len(letters) > 1 else ())


def _add_number(found: Spellings, words: tuple[str, ...]) -> None:
    whole = "".join(words)
    digits = "".join(sign for sign in whole if sign.isdigit())
    for core in (digits, digits.lstrip("0")):
        if len(core) >= _MIN_DIGITS_ALONE:
            found.glued.add(core)
            found.inside.update([core] if len(core) > _MIN_DIGITS_ALONE else [])
    if len(whole) > _MIN_DIGITS_ALONE:
        found.inside.add(whole)


def _add_phone(found: Spellings, words: tuple[str, ...]) -> None:
    digits = "".join(sign for word in words for sign in word if sign.isdigit())
    if len(digits) >= _MIN_DIGITS_ALONE:
        found.phones.add(digits[-_PHONE_DIGITS:])


def _add_date(found: Spellings, value: str) -> None:
    day = day_of(value)
    if day is None:
        return
    days = {str(day.day), f"{day.day:02}", *(f"{day.day}{end}" for end in ("st", "nd", "rd", "th"))}
    numbers = {str(day.month), f"{day.month:02}"}
    names = month_names()[day.month - 1]
    years = {f"{day.year:04}", f"{day.year % 100:02}"}
    ordinal = ORDINALS[day.day - 1]
    found.dates.append(
        DateWords(
            frozenset(days | ({ordinal} if ordinal.isalpha() else set())),
            frozenset(numbers),
            names,
            frozenset(years),
        )
    )
    found.glued.update(
        "".join(parts)
        for d, m, y in product((f"{day.day:02}", str(day.day)), (f"{day.month:02}", *names), sorted(years))
        for parts in ((d, m, y), (m, d, y), (y, m, d))
        if len("".join(parts)) > MIN_SIGNS
    )


_ADDERS: dict[KnownSort, Callable[[Spellings, tuple[str, ...]], None]] = {
    KnownSort.INITIALS: _add_initials,
    KnownSort.ORGANISATION: _add_place,
    KnownSort.ADDRESS: _add_place,
    KnownSort.NUMBER: _add_number,
    KnownSort.PHONE: _add_phone,
    KnownSort.EMAIL: _add_email,
}


@lru_cache(maxsize=1)
def month_names() -> tuple[frozenset[str], ...]:
    """Return the names of each month, January first, in the languages that are read."""
    columns: list[set[str]] = [set() for _ in range(12)]
    for names in MONTHS.values():
        for style in names:
            for column, name in zip(columns, style.split(), strict=True):
                column.add(plain(name))
    columns[8].add("sept")
    return tuple(map(frozenset, columns))
