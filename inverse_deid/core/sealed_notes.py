"""Notes that only somebody with their secret can read: encrypted, and refused if a byte of them was changed.

The notes of a run are beside its output, which is passed on. Their secret is made of the input, which is not
(`engine/jobs/journal.py`), so that the next run of the same input reads them and nobody else does.

Source: AES-256-GCM with a new random nonce of 96 bits for each note (NIST SP 800-38D).
"""

from __future__ import annotations

import hmac
import json
import secrets
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES = 12


def tag_of(secret: bytes, text: str) -> str:
    """Return what replaces a text where it is only compared: a hash that needs the secret.

    Example:
        >>> tag_of(b"one", "cases.csv") == tag_of(b"two", "cases.csv")
        False
    """
    return hmac.digest(secret, b"tag " + text.encode("utf-8", "surrogatepass"), "sha256").hex()


def seal_note(secret: bytes, note: Any) -> str:  # noqa: ANN401 - whatever JSON can say
    """Return a JSON value, encrypted, in hexadecimal digits.

    Example:
        >>> open_note(b"one", seal_note(b"one", {"n": 1})), open_note(b"two", seal_note(b"one", {"n": 1}))
        ({'n': 1}, None)
    """
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return (nonce + _cipher(secret).encrypt(nonce, json.dumps(note).encode(), None)).hex()


def open_note(secret: bytes, sealed: str) -> Any:  # noqa: ANN401 - whatever JSON can say
    """Return what was sealed, None = with another secret, or it was changed since."""
    try:
        data = bytes.fromhex(sealed)
        return json.loads(_cipher(secret).decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], None))
    except (InvalidTag, ValueError):
        return None


def _cipher(secret: bytes) -> AESGCM:
    return AESGCM(hmac.digest(secret, b"sealed note: AES-256-GCM", "sha256"))
