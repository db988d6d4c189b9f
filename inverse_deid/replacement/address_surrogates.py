"""Surrogates of e-mail addresses, web addresses and IP addresses, all in ranges kept for examples.

Source: RFC 2606 (example.org), RFC 5737 and RFC 3849 (addresses for documentation).
"""

from __future__ import annotations

import random
import re
import string

from inverse_deid.replacement.number_surrogates import NumberSurrogates
from inverse_deid.replacement.surrogate_draws import Draws

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


class AddressSurrogates:
    """The surrogates of the addresses of one case.

    Args:
        draws: The case's chance.
        numbers: Settles what may be given out.
    """

    def __init__(self, draws: Draws, numbers: NumberSurrogates) -> None:
        self._draws = draws
        self._numbers = numbers

    def replacement(self, text: str) -> str | None:
        """Another address of the same sort, None = the text is no address.

        Example:
            >>> from inverse_deid.replacement.surrogate_draws import Reserved
            >>> draws = Draws(bytes(16), "1")
            >>> addresses = AddressSurrogates(draws, NumberSurrogates(draws, Reserved([], [])))
            >>> addresses.replacement("ann.li@hospital.test").endswith(".example.org")
            True
        """
        if match := _EMAIL.fullmatch(text):
            user, host, scheme = match["user"], match["host"], match["scheme"] or ""
            return self._numbers.settled(
                text, lambda rng: f"{scheme}{_shaken(user, rng)}@{self._domain(host)}"
            )
        if _IP.fullmatch(text):
            return self._numbers.settled(
                text, lambda rng: f"{rng.choice(_DOCUMENTATION_NETS)}.{rng.randrange(1, 255)}"
            )
        if _IP6.fullmatch(text):
            return self._numbers.settled(
                text, lambda rng: "2001:db8:" + ":".join(f"{rng.randrange(16**4):x}" for _ in range(6))
            )
        match = _URL.fullmatch(text)
        if match is None or not (match["scheme"] or match["www"] or match["path"]):
            return None
        host, path = match["host"], match["path"] or ""
        begin = (match["scheme"] or "") + (match["www"] or "")
        return self._numbers.settled(text, lambda rng: f"{begin}{self._domain(host)}{_shaken(path, rng)}")

    def _domain(self, host: str) -> str:
        """The same for all addresses of one domain."""
        rng = self._draws.rng("domain", host.casefold())
        label = "".join(rng.choice(string.ascii_lowercase) for _ in range(_LABEL_LETTERS))
        return f"{label}.example.org"


def _shaken(text: str, rng: random.Random) -> str:
    """Small letters and digits for all letters and digits."""
    return "".join(
        rng.choice(string.digits)
        if char.isdecimal()
        else rng.choice(string.ascii_lowercase)
        if char.isalpha()
        else char
        for char in text
    )
