"""Notes that only somebody with their secret can read: encrypted, and refused if a byte of them was changed.

The notes of a run are beside its output, which is passed on. Their secret is made of the input, which is not
(`engine/journal.py`), so that the next run of the same input reads them and nobody else does. The standard
library is enough: a run without further packages seals its notes as well.

Source: SHAKE256 as a stream cipher under a new random nonce (FIPS 202), then HMAC-SHA256 over nonce and
ciphertext (encrypt-then-MAC).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from typing import Any

_NONCE_BYTES = 16
_TAG_BYTES = 32


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
    body = nonce + _add_stream(secret, nonce, json.dumps(note).encode())
    return (hmac.digest(_derive(secret, b"mac"), body, "sha256") + body).hex()


def open_note(secret: bytes, sealed: str) -> Any:  # noqa: ANN401 - whatever JSON can say
    """Return what was sealed, None = with another secret, or it was changed since."""
    try:
        data = bytes.fromhex(sealed)
    except ValueError:
        return None
    tag, body = data[:_TAG_BYTES], data[_TAG_BYTES:]
    if not hmac.compare_digest(tag, hmac.digest(_derive(secret, b"mac"), body, "sha256")):
        return None
    return json.loads(_add_stream(secret, body[:_NONCE_BYTES], body[_NONCE_BYTES:]))


def _derive(secret: bytes, purpose: bytes) -> bytes:
    return hmac.digest(secret, b"sealed note: " + purpose, "sha256")


def _add_stream(secret: bytes, nonce: bytes, data: bytes) -> bytes:
    """Encrypt or decrypt: both add the same stream of bits."""
    stream = hashlib.shake_256(_derive(secret, b"stream") + nonce).digest(len(data))
    mixed = int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")
    return mixed.to_bytes(len(data), "big")
