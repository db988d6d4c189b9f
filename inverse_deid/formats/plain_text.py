"""Plain text: one file is one document; kept bytes are unchanged.

Line ends (CR, LF, CR LF) and a byte-order mark are kept. Offsets count the code points after the byte-order
mark. An encoding that the user gives is kept. If it is found out and is not UTF-8, the masked file is UTF-8.
"""

from __future__ import annotations

from typing import BinaryIO

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import _
from inverse_deid.formats.encodings import TextCodec, decode, encode, find_codec
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
        raise UnreadableInputError(
            _("is larger than {limit} MiB, too much for one document. Split it", limit=limit)
        )
    if not data:
        raise UnreadableInputError(_("is empty. Give a file with text"))
    return data


def read_plain_text(stream: BinaryIO, options: ReadOptions, name: str) -> RebuiltFile:
    """Read a text file.

    Raises:
        UnreadableInputError: Empty, binary, too large, or in an encoding that is not found out.
    """
    data = read_whole(stream)
    codec, found = find_codec(data, options.encoding, finds_out=options.finds_out)
    text = decode(data[len(codec.mark) :], codec)
    if not text:
        raise UnreadableInputError(_("contains only a byte-order mark. Give a file with text"))

    written = TextCodec("utf-8") if found else codec

    def build(masked: MaskedDocument) -> bytes:
        return written.mark + encode(masked.text, written)

    read_as = {found: 1} if found else {}
    return RebuiltFile(Document(name, text), build, {}, text_encoding=written.name, read_as=read_as)


FORMAT = Format(
    name="text", open=read_plain_text, suffixes=(".txt", ".text", ".md", ".markdown"), is_single_document=True
)
