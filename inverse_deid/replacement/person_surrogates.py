"""Surrogates of names of persons, word by word, so that all forms of one name agree.

Each word of a name has one surrogate in a case. Its first letter comes from a secret exchange of
letters, one per case, so that initials agree with names, even with names that are never written out.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from inverse_deid.replacement.faker_names import Sex, SurrogateNames
from inverse_deid.replacement.keys import Draws
from inverse_deid.replacement.reserved import Reserved, in_case_of, joined
from inverse_deid.text.matching import fold

MAX_NAME_WORDS = 6

_APOSTROPHES = "'\u2019"
_WORD = re.compile(rf"Ph\.D(?![^\W_])|[^\W\d_]+(?:[{_APOSTROPHES}][^\W\d_]+)*")
_BETWEEN = re.compile(rf"[\s.,\-/&{_APOSTROPHES}()\"]*")
_POSSESSIVE = re.compile(rf"[{_APOSTROPHES}][sS]\Z")
_GLUED = re.compile(r"(?!Mc|Mac|De|Di|Du|La|Le|Fitz|Van|O['\u2019]|D['\u2019])[A-Z][a-z]+(?:[A-Z][a-z]+)+")
_FEMALE_TITLES = frozenset(("mrs", "ms", "miss", "sister"))
_MALE_TITLES = frozenset(("mr", "sir"))
_TITLES = frozenset(
    (
        *_FEMALE_TITLES,
        *_MALE_TITLES,
        *("dr", "mx", "prof", "professor", "rev", "md", "rn", "phd", "mbbs", "frcp", "pharmd"),
        *("jr", "sr", "ii", "iii"),
    )
)
_PARTICLES = (
    *("abu", "af", "al", "ap", "ben", "bin", "bint", "da", "dal", "de", "del", "della", "den", "der"),
    *("di", "dos", "du", "el", "ibn", "la", "le", "los", "ter", "van", "von", "zu", "zum", "zur"),
)
_RICH_NEUTRAL = 15
_RICH_SURNAMES = 200
_EXCHANGES_TRIED = 200
_LONGEST_INITIALS = 3


@dataclass(frozen=True, slots=True)
class _NameWord:
    """A word that may be a name: text, possessive `end`, characters before it, folded `key`."""

    text: str = field(repr=False)
    end: str
    before: str = field(repr=False)
    key: str = field(repr=False)


class PersonSurrogates:
    """Makes the surrogates of the names of one case.

    Its real values (masked texts and structured values) tell given names from surnames, and
    initials from short names.
    """

    def __init__(
        self, draws: Draws, reserved: Reserved, pools: SurrogateNames, real_values: Sequence[str]
    ) -> None:
        self._draws = draws
        self._reserved = reserved
        self._pools = pools
        self._of_word: dict[str, str] = {}
        self._cased: set[str] = set()
        self._given: Counter[str] = Counter()
        self._sex: dict[str, Sex] = {}
        for value in real_values:
            self._learn(list(_words(value)))
        self._letters = self._exchange_letters(real_values)

    def knows(self, text: str) -> bool:
        """Tell whether all words of a text were replaced as names before."""
        words = list(_words(text))
        return bool(words) and all(word.key in self._of_word for word in words)

    def replacement(self, text: str) -> str | None:
        """Return the name of the made-up person, None = the text is not understood as a name.

        Example:
            >>> from inverse_deid.replacement.faker_names import load_surrogate_names
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

    def _is_name(self, text: str, words: Sequence[_NameWord]) -> bool:
        """Tell whether every character is accounted for and something is left to replace."""
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
            return self._draw(word, [_PARTICLES], lower=word.text[0].islower())
        if len(word.key) == 1 or self._is_initials(word):
            other = (self._letters[fold(char)[0]] if char.isalpha() else char for char in word.text)
            pairs = zip(other, word.text, strict=True)
            return "".join(new.upper() if old.isupper() else new for new, old in pairs)
        if word.text.islower() and not (self._pools.knows(word.key) or word.key in self._cased):
            return None
        return self._draw(word, list(self._pools_for(word.key)))

    def _is_initials(self, word: _NameWord) -> bool:
        """Tell whether a word is two or three capitals and not a short name."""
        n = len(word.key)
        if not word.text.isupper() or n > _LONGEST_INITIALS or word.key in self._cased:
            return False
        return n < _LONGEST_INITIALS or not self._pools.knows(word.key)

    def _draw(self, word: _NameWord, pools: Iterable[Sequence[str]], *, lower: bool = False) -> str | None:
        """Return the surrogate of a word; the same for all its spellings."""
        name = self._of_word.get(word.key) or self._fresh(word.key, pools)
        if name is None:
            return None
        self._of_word[word.key] = name
        return name.lower() if lower else in_case_of(name.capitalize(), word.text)

    def _fresh(self, key: str, pools: Iterable[Sequence[str]]) -> str | None:
        for number, pool in enumerate(pools):
            rng = self._draws.rng(f"name {number}", key)
            for name in rng.sample(pool, len(pool)):
                if not self._reserved.is_near(name) and self._reserved.take(name, key):
                    return name
        return None

    def _pools_for(self, key: str) -> Iterator[Sequence[str]]:
        """Yield the lists that the surrogate of a word may come from, the best first."""
        letter = self._letters.get(key[0], "")
        if not letter:
            return
        surnames = self._pools.surnames[letter]
        is_known = key in self._pools.sexes and key not in self._pools.known_surnames
        if self._given[key] > 0 or (self._given[key] == 0 and is_known):
            yield self._pools.given[self._sex.get(key, self._pools.sex_of(key))][letter]
        yield surnames

    def _learn(self, words: Sequence[_NameWord]) -> None:
        """Note which words of a value are given names, and which sex a title gives them."""
        cased = (w for w in words if w.text[0].isupper() and not w.text.isupper())
        self._cased.update(word.key for word in cased)
        titles = {word.key for word in words if word.key in _TITLES}
        names = [word for word in words if word.key not in _TITLES and len(word.key) > 1]
        if not 2 <= len(names) <= MAX_NAME_WORDS:
            return
        surname = names[0] if any("," in word.before for word in names[1:]) else names[-1]
        for word in names:
            self._given[word.key] += -1 if word is surname else 1
            if word is not surname and titles & (_FEMALE_TITLES | _MALE_TITLES):
                self._sex[word.key] = Sex.FEMALE if titles & _FEMALE_TITLES else Sex.MALE

    def _exchange_letters(self, real_values: Sequence[str]) -> dict[str, str]:
        """Exchange the first letters, none for itself; those in use get letters with many names."""
        letters = string.ascii_lowercase
        firsts = Counter(
            word.key[0]
            for value in real_values
            for word in _words(value)
            if word.key and word.text[0].isupper()
        )
        used = sorted((letter for letter in letters if firsts[letter]), key=lambda c: (-firsts[c], c))
        order = used + [letter for letter in letters if letter not in used]
        neutral, surnames = self._pools.given[Sex.NEUTRAL], self._pools.surnames
        rich = [c for c in letters if len(neutral[c]) >= _RICH_NEUTRAL and len(surnames[c]) >= _RICH_SURNAMES]
        poor = [letter for letter in letters if letter not in rich]
        rng = self._draws.rng("letters")
        short = {joined(value) for value in real_values}
        initials = {value for value in short if len(value) <= _LONGEST_INITIALS and value.isalpha()}
        best: dict[str, str] = {}
        for _ in range(_EXCHANGES_TRIED):
            found = dict(zip(order, rng.sample(rich, len(rich)) + rng.sample(poor, len(poor)), strict=True))
            if any(old == new for old, new in found.items()):
                continue
            best = found
            if initials.isdisjoint("".join(found.get(char, char) for char in value) for value in initials):
                break
        return best


def _words(text: str) -> Iterator[_NameWord]:
    position = 0
    for match in _WORD.finditer(text):
        whole = match.group()
        end = _POSSESSIVE.search(whole)
        word = whole if end is None else whole[: end.start()]
        yield _NameWord(word, whole[len(word) :], text[position : match.start()], joined(word))
        position = match.end()
