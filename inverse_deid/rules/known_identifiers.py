"""Finds known identifiers of a case in its texts, in other spellings, too.

Looked for are, without regard to case and accents: the value itself, whatever separates its words
(hyphen, space, nothing, a line end); the parts of a name and names inside other words; first name and
surname in any order, with initials, run together; initials; names with a slip of the pen; numbers with
other separators; the last digits of phones; days in other formats. Common words are spared where
only a part of a value or a likeness speaks against them, unless they have a capital letter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from inverse_deid.core.values import BoolArray, KnownIdentifier, Tokens
from inverse_deid.rules.known_spellings import MIN_FUZZY_LETTERS, DateWords, plain, spellings
from inverse_deid.text.edit_distance import NearNames

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
    """The known identifiers of one case, ready to be looked for in any number of texts.

    Args:
        known: The values.
        is_common_word: Whether a word, in any case, is a common one.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> found = KnownIdentifiers(["Amara Okonkwo"]).among(tokenize("seen by OKONKWO, A."))
        >>> found.tolist()
        [False, False, True, True]
    """

    def __init__(
        self, known: Iterable[str | KnownIdentifier], is_common_word: IsCommonWord = lambda word: False
    ) -> None:
        found = spellings(known)
        self._is_common = is_common_word
        self._always = found.glued | {words[0] for words in found.sequences if len(words) == 1}
        self._parts = found.parts
        self._capitalised = found.capitalised
        self._inside = sorted(found.inside)
        self._near = NearNames(found.fuzzy)
        self._initials = found.initials
        self._derived = found.derived_initials
        self._phones = sorted(found.phones)
        self._sequences = _by_first(words for words in found.sequences if len(words) > 1)
        self._runs = self._always | {part for part in found.parts if len(part) >= MIN_FUZZY_LETTERS}
        self._prefixes = {word[:n] for word in self._runs for n in range(1, len(word))}
        self._letters = {letters[0] for letters in found.initials | found.derived_initials}
        self._dates: dict[str, list[DateWords]] = {}
        for day in found.dates:
            for word in day.days | day.months | day.month_names | day.years:
                self._dates.setdefault(word, []).append(day)
        self._is_empty = not (self._always or self._capitalised or self._initials or self._dates)

    def __bool__(self) -> bool:
        return not self._is_empty

    def __repr__(self) -> str:
        return f"KnownIdentifiers(n_spellings={len(self._always)})"

    def among(self, tokens: Tokens) -> BoolArray:
        """Which tokens belong to a known identifier: bool (n_tokens,)."""
        chosen = np.zeros(len(tokens), np.bool_)
        if self._is_empty or not len(tokens):
            return chosen
        words = [plain(word) for word in tokens.words]
        hits, hits_with_capital = self._single(set(words))
        text = _Text(tokens, words)
        for i, word in enumerate(words):
            if word in hits or (word in hits_with_capital and tokens.words[i][0].isupper()):
                chosen[i] = True
            for stop in self._longer(text, i, word):
                chosen[i:stop] = True
        return chosen

    def _single(self, distinct: set[str]) -> tuple[set[str], set[str]]:
        """The words that are masked by themselves, always or if they have a capital."""
        always: set[str] = set()
        with_capital = distinct & (self._capitalised | self._parts)
        for word in distinct:
            stem = word[:-1] if word.endswith("s") else word
            if word in self._always or (len(stem) > _MAX_GAP and stem in self._always):
                always.add(word)
            elif word in self._parts or self._resembles(word):
                (with_capital if self._is_common(word) else always).add(word)
        return always, with_capital

    def _resembles(self, word: str) -> bool:
        """Whether a word is near a name or holds an identifier."""
        holds = any(len(inner) < len(word) and inner in word for inner in self._inside)
        return holds or self._near.near(word)

    def _longer(self, text: _Text, i: int, word: str) -> Iterator[int]:
        """Behind which tokens those identifiers end that begin with a token."""
        for words in self._sequences.get(word, ()):
            if text.words[i : i + len(words)] == words:
                yield i + len(words)
        if word in self._prefixes:
            yield from self._run_together(text, i)
        if word[0] in self._letters:
            yield from self._in_initials(text, i, word)
        for day in self._dates.get(word, ()):
            yield from _as_date(text, i, day)
        if self._phones and word.isdigit():
            yield from self._as_phone(text, i)

    def _run_together(self, text: _Text, i: int) -> Iterator[int]:
        """Tokens with little between them that make one known word."""
        whole = text.words[i]
        for j in range(i + 1, min(i + _MAX_GLUED, len(text.words))):
            if whole not in self._prefixes or len(text.gap(j)) > _MAX_GAP:
                return
            whole += text.words[j]
            if whole in self._runs:
                yield j + 1

    def _in_initials(self, text: _Text, i: int, word: str) -> Iterator[int]:
        """`JD`, `J.D.`, `J D`."""
        letters, j = word, i + 1
        if len(word) == 1:
            while j < len(text.words) and len(text.words[j]) == 1 and text.gap(j) in _INITIAL_GAPS:
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
        """A run of digits that ends, or goes on behind, the last digits of a phone."""
        digits, j = text.words[i], i + 1
        while j < len(text.words) and text.words[j].isdigit() and text.is_gap_of(j, _PHONE_GAPS):
            digits += text.words[j]
            j += 1
        if any(tail in digits for tail in self._phones):
            yield j


class _Text:
    """A text and what stands between its tokens."""

    def __init__(self, tokens: Tokens, words: list[str]) -> None:
        self.tokens = tokens
        self.words = words
        self._starts = tokens.starts.tolist()
        self._ends = tokens.ends.tolist()

    def gap(self, i: int) -> str:
        """What stands before a token."""
        return self.tokens.text[self._ends[i - 1] : self._starts[i]]

    def is_gap_of(self, i: int, signs: frozenset[str]) -> bool:
        """Whether few signs of a set, and no others, stand before a token."""
        gap = self.gap(i)
        return len(gap) <= _MAX_GAP and signs.issuperset(gap)


def _by_first(sequences: Iterable[tuple[str, ...]]) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for words in sorted(sequences):
        found.setdefault(words[0], []).append(list(words))
    return found


def _as_date(text: _Text, i: int, day: DateWords) -> Iterator[int]:
    """Behind which tokens the day ends, if it begins here."""
    places = [i]
    for j in range(i + 1, min(i + 5, len(text.words))):
        if len(text.gap(j)) > _MAX_DATE_GAP or len(places) == 3:
            break
        if text.words[j] not in _DATE_FILLERS:
            places.append(j)
    if len(places) == 3 and _is_day(text, places, day):
        yield places[2] + 1
    if len(places) > 1:
        first, second = text.words[places[0]], text.words[places[1]]
        if (first in day.days and second in day.month_names) or (
            first in day.month_names and second in day.days
        ):
            yield places[1] + 1


def _is_day(text: _Text, places: list[int], day: DateWords) -> bool:
    a, b, c = (text.words[place] for place in places)
    months = day.months | day.month_names
    orders = ((day.days, months, day.years), (months, day.days, day.years), (day.years, months, day.days))
    if not any(a in x and b in y and c in z for x, y, z in orders):
        return False
    if any(word in day.month_names for word in (a, b, c)):
        return True
    return all(text.gap(place) in _NUMBER_GAPS for place in places[1:])
