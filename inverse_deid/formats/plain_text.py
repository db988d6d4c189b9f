"""Plain text: one file is one document; kept bytes are unchanged.

Line ends (CR, LF, CR LF) and a byte-order mark are kept. Offsets count the code points after the byte-order
mark.
"""

from __future__ import annotations

from typing import BinaryIO

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.encodings import decode, detect_codec, encode
from inverse_deid.formats.rebuilt_file import RebuiltFile
from inverse_deid.formats.records import MAX_RECORD_BYTES, Format, ReadOptions


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


def read_plain_text(stream: BinaryIO, options: ReadOptions, name: str) -> RebuiltFile:
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

    def build(masked: MaskedDocument) -> bytes:
        return codec.mark + encode(masked.text, codec)

    return RebuiltFile(Document(name, text), build, {}, text_encoding=codec.name)


FORMAT = Format(
    name="text", open=read_plain_text, suffixes=(".txt", ".text", ".md", ".markdown"), is_single_document=True
)
