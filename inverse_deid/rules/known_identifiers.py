"""Finds known identifiers of a case in its texts, also in other spellings.

The search ignores case and accents. It finds the value itself with any separators (hyphen, space,
nothing, a line end); the parts of a name and names inside other words; first name and surname in any
order, with initials, run together; initials; names with a typo; numbers with other separators; the
last digits of phones; days in other formats. A common word in lower case is not masked if it is only
part of a value or similar to one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from inverse_deid.core.errors import FormatError
from inverse_deid.core.values import BoolArray, KnownIdentifier, Tokens, known_problem
from inverse_deid.rules.known_spellings import (
    MAX_INITIALS,
    MIN_FUZZY_LETTERS,
    DateWords,
    plain,
    spellings,
)
from inverse_deid.text.sequences import Sequences
from inverse_deid.text.typos import NearNames

IsCommonWord = Callable[[str], bool]

_MAX_GAP = 3
_MAX_GLUED = 8
_DATE_FILLERS = frozenset(("of", "the", "de", "del", "di", "den"))
_MAX_DATE_GAP = 4
_NUMBER_GAPS = frozenset(" /-.")
_PHONE_GAPS = frozenset(" -./()+\u00a0\u2011\u2013")
_BEFORE_INITIALS = frozenset(
    ["initials", "initial", "patient", "pt", "dr", "mr", "mrs", "ms", "prof", "signed"]
)
_INITIAL_GAPS = frozenset((".", ". ", " ", "-", ".-"))


class KnownIdentifiers:
    """The known identifiers of one case, for a search in any number of texts.

    Args:
        known: The values.
        is_common_word: Tells common words, in any case.

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
        problem = known_problem(known)
        if problem:
            raise FormatError(f"a document {problem}")
        found = spellings(known)
        self._is_common = is_common_word
        self._always = found.glued | {words[0] for words in found.sequences if len(words) == 1}
        self._parts = found.parts
        self._capitalised = found.capitalised
        self._inside = Sequences(found.inside)
        self._near = NearNames(found.fuzzy)
        self._initials = found.initials
        self._derived = found.derived_initials
        self._phones = Sequences(found.phones)
        self._sequences = Sequences(words for words in found.sequences if len(words) > 1)
        self._runs = self._always | {part for part in found.parts if len(part) >= MIN_FUZZY_LETTERS}
        self._sorted_runs = sorted(self._runs)
        self._letters = {letters[0] for letters in found.initials | found.derived_initials}
        self._dates = _Days(found.dates)
        self._is_empty = not (self._always or self._capitalised or self._initials or self._dates)

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
        hits, hits_with_capital = self._single(set(words))
        text = _Text(tokens, words)
        chosen |= self._sequences.among(words)
        prefixes = {word for word in set(words) if self._is_prefix(word)}
        for i, word in enumerate(words):
            if word in hits or (word in hits_with_capital and tokens.words[i][0].isupper()):
                chosen[i] = True
            for stop in self._longer(text, i, word):
                chosen[i:stop] = True
            for stop in self._run_together(text, i) if word in prefixes else ():
                chosen[i:stop] = True
        return chosen

    def _is_prefix(self, word: str) -> bool:
        """Tell whether a longer known word begins with a word."""
        place = bisect_right(self._sorted_runs, word)
        return place < len(self._sorted_runs) and self._sorted_runs[place].startswith(word)

    def _single(self, distinct: set[str]) -> tuple[set[str], set[str]]:
        """Return the words that are masked alone, always or if they have a capital."""
        always: set[str] = set()
        with_capital = distinct & (self._capitalised | self._parts)
        others: set[str] = set()
        for word in distinct:
            stem = word[:-1] if word.endswith("s") else word
            if word in self._always or (len(stem) > _MAX_GAP and stem in self._always):
                always.add(word)
            else:
                others.add(word)
        holding = {word for word in others if any(self._inside.endings(word))} if self._inside else set()
        for word in (others & self._parts) | holding | self._near.among(others):
            (with_capital if self._is_common(word) else always).add(word)
        return always, with_capital

    def _longer(self, text: _Text, i: int, word: str) -> Iterator[int]:
        """Return the tokens after which the identifiers end that begin with a token."""
        if word[0] in self._letters:
            yield from self._in_initials(text, i, word)
        if word in self._dates.words:
            yield from _as_date(text, i, self._dates)
        if self._phones and word.isdigit() and not text.goes_on(i):
            yield from self._as_phone(text, i)

    def _run_together(self, text: _Text, i: int) -> Iterator[int]:
        """Return tokens with little between them that make one known word."""
        whole = text.words[i]
        for j in range(i + 1, min(i + _MAX_GLUED, len(text.words))):
            if len(text.gap(j)) > _MAX_GAP or not self._is_prefix(whole):
                return
            whole += text.words[j]
            if whole in self._runs:
                yield j + 1

    def _in_initials(self, text: _Text, i: int, word: str) -> Iterator[int]:
        """Recognise `JD`, `J.D.`, `J D`."""
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
        if letters in self._initials:
            return written.isupper() or not self._is_common(letters)
        if letters not in self._derived or not written.isupper():
            return False
        return not self._is_common(letters) or not _BEFORE_INITIALS.isdisjoint(text.words[max(i - 2, 0) : i])

    def _as_phone(self, text: _Text, i: int) -> Iterator[int]:
        """Return a whole run of digits that contains the last digits of a phone."""
        j = i + 1
        while j < len(text.words) and text.goes_on(j):
            j += 1
        if any(self._phones.endings("".join(text.words[i:j]))):
            yield j


class _Text:
    """A text and the gaps between its tokens."""

    def __init__(self, tokens: Tokens, words: list[str]) -> None:
        self.tokens = tokens
        self.words = words
        self._starts = tokens.starts.tolist()
        self._ends = tokens.ends.tolist()

    def gap(self, i: int) -> str:
        """Return the text between a token and the one before it."""
        return self.tokens.text[self._ends[i - 1] : self._starts[i]]

    def goes_on(self, i: int) -> bool:
        """Tell whether a token continues a run of digits, with the separators of a phone."""
        if i == 0 or not (self.words[i - 1].isdigit() and self.words[i].isdigit()):
            return False
        gap = self.gap(i)
        return len(gap) <= _MAX_GAP and _PHONE_GAPS.issuperset(gap)


class _Days:
    """Known days, found by the names of their parts.

    Args:
        days: The names of the parts of each.
    """

    def __init__(self, days: Iterable[DateWords]) -> None:
        self.words: set[str] = set()
        self._day_of: dict[str, str] = {}
        self._months_of: dict[str, set[str]] = {}
        self._names: set[str] = set()
        self._whole: set[tuple[str, str, str]] = set()
        self._without_year: set[tuple[str, str]] = set()
        for date in days:
            self.words |= date.days | date.months | date.month_names | date.years
            self._names |= date.month_names
            day, month = min(date.days), min(date.months)
            self._day_of.update(dict.fromkeys(date.days, day))
            for word in date.months | date.month_names:
                self._months_of.setdefault(word, set()).add(month)
            self._whole.update((day, month, year) for year in date.years)
            self._without_year.add((day, month))

    def __bool__(self) -> bool:
        return bool(self.words)

    def is_day(self, text: _Text, places: Sequence[int]) -> bool:
        """Tell whether three tokens are a known day; numbers alone need the signs of a date between them."""
        a, b, c = (text.words[place] for place in places)
        written = [month for d, month, y in ((a, b, c), (b, a, c), (c, b, a)) if self._is_whole(d, month, y)]
        if any(month in self._names for month in written):
            return True
        return bool(written) and all(text.gap(place) in _NUMBER_GAPS for place in places[1:])

    def _is_whole(self, day: str, month: str, year: str) -> bool:
        key = self._day_of.get(day, "")
        return any((key, one, year) in self._whole for one in self._months_of.get(month, ()))

    def is_named_day(self, day: str, month: str) -> bool:
        """Tell whether two words are the day and, by its name, the month of a known day."""
        if month not in self._names:
            return False
        return any((self._day_of.get(day), one) in self._without_year for one in self._months_of[month])


def _as_date(text: _Text, i: int, days: _Days) -> Iterator[int]:
    """Return the tokens after which a known day ends, if it begins here."""
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
