"""The secret number of days by which the dates of a case move back."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator

from inverse_deid.core.errors import ConfigurationError

MIN_SHIFT_DAYS = 30
MAX_SHIFT_DAYS = 395
MIN_KEY_BYTES = 16
_PURPOSE = b"inverse-deid date shift 1\0"
_WORD_BYTES = 8


def secret_shift_days(key: bytes, case_id: str) -> int:
    """Days by which all dates of a case move into the past.

    HMAC-SHA256 of the case id under the key, brought into the range without favouring any value:
    reproducible with the key, not to be guessed without it. Multiples of seven are as likely as
    any other number.

    Args:
        key: At least 16 secret bytes.
        case_id: The case's id; all versions of a case need the same one.

    Returns:
        30 to 395.

    Raises:
        ConfigurationError: The key is too short or the id is empty.

    Source:
        HMAC: RFC 2104. Surplus words: the simple discard method, NIST SP 800-90A, appendix A.5.

    Example:
        >>> 30 <= secret_shift_days(b"sixteen bytes or more", "case-1") <= 395
        True
    """
    if len(key) < MIN_KEY_BYTES:
        raise ConfigurationError(f"the key has {len(key)} bytes: give a file with at least {MIN_KEY_BYTES}")
    if not case_id:
        raise ConfigurationError("a case without an id cannot be shifted: give every case its own id")
    return MIN_SHIFT_DAYS + uniform_below(MAX_SHIFT_DAYS - MIN_SHIFT_DAYS + 1, _words(key, case_id))


def uniform_below(limit: int, words: Iterable[int]) -> int:
    """A number from 0 to `limit` - 1, each as likely as any other.

    Args:
        limit: 1 to 2**64.
        words: Random numbers of 64 bits; those that would favour small results are passed over.

    Raises:
        ValueError: All words were passed over.

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


def _words(key: bytes, case_id: str) -> Iterator[int]:
    counter = 0
    while True:
        message = _PURPOSE + counter.to_bytes(4, "big") + case_id.encode("utf-8", "surrogatepass")
        digest = hmac.new(key, message, hashlib.sha256).digest()
        yield int.from_bytes(digest[:_WORD_BYTES], "big")
        counter += 1
