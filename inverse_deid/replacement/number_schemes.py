"""Whether a made-up number would be valid in a scheme of real numbers.

Source: ISO/IEC 7812-1, annex B (Luhn: payment cards, IMEI, Canadian SIN, Swedish personal
numbers, NPI with its prefix); NHS data dictionary (NHS number); ISO 13616 (IBAN); Dutch BSN
(eleven test); Brazilian CPF; Polish PESEL; Spanish DNI; French NIR; US social security numbers
are never issued with area 000, 666 or 900 to 999.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from inverse_deid.replacement.surrogate_draws import joined

_DNI_LETTERS = "trwagmyfpdxbnjzsqvhlcke"
_NPI_PREFIX = (8, 0, 8, 4, 0)


def is_valid_somewhere(text: str) -> bool:
    """Whether the letters and digits of a text make a number with a right check digit.

    Args:
        text: A number as it is written; what separates its parts does not matter.

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
    """Whether a text is written like a US social security number that may have been issued.

    Example:
        >>> is_issued_ssn("123-45-6789"), is_issued_ssn("666-45-6789")
        (True, False)
    """
    match = re.fullmatch(r"(\d{3})[- ](\d{2})[- ](\d{4})", text)
    return match is not None and not (match[1] in ("000", "666") or match[1] >= "900")


def _luhn(digits: Sequence[int]) -> bool:
    doubled = (digit * 2 for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(d - 9 if d > 9 else d for d in doubled)) % 10 == 0


def _npi(digits: Sequence[int]) -> bool:
    return _luhn((*_NPI_PREFIX, *digits))


def _nhs(digits: Sequence[int]) -> bool:
    return _weighted(digits, range(10, 0, -1)) % 11 == 0


def _bsn(digits: Sequence[int]) -> bool:
    return _weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _cpf(digits: Sequence[int]) -> bool:
    first = _weighted(digits[:9], range(10, 1, -1)) * 10 % 11 % 10
    return first == digits[9] and _weighted(digits[:10], range(11, 1, -1)) * 10 % 11 % 10 == digits[10]


def _pesel(digits: Sequence[int]) -> bool:
    return _weighted(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def _nir(digits: Sequence[int]) -> bool:
    body, check = int("".join(map(str, digits[:13]))), digits[13] * 10 + digits[14]
    return 97 - body % 97 == check


def _weighted(digits: Sequence[int], weights: Sequence[int]) -> int:
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
    (range(10, 11), _npi),
    (range(10, 11), _nhs),
    (range(9, 10), _bsn),
    (range(11, 12), _cpf),
    (range(11, 12), _pesel),
    (range(15, 16), _nir),
)
