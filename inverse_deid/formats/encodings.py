"""From bytes to text and back, exactly: strict decoding, the byte-order mark kept apart.

A wrong encoding is an error with a remedy; nothing is skipped or replaced while reading. The errors are
raised outside the `except` blocks, so that they have no reference to the undecodable bytes.
"""

from __future__ import annotations

import codecs
import io
from dataclasses import dataclass
from typing import BinaryIO, cast

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError

MARKS: tuple[tuple[bytes, str, str], ...] = (
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8", "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
"""Byte-order marks, with the encoding as people name it and as Python does; none begins a later one."""


_NOT_FOR_FILES = frozenset({"idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7"})
"""Text encodings of Python that cannot write everything they read, or have several forms of one text."""


@dataclass(frozen=True, slots=True)
class TextCodec:
    """An encoding, and the byte-order mark before the text (b"" = none)."""

    name: str
    mark: bytes = b""

    @property
    def ascii_lines(self) -> bool:
        """Whether a line feed is the single byte 0x0A."""
        return "\n".encode(self.name) == b"\n"


def normal_encoding(encoding: str) -> str:
    """Return the canonical name of a text encoding.

    Raises:
        ConfigurationError: Python does not know the encoding.

    Example:
        >>> normal_encoding("UTF8"), normal_encoding("latin-1")
        ('utf-8', 'iso8859-1')
    """
    try:
        name = codecs.lookup(encoding).name
        "a".encode(name)
    except (LookupError, ValueError):
        name = ""
    if not name or name.replace("_", "-") in _NOT_FOR_FILES:
        raise ConfigurationError(f"unknown encoding {encoding!r}. Try utf-8, cp1252, latin-1 or utf-16")
    return name.removesuffix("-sig").removesuffix("_sig")


def detect_codec(head: bytes, encoding: str) -> TextCodec:
    """Return the codec of a text that begins with `head` (four bytes or more), if it is of this encoding.

    Raises:
        UnreadableInputError: The byte-order mark belongs to another encoding.
    """
    name = normal_encoding(encoding)
    for mark, family, exact in MARKS:
        if head.startswith(mark):
            if name not in (family, exact):
                raise UnreadableInputError(f"begins with the mark of {family}. Give --encoding {family}")
            return TextCodec(exact, mark)
    return TextCodec({"utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(name, name))


def split_mark(stream: BinaryIO, encoding: str) -> tuple[BinaryIO, TextCodec]:
    """Return the stream after its byte-order mark, and the codec.

    Raises:
        UnreadableInputError: The byte-order mark belongs to another encoding.
    """
    peekable = stream if hasattr(stream, "peek") else io.BufferedReader(cast(io.RawIOBase, stream))
    codec = detect_codec(peekable.peek(4)[:4], encoding)
    peekable.read(len(codec.mark))
    return peekable, codec


def decode(data: bytes, codec: TextCodec) -> str:
    """Decode strictly; `data` comes without the byte-order mark.

    Raises:
        UnreadableInputError: Not text of this encoding, or binary.
    """
    try:
        text = data.decode(codec.name)
    except UnicodeError:
        text = "\0"
    if "\0" in text:
        raise UnreadableInputError(wrong_encoding(codec.name))
    return text


def wrong_encoding(name: str) -> str:
    """Return the message for a file that is binary or of another encoding."""
    return (
        f"is not {name} text. If it is text, name its encoding with --encoding (for example cp1252 "
        "or utf-16); Word and PDF files need their suffix, .docx or .pdf"
    )


def encode(text: str, codec: TextCodec) -> bytes:
    """Encode a masked text.

    Only characters that masking added (a marker, the sign for a hidden character) can be missing in the
    encoding of the input. They become `?`.
    """
    return text.encode(codec.name, "replace")
