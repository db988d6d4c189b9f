r"""The map for an authorised reversal: the originals of masked words, in an encrypted file.

For every masked text the map has the original of each replaced range, and a hash of the masked text:
the original is restored exactly, whatever words replaced it, and only in the text that the map was
made for. The map is as confidential as the originals. It is written and read case by case::

    inverse-deid reversal map 1\n
    salt                  32 bytes
    record, record, ...   length (4 bytes, big-endian), 0 or 1 = last, nonce (12), AES-256-GCM text and tag

The key of the file is HKDF-SHA256 of the secret with the salt. The first record describes the file,
the last has the number of cases. Each record authenticates its number, whether it is the last, and
the tag of the one before: a record that is changed, swapped, doubled, left out or cut off is found,
also between two states of a file that was continued.

Source: AES-GCM: NIST SP 800-38D; HKDF: RFC 5869; the chain of records follows the STREAM
construction (Hoang, Reyhanitabar, Rogaway and Vizár 2015).
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import BinaryIO, Protocol

import msgspec

from inverse_deid.core.errors import START_AGAIN, FormatError, InputError
from inverse_deid.core.values import MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.replacement.keys import check_key

MAGIC = b"inverse-deid reversal map 1\n"
"""The first bytes of a map."""

_KIND = b"inverse-deid reversal map "
SALT_BYTES = 32
_NONCE_BYTES = 12
_TAG_BYTES = 16
_HEAD = struct.Struct(">IB")
_MAX_RECORD_BYTES = 1 << 30
INCOMPLETE = N_("is incomplete: copy it again")
_CHANGED = N_("was changed after it was written, or is damaged")
NOT_THE_TEXT = N_(
    "is not the text that the map was made for: it was changed, or the map belongs to another file"
)
_WRONG_KEY = N_("cannot be opened with this key: the key belongs to another file, or the file was changed")

Edit = tuple[int, int, str]
"""A half-open range of the masked text, and its original."""


class HiddenText(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The originals of one masked text."""

    location: str  # its place in the document, "" = the only text of the document
    sha256: str  # of the masked text in the encoding of the file
    edits: tuple[Edit, ...]  # in text order, not overlapping
    shown: str = ""  # the masked text, if the masked file does not give it back as it was

    def __repr__(self) -> str:  # no originals
        return f"HiddenText({self.location!r})"


class HiddenCase(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The originals of one document or case: its id, and one entry per text in the order of the file."""

    document: str
    texts: tuple[HiddenText, ...]

    def as_json(self) -> bytes:
        return json.dumps(msgspec.to_builtins(self)).encode()


def read_hidden_case(stored: bytes) -> HiddenCase:
    """Read the case that `as_json` wrote.

    Raises:
        FormatError: It cannot be read.
    """
    with suppress(ValueError, TypeError):  # such an error may contain text
        return msgspec.convert(json.loads(stored), HiddenCase)
    raise FormatError(_("has an entry that cannot be read: it was made by another version"))


def digest(text: str, encoding: str = "utf-8") -> str:
    """Return the SHA-256 of a text as written; characters that the encoding lacks are written as `?`."""
    return hashlib.sha256(text.encode(encoding, "replace")).hexdigest()


def hide(
    masked: MaskedDocument,
    *,
    location: str = "",
    written: str | None = None,
    encoding: str = "utf-8",
    keeps_text: bool = False,
) -> HiddenText:
    """Return the originals of a masked document.

    Args:
        masked: From the masker, with its dates, ages and surrogates.
        location: Its place in the document.
        written: The text that was written, if shortened to fit; None = all.
        encoding: Of the file.
        keeps_text: The file does not give the masked text back as it was, so the map needs it.
    """
    shown = masked.text if written is None else written
    edits = tuple(_edits(masked, shown))
    return HiddenText(location, digest(shown, encoding), edits, shown if keeps_text else "")


def _edits(masked: MaskedDocument, shown: str) -> Iterator[Edit]:
    # One edit per mask, and one for the text that was cut off.
    original = masked.tokens.text
    is_cut = shown != masked.text
    cut = len(shown)
    if is_cut:  # up to where the shown text is the masked one, not within a replacement
        pairs = enumerate(zip(shown, masked.text, strict=False))
        cut = next((i for i, (a, b) in pairs if a != b), min(len(shown), len(masked.text)))
        cut = next((first for first, last in masked.replaced if first < cut < last), cut)
    position = position_in_original = 0
    for (start, end), (first, last) in zip(masked.masks, masked.replaced, strict=True):
        if last > cut:
            break
        yield first, last, original[start:end]
        position, position_in_original = last, end
    if is_cut:
        yield cut, len(shown), original[position_in_original + cut - position :]


def reveal(text: str, hidden: HiddenText, encoding: str = "utf-8") -> str:
    """Return the original of a masked text.

    Raises:
        InputError: The entry was made for another text.
    """
    if digest(text, encoding) != hidden.sha256:
        raise InputError(_(NOT_THE_TEXT))
    pieces: list[str] = []
    position = 0
    for start, end, original in hidden.edits:
        if not position <= start <= end <= len(text):
            raise InputError(_("has an entry in the map whose ranges do not fit: the map is damaged"))
        pieces += (text[position:start], original)
        position = end
    return "".join((*pieces, text[position:]))


class Target(Protocol):
    """Takes the bytes of a map."""

    def write(self, data: bytes, /) -> int:
        """Write all of `data`."""
        ...


class RecordChain:
    """Seals or opens the records of one file in order, as the module describes.

    Args:
        key: At least 16 secret bytes.
        salt: `SALT_BYTES` random bytes at the beginning of the file.
        magic: The line before them, which names the kind of file.

    Raises:
        ConfigurationError: A short key.
    """

    def __init__(self, key: bytes, salt: bytes, magic: bytes = MAGIC) -> None:
        check_key(key)
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        self._cipher = AESGCM(HKDF(algorithm=SHA256(), length=32, salt=salt, info=magic.strip()).derive(key))
        self._n_records = 0
        self._tag = hashlib.sha256(magic + salt).digest()[:_TAG_BYTES]

    def seal(self, data: bytes, *, is_last: bool) -> bytes:
        """Encrypt data as the next record of the file, and return the bytes to write."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, data, self._associate(is_last))
        self._advance(sealed)
        return _HEAD.pack(len(sealed), is_last) + nonce + sealed

    def open(self, stream: BinaryIO) -> Iterator[tuple[bool, bytes]]:
        """Yield of each record whether it is the last, and its text."""
        is_over = False
        while head := stream.read(_HEAD.size):
            if len(head) < _HEAD.size:
                raise InputError(INCOMPLETE)
            n_bytes, is_last = _HEAD.unpack(head)
            if is_over or not _TAG_BYTES <= n_bytes <= _MAX_RECORD_BYTES or is_last > 1:
                raise InputError(_CHANGED)
            nonce, sealed = stream.read(_NONCE_BYTES), stream.read(n_bytes)
            if len(sealed) < n_bytes:
                raise InputError(INCOMPLETE)
            is_over = bool(is_last)
            yield is_over, self._unseal(nonce, sealed, is_last=is_over)
            self._advance(sealed)

    def _unseal(self, nonce: bytes, sealed: bytes, *, is_last: bool) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher.decrypt(nonce, sealed, self._associate(is_last))
        except InvalidTag:
            raise InputError(_CHANGED if self._n_records else _WRONG_KEY) from None

    def _associate(self, is_last: bool) -> bytes:
        """Return the number of a record, whether it is the last, and the tag of the one before."""
        return struct.pack(">QB", self._n_records, is_last) + self._tag

    def _advance(self, sealed: bytes) -> None:
        self._n_records += 1
        self._tag = sealed[-_TAG_BYTES:]


class MapWriter:
    """Writes a map without keeping it in memory.

    Args:
        target: A private file that gets its name when it is complete.
        key: At least 16 secret bytes.
        about: Describes the file to the reader; no value may identify anybody.
        begun: The map as written before an interruption, from its beginning to where `target`
            continues; None = a new map.

    Raises:
        ConfigurationError: A short key.
        InputError: The map before the interruption has another key, or is damaged.
    """

    def __init__(
        self, target: Target, key: bytes, about: Mapping[str, str], *, begun: BinaryIO | None = None
    ) -> None:
        self._target = target
        self._n_cases = 0
        salt = os.urandom(SALT_BYTES) if begun is None else _read_salt(begun)
        self._records = RecordChain(key, salt)
        if begun is None:
            target.write(MAGIC + salt)
            target.write(self._records.seal(json.dumps(dict(about)).encode(), is_last=False))
            return
        n_records = 0
        for is_last, _ignored in self._records.open(begun):
            if is_last:
                raise InputError(_("is a complete map, nothing can be added to it"), remedies=[START_AGAIN])
            n_records += 1
        if not n_records:
            raise InputError(_("of the interrupted run has no beginning"), remedies=[START_AGAIN])
        self._n_cases = n_records - 1

    def add(self, case: HiddenCase) -> None:
        self._target.write(self._records.seal(case.as_json(), is_last=False))
        self._n_cases += 1

    def finish(self) -> None:
        """Write the end, without which the map cannot be read; the target stays open."""
        end = json.dumps({"n_cases": self._n_cases}).encode()
        self._target.write(self._records.seal(end, is_last=True))


class MapReader:
    """Reads a map, one case at a time.

    Raises:
        ConfigurationError: A short key.
        FormatError: It is not a map, or a map of another version.
        InputError: The key is wrong, or the map was changed.
    """

    def __init__(self, stream: BinaryIO, key: bytes) -> None:
        self._records = RecordChain(key, _read_salt(stream)).open(stream)
        is_last, about = next(self._records, (True, b""))
        if is_last:
            raise InputError(INCOMPLETE)
        self.about: Mapping[str, str] = json.loads(about)

    def cases(self) -> Iterator[HiddenCase]:
        """Yield the cases in the order of the file, once.

        Raises:
            InputError: A record was changed, or the map is incomplete; earlier cases are yielded.
        """
        n_cases = 0
        end = b""
        for is_last, data in self._records:
            if is_last:
                end = data
                continue
            yield read_hidden_case(data)
            n_cases += 1
        if not end:
            raise InputError(INCOMPLETE)
        if json.loads(end) != {"n_cases": n_cases}:
            raise InputError(_("does not have as many cases as it says: it is damaged"))


def _read_salt(stream: BinaryIO) -> bytes:
    magic = stream.read(len(MAGIC))
    if magic != MAGIC:
        known = magic.startswith(_KIND)
        raise FormatError(
            _("is a map of another version: use the program that made it")
            if known
            else _("is not a reversal map")
        )
    salt = stream.read(SALT_BYTES)
    if len(salt) < SALT_BYTES:
        raise InputError(INCOMPLETE)
    return salt
