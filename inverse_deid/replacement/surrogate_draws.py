"""Where the surrogates of one case come from, and what they must not be."""

from __future__ import annotations

import hashlib
import hmac
import random
import re
from collections.abc import Iterable, Iterator

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.replacement.date_shift import MIN_KEY_BYTES
from inverse_deid.text.folding import folded
from inverse_deid.text.typos import NearNames

MIN_SHARED_LETTERS = 3
"""Words of so many letters may not stand in a surrogate and in a real value alike."""

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
"""Words that identify nobody; where an original has one, its surrogate may have it too."""

_PURPOSE = b"inverse-deid surrogates 1\0"
_RUN = re.compile(r"[^\W_]+")
_MIN_PART = 4
_MIN_DIGITS = 4
_MIN_NUMBER = 5
_PHONE_DIGITS = 7


class Draws:
    """All chance of one case: with the same key, id and original it falls the same way.

    Args:
        key: At least 16 secret bytes.
        case_id: Not empty.

    Raises:
        ConfigurationError: The key is too short or the id is empty.

    Source:
        HMAC: RFC 2104.
    """

    def __init__(self, key: bytes, case_id: str) -> None:
        if len(key) < MIN_KEY_BYTES:
            raise ConfigurationError(
                f"the key has {len(key)} bytes: give a file with at least {MIN_KEY_BYTES}"
            )
        if not case_id:
            raise ConfigurationError("a case without an id gets no surrogates: give every case its own id")
        self._secret = _keyed(key, _PURPOSE + case_id.encode("utf-8", "surrogatepass"))

    def rng(self, purpose: str, original: str = "") -> random.Random:
        """The numbers for one original; those of another tell nothing of them."""
        message = f"{purpose}\0{original}".encode("utf-8", "surrogatepass")
        return random.Random(_keyed(self._secret, message))


def _keyed(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hashlib.sha256).digest()


def words_of(text: str) -> list[str]:
    """Its runs of letters and digits, without case and accents."""
    return _RUN.findall(folded(text))


def joined(text: str) -> str:
    """Letters and digits alone, without case and accents.

    Example:
        >>> joined("O'Brien, José") == joined("OBRIEN jose")
        True
    """
    return "".join(words_of(text))


class Reserved:
    """What no surrogate of a case may be, and what was given out already.

    Args:
        real_values: All masked texts of the case and its structured values.
        kept: Texts that may be seen beside the surrogates.
    """

    def __init__(self, real_values: Iterable[str], kept: Iterable[str]) -> None:
        values = list(real_values)
        self._whole = {joined(value) for value in values}
        self._real = {word for value in values for word in words_of(value)}
        self._all = self._real | {word for text in kept for word in words_of(text)}
        self._text = " ".join(sorted(self._real))
        self._near = NearNames(word for word in self._real if word.isalpha())
        self._names = {word for value in values for word in _possible_names(value)}
        numbers = {_digits(value) for value in values}
        self._numbers = sorted(number for number in numbers if len(number) >= _MIN_NUMBER)
        self._given: dict[str, str] = {}

    def is_real(self, surrogate: str) -> bool:
        """Whether it is a real value of the case, or has a word or a long number of one."""
        return joined(surrogate) in self._whole or any(
            word in self._real and _tells(word) for word in words_of(surrogate)
        )

    def is_real_whole(self, surrogate: str) -> bool:
        """Whether it is a real value of the case; parts may be alike."""
        return joined(surrogate) in self._whole

    def is_real_word(self, word: str) -> bool:
        """Whether it is one word of a real value, however short."""
        return folded(word) in self._real

    def is_name(self, label: str) -> bool:
        """Whether a word that is a label elsewhere (`case`, `box`) may name somebody in this case."""
        return folded(label) in self._names

    def is_near_number(self, surrogate: str) -> bool:
        """Whether its digits hold those of a real value, or the other way round; five digits and more.

        Of long numbers the last seven digits: the same telephone number is written with and without
        the code of its country.
        """
        found = _digits(surrogate)
        return len(found) >= _MIN_NUMBER and any(
            number[-_PHONE_DIGITS:] in found or found[-_PHONE_DIGITS:] in number for number in self._numbers
        )

    def is_near(self, name: str) -> bool:
        """Whether a made-up name has a word of the case's texts, or is like one of a real value.

        So it is if one holds the other (four letters and more), or if a slip of the pen or two lie
        between them, as many as a known name is looked for with.
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
        """Give a surrogate to an original; False: another original has it."""
        return self._given.setdefault(joined(surrogate), joined(original)) == joined(original)


def _digits(text: str) -> str:
    return "".join(char for char in folded(text) if char.isdecimal())


def _possible_names(value: str) -> Iterator[str]:
    """Words of a value without digits that begin with a capital; a single one not all in capitals."""
    words = _RUN.findall(value)
    if not any(map(str.isdigit, value)):
        yield from (folded(w) for w in words if w[0].isupper() and (len(words) > 1 or not w.isupper()))


def _tells(word: str) -> bool:
    if word.isdecimal():
        return len(word) >= _MIN_DIGITS
    return len(word) >= MIN_SHARED_LETTERS and word not in GENERIC_WORDS


def in_case_of(text: str, original: str) -> str:
    """The text in capitals or small letters if the original is in one of them.

    Example:
        >>> in_case_of("Mercer", "SMITH"), in_case_of("Mercer", "smith"), in_case_of("Mercer", "McKay")
        ('MERCER', 'mercer', 'Mercer')
    """
    if original.isupper() and sum(map(str.isalpha, original)) > 1:
        return text.upper()
    return text.lower() if original.islower() else text
