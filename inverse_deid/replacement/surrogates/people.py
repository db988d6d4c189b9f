"""Surrogates of names of persons, word by word, so that all forms of one name agree.

Each word of a name has one surrogate in a case. It depends on the key, the id of the case and the word alone,
so that rows of a table with one id agree, in whatever order and file they are. Only where it would resemble a
real value of the text, or is another word's, is the next name taken. Its first letter comes from a secret
exchange of letters, one per case, so that initials agree with names that are never written out.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inverse_deid.replacement.keys import Draws
from inverse_deid.replacement.surrogates.faker_names import Sex, SurrogateNames
from inverse_deid.replacement.surrogates.reserved import Reserved, in_case_of, joined
from inverse_deid.text.matching import fold

MAX_NAME_WORDS = 6

_APOSTROPHES = "'\u2019"
_WORD = re.compile(rf"Ph\.D(?![^\W_])|[^\W\d_]+(?:[{_APOSTROPHES}][^\W\d_]+)*")
_BETWEEN = re.compile(rf"[\s.,\-/&{_APOSTROPHES}()\"]*")
_POSSESSIVE = re.compile(rf"[{_APOSTROPHES}][sS]\Z")
_GLUED = re.compile(r"(?!Mc|Mac|De|Di|Du|La|Le|Fitz|Van|O['\u2019]|D['\u2019])[A-Z][a-z]+(?:[A-Z][a-z]+)+")
_TITLES = frozenset(
    (
        *("mrs", "ms", "miss", "sister", "mr", "sir"),
        *("dr", "mx", "prof", "professor", "rev", "md", "rn", "phd", "mbbs", "frcp", "pharmd"),
        *("jr", "sr", "ii", "iii"),
    )
)
_PARTICLES = (
    *("abu", "af", "al", "ap", "ben", "bin", "bint", "da", "dal", "de", "del", "della", "den", "der"),
    *("di", "dos", "du", "el", "ibn", "la", "le", "los", "ter", "van", "von", "zu", "zum", "zur"),
)
_FREQUENT_FIRST = "smcbjdhrkgltapwefvnoziyuqx"
"""The first letters of names, the most frequent first."""
_RICH_NEUTRAL = 15
_RICH_SURNAMES = 200
_LONGEST_INITIALS = 3
_MIN_PLACE = 3


@dataclass(frozen=True, slots=True)
class _NameWord:
    """A word that may be a name: text, possessive `end`, characters before it, folded `key`."""

    text: str = field(repr=False)
    end: str
    before: str = field(repr=False)
    key: str = field(repr=False)


class PersonSurrogates:
    """Makes the surrogates of the names of one case.

    Its real values (masked texts and structured values) tell initials from short names.
    """

    def __init__(
        self, draws: Draws, reserved: Reserved, pools: SurrogateNames, real_values: Sequence[str]
    ) -> None:
        self._draws = draws
        self._reserved = reserved
        self._pools = pools
        self._of_word: dict[str, str] = {}
        self._cased: set[str] = set()
        for word in (word for value in real_values for word in _words(value)):
            if word.text[0].isupper() and not word.text.isupper():
                self._cased.add(word.key)
        self._letters = exchange_letters(draws, pools)

    def knows(self, text: str) -> bool:
        """Tell whether all words of a text were replaced as names before."""
        words = list(_words(text))
        return bool(words) and all(word.key in self._of_word for word in words)

    def replacement(self, text: str) -> str | None:
        """Return the name of the made-up person, None = the text is not understood as a name.

        Example:
            >>> from inverse_deid.replacement.surrogates.faker_names import load_surrogate_names
            >>> draws, reserved = Draws(bytes(16), "1"), Reserved(["Ann Li"], [])
            >>> people = PersonSurrogates(draws, reserved, load_surrogate_names(), ["Ann Li"])
            >>> people.replacement("Ann Li").split()[1] == people.replacement("LI").title()
            True
        """
        words = list(_words(text))
        n_letters = sum(map(str.isalpha, text))
        if not 0 < len(words) <= MAX_NAME_WORDS or not self._is_name(text, words) or n_letters < 2:
            return None
        pieces: list[str] = []
        for number, word in enumerate(words):
            replaced = self._replace_word(word, is_last=number == len(words) - 1)
            if replaced is None:
                return None
            pieces += (word.before, replaced, word.end)
        tail = text[sum(len(word.before) + len(word.text) + len(word.end) for word in words) :]
        surrogate = "".join((*pieces, tail))
        return None if self._reserved.is_real_whole(surrogate) else surrogate

    def replace_key(self, key: str) -> str | None:
        """Return the surrogate of a word, without case and accents, as a name; None = no name is left."""
        if len(key) < _MIN_PLACE or not (key.isascii() and key.isalpha()):
            return None
        return self._draw(_NameWord(key.capitalize(), "", "", key), self._pools_for(key))

    def _is_name(self, text: str, words: Sequence[_NameWord]) -> bool:
        # Every character is accounted for and something is left to replace.
        n_covered = sum(len(word.before) + len(word.text) + len(word.end) for word in words)
        names = [word for word in words if word.key not in _TITLES]
        return (
            all(_BETWEEN.fullmatch(word.before) for word in words)
            and _BETWEEN.fullmatch(text[n_covered:]) is not None
            and any(word.key not in _PARTICLES or word is words[-1] for word in names)
        )

    def _replace_word(self, word: _NameWord, *, is_last: bool) -> str | None:
        if word.key in _TITLES:
            return word.text
        if not word.key.isascii() or not word.key.isalpha() or _GLUED.fullmatch(word.text):
            return None
        if word.key in _PARTICLES and not is_last:
            return self._draw(word, iter([_PARTICLES]), lower=word.text[0].islower())
        if len(word.key) == 1 or self._is_initials(word):
            other = (self._letters[fold(char)[0]] if char.isalpha() else char for char in word.text)
            pairs = zip(other, word.text, strict=True)
            return "".join(new.upper() if old.isupper() else new for new, old in pairs)
        if word.text.islower() and not (self._pools.knows(word.key) or word.key in self._cased):
            return None
        return self._draw(word, self._pools_for(word.key))

    def _is_initials(self, word: _NameWord) -> bool:
        n = len(word.key)
        if not word.text.isupper() or n > _LONGEST_INITIALS or word.key in self._cased:
            return False
        return n < _LONGEST_INITIALS or not self._pools.knows(word.key)

    def _draw(self, word: _NameWord, pools: Iterator[Sequence[str]], *, lower: bool = False) -> str | None:
        # The same for all its spellings.
        name = self._of_word.get(word.key) or self._fresh(word.key, pools)
        if name is None:
            return None
        self._of_word[word.key] = name
        return name.lower() if lower else in_case_of(name.capitalize(), word.text)

    def _fresh(self, key: str, pools: Iterator[Sequence[str]]) -> str | None:
        for number, pool in enumerate(pools):
            for name in self._pools.shuffle(pool, self._draws.rng(f"name {number}", key)):
                if not self._reserved.is_near(name) and self._reserved.take(name, key):
                    return name
        return None

    def _pools_for(self, key: str) -> Iterator[Sequence[str]]:
        # The best first. Its neighbours do not count, since other rows of the same case may lack them.
        letter = self._letters.get(key[0], "")
        if not letter:
            return
        if key in self._pools.sexes:
            yield self._pools.given[self._pools.sexes[key]][letter]
        elif key not in self._pools.known_surnames:
            yield self._pools.either[letter]
        yield self._pools.surnames[letter]


def exchange_letters(draws: Draws, pools: SurrogateNames) -> Mapping[str, str]:
    """Exchange the first letters of names, none for itself; frequent ones get letters with many names."""
    letters = string.ascii_lowercase
    neutral, surnames = pools.given[Sex.NEUTRAL], pools.surnames
    rich = [c for c in letters if len(neutral[c]) >= _RICH_NEUTRAL and len(surnames[c]) >= _RICH_SURNAMES]
    poor = [letter for letter in letters if letter not in rich]
    rng = draws.rng("letters")
    while True:
        drawn = rng.sample(rich, len(rich)) + rng.sample(poor, len(poor))
        found = dict(zip(_FREQUENT_FIRST, drawn, strict=True))
        if all(old != new for old, new in found.items()):
            return found


def _words(text: str) -> Iterator[_NameWord]:
    position = 0
    for match in _WORD.finditer(text):
        whole = match.group()
        end = _POSSESSIVE.search(whole)
        word = whole if end is None else whole[: end.start()]
        yield _NameWord(word, whole[len(word) :], text[position : match.start()], joined(word))
        position = match.end()
