r"""The encrypted file that holds the map for reversal, written and read case by case.

::

    inverse-deid reversal map 1\n
    salt                  32 bytes
    record, record, ...   length (4 bytes, big-endian), 0 or 1 = last, nonce (12), AES-256-GCM text and tag

The file's own key is HKDF-SHA256 of the secret with the salt. The first record says what the file
is about, the last how many cases it holds. Each record authenticates its number, whether it is the
last, and the tag of the one before: a record that is changed, swapped, doubled, left out or cut off
is found, also between two states of a file that was continued.

Source: AES-GCM: NIST SP 800-38D; HKDF: RFC 5869; the chain of records follows the STREAM
construction (Hoang, Reyhanitabar, Rogaway and Vizár 2015).
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import BinaryIO, Protocol

from inverse_deid.core.errors import ConfigurationError, FormatError, InputError
from inverse_deid.core.extras import missing_extra
from inverse_deid.replacement.date_shift import MIN_KEY_BYTES
from inverse_deid.replacement.reversal import HiddenCase, hidden_case

MAGIC = b"inverse-deid reversal map 1\n"
"""How a map begins."""

_KIND = b"inverse-deid reversal map "
_PURPOSE = b"inverse-deid reversal map 1"
_SALT_BYTES = 32
_NONCE_BYTES = 12
_TAG_BYTES = 16
_HEAD = struct.Struct(">IB")
_MAX_RECORD_BYTES = 1 << 30


class Target(Protocol):
    """Where the bytes of a map go."""

    def write(self, data: bytes, /) -> int:
        """Take all of `data`."""
        ...


class Cipher(Protocol):
    """An AEAD cipher; its key is inside."""

    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes:
        """Encrypted text and tag."""
        ...

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes:
        """The text."""
        ...


@dataclass(frozen=True, slots=True)
class _Chain:
    """Where in the file a record stands."""

    number: int
    tag: bytes = field(repr=False)

    def associated(self, is_last: bool) -> bytes:
        return struct.pack(">QB", self.number, is_last) + self.tag

    def after(self, sealed: bytes) -> _Chain:
        return _Chain(self.number + 1, sealed[-_TAG_BYTES:])


class MapWriter:
    """Writes a map; nothing of it is kept in memory.

    Args:
        target: Takes the bytes; a private file that gets its name when it is complete.
        key: At least 16 secret bytes.
        about: What the reader should know: no value may identify anybody.
        begun: What was written of the same map before an interruption, read from its beginning to
            where `target` goes on; None = the map is begun.

    Raises:
        ConfigurationError: A short key, or `cryptography` is not installed.
        InputError: What was written before is of another key, or damaged.
    """

    def __init__(
        self, target: Target, key: bytes, about: Mapping[str, str], *, begun: BinaryIO | None = None
    ) -> None:
        self._target = target
        self._n_cases = 0
        if begun is not None:
            self._continue(key, begun)
            return
        salt = os.urandom(_SALT_BYTES)
        self._cipher = _cipher(key, salt)
        self._chain = _first(salt)
        target.write(MAGIC + salt)
        self._seal(json.dumps(dict(about)).encode(), is_last=False)

    def add(self, case: HiddenCase) -> None:
        """Write one case or document."""
        self._seal(case.as_json(), is_last=False)
        self._n_cases += 1

    def finish(self) -> None:
        """Write the end, without which the map is refused; the target stays open."""
        self._seal(json.dumps({"n_cases": self._n_cases}).encode(), is_last=True)

    def _continue(self, key: bytes, begun: BinaryIO) -> None:
        salt = _salt(begun)
        self._cipher = _cipher(key, salt)
        self._chain = _first(salt)
        for is_last, _ in _opened(begun, self._cipher, self._chain):
            if is_last:
                raise InputError("is a complete map, to which nothing can be added; start again with --force")
            self._n_cases += 1
        self._n_cases -= 1
        begun.seek(len(MAGIC) + _SALT_BYTES)
        for _, _, sealed in _frames(begun):
            self._chain = self._chain.after(sealed)
        if self._n_cases < 0:
            raise InputError("of the interrupted run holds no beginning; start again with --force")

    def _seal(self, data: bytes, *, is_last: bool) -> None:
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, data, self._chain.associated(is_last))
        self._target.write(_HEAD.pack(len(sealed), is_last) + nonce + sealed)
        self._chain = self._chain.after(sealed)


class MapReader:
    """Reads a map; one case is in memory at a time.

    Args:
        stream: The file, at its beginning.
        key: The secret with which it was written.

    Raises:
        ConfigurationError: A short key, or `cryptography` is not installed.
        FormatError: It is no map, or of another version.
        InputError: The key is another, or the map was changed.
    """

    def __init__(self, stream: BinaryIO, key: bytes) -> None:
        salt = _salt(stream)
        self._records = _opened(stream, _cipher(key, salt), _first(salt))
        is_last, about = next(self._records, (True, b""))
        if is_last:
            raise InputError("breaks off; copy it again")
        self.about: Mapping[str, str] = json.loads(about)

    def cases(self) -> Iterator[HiddenCase]:
        """The cases in the order in which they were written; can be run through once.

        Raises:
            InputError: A record was changed, or the map breaks off; cases before that are given out.
        """
        n_cases = 0
        end = b""
        for is_last, data in self._records:
            if is_last:
                end = data
                continue
            yield hidden_case(data)
            n_cases += 1
        if not end:
            raise InputError("breaks off; copy it again")
        if json.loads(end) != {"n_cases": n_cases}:
            raise InputError("does not hold as many cases as it says; it is damaged")


def check_cryptography() -> None:
    """Find out early whether maps can be written.

    Raises:
        ConfigurationError: `cryptography` is not installed.
    """
    if find_spec("cryptography") is None:
        raise missing_extra("a reversal map", "cryptography", "surrogates")


def _salt(stream: BinaryIO) -> bytes:
    """Read the beginning of a map."""
    magic = stream.read(len(MAGIC))
    if magic != MAGIC:
        known = magic.startswith(_KIND)
        raise FormatError(
            "is a map of another version; use the program that made it" if known else "is no reversal map"
        )
    salt = stream.read(_SALT_BYTES)
    if len(salt) < _SALT_BYTES:
        raise InputError("breaks off; copy it again")
    return salt


def _first(salt: bytes) -> _Chain:
    return _Chain(0, hashlib.sha256(MAGIC + salt).digest()[:_TAG_BYTES])


def _frames(stream: BinaryIO) -> Iterator[tuple[bool, bytes, bytes]]:
    """Whether it is the last, nonce and sealed text of each record, as they stand."""
    while head := stream.read(_HEAD.size):
        if len(head) < _HEAD.size:
            raise InputError("breaks off; copy it again")
        n_bytes, is_last = _HEAD.unpack(head)
        if not _TAG_BYTES <= n_bytes <= _MAX_RECORD_BYTES or is_last > 1:
            raise InputError("was changed after it was written, or is damaged")
        nonce, sealed = stream.read(_NONCE_BYTES), stream.read(n_bytes)
        if len(sealed) < n_bytes:
            raise InputError("breaks off; copy it again")
        yield bool(is_last), nonce, sealed


def _opened(stream: BinaryIO, cipher: Cipher, chain: _Chain) -> Iterator[tuple[bool, bytes]]:
    """Whether it is the last, and the text of each record."""
    is_over = False
    for is_last, nonce, sealed in _frames(stream):
        data = None if is_over else _unsealed(cipher, nonce, sealed, chain.associated(is_last))
        if data is None and chain.number == 0:
            raise InputError("cannot be opened with this key: it is another map's, or the map was changed")
        if data is None:
            raise InputError("was changed after it was written, or is damaged")
        yield is_last, data
        chain, is_over = chain.after(sealed), is_last


def _unsealed(cipher: Cipher, nonce: bytes, sealed: bytes, associated: bytes) -> bytes | None:
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(nonce, sealed, associated)
    except InvalidTag:
        return None


def _cipher(key: bytes, salt: bytes) -> Cipher:
    """The cipher of one file.

    Raises:
        ConfigurationError: A short key, or `cryptography` is not installed.
    """
    if len(key) < MIN_KEY_BYTES:
        raise ConfigurationError(f"the key has {len(key)} bytes: give a file with at least {MIN_KEY_BYTES}")
    check_cryptography()
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return AESGCM(HKDF(algorithm=SHA256(), length=32, salt=salt, info=_PURPOSE).derive(key))
