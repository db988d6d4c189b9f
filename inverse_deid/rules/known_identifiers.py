"""Finds known identifiers of a case in its texts, also in other spellings.

The search ignores case and accents. It finds the value itself with any separators (hyphen, space,
nothing, a line end); the parts of a name and names inside other words; first name and surname in any
order, with initials, run together; initials; names with a typo; numbers with other separators; the
last digits of phones; days in other formats. A common word in lower case that is part of a name is masked
unless it reads as a thing (`the head`) or as grammar (`will stop`). If it is only part of another value, or
similar to one, it is not masked.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

import numpy as np

from inverse_deid.core.errors import FormatError
from inverse_deid.core.values import BoolArray, KnownIdentifier, KnownSort, Tokens, day_of, find_known_problem
from inverse_deid.core.wording import _
from inverse_deid.replacement.dates.parts import MONTHS, ORDINALS
from inverse_deid.rules.people import BEFORE_PEOPLE, BEFORE_THINGS, GRAMMAR, SPEECH
from inverse_deid.rules.shapes import word_set
from inverse_deid.text.matching import NearNames, Sequences, fold
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
_PARTICLES = word_set(
    """al af av bin d da das de del den der des di do dos du el la las le los mac mc ibn o of och ten ter
    und van von vom y zu zur"""
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "\u0131": "i", "ħ": "h"}
)
_PHONE = re.compile(r"[+\d][\d\s()./-]{6,}", re.ASCII)


@lru_cache(maxsize=1 << 16)
def plain(word: str) -> str:
    """Return a word without case and accents, with plain letters also for ø, ł and the like.

    Example:
        >>> plain("Søren") == plain("SOREN")
        True
    """
    return word.lower() if word.isascii() else fold(word).translate(_LETTERS)


@dataclass(frozen=True, slots=True, repr=False)
class DateWords:
    """The names of each part of a day, without case and accents."""

    days: frozenset[str]
    months: frozenset[str]
    month_names: frozenset[str]
    years: frozenset[str]


@dataclass(slots=True, repr=False)
class Spellings:
    """All spellings of some values, without case and accents."""

    sequences: set[tuple[str, ...]] = field(default_factory=set)  # masked in this order, whatever is between
    glued: set[str] = field(default_factory=set)  # masked as one word, or as several with little between
    parts: set[str] = field(default_factory=set)  # of names: masked unless common words in lower case
    capitalised: set[str] = field(default_factory=set)  # masked if they begin with a capital letter
    inside: set[str] = field(default_factory=set)  # masked inside a longer word that is not common
    fuzzy: set[str] = field(default_factory=set)  # names that are also found with typos
    initials: set[str] = field(default_factory=set)  # stated initials
    derived_initials: set[str] = field(default_factory=set)  # of known names
    phones: set[str] = field(default_factory=set)  # the last digits
    dates: list[DateWords] = field(default_factory=list)


def spellings(known: Iterable[str | KnownIdentifier]) -> Spellings:
    """Return the spellings of some values; the sort of a plain string follows from its looks."""
    found = Spellings()
    for value in known:
        identifier = KnownIdentifier(value) if isinstance(value, str) else value
        for sort in _sorts(identifier):
            _add(found, identifier.value, sort)
    return found


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
    else:
        _add_words(found, words, sort)


def _add_words(found: Spellings, words: tuple[str, ...], sort: KnownSort) -> None:
    whole = "".join(words)
    digits = "".join(sign for sign in whole if sign.isdigit())
    match sort:
        case KnownSort.INITIALS if 2 <= len(whole) <= MAX_INITIALS:
            found.initials.add(whole)
        case KnownSort.ORGANISATION | KnownSort.ADDRESS:
            found.capitalised.update(word for word in words if len(word) >= MIN_SIGNS and word.isalpha())
        case KnownSort.EMAIL:  # the part before the domain, run together from its words
            beginnings = ("".join(words[:n_words]) for n_words in range(1, len(words) - 1))
            found.glued.update(local for local in beginnings if len(local) > MIN_SIGNS)
        case KnownSort.PHONE if len(digits) >= _MIN_DIGITS_ALONE:
            found.phones.add(digits[-_PHONE_DIGITS:])
        case KnownSort.NUMBER:
            cores = {digits, digits.lstrip("0")}
            found.glued.update(core for core in cores if len(core) >= _MIN_DIGITS_ALONE)
            found.inside.update(one for one in {whole, *cores} if len(one) > _MIN_DIGITS_ALONE)


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
    for given, family in _split_name(words):
        _add_person(found, given, family)


def _split_name(words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    # Either end of a name can be the surname, with its particles.
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


def _add_date(found: Spellings, value: str) -> None:
    day = day_of(value)
    if day is None:
        return
    days = {str(day.day), f"{day.day:02}", *(f"{day.day}{end}" for end in ("st", "nd", "rd", "th"))}
    numbers = {str(day.month), f"{day.month:02}"}
    names = month_names()[day.month - 1]
    years = {f"{day.year:04}", f"{day.year % 100:02}"}
    ordinal = ORDINALS[day.day - 1]
    if ordinal.isalpha():
        days.add(ordinal)
    found.dates.append(DateWords(frozenset(days), frozenset(numbers), names, frozenset(years)))
    found.glued.update(
        "".join(parts)
        for d, m, y in product((f"{day.day:02}", str(day.day)), (f"{day.month:02}", *names), sorted(years))
        for parts in ((d, m, y), (m, d, y), (y, m, d))
        if len("".join(parts)) > MIN_SIGNS
    )


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


IsCommonWord = Callable[[str], bool]

_MAX_GAP = 3
_MAX_GLUED = 8
_DATE_FILLERS = frozenset(("of", "the", "de", "del", "di", "den"))
_MAX_DATE_GAP = 4
_NUMBER_GAPS = frozenset(" /-.")
_PHONE_GAPS = frozenset(" -./()+\u00a0\u2011\u2013")
_BEFORE_INITIALS = word_set("initials initial patient pt dr mr mrs ms prof signed")
_INITIAL_GAPS = frozenset((".", ". ", " ", "-", ".-"))
_PERSON_GAPS = frozenset((" ", ". ", "'", "\u2019", "/"))


class KnownIdentifiers:
    """The known identifiers of one case, for a search in any number of texts.

    Raises:
        FormatError: More or longer values than `core.values` allows.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> found = KnownIdentifiers(["Amara Okonkwo"]).among(tokenize("seen by OKONKWO, A."))
        >>> found.tolist()
        [False, False, True, True]
    """

    def __init__(
        self, known: Iterable[str | KnownIdentifier], is_common_word: IsCommonWord = lambda word: False
    ) -> None:
        known = list(known)
        if problem := find_known_problem(known):
            raise FormatError(_("a document {problem}", problem=problem))
        self._found = found = spellings(known)
        self._is_common = is_common_word
        self._always = found.glued | {words[0] for words in found.sequences if len(words) == 1}
        self._inside = Sequences(found.inside)
        self._near = NearNames(found.fuzzy)
        self._phones = Sequences(found.phones)
        self._sequences = Sequences(words for words in found.sequences if len(words) > 1)
        self._runs = self._always | {part for part in found.parts if len(part) >= MIN_FUZZY_LETTERS}
        self._sorted_runs = sorted(self._runs)
        self._letters = {letters[0] for letters in found.initials | found.derived_initials}
        self._dates = _Days(found.dates)
        self._is_empty = not (self._always or found.capitalised or found.initials or self._dates)

    def __bool__(self) -> bool:
        return not self._is_empty

    def __repr__(self) -> str:
        return f"KnownIdentifiers(n_spellings={len(self._always)})"

    def among(self, tokens: Tokens) -> BoolArray:
        """Tell which tokens belong to a known identifier: bool (n_tokens,)."""
        chosen = np.zeros(len(tokens), np.bool_)
        if self._is_empty or not len(tokens):
            return chosen
        words = [plain(word) for word in tokens.words]
        hits, hits_with_capital = self._choose_alone(set(words))
        text = _Text(tokens, words)
        chosen |= self._sequences.among(words)
        prefixes = {word for word in set(words) if self._is_prefix(word)}
        for i, word in enumerate(words):
            if word in hits or (
                word in hits_with_capital
                and (tokens.words[i][0].isupper() or (word in self._found.parts and text.may_be_person(i)))
            ):
                chosen[i] = True
            for stop in self._find_longer(text, i, word):
                chosen[i:stop] = True
            for stop in self._find_pieces(text, i) if word in prefixes else ():
                chosen[i:stop] = True
        return chosen

    def _is_prefix(self, word: str) -> bool:
        place = bisect_right(self._sorted_runs, word)
        return place < len(self._sorted_runs) and self._sorted_runs[place].startswith(word)

    def _choose_alone(self, distinct: set[str]) -> tuple[set[str], set[str]]:
        # Always, or if they have a capital.
        always: set[str] = set()
        with_capital = distinct & (self._found.capitalised | self._found.parts)
        for word in distinct:
            stem = word.removesuffix("s")
            if word in self._always or (len(stem) > _MAX_GAP and stem in self._always):
                always.add(word)
        others = distinct - always
        holding = {word for word in others if any(self._inside.endings(word))} if self._inside else set()
        genitives = {word for word in others if word[-1] == "s" and word[:-1] in self._found.parts}
        for word in (others & self._found.parts) | genitives | holding | self._near.among(others):
            (with_capital if self._is_common(word) else always).add(word)
        return always, with_capital

    def _find_longer(self, text: _Text, i: int, word: str) -> Iterator[int]:
        # The tokens after which the identifiers end that begin with a token.
        if word[0] in self._letters:
            yield from self._find_initials(text, i, word)
        if word in self._dates.words:
            yield from _find_date(text, i, self._dates)
        if self._phones and word.isdigit() and not text.goes_on(i):
            yield from self._find_phone(text, i)

    def _find_pieces(self, text: _Text, i: int) -> Iterator[int]:
        # Tokens with little between them that make one known word.
        whole = text.words[i]
        for j in range(i + 1, min(i + _MAX_GLUED, len(text.words))):
            if len(text.gap(j)) > _MAX_GAP or not self._is_prefix(whole):
                return
            whole += text.words[j]
            if whole in self._runs:
                yield j + 1

    def _find_initials(self, text: _Text, i: int, word: str) -> Iterator[int]:
        # `JD`, `J.D.`, `J D`.
        letters, j = word, i + 1
        if len(word) == 1:
            last = min(len(text.words), i + MAX_INITIALS)
            while j < last and len(text.words[j]) == 1 and text.gap(j) in _INITIAL_GAPS:
                letters += text.words[j]
                j += 1
                if self._are_initials(text, i, j, letters):
                    yield j
        elif self._are_initials(text, i, j, letters):
            yield j

    def _are_initials(self, text: _Text, i: int, stop: int, letters: str) -> bool:
        written = "".join(text.tokens.words[i:stop])
        if letters in self._found.initials:
            return written.isupper() or not self._is_common(letters)
        if letters not in self._found.derived_initials or not written.isupper():
            return False
        return not self._is_common(letters) or not _BEFORE_INITIALS.isdisjoint(text.words[max(i - 2, 0) : i])

    def _find_phone(self, text: _Text, i: int) -> Iterator[int]:
        # A whole run of digits that contains the last digits of a phone.
        j = i + 1
        while j < len(text.words) and text.goes_on(j):
            j += 1
        if any(self._phones.endings("".join(text.words[i:j]))):
            yield j


class _Text:
    def __init__(self, tokens: Tokens, words: list[str]) -> None:
        self.tokens = tokens
        self.words = words
        self._starts = tokens.starts.tolist()
        self._ends = tokens.ends.tolist()

    def gap(self, i: int) -> str:
        # Between a token and the one before it.
        return self.tokens.text[self._ends[i - 1] : self._starts[i]]

    def may_be_person(self, i: int) -> bool:
        # Whether a common word in lower case that is part of a name may be that person.
        before = self.words[i - 1] if i and self.gap(i) in _PERSON_GAPS else ""
        after = self.words[i + 1] if i + 1 < len(self.words) and self.gap(i + 1) in _PERSON_GAPS else ""
        if before in BEFORE_PEOPLE or (after == "s" and self.gap(i + 1) != " "):
            return True
        if self.words[i] in GRAMMAR:
            return after in SPEECH
        return before not in BEFORE_THINGS

    def goes_on(self, i: int) -> bool:
        # Whether a token continues a run of digits, with the separators of a phone.
        if i == 0 or not (self.words[i - 1].isdigit() and self.words[i].isdigit()):
            return False
        gap = self.gap(i)
        return len(gap) <= _MAX_GAP and _PHONE_GAPS.issuperset(gap)


class _Days:
    def __init__(self, days: Iterable[DateWords]) -> None:
        self.words: set[str] = set()
        self._day_of: dict[str, str] = {}
        self._months_of: dict[str, set[str]] = {}
        self._names: set[str] = set()
        self._whole: set[tuple[str, str, str]] = set()
        self._without_year: set[tuple[str, str]] = set()
        for known in days:
            self.words |= known.days | known.months | known.month_names | known.years
            self._names |= known.month_names
            day, month = min(known.days), min(known.months)
            self._day_of.update(dict.fromkeys(known.days, day))
            for word in known.months | known.month_names:
                self._months_of.setdefault(word, set()).add(month)
            self._whole.update((day, month, year) for year in known.years)
            self._without_year.add((day, month))

    def __bool__(self) -> bool:
        return bool(self.words)

    def is_day(self, text: _Text, places: Sequence[int]) -> bool:
        # Numbers alone need the signs of a date between them.
        a, b, c = (text.words[place] for place in places)
        orders = ((a, b, c), (b, a, c), (c, b, a))
        written = [month for day, month, year in orders if self._is_known(day, month, year)]
        if any(month in self._names for month in written):
            return True
        return bool(written) and all(text.gap(place) in _NUMBER_GAPS for place in places[1:])

    def _is_known(self, day: str, month: str, year: str) -> bool:
        key = self._day_of.get(day, "")
        return any((key, one, year) in self._whole for one in self._months_of.get(month, ()))

    def is_named_day(self, day: str, month: str) -> bool:
        if month not in self._names:
            return False
        return any((self._day_of.get(day), one) in self._without_year for one in self._months_of[month])


def _find_date(text: _Text, i: int, days: _Days) -> Iterator[int]:
    # The tokens after which a known day ends, if it begins here.
    places = [i]
    for j in range(i + 1, min(i + 5, len(text.words))):
        if len(text.gap(j)) > _MAX_DATE_GAP or len(places) == 3:
            break
        if text.words[j] not in _DATE_FILLERS:
            places.append(j)
    if len(places) == 3 and days.is_day(text, places):
        yield places[2] + 1
    if len(places) > 1:
        first, second = text.words[places[0]], text.words[places[1]]
        if days.is_named_day(first, second) or days.is_named_day(second, first):
            yield places[1] + 1
