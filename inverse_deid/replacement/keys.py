"""The secret key of a run, which decides shifts of dates, pseudonyms of ids and draws of surrogates.

With the key everything can be repeated, without it nothing can be guessed.

Source: HMAC: RFC 2104.
"""

from __future__ import annotations

import base64
import hmac
import os
import random
import secrets
from collections.abc import Iterable
from itertools import count
from pathlib import Path

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.files import printable
from inverse_deid.core.wording import _

MIN_KEY_BYTES = 16
MIN_SHIFT_DAYS = 30
MAX_SHIFT_DAYS = 395
_SHIFT = b"inverse-deid date shift 1\0"
_PSEUDONYM = b"inverse-deid pseudonym 1\0"
_SURROGATES = b"inverse-deid surrogates 1\0"
_WORD_BYTES = 8
_NEW_KEY_BYTES = 32
_PSEUDONYM_CHARS = 20


def check_key(key: bytes) -> None:
    """Check that a key is long enough.

    Raises:
        ConfigurationError: It has fewer than `MIN_KEY_BYTES` bytes.
    """
    if len(key) < MIN_KEY_BYTES:
        raise ConfigurationError(
            _(
                "the key has {n_key} bytes and needs at least {min_key_bytes}. Make one with: "
                "inverse-deid key new FILE",
                n_key=len(key),
                min_key_bytes=MIN_KEY_BYTES,
            )
        )


def make_key_file(path: Path) -> bytes:
    """Write a new random key of 256 bits that only its owner can read (mode 600), and return it.

    Raises:
        ConfigurationError: The file exists, or cannot be written.
    """
    secret = secrets.token_urlsafe(_NEW_KEY_BYTES).encode()
    problem = ""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(secret + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
    except FileExistsError:
        problem = _("exists. A key is never overwritten: choose another name")
    except OSError as error:
        problem = _(
            "cannot be written ({strerror}). Choose another place",
            strerror=error.strerror or type(error).__name__,
        )
    if problem:
        raise ConfigurationError(f"{printable(path)} {problem}")
    return secret


def secret_shift_days(key: bytes, case_id: str) -> int:
    """Return the number of days, 30 to 395, by which all dates of a case move into the past.

    Every number is equally likely, multiples of seven included.

    Raises:
        ConfigurationError: The key is too short or the id is empty.

    Source:
        Surplus words: the simple discard method, NIST SP 800-90A, appendix A.5.
    """
    check_key(key)
    if not case_id:
        raise ConfigurationError(_("dates of a case without an id cannot be shifted: give every case an id"))
    case = case_id.encode("utf-8", "surrogatepass")
    messages = (_SHIFT + counter.to_bytes(4, "big") + case for counter in count())
    words = (int.from_bytes(hmac.digest(key, one, "sha256")[:_WORD_BYTES], "big") for one in messages)
    return MIN_SHIFT_DAYS + uniform_below(MAX_SHIFT_DAYS - MIN_SHIFT_DAYS + 1, words)


def uniform_below(limit: int, words: Iterable[int]) -> int:
    """Return a number from 0 to `limit` - 1, each equally likely.

    Args:
        limit: 1 to 2**64.
        words: Random numbers of 64 bits; those that would favour small results are skipped.

    Raises:
        ValueError: All words were skipped.

    Example:
        >>> uniform_below(10, [2**64 - 1, 23])
        3
    """
    span = 2 ** (8 * _WORD_BYTES)
    unbiased = span - span % limit
    for word in words:
        if word < unbiased:
            return word % limit
    raise ValueError("no random number within the unbiased range")


def pseudonym(key: bytes, value: str) -> str:
    """Return 20 capitals and digits (100 bits) for an id.

    White space around the id, and its case, do not matter.

    Raises:
        ConfigurationError: The key is too short.

    Example:
        >>> key = b"an example, no secret"
        >>> pseudonym(key, "SE-ACME-1") == pseudonym(key, " se-acme-1 "), len(pseudonym(key, "SE-ACME-1"))
        (True, 20)
    """
    check_key(key)
    message = _PSEUDONYM + value.strip().casefold().encode("utf-8", "surrogatepass")
    return base64.b32encode(hmac.digest(key, message, "sha256")).decode("ascii")[:_PSEUDONYM_CHARS]


class Draws:
    """The random numbers of one case: the same for the same key, id and original.

    Raises:
        ConfigurationError: The key is too short or the id is empty.
    """

    def __init__(self, key: bytes, case_id: str) -> None:
        check_key(key)
        if not case_id:
            raise ConfigurationError(_("a case without an id cannot have surrogates: give every case an id"))
        self._secret = hmac.digest(key, _SURROGATES + case_id.encode("utf-8", "surrogatepass"), "sha256")

    def rng(self, purpose: str, original: str = "") -> random.Random:
        """Return the generator for one original; it reveals nothing about any other."""
        message = f"{purpose}\0{original}".encode("utf-8", "surrogatepass")
        return random.Random(hmac.digest(self._secret, message, "sha256"))
