"""A file that somebody gave us, in memory, with its format."""

from __future__ import annotations

import gzip
import hashlib
import io
from dataclasses import dataclass, field
from pathlib import PurePath, PurePosixPath

from inverse_deid.core.errors import Remedy, UnreadableInputError
from inverse_deid.core.wording import _
from inverse_deid.formats.records import Format
from inverse_deid.formats.registry import MAX_HEAD_BYTES, choose_format, input_errors, without_gz

MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_RATIO = 200
MIN_HARMFUL_BYTES = 16 * 1024 * 1024
"""A packed file may be this large in any case, and otherwise `MAX_RATIO` times its size."""


@dataclass(frozen=True, slots=True, eq=False)
class GivenFile:
    """A file in memory.

    Args:
        name: Its place below what was given, with `/`. It may name a person.
        format: Its format.
        data: Its bytes, unpacked.
    """

    name: str = field(repr=False)
    format: Format
    data: bytes = field(repr=False)

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return self.name


def open_given(name: str, data: bytes, otherwise: Remedy | None = None) -> GivenFile:
    r"""Unpack a file, and find its format by its name and its first bytes.

    Args:
        name: As it was given; `.gz` is taken away.
        data: As it was given.
        otherwise: See `choose_format`.

    Raises:
        FormatError: Its suffix is unknown.
        UnreadableInputError: It is not a complete gzip file, or too large when unpacked.

    Example:
        >>> given = open_given("a/cases.csv.gz", gzip.compress(b"id,text\n"))
        >>> given.name, given.format
        ('a/cases.csv', csv)
    """
    data = unpack(name, data)
    kind = choose_format(PurePath(name), data[:MAX_HEAD_BYTES], otherwise)
    return GivenFile(str(without_gz(PurePosixPath(name))), kind, data)


def digest_given(name: str, data: bytes) -> tuple[str, bytes]:
    """Return the name of a file without `.gz`, and the SHA-256 of what it unpacks to; raises as `unpack`."""
    shown = str(without_gz(PurePosixPath(name)))
    return shown, hashlib.sha256(unpack(name, data)).digest()


def unpack(name: str, data: bytes) -> bytes:
    """Return the bytes of a file whose name ends in `.gz` unpacked, others as they are.

    Raises:
        UnreadableInputError: It is not a complete gzip file, or too large when unpacked.
    """
    if not name.lower().endswith(".gz"):
        return data
    n_usual = max(MAX_RATIO * len(data), MIN_HARMFUL_BYTES)
    with input_errors(), gzip.open(io.BytesIO(data)) as stream:
        data = stream.read(min(MAX_FILE_BYTES, n_usual) + 1)
    if len(data) > n_usual:
        raise UnreadableInputError(
            _("unpacks to far more than its size, as only harmful files do. Pack it again")
        )
    if len(data) > MAX_FILE_BYTES:
        raise UnreadableInputError(
            _(
                "is larger than {max_file_bytes} MB when unpacked. Split it",
                max_file_bytes=MAX_FILE_BYTES >> 20,
            )
        )
    return data
