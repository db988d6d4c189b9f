"""The key of a store, and all keys that come from it.

Texts are encrypted with AES-256-GCM, bound to their place in the store. The keys for this and for all other
purposes are random and in the store, encrypted with the key that people hold. So a person with that key and
the database can read every narrative. Without it nothing can be read or recovered.

Source: RFC 5869 (HKDF); NIST SP 800-38D (GCM): a random nonce of 96 bits for far fewer than 2^32 values.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import Connection, delete, insert, select, union

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.core.wording import _
from inverse_deid.replacement import keys
from inverse_deid.review.store.tables import NAME_KEYS, SOURCES, WAITING, place_of

MIN_KEY_BYTES = 16

_FORM = "inverse-deid sealed 1"
_NONCE_BYTES = 12
_SECRET_BYTES = 32
_MAX_KEY_ID = 1 << 53
_MAX_KEY_DIGITS = 16
_NAME_PLACE = "a name"


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

    @property
    def public_key(self) -> Ed25519PublicKey:
        """The key that checks what a store with this key signs."""
        return Ed25519PrivateKey.from_private_bytes(self.derive("signatures")).public_key()


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


class FileNames:
    """Seals names of files and of their cases, with a key for each file. Without that key nobody opens them.

    A sealed name is a text, which begins with the number of its key. It can be in a table and in the trail.
    """

    def __init__(self, connection: Connection, sealer: Sealer) -> None:
        self._connection = connection
        self._sealer = sealer
        self._keys: dict[int, Sealer | None] = {}

    def add_key(self) -> int:
        """Store a new key and return its number, which is random, so that none is used again."""
        key_id, secret = secrets.randbelow(_MAX_KEY_ID) + 1, os.urandom(_SECRET_BYTES)
        sealed = self._sealer.seal(secret, place_of(NAME_KEYS.c.sealed, {"id": key_id}))
        self._connection.execute(insert(NAME_KEYS), {"id": key_id, "sealed": sealed})
        self._keys[key_id] = Sealer(secret)
        return key_id

    def seal(self, key_id: int, name: str) -> str:
        """Seal a name with a key.

        Raises:
            UnreadableInputError: The key was deleted or altered.
        """
        key = self._find(key_id)
        if key is None:
            raise _refuse_name()
        sealed = key.seal(name.encode("utf-8", "surrogatepass"), _NAME_PLACE)
        return f"{key_id}.{base64.urlsafe_b64encode(sealed).decode()}"

    def seal_like(self, other: str, name: str) -> str:
        """Seal a name with the key of another sealed name; fails as `seal`."""
        return self.seal(_read_key_id(other), name)

    def open(self, sealed: str) -> str:
        """Open a name.

        Raises:
            UnreadableInputError: The key was deleted, or something was altered.
        """
        key_id = _read_key_id(sealed)
        key = self._find(key_id)
        if key is None:
            raise _refuse_name()
        try:
            data = base64.urlsafe_b64decode(str(sealed).partition(".")[2])
        except ValueError:
            data = b""
        return key.open(data, _NAME_PLACE).decode("utf-8", "surrogatepass")

    def find(self, sealed: str | None) -> str:
        """Return a name, "" = it was deleted with its file, or there is none."""
        with suppress(UnreadableInputError):
            return self.open(sealed or "")
        return ""

    def drop_unused(self) -> None:
        """Delete the keys of files that are neither in the store nor waiting."""
        used = union(select(SOURCES.c.name_key), select(WAITING.c.name_key))
        self._connection.execute(delete(NAME_KEYS).where(NAME_KEYS.c.id.not_in(used)))
        self._keys.clear()

    def _find(self, key_id: int) -> Sealer | None:
        if key_id not in self._keys:
            found = select(NAME_KEYS.c.sealed).where(NAME_KEYS.c.id == key_id)
            sealed = self._connection.execute(found).scalar_one_or_none()
            place = place_of(NAME_KEYS.c.sealed, {"id": key_id})
            self._keys[key_id] = None if sealed is None else Sealer(self._sealer.open(sealed, place))
        return self._keys[key_id]


def _read_key_id(sealed: str) -> int:
    number = str(sealed).partition(".")[0]  # NULL, if somebody changed the table
    return int(number) if number.isascii() and number.isdecimal() and len(number) <= _MAX_KEY_DIGITS else 0


def _refuse_name() -> UnreadableInputError:
    return UnreadableInputError(
        _("a name of the store cannot be opened: its key was deleted. Run inverse-deid review verify")
    )


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
        parts = {"data": [one.secret.hex() for one in self.data], "case": self.case.hex()}
        sealer = Sealer(key.derive("keys of the store"))
        sealed = sealer.seal(json.dumps(parts).encode(), f"keys {self.generation}")
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
            parts = json.loads(opened)
            data = tuple(ReviewKey(bytes.fromhex(one)) for one in parts["data"])
            case = bytes.fromhex(parts["case"])
            return cls(data, case, key.derive("trail"), key.derive("signatures"), int(generation))
        raise UnreadableInputError(_("the keys of the store were altered. Restore a backup"))
