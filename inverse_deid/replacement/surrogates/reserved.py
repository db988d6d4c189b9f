"""Keeps the surrogates of one case apart from its real values and from each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from inverse_deid.text.matching import NearNames, fold

MIN_SHARED_LETTERS = 3
"""No surrogate shares a word of this many letters with a real value."""

GENERIC_WORDS = frozenset(
    (
        *("dr", "mr", "mrs", "ms", "miss", "mx", "sir", "prof", "professor", "sister", "fr", "rev"),
        *("md", "rn", "phd", "mbbs", "frcp", "do", "pharmd", "jr", "sr", "ii", "iii"),
        *("http", "https", "ftp", "www", "mailto", "com", "org", "net", "example"),
        *("ext", "extn", "extension", "tel", "fax", "phone", "mobile", "cell", "pager", "bleep"),
        *("mrn", "no", "nr", "num", "number", "id", "ref", "case", "subject", "site", "study", "po", "box"),
        *("apt", "flat", "suite", "unit", "room", "rue", "via", "calle", "rua", "avenida", "piazza", "plaza"),
    )
)
"""Words that identify nobody: a surrogate may share them with its original."""

_RUN = re.compile(r"[^\W_]+")
_MIN_PART = 4
_MIN_DIGITS = 4
_MIN_NUMBER = 5
_PHONE_DIGITS = 7


def words_of(text: str) -> list[str]:
    """Return the runs of letters and digits of a text, without case and accents."""
    return _RUN.findall(fold(text))


def joined(text: str) -> str:
    """Return the letters and digits of a text, without case and accents: `obrienjose`."""
    return "".join(words_of(text))


class Reserved:
    """Knows what no surrogate of a case may be, and which surrogates have been given.

    Args:
        real_values: All masked texts of the case and its structured values.
        kept: Texts that may be seen together with the surrogates. Their words in lower case may be
            surrogates, as they may be names: otherwise such a word would be recognisable as an original.
    """

    def __init__(self, real_values: Iterable[str], kept: Iterable[str]) -> None:
        values = list(real_values)
        self._whole = {joined(value) for value in values}
        self._real = {word for value in values for word in words_of(value)}
        self._all = self._real | {
            fold(word) for text in kept for word in _RUN.findall(text) if not word.islower()
        }
        self._text = " ".join(sorted(self._real))
        self._near = NearNames(word for word in self._real if word.isalpha())
        self._names = {word for value in values for word in _possible_names(value)}
        numbers = {digits_of(value) for value in values}
        self._numbers = sorted(number for number in numbers if len(number) >= _MIN_NUMBER)
        self._given: dict[str, str] = {}

    def is_real(self, surrogate: str) -> bool:
        """Tell whether a surrogate is a real value of the case, or has a word or a long number of one."""
        words = self._real.intersection(words_of(surrogate))
        return joined(surrogate) in self._whole or any(
            len(word) >= _MIN_DIGITS
            if word.isdecimal()
            else len(word) >= MIN_SHARED_LETTERS and word not in GENERIC_WORDS
            for word in words
        )

    def is_real_whole(self, surrogate: str) -> bool:
        """Tell whether a surrogate is a real value of the case; parts may be equal."""
        return joined(surrogate) in self._whole

    def is_real_word(self, word: str) -> bool:
        """Tell whether a word is a word of a real value, however short."""
        return fold(word) in self._real

    def is_name(self, label: str) -> bool:
        """Tell whether a word that is usually a label (`case`, `box`) may name somebody in this case."""
        return fold(label) in self._names

    def is_near_number(self, surrogate: str) -> bool:
        """Tell whether its digits contain those of a real value, or the other way round.

        Five digits or more count; of long numbers the last seven, since a telephone number is
        written with and without its country code.
        """
        found = digits_of(surrogate)
        return len(found) >= _MIN_NUMBER and any(
            number[-_PHONE_DIGITS:] in found or found[-_PHONE_DIGITS:] in number for number in self._numbers
        )

    def is_near(self, name: str) -> bool:
        """Tell whether a made-up name has a capitalised word of the texts, or resembles one of a real value.

        It does if one contains the other (four letters or more), or if they differ by the one or two
        typos that the search for known names allows.
        """
        return self.is_real(name) or any(
            word in self._all or self._near.near(word) or self._has_real_part(word)
            for word in words_of(name)
            if len(word) >= MIN_SHARED_LETTERS
        )

    def _has_real_part(self, word: str) -> bool:
        if len(word) >= _MIN_PART and word in self._text:
            return True
        lengths = range(_MIN_PART, len(word))
        return any(word[i : i + n] in self._real for n in lengths for i in range(len(word) - n + 1))

    def take(self, surrogate: str, original: str) -> bool:
        """Give a surrogate to an original; return False if another original has it."""
        return self._given.setdefault(joined(surrogate), joined(original)) == joined(original)


def digits_of(text: str) -> str:
    return "".join(char for char in fold(text) if char.isdecimal())


def _possible_names(value: str) -> Iterator[str]:
    # Not a single word in capitals.
    words = _RUN.findall(value)
    if not any(map(str.isdigit, value)):
        yield from (fold(w) for w in words if w[0].isupper() and (len(words) > 1 or not w.isupper()))


def in_case_of(text: str, original: str) -> str:
    """Return the text in capitals or small letters if the original is.

    Example:
        >>> in_case_of("Mercer", "SMITH"), in_case_of("Mercer", "smith"), in_case_of("Mercer", "McKay")
        ('MERCER', 'mercer', 'Mercer')
    """
    if original.isupper() and sum(map(str.isalpha, original)) > 1:
        return text.upper()
    return text.lower() if original.islower() else text
