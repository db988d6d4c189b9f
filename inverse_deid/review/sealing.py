"""Encryption of what holds text: AES-256-GCM, bound to the place where it is stored.

Source: NIST SP 800-38D; a random nonce of 96 bits for each of far fewer than 2^32 values.
"""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from inverse_deid.core.errors import UnreadableInputError

_NONCE_BYTES = 12


class Sealer:
    """Encrypts and decrypts with one key.

    Args:
        key: 32 secret bytes.

    Example:
        >>> sealer = Sealer(bytes(32))
        >>> sealer.opened(sealer.sealed(b"well", "case 7"), "case 7")
        b'well'
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def sealed(self, data: bytes, place: str) -> bytes:
        """Encrypt; what comes out can be opened for the same place alone."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, data, place.encode())

    def opened(self, sealed: bytes, place: str) -> bytes:
        """Decrypt.

        Raises:
            UnreadableInputError: Another key, another place, or altered bytes.
        """
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place.encode())
        except (InvalidTag, ValueError):
            pass
        raise UnreadableInputError(
            f"{place} of the store cannot be decrypted: it was altered, or is of another key"
        )
