"""Plain text: one file is one document; kept bytes are unchanged.

Line ends (CR, LF, CR LF) and a byte-order mark are kept. Offsets count the code points after the byte-order
mark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.encodings import TextCodec, decode, detect_codec, encode
from inverse_deid.formats.records import MAX_RECORD_BYTES, Format, ReadOptions, Record, Writable


@dataclass(frozen=True, slots=True)
class PlainText:
    """An open text file (a `Source`)."""

    doc: Document
    codec: TextCodec
    unit: str = "document"
    resumable: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def text_encoding(self) -> str:
        """That of the file."""
        return self.codec.name

    def records(self) -> Iterator[Record]:
        """Yield the one document."""
        yield Record(1, (self.doc,))

    def sink(self, target: Writable, *, resumed: bool = False) -> PlainTextSink:
        """Return what writes the masked text in the same encoding."""
        return PlainTextSink(target, self.codec)


@dataclass(frozen=True, slots=True)
class PlainTextSink:
    """Writes one masked text (a `Sink`)."""

    target: Writable = field(repr=False)
    codec: TextCodec

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Write the byte-order mark, if there was one, and the masked text."""
        for one in masked:
            self.target.write(self.codec.mark + encode(one.text, self.codec))

    def finish(self) -> None:
        """Nothing follows the text."""


def read_whole(stream: BinaryIO) -> bytes:
    """Return all bytes of a file that holds one document.

    Raises:
        UnreadableInputError: The file is empty or larger than one document may be.
    """
    data = stream.read(MAX_RECORD_BYTES + 1)
    if len(data) > MAX_RECORD_BYTES:
        limit = MAX_RECORD_BYTES // 2**20
        raise UnreadableInputError(f"is larger than {limit} MiB, too much for one document. Split it")
    if not data:
        raise UnreadableInputError("is empty. Give a file with text")
    return data


def read_plain_text(stream: BinaryIO, options: ReadOptions, name: str) -> PlainText:
    """Read a text file.

    Raises:
        UnreadableInputError: Empty, binary, too large or in another encoding.

    Example:
        >>> import io
        >>> source = read_plain_text(io.BytesIO(b"Pt well."), ReadOptions(), "note.txt")
        >>> [record.doc.id for record in source.records()]
        ['note.txt']
    """
    data = read_whole(stream)
    codec = detect_codec(data[:4], options.usual_encoding)
    text = decode(data[len(codec.mark) :], codec)
    if not text:
        raise UnreadableInputError("contains only a byte-order mark. Give a file with text")
    return PlainText(Document(name, text), codec)


FORMAT = Format(
    name="text", open=read_plain_text, suffixes=(".txt", ".text", ".md", ".markdown"), is_single_document=True
)
