"""Surrogates of record numbers, post codes, user names, telephone numbers, e-mail, web and IP addresses.

Telephone numbers and addresses come from ranges that are kept for fiction, examples and
documentation; identifiers are never valid in a scheme of real numbers.

Source:
    Fiction: NANPA, 555-0100 to 555-0199 in each area code; Ofcom, "Numbers for drama"; ARCEP, decision
    2018-0881 on the numbering plan, numbers for audiovisual works; ACMA, "Phone numbers for use in TV
    shows, films and creative works". Each range was compared with at least two other lists.

    Addresses: RFC 2606 (example.org), RFC 5737 and RFC 3849 (documentation).

    Schemes: ISO/IEC 7812-1, annex B (Luhn: payment cards, IMEI, Canadian SIN, Swedish personal
    numbers, NPI with its prefix); NHS data dictionary (NHS number); ISO 13616 (IBAN); Dutch BSN
    (eleven test); Brazilian CPF; Polish PESEL; Spanish DNI; French NIR; US social security numbers
    are never issued with area 000, 666 or 900 to 999.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Iterator, Sequence

from inverse_deid.replacement.keys import Draws
from inverse_deid.replacement.surrogates.reserved import GENERIC_WORDS, Reserved, digits_of, joined
from inverse_deid.text.matching import fold

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
_USER_NAME = re.compile(r"[a-z][a-z._-]*\d{1,4}")
_MIN_PHONE_DIGITS = 3
_MAX_PHONE_DIGITS = 15

_HOST = (
    r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*\.[A-Za-z]{2,}"
)
_EMAIL = re.compile(rf"(?P<scheme>mailto:)?(?P<user>[A-Za-z0-9._%+-]+)@(?P<host>{_HOST})", re.IGNORECASE)
_URL = re.compile(
    rf"(?P<scheme>(?:https?|ftp)://)?(?P<www>www\.)?(?P<host>{_HOST})(?P<path>[/?#][!-~]*)?", re.IGNORECASE
)
_IP = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)")
_IP6 = re.compile(r"(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}", re.IGNORECASE)
_DOCUMENTATION_NETS = ("192.0.2", "198.51.100", "203.0.113")
_LABEL_LETTERS = 7

# National digits. X = any, N = 2 to 9, A = any but the one before: area codes that end in two equal
# digits (800, 888, 900, 911) are for services, which have no numbers for fiction.
_RANGES: dict[str, tuple[str, ...]] = {
    "1": ("NXA55501XX",),
    "44": ("1632960XXX", "2079460XXX", "7700900XXX"),
    "33": ("19900XXXX", "26191XXXX", "35301XXXX", "46571XXXX", "53649XXXX", "63998XXXX"),
    "61": (
        *(f"{area}{exchange}XXXX" for area in "2378" for exchange in ("5550", "7010")),
        *("491570006", "491570110", "491570156", "491570157", "491570158", "491570159", "491570313"),
        *("491570737", "491571266", "491571491", "491571804", "491572549", "491572665", "491572983"),
        *("491573087", "491573770", "491574118", "491574632", "491575254", "491575789", "491576398"),
        *("491576801", "491577426", "491577644", "491578148", "491578888", "491578957", "491579212"),
        *("491579455", "491579760"),
    ),
}
_NATIONAL_DIGITS = {"1": 10, "44": 10, "33": 9, "61": 9}
_MOBILE = {"44": "7", "33": "67", "61": "4"}
_TRUNK = {
    "33": re.compile(r"0[1-9](?:[ .]\d\d){4}"),
    "61": re.compile(r"04\d\d[ -]\d{3}[ -]\d{3}|0[2378][ -]\d{4}[ -]\d{4}|\(0[2378]\) ?\d{4}[ -]\d{4}"),
    "44": re.compile(r"(?:[ ()-]*\d){11}"),
}
"""The writing of national numbers with a leading 0."""

_DNI_LETTERS = "trwagmyfpdxbnjzsqvhlcke"
_NPI_PREFIX = (8, 0, 8, 4, 0)


def is_amount_or_date(text: str) -> bool:
    """Tell whether digits are likely to be a dose, a measurement or a date: they get no surrogate.

    Example:
        >>> is_amount_or_date("400 mg"), is_amount_or_date("12/03/2019"), is_amount_or_date("58213")
        (True, True, False)
    """
    plain = text.strip()
    return _AMOUNT.fullmatch(plain) is not None or _DATE_LIKE.fullmatch(plain) is not None


class NumberSurrogates:
    """Makes the surrogates of the numbers and addresses of one case."""

    def __init__(self, draws: Draws, reserved: Reserved) -> None:
        self._draws = draws
        self._reserved = reserved

    def identifier(self, text: str) -> str | None:
        """Replace digits by digits and letters by letters; labels and separators stay.

        Returns:
            None if the text has too few letters and digits, has words or signs that no number has,
            or may be an amount or a date.
        """
        signs = joined(text)
        if any(char.isalnum() and not char.isascii() for char in text):
            return None
        n_digits = sum(map(str.isdecimal, signs))
        if len(signs) < _MIN_SIGNS or n_digits < _MIN_DIGITS or not signs.isascii() or len(text) > _MAX_CHARS:
            return None
        if not _NUMBER.fullmatch(text) or is_amount_or_date(text) or not self._has_no_words(text):
            return None
        return self.draw_free(text, lambda rng: _same_shape(text, rng))

    def _has_no_words(self, text: str) -> bool:
        # All letters are labels that name nobody in this case, few capitals, or single.
        return all(
            not self._reserved.is_name(word)
            if fold(word) in GENERIC_WORDS
            else len(word) == 1 or (word.isupper() and len(word) <= _MAX_CAPITALS)
            for word in _WORD.findall(text)
        )

    def user_name(self, text: str) -> str | None:
        """Replace the letters and digits of a login, None = the text is not one."""
        if not _USER_NAME.fullmatch(text):
            return None
        return self.draw_free(text, lambda rng: "".join(same_kind(char, rng) for char in text))

    def phone(self, text: str) -> str | None:
        """Replace a telephone number; the new one is for fiction if the country is known."""
        match = _PHONE.fullmatch(text.strip())
        if match is None or is_amount_or_date(text):
            return None
        number, extension = match["number"], match["extension"] or ""
        n_digits = sum(map(str.isdecimal, number))
        if not (_MIN_PHONE_DIGITS <= n_digits <= _MAX_PHONE_DIGITS and number.isascii()):
            return None
        digits = digits_of(number)
        patterns = fictional_patterns(number)

        def draw(rng: random.Random) -> str:
            # Without a pattern, the zeros in front stay: they say how to dial.
            n_zeros = min(len(digits) - len(digits.lstrip("0")), 2)
            pattern = rng.choice(patterns) if patterns else "0" * n_zeros + "X" * (len(digits) - n_zeros)
            others = (rng.choice(string.digits) if char.isdigit() else char for char in extension)
            return fill(number, pattern, rng) + "".join(others)

        return self.draw_free(text, draw, is_phone=True)

    def address(self, text: str) -> str | None:
        """Replace an e-mail, web or IP address, None = the text is not one.

        Example:
            >>> numbers = NumberSurrogates(Draws(bytes(16), "1"), Reserved([], []))
            >>> numbers.address("ann.li@hospital.test").endswith(".example.org")
            True
        """
        if match := _EMAIL.fullmatch(text):
            user, host, scheme = match["user"], match["host"], match["scheme"] or ""
            return self.draw_free(text, lambda rng: f"{scheme}{_shake(user, rng)}@{self._domain(host)}")
        if _IP.fullmatch(text):
            return self.draw_free(
                text, lambda rng: f"{rng.choice(_DOCUMENTATION_NETS)}.{rng.randrange(1, 255)}"
            )
        if _IP6.fullmatch(text):
            return self.draw_free(
                text, lambda rng: "2001:db8:" + ":".join(f"{rng.randrange(16**4):x}" for _ in range(6))
            )
        match = _URL.fullmatch(text)
        if match is None or not (match["scheme"] or match["www"] or match["path"]):
            return None
        host, path = match["host"], match["path"] or ""
        begin = (match["scheme"] or "") + (match["www"] or "")
        return self.draw_free(text, lambda rng: f"{begin}{self._domain(host)}{_shake(path, rng)}")

    def _domain(self, host: str) -> str:
        rng = self._draws.rng("domain", host.casefold())
        label = "".join(rng.choice(string.ascii_lowercase) for _ in range(_LABEL_LETTERS))
        return f"{label}.example.org"

    def draw_free(
        self, original: str, draw: Callable[[random.Random], str], *, is_phone: bool = False
    ) -> str | None:
        """Return the first draw that may be used; None after too many tries."""
        rng = self._draws.rng("number", joined(original))
        for _ in range(_TRIES):
            found = draw(rng)
            is_real = self._reserved.is_real_whole if is_phone else self._reserved.is_real
            if is_real(found) or self._reserved.is_near_number(found):
                continue
            if not is_phone and (is_valid_somewhere(found) or is_issued_ssn(found)):
                continue
            if self._reserved.take(found, original):
                return found
        return None


def _same_shape(text: str, rng: random.Random) -> str:
    # Words that identify nobody stay.
    if re.fullmatch(r"\d{3}[- ]\d{2}[- ]\d{4}", text):
        return rng.choice(("000", "666")) + "".join(same_kind(char, rng) for char in text[3:])
    pieces: list[str] = []
    position = 0
    for word in _WORD.finditer(text):
        if fold(word.group()) in GENERIC_WORDS:
            pieces += ("".join(same_kind(char, rng) for char in text[position : word.start()]), word.group())
            position = word.end()
    return "".join((*pieces, *(same_kind(char, rng) for char in text[position:])))


def same_kind(char: str, rng: random.Random) -> str:
    """Draw a digit for a digit, a letter for a letter in the same case; other characters stay.

    Example:
        >>> same_kind("-", random.Random(1)), same_kind("7", random.Random(1)).isdecimal()
        ('-', True)
    """
    if char.isdigit():
        return rng.choice(string.digits)
    if char.isalpha():
        return rng.choice(string.ascii_uppercase if char.isupper() else string.ascii_lowercase)
    return char


def _shake(text: str, rng: random.Random) -> str:
    return "".join(same_kind(char, rng) for char in text.lower())


def fictional_patterns(number: str) -> list[str]:
    """Return patterns for fiction of the length of a telephone number, none if the country is not known.

    Example:
        >>> fictional_patterns("+44 7911 123456"), fictional_patterns("(617) 555-1234")
        (['447700900XXX'], ['NXA55501XX'])
    """
    digits = digits_of(number)
    return list(_international(digits)) or list(_national(number, digits))


def _international(digits: str) -> Iterator[str]:
    for code, patterns in _RANGES.items():
        for prefix in (code, f"00{code}", f"011{code}", f"{code}0"):
            if digits.startswith(prefix) and len(digits) - len(prefix) == _NATIONAL_DIGITS[code]:
                yield from (prefix + pattern for pattern in _alike(patterns, code, digits[len(prefix)]))


def _national(number: str, digits: str) -> Iterator[str]:
    if number.lstrip("(").startswith("+") or digits.startswith("00"):
        return
    if digits.startswith("0"):
        code = next((code for code, written in _TRUNK.items() if written.fullmatch(number)), None)
        if code is not None:
            yield from ("0" + pattern for pattern in _alike(_RANGES[code], code, digits[1]))
    elif len(digits) == 10 and digits[0] != "1":
        yield from _RANGES["1"]
    elif len(digits) == 7:
        yield "55501XX"


def _alike(patterns: Sequence[str], code: str, first: str) -> list[str]:
    # Mobile numbers stay mobile.
    mobile = _MOBILE.get(code, "")
    return [pattern for pattern in patterns if (pattern[0] in mobile) == (first in mobile)]


def fill(number: str, pattern: str, rng: random.Random) -> str:
    """Replace the digits of a number by those of a pattern; separators stay.

    Example:
        >>> fill("(617) 555-1234", "2XX5550199", random.Random(1))
        '(291) 555-0199'
    """
    drawn: list[str] = []
    for sign in pattern:
        choices = {"X": string.digits, "N": "23456789", "A": string.digits.replace("".join(drawn[-1:]), "")}
        drawn.append(rng.choice(choices.get(sign, sign)))
    fresh = iter(drawn)
    return "".join(next(fresh) if char.isdecimal() else char for char in number)


def is_valid_somewhere(text: str) -> bool:
    """Tell whether the letters and digits of a text are a number with a correct check digit.

    Example:
        >>> is_valid_somewhere("4111 1111 1111 1111"), is_valid_somewhere("4111 1111 1111 1112")
        (True, False)
    """
    signs = joined(text)
    if signs.isascii() and signs.isdecimal():
        digits = [int(sign) for sign in signs]
        return any(len(digits) in lengths and holds(digits) for lengths, holds in _SCHEMES)
    return _is_iban(signs) or _is_dni(signs)


def is_issued_ssn(text: str) -> bool:
    """Tell whether a text is written like a US social security number that may have been issued.

    Example:
        >>> is_issued_ssn("123-45-6789"), is_issued_ssn("666-45-6789")
        (True, False)
    """
    match = re.fullmatch(r"(\d{3})[- ](\d{2})[- ](\d{4})", text)
    return match is not None and not (match[1] in ("000", "666") or match[1] >= "900")


def _luhn(digits: Sequence[int]) -> bool:
    doubled = (digit * 2 for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(d - 9 if d > 9 else d for d in doubled)) % 10 == 0


def _cpf(digits: Sequence[int]) -> bool:
    first = _weigh(digits[:9], range(10, 1, -1)) * 10 % 11 % 10
    return first == digits[9] and _weigh(digits[:10], range(11, 1, -1)) * 10 % 11 % 10 == digits[10]


def _weigh(digits: Sequence[int], weights: Sequence[int]) -> int:
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=True))


def _is_iban(signs: str) -> bool:
    if not re.fullmatch(r"[a-z]{2}[0-9]{2}[a-z0-9]{10,30}", signs):
        return False
    return int("".join(str(int(sign, 36)) for sign in signs[4:] + signs[:4])) % 97 == 1


def _is_dni(signs: str) -> bool:
    match = re.fullmatch(r"([0-9xyz])([0-9]{7})([a-z])", signs)
    if match is None:
        return False
    first = {"x": "0", "y": "1", "z": "2"}.get(match[1], match[1])
    return _DNI_LETTERS[int(first + match[2]) % 23] == match[3]


_SCHEMES: tuple[tuple[range, Callable[[Sequence[int]], bool]], ...] = (
    (range(9, 20), _luhn),
    (range(10, 11), lambda digits: _luhn((*_NPI_PREFIX, *digits))),
    (range(10, 11), lambda digits: _weigh(digits, range(10, 0, -1)) % 11 == 0),
    (range(9, 10), lambda digits: _weigh(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0),
    (range(11, 12), _cpf),
    (range(11, 12), lambda digits: _weigh(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0),
    (
        range(15, 16),
        lambda digits: 97 - int("".join(map(str, digits[:13]))) % 97 == digits[13] * 10 + digits[14],
    ),
)
"""Lengths and check digits: Luhn, NPI, NHS, BSN, CPF, PESEL, NIR."""
