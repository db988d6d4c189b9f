"""From bytes to text and back, exactly: strict decoding, the byte-order mark kept apart.

The encoding of a file is found out if nobody names it: UTF-8, UTF-16, or one of Windows, the Mac and DOS. All
formats ask here, so that they agree.

A wrong encoding is an error with a remedy; nothing is skipped or replaced while reading. The errors are
raised outside the `except` blocks, so that they have no reference to the undecodable bytes.
"""

from __future__ import annotations

import codecs
import io
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, cast

from inverse_deid.core.errors import ConfigurationError, Remedy, UnreadableInputError
from inverse_deid.core.wording import N_, _

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

_SINGLE_BYTE = {
    "cp1252": "windows-1252",
    "mac-roman": "Mac Roman",
    "cp850": "DOS (cp850)",
    "cp437": "DOS (cp437)",
}
"""The encodings of one byte per character that are found out, the usual ones first."""
_USUAL = next(iter(_SINGLE_BYTE))

_HEAD_BYTES = 256 * 1024
_BLOCK_BYTES = 1024 * 1024
_MAX_SAMPLE_BYTES = 64 * 1024
_SAME_CHAOS = 0.02
_MAX_DOUBTS = 0.2  # per byte above 127
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_ASCII_LETTER = re.compile(rb"[A-Za-z]")
_AROUND = 80  # bytes
_UTF8_SIGN = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_DOUBTFUL = (
    r"(?!(?<!\S)[¡¿]+\w[^\W\d_]|(?<=[\d.])[ºª])[^\x00-\x7f\w‘’“”–—…°µ±·•€£§©®™½¼¾²³×«»\xa0]"  # noqa: RUF001
    r"|(?<![A-Za-z])ÿ|[^\x00-\x7f]{4,}|(?<=[a-z])[À-ÞŠŒŽŸ]|(?<=[A-Za-z])[À-ÞŠŒŽŸ](?=[a-z])|[à-ÿšœž](?=[A-Z])"
    r"|(?<=[a-z])[•…°±€£§²³½¼¾“„‚†‡¸¹](?=[a-z])|(?<=[\d ])[À-ÿŠŒŽŸšœž](?=\d)|(?<=\d)[À-ÿŠŒŽŸšœž]"  # noqa: RUF001
)
"""What text in the languages of Western Europe does not contain."""


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
        raise ConfigurationError(
            _("unknown encoding {encoding!r}. Try utf-8, cp1252, latin-1 or utf-16", encoding=encoding)
        )
    return name.removesuffix("-sig").removesuffix("_sig")


def read_label(label: str) -> str:
    """Return the encoding that a web page or an e-mail means: Latin-1 in them is that of Windows.

    Raises:
        ConfigurationError: Python does not know the encoding.

    Example:
        >>> read_label("ISO-8859-1"), read_label("utf8")
        ('cp1252', 'utf-8')
    """
    name = normal_encoding(label)
    return _USUAL if name == "iso8859-1" else name


def detect_codec(head: bytes, encoding: str) -> TextCodec:
    """Return the codec of a text that begins with `head` (four bytes or more), if it is of this encoding.

    Raises:
        UnreadableInputError: The byte-order mark belongs to another encoding.
    """
    name = normal_encoding(encoding)
    for mark, family, exact in MARKS:
        if head.startswith(mark):
            if name not in (family, exact):
                raise UnreadableInputError(
                    _("begins with the mark of {family}", family=family),
                    remedies=[Remedy("encoding", family)],
                )
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
        raise wrong_encoding(codec.name)
    return text


def wrong_encoding(name: str) -> UnreadableInputError:
    given = Remedy(
        "encoding", step=N_("if it is text, name its encoding with {} (for example cp1252 or utf-16)")
    )
    suffix = Remedy(step=N_("give Word and PDF files their suffix, .docx or .pdf"))
    return UnreadableInputError(_("is not {name} text", name=name), remedies=[given, suffix])


def encode(text: str, codec: TextCodec) -> bytes:
    """Encode a masked text.

    Only characters that masking added (a marker, the sign for a hidden character) can be missing in the
    encoding of the input. They become `?`.
    """
    return text.encode(codec.name, "replace")


class Head(NamedTuple):
    """The beginning of a file, and whether that is all of it."""

    data: bytes
    is_whole: bool


def name_codec(codec: TextCodec) -> str:
    """Return what people call an encoding."""
    name = _SINGLE_BYTE.get(codec.name, codec.name)
    return _("{name} with a byte-order mark", name=name) if codec.mark else name


def find_codec(data: bytes, encoding: str | None = None, *, finds_out: bool = True) -> tuple[TextCodec, str]:
    """Return the codec of a whole file, and what was found out, in words; "" = it was said or is UTF-8.

    Args:
        data: All of the file.
        encoding: What the user gave, None = nothing.
        finds_out: Find it out if nothing was given; else it is UTF-8.

    Raises:
        UnreadableInputError: Binary, several encodings are possible, or the mark belongs to another encoding.

    Example:
        >>> find_codec("38.9 °C, 5 µg".encode("cp1252"))
        (TextCodec(name='cp1252', mark=b''), 'windows-1252')
    """
    if encoding is not None or not finds_out:
        return detect_codec(data[:4], encoding or "utf-8"), ""
    stream = io.BytesIO(data)
    codec = detect_codec(data[:4], find_encoding(stream, read_head(stream, is_file=True), is_file=True))
    return codec, "" if codec.name == "utf-8" else name_codec(codec)


def open_text(stream: BinaryIO, encoding: str | None, *, finds_out: bool) -> tuple[BinaryIO, TextCodec, Head]:
    """Return a stream after its byte-order mark, its codec, and its beginning with the mark.

    Args:
        stream: From its beginning. A pipe is judged by what it offers at once.
        encoding: What the user gave, None = nothing.
        finds_out: Find it out if nothing was given; else it is UTF-8, and the beginning is not read.

    Raises:
        UnreadableInputError: As for `find_codec`.
    """
    head = Head(b"", is_whole=False)
    if finds_out:
        is_file = stream.seekable()
        if not is_file and not hasattr(stream, "peek"):
            stream = io.BufferedReader(cast(io.RawIOBase, stream))
        head = read_head(stream, is_file=is_file)
        encoding = encoding or find_encoding(stream, head, is_file=is_file)
    stream, codec = split_mark(stream, encoding or "utf-8")
    return stream, codec, head


def as_utf8(stream: BinaryIO, codec: TextCodec) -> BinaryIO:
    """Return a stream, which is after its byte-order mark, as one of UTF-8."""
    return io.BufferedReader(_Utf8Stream(stream, codec))


class _Utf8Stream(io.RawIOBase):
    def __init__(self, stream: BinaryIO, codec: TextCodec) -> None:
        self._stream, self._codec = stream, codec
        self._decoder = codecs.getincrementaldecoder(codec.name)()
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - anything that can be filled
        is_end = False
        while not self._left and not is_end:
            data = self._stream.read(_BLOCK_BYTES)
            is_end, text = not data, "\0"
            with suppress(UnicodeError):
                text = self._decoder.decode(data, is_end)
            if "\0" in text:
                raise wrong_encoding(self._codec.name)
            self._left = text.encode()
        n = min(len(buffer), len(self._left))
        buffer[:n], self._left = self._left[:n], self._left[n:]
        return n


def read_head(stream: BinaryIO, *, is_file: bool) -> Head:
    """Return the beginning of a file, which is read again from where it was; of a pipe what is there."""
    if not is_file:
        peek = getattr(stream, "peek", None)
        return Head(b"" if peek is None else peek(_HEAD_BYTES), is_whole=False)
    start = stream.tell()
    data = stream.read(_HEAD_BYTES)
    is_whole = not stream.read(1)
    stream.seek(start)
    return Head(data, is_whole)


def find_encoding(stream: BinaryIO, head: Head, *, is_file: bool) -> str:
    """Return the name of the encoding.

    Raises:
        UnreadableInputError: Binary, or several encodings are possible.
    """
    for mark, family, _ignored in MARKS:
        if head.data.startswith(mark):
            return family
    pairs = head.data[: len(head.data) // 2 * 2][:4096]
    for zeros, name in ((pairs[1::2], "utf-16-le"), (pairs[::2], "utf-16-be")):
        if pairs and zeros.count(0) > len(zeros) // 2:
            return name
    sample = _sample_high_bytes(stream, head, is_file=is_file)
    return _judge_sample(sample) if sample else "utf-8"


def _sample_high_bytes(stream: BinaryIO, head: Head, *, is_file: bool) -> bytes:
    # b"" = the file is UTF-8. It is read to its end.
    decoder = codecs.getincrementaldecoder("utf-8")()
    sample: list[bytes] = []
    n_left, is_utf8 = _MAX_SAMPLE_BYTES, True
    start = stream.tell() if is_file else 0
    block = head.data
    while block and (is_utf8 or n_left > 0):
        with suppress(UnicodeError):
            is_utf8, was_utf8 = False, is_utf8
            decoder.decode(block)
            is_utf8 = was_utf8
        end = 0
        for high in _HIGH_BYTE.finditer(block):
            if n_left <= 0:
                break
            if high.start() >= end:
                begin, end = max(end, high.start() - _AROUND), high.end() + _AROUND
                sample.append(block[begin:end])
                n_left -= end - begin
        if not is_file:
            break
        if block is head.data:
            stream.seek(start + len(block))
        block = stream.read(_BLOCK_BYTES)
    if is_file:
        stream.seek(start)
        is_utf8 = is_utf8 and not decoder.getstate()[0]
    return b"" if is_utf8 else b"\n".join(sample)


def _judge_sample(sample: bytes) -> str:
    # That of Windows, unless it is in doubt.
    from charset_normalizer import from_bytes

    n_high = len(_HIGH_BYTE.findall(sample))
    doubtful = re.compile(_DOUBTFUL)  # it takes long, and few files need it
    if b"\0" in sample or 2 * sum(map(len, _UTF8_SIGN.findall(sample))) > n_high:
        raise wrong_encoding("utf-8")  # binary, or UTF-8 with damaged places
    with suppress(UnicodeError):
        if not doubtful.search(sample.decode(_USUAL)):
            return _USUAL
    if not _ASCII_LETTER.search(sample):  # nothing says that this is text
        raise wrong_encoding("utf-8")
    matches = {}
    for one in from_bytes(sample, cp_isolation=[name.replace("-", "_") for name in _SINGLE_BYTE]):
        same = {name.replace("_", "-") for name in one.could_be_from_charset}  # those that read the same text
        matches[next(name for name in _SINGLE_BYTE if name in same)] = one
    names = [name for name in _SINGLE_BYTE if name in matches]
    doubts = {name: len(doubtful.findall(str(matches[name]))) for name in names}
    if not names:
        raise wrong_encoding("utf-8")
    best = min(names, key=lambda name: (doubts[name], round(matches[name].chaos, 1), names.index(name)))
    limit = matches[best].chaos + _SAME_CHAOS
    rivals = [name for name in names if doubts[name] == doubts[best] and matches[name].chaos <= limit]
    if doubts[best] and (len(rivals) > 1 or doubts[best] > _MAX_DOUBTS * n_high):
        raise UnreadableInputError(
            _("is not UTF-8, and its encoding may be {rivals} or another", rivals=", ".join(rivals)),
            remedies=[Remedy("encoding", step=N_("give it with {}"))],
        )
    return best
