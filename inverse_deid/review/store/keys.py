"""The key of a store, and all keys that come from it.

Texts are encrypted with AES-256-GCM, bound to their place in the store. The keys for this and for all other
purposes are random and in the store, encrypted with the key that people hold. So a person with that key and
the database can read every narrative. Without it nothing can be read or recovered.

Source: RFC 5869 (HKDF); NIST SP 800-38D (GCM): a random nonce of 96 bits for far fewer than 2^32 values.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.core.wording import _
from inverse_deid.replacement import keys

MIN_KEY_BYTES = 16

_FORM = "inverse-deid sealed 1"
_NONCE_BYTES = 12
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class ReviewKey:
    """A secret of at least 16 bytes.

    Raises:
        ConfigurationError: It is shorter.
    """

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) < MIN_KEY_BYTES:
            raise ConfigurationError(
                _(
                    "the key is too short. It needs at least {min_key_bytes} bytes",
                    min_key_bytes=MIN_KEY_BYTES,
                )
            )

    def derive(self, purpose: str) -> bytes:
        """Return 32 bytes for one purpose, which reveal nothing about the key or about other purposes."""
        info = f"inverse-deid review {purpose}".encode()
        return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(self.secret)


def make_key_file(path: Path) -> ReviewKey:
    """Write a new random key that only its owner can read (mode 600).

    Raises:
        ConfigurationError: The file exists, or cannot be written.
    """
    return ReviewKey(keys.make_key_file(path))


class Sealer:
    """Encrypts with the first of some keys of 32 secret bytes, and decrypts with any.

    Example:
        >>> sealer = Sealer(bytes(32))
        >>> sealer.open(sealer.seal(b"well", "case 7"), "case 7")
        b'well'
    """

    def __init__(self, *keys: bytes) -> None:
        self._ciphers = [AESGCM(key) for key in keys]

    def seal(self, data: bytes, place: str) -> bytes:
        """Encrypt for one place of the store; the result can be opened for that place alone."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._ciphers[0].encrypt(nonce, data, _associate(place))

    def open(self, sealed: bytes, place: str) -> bytes:
        """Decrypt.

        Raises:
            UnreadableInputError: Another key, another place, or altered bytes.
        """
        for cipher in self._ciphers:
            with suppress(InvalidTag, ValueError, TypeError):  # NULL, if somebody changed the table
                return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _associate(place))
        raise UnreadableInputError(
            _(
                "{place} of the store cannot be decrypted: it was altered, or belongs to another key",
                place=place,
            )
        )

    def renew(self, sealed: bytes, place: str) -> bytes | None:
        """Return what an older key encrypted, encrypted with the newest one; None = it is already.

        Raises:
            UnreadableInputError: As `open`.
        """
        with suppress(InvalidTag, ValueError, TypeError):
            self._ciphers[0].decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _associate(place))
            return None
        return self.seal(self.open(sealed, place), place)


def _associate(place: str) -> bytes:
    # A value of another version of this form is not taken for one of this.
    return f"{_FORM} {place}".encode()


@dataclass(frozen=True, slots=True)
class StoreKeys:
    """The secrets of a store, which are stored in it under the key that people hold."""

    # The keys of most purposes derive from the first; the others decrypt what a rotation has not yet
    # encrypted again.
    data: tuple[ReviewKey, ...]
    # Decides pseudonyms, moved dates and surrogates; outlives rotations, so that those of a case never
    # change.
    case: bytes = field(repr=False)
    # Seals the trail; derived, as the next, from the key that people hold, so that an export can be checked
    # without the store.
    trail: bytes = field(repr=False)
    signatures: bytes = field(repr=False)  # sign the trail
    generation: int = 0  # counts the rotations

    @classmethod
    def make(cls, key: ReviewKey) -> StoreKeys:
        """Return the secrets of a new store: stores of one key give an id the same pseudonym."""
        data = (ReviewKey(os.urandom(_SECRET_BYTES)),)
        return cls(data, key.derive("pseudonyms"), key.derive("trail"), key.derive("signatures"))

    def wrap(self, key: ReviewKey) -> str:
        """Return what is stored: the generation, and the secrets encrypted with a key."""
        secrets = {"data": [one.secret.hex() for one in self.data], "case": self.case.hex()}
        sealer = Sealer(key.derive("keys of the store"))
        sealed = sealer.seal(json.dumps(secrets).encode(), f"keys {self.generation}")
        return f"{self.generation} {sealed.hex()}"

    @classmethod
    def unwrap(cls, stored: str, key: ReviewKey) -> StoreKeys:
        """Read what `wrap` returned.

        Raises:
            UnreadableInputError: It was made with another key, or altered.
        """
        generation, _ignored, sealed = stored.partition(" ")
        with suppress(ValueError):
            opened = Sealer(key.derive("keys of the store")).open(bytes.fromhex(sealed), f"keys {generation}")
            secrets = json.loads(opened)
            data = tuple(ReviewKey(bytes.fromhex(one)) for one in secrets["data"])
            case = bytes.fromhex(secrets["case"])
            return cls(data, case, key.derive("trail"), key.derive("signatures"), int(generation))
        raise UnreadableInputError(_("the keys of the store were altered. Restore a backup"))
