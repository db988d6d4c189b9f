"""Pseudonyms of report ids: the same id, the same pseudonym, under one key."""

from __future__ import annotations

import base64
import hashlib
import hmac

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.replacement.date_shift import MIN_KEY_BYTES

_PURPOSE = b"inverse-deid pseudonym 1\0"
_N_CHARS = 20


def pseudonym(key: bytes, value: str) -> str:
    """20 capitals and digits (100 bits) from HMAC-SHA256; reproducible with the key, not to be undone.

    White space around the value, and its case, do not matter.

    Args:
        key: At least 16 secret bytes.
        value: The id.

    Raises:
        ConfigurationError: The key is too short.

    Example:
        >>> key = b"an example, no secret"
        >>> pseudonym(key, "SE-ACME-1") == pseudonym(key, " se-acme-1 "), len(pseudonym(key, "SE-ACME-1"))
        (True, 20)
    """
    if len(key) < MIN_KEY_BYTES:
        raise ConfigurationError(f"the key has {len(key)} bytes and needs at least {MIN_KEY_BYTES}")
    message = _PURPOSE + value.strip().casefold().encode("utf-8", "surrogatepass")
    digest = hmac.digest(key, message, hashlib.sha256)
    return base64.b32encode(digest).decode("ascii")[:_N_CHARS]
