"""Surrogates of numbers: record numbers, post codes, user names, telephone and fax numbers."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable

from inverse_deid.replacement.fiction_numbers import fictional_patterns, filled
from inverse_deid.replacement.number_schemes import is_issued_ssn, is_valid_somewhere
from inverse_deid.replacement.surrogate_draws import GENERIC_WORDS, Draws, Reserved, joined
from inverse_deid.text.folding import folded

_TRIES = 200
_MIN_SIGNS = 4
_MIN_DIGITS = 2
_MAX_CAPITALS = 6
_MAX_CHARS = 60
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"[\w\s.,:/()#+&'\u2019-]+")
_AMOUNT = re.compile(
    r"[\d.,/\s-]+(?:mg|mcg|ug|\u00b5g|g|kg|ng|ml|dl|l|iu|u|units?|mmol|mol|mmhg|cm|mm|m|%|bpm|hrs?|h|min|"
    r"days?|weeks?|months?|years?|yrs?|y|d|w|x)(?:/\w+)?",
    re.IGNORECASE,
)
_DATE_LIKE = re.compile(
    r"(?:\d{1,2}|\d{4})\s?[-/.]\s?\d{1,2}\s?[-/.]\s?(?:\d{1,2}|\d{4})|"
    r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d*"
    r"|(?:19|20)\d\d|.*(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\W*\d.*",
    re.IGNORECASE,
)
_PHONE = re.compile(
    r"(?P<number>[+(]*\d[\d\s().+/-]*\d)"
    r"(?P<extension>[\s,]*(?:ext|extn|extension|x)\.?\s*\d{1,6})?",
    re.IGNORECASE,
)
_MIN_PHONE_DIGITS = 3
_MAX_PHONE_DIGITS = 15


def is_amount_or_date(text: str) -> bool:
    """Whether digits are likely to be a dose, a measurement or a date, which no surrogate may replace.

    Example:
        >>> is_amount_or_date("400 mg"), is_amount_or_date("12/03/2019"), is_amount_or_date("58213")
        (True, True, False)
    """
    plain = text.strip()
    return _AMOUNT.fullmatch(plain) is not None or _DATE_LIKE.fullmatch(plain) is not None


class NumberSurrogates:
    """The surrogates of the numbers of one case.

    Args:
        draws: The case's chance.
        reserved: What they must not be.
    """

    def __init__(self, draws: Draws, reserved: Reserved) -> None:
        self._draws = draws
        self._reserved = reserved

    def identifier(self, text: str, *, min_signs: int = _MIN_SIGNS) -> str | None:
        """Digits for digits and letters for letters; labels and separators stay.

        Args:
            text: The original.
            min_signs: Letters and digits that it must have at least.

        Returns:
            None if it has too few digits, holds words or signs that no number has, or may be an
            amount or a date.
        """
        signs = joined(text)
        if any(char.isalnum() and not char.isascii() for char in text):
            return None
        n_digits = sum(map(str.isdecimal, signs))
        if len(signs) < min_signs or n_digits < _MIN_DIGITS or not signs.isascii() or len(text) > _MAX_CHARS:
            return None
        if not _NUMBER.fullmatch(text) or is_amount_or_date(text) or not self._has_no_words(text):
            return None
        return self.settled(text, lambda rng: _same_shape(text, rng))

    def _has_no_words(self, text: str) -> bool:
        """Letters are labels that name nobody in this case, or few capitals, or single."""
        return all(
            not self._reserved.is_name(word)
            if folded(word) in GENERIC_WORDS
            else len(word) == 1 or (word.isupper() and len(word) <= _MAX_CAPITALS)
            for word in _WORD.findall(text)
        )

    def user_name(self, text: str) -> str | None:
        """A login: letters for letters, digits for digits."""
        return self.settled(text, lambda rng: "".join(same_kind(char, rng) for char in text))

    def phone(self, text: str) -> str | None:
        """A telephone number; from the numbers for fiction if the country is told."""
        match = _PHONE.fullmatch(text.strip())
        if match is None or is_amount_or_date(text):
            return None
        number, extension = match["number"], match["extension"] or ""
        n_digits = sum(map(str.isdecimal, number))
        if not (_MIN_PHONE_DIGITS <= n_digits <= _MAX_PHONE_DIGITS and number.isascii()):
            return None
        digits = "".join(char for char in number if char.isdecimal())
        patterns = fictional_patterns(number)

        def draw(rng: random.Random) -> str:
            pattern = rng.choice(patterns) if patterns else _leading_zeros(digits)
            return filled(number, pattern, rng) + _other_digits(extension, rng)

        return self.settled(text, draw, is_phone=True)

    def settled(
        self, original: str, draw: Callable[[random.Random], str], *, is_phone: bool = False
    ) -> str | None:
        """The first draw that may be given out, None = there is none."""
        rng = self._draws.rng("number", joined(original))
        for _ in range(_TRIES):
            found = draw(rng)
            is_real = self._reserved.is_real_whole if is_phone else self._reserved.is_real
            if is_real(found) or self._reserved.is_near_number(found):
                continue
            if not is_phone and _is_issued(found):
                continue
            if self._reserved.take(found, original):
                return found
        return None


def _is_issued(number: str) -> bool:
    return is_valid_somewhere(number) or is_issued_ssn(number)


def _same_shape(text: str, rng: random.Random) -> str:
    """Random signs of the same kind; words that identify nobody stay."""
    if re.fullmatch(r"\d{3}[- ]\d{2}[- ]\d{4}", text):
        return rng.choice(("000", "666")) + "".join(same_kind(char, rng) for char in text[3:])
    pieces: list[str] = []
    position = 0
    for word in _WORD.finditer(text):
        if folded(word.group()) in GENERIC_WORDS:
            pieces += ("".join(same_kind(char, rng) for char in text[position : word.start()]), word.group())
            position = word.end()
    return "".join((*pieces, *(same_kind(char, rng) for char in text[position:])))


def _other_digits(text: str, rng: random.Random) -> str:
    return "".join(rng.choice(string.digits) if char.isdigit() else char for char in text)


def same_kind(char: str, rng: random.Random) -> str:
    """A random digit for a digit, a letter for a letter in the same case; signs stay.

    Example:
        >>> same_kind("-", random.Random(1)), same_kind("7", random.Random(1)).isdecimal()
        ('-', True)
    """
    if char.isdigit():
        return rng.choice(string.digits)
    if char.isalpha():
        return rng.choice(string.ascii_uppercase if char.isupper() else string.ascii_lowercase)
    return char


def _leading_zeros(digits: str) -> str:
    """A pattern that keeps the zeros in front, which say how to dial."""
    zeros = len(digits) - len(digits.lstrip("0"))
    return "0" * min(zeros, 2) + "X" * (len(digits) - min(zeros, 2))
