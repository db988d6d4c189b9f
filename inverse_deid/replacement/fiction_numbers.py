"""Telephone numbers that are kept for fiction and are given to nobody.

Source: NANPA, 555-0100 to 555-0199 in each area code; Ofcom, "Numbers for drama"; ARCEP, decision
2018-0881 on the numbering plan, numbers for audiovisual works; ACMA, "Phone numbers for use in TV
shows, films and creative works". Each range was compared with at least two other lists.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator, Sequence

# National digits. X = any, N = 2 to 9, A = any but the one before: area codes that end in two equal
# digits (800, 888, 900, 911) are for services, of which no range is kept for fiction.
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
"""How national numbers with a 0 before them are written."""


def fictional_patterns(number: str) -> list[str]:
    """Patterns of numbers kept for fiction with as many digits, none if the country cannot be told.

    Args:
        number: A telephone number in ASCII, as it is written.

    Example:
        >>> fictional_patterns("+44 7911 123456"), fictional_patterns("(617) 555-1234")
        (['447700900XXX'], ['NXA55501XX'])
    """
    digits = "".join(char for char in number if char.isdecimal())
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
    """Mobile numbers for mobile numbers, as far as they can be told."""
    mobile = _MOBILE.get(code, "")
    return [pattern for pattern in patterns if (pattern[0] in mobile) == (first in mobile)]


def filled(number: str, pattern: str, rng: random.Random) -> str:
    """The digits of a pattern in the places of the digits of a number; separators stay.

    Example:
        >>> filled("(617) 555-1234", "2XX5550199", random.Random(1))
        '(291) 555-0199'
    """
    drawn: list[str] = []
    for sign in pattern:
        choices = {"X": string.digits, "N": "23456789", "A": string.digits.replace("".join(drawn[-1:]), "")}
        drawn.append(rng.choice(choices.get(sign, sign)))
    fresh = iter(drawn)
    return "".join(next(fresh) if char.isdecimal() else char for char in number)
