"""How a CSV file is written: its encoding and its separator, found out where the user did not say.

Excel writes the separator of the country (`,` or `;`), tabs, or what a first line `sep=;` says, and encodings
of Windows, of the Mac, of DOS, UTF-8 and UTF-16. A file that a comma and UTF-8 fit is read so. A file that is
read in a wrong encoding is written with the same bytes, but its words with accents are cut. So a doubt is an
error that says what to give.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import BinaryIO, NamedTuple, cast

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.formats.columns import list_named_columns, plain_name
from inverse_deid.formats.encodings import MARKS, TextCodec, split_mark, wrong_encoding
from inverse_deid.formats.records import ReadOptions

_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
_SINGLE_BYTE = {
    "cp1252": "windows-1252",
    "mac-roman": "Mac Roman",
    "cp850": "DOS (cp850)",
    "cp437": "DOS (cp437)",
}
"""The encodings of one byte per character that are found out, the usual ones first."""

_HEAD_BYTES = 256 * 1024
_BLOCK_BYTES = 1024 * 1024
_MAX_SAMPLE_BYTES = 64 * 1024
_MAX_ROWS = 50
_ENOUGH = 0.9  # of the rows must have as many cells as the header
_SAME_CHAOS = 0.02
_MAX_DOUBTS = 0.2  # per byte above 127
_SEP_LINE = re.compile(r'"?sep=([^\w\s"]|\t)"?\r?\n?', re.IGNORECASE)
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_AROUND = 80  # bytes
_UTF8_SIGN = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_DOUBTFUL = (
    r"[^\x00-\x7f\w‘’“”–—…°µ±·•€£§©®™½¼¾²³×«»\xa0]"  # noqa: RUF001
    r"|[^\x00-\x7f]{4,}|(?<=[a-z])[À-ÞŠŒŽŸ]|(?<=[A-Za-z])[À-ÞŠŒŽŸ](?=[a-z])|[à-ÿšœž](?=[A-Z])"
    r"|(?<=[a-z])[•…°±€£§²³½¼¾“„‚†‡¸¹](?=[a-z])|(?<=[\d ])[À-ÿŠŒŽŸšœž](?=\d)|(?<=\d)[À-ÿŠŒŽŸšœž]"  # noqa: RUF001
)
"""What English text with names of Europe does not contain."""


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """Encoding and separator of a file.

    Args:
        codec: Encoding and byte-order mark.
        delimiter: Between the cells.
        first_line: `sep=;` with its line end, "" = the header comes first.
        found: What was found out, in words, "" = the user gave all.
    """

    codec: TextCodec
    delimiter: str
    first_line: str = field(default="", repr=False)
    found: str = ""


class _Head(NamedTuple):
    """The beginning of a file, and whether that is all of it."""

    data: bytes
    is_whole: bool


def find_dialect(stream: BinaryIO, options: ReadOptions, name: str) -> tuple[BinaryIO, CsvDialect]:
    """Return the stream after its byte-order mark, and how it is written.

    Args:
        stream: From its beginning. A pipe is judged by what it offers at once.
        options: What the user gave; the named columns tell the right separator.
        name: Of the file; cells of a `.tsv` file are separated by tabs.

    Raises:
        UnreadableInputError: Binary, or several encodings or separators are possible.
    """
    usual = "\t" if name.lower().endswith(".tsv") else ","
    encoding = options.encoding
    head = _Head(b"", is_whole=False)
    if options.finds_out:
        is_file = stream.seekable()
        if not is_file and not hasattr(stream, "peek"):
            stream = io.BufferedReader(cast(io.RawIOBase, stream))
        head = _read_head(stream, is_file=is_file)
        encoding = encoding or _find_encoding(stream, head, is_file=is_file)
    stream, codec = split_mark(stream, encoding or "utf-8")
    dialect = CsvDialect(codec, options.delimiter or usual)
    if not options.finds_out:
        return stream, dialect
    text = _decode(head, codec)
    if sep := _SEP_LINE.match(text):
        if options.delimiter not in (None, sep[1]):
            raise UnreadableInputError(
                "says in its first line that another character separates its cells. Leave out --delimiter"
            )
        dialect = replace(dialect, delimiter=sep[1], first_line=sep[0])
    elif options.delimiter is None:
        dialect = replace(dialect, delimiter=_find_delimiter(text, head, options, usual))
    if options.encoding is None or options.delimiter is None:
        separator = _SEPARATORS.get(dialect.delimiter, "another separator")
        dialect = replace(dialect, found=f"{separator}, {_name_codec(codec)}")
    return stream, dialect


def _name_codec(codec: TextCodec) -> str:
    name = _SINGLE_BYTE.get(codec.name, codec.name)
    return f"{name} with a byte-order mark" if codec.mark else name


def _read_head(stream: BinaryIO, *, is_file: bool) -> _Head:
    """Return the beginning of a file, which is read again from where it was; of a pipe what is there."""
    if not is_file:
        peek = getattr(stream, "peek", None)
        return _Head(b"" if peek is None else peek(_HEAD_BYTES), is_whole=False)
    start = stream.tell()
    data = stream.read(_HEAD_BYTES)
    is_whole = not stream.read(1)
    stream.seek(start)
    return _Head(data, is_whole)


def _find_encoding(stream: BinaryIO, head: _Head, *, is_file: bool) -> str:
    """Return the name of the encoding.

    Raises:
        UnreadableInputError: Binary, or several encodings are possible.
    """
    for mark, family, _ in MARKS:
        if head.data.startswith(mark):
            return family
    pairs = head.data[: len(head.data) // 2 * 2][:4096]
    for zeros, name in ((pairs[1::2], "utf-16-le"), (pairs[::2], "utf-16-be")):
        if pairs and zeros.count(0) > len(zeros) // 2:
            return name
    sample = _sample_high_bytes(stream, head, is_file=is_file)
    return _judge_sample(sample) if sample else "utf-8"


def _sample_high_bytes(stream: BinaryIO, head: _Head, *, is_file: bool) -> bytes:
    """Return the surroundings of bytes above 127, b"" = the file is UTF-8. A file is read to its end."""
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
    """Return the encoding of one byte per character that fits best; that of Windows, unless it is in doubt.

    Raises:
        UnreadableInputError: None fits, or several do.
    """
    from charset_normalizer import from_bytes

    n_high = len(_HIGH_BYTE.findall(sample))
    doubtful = re.compile(_DOUBTFUL)  # it takes long, and few files need it
    if b"\0" in sample or 2 * sum(map(len, _UTF8_SIGN.findall(sample))) > n_high:
        raise UnreadableInputError(wrong_encoding("utf-8"))  # binary, or UTF-8 with damaged places
    usual = next(iter(_SINGLE_BYTE))
    with suppress(UnicodeError):
        if not doubtful.search(sample.decode(usual)):
            return usual
    matches = {}
    for one in from_bytes(sample, cp_isolation=[name.replace("-", "_") for name in _SINGLE_BYTE]):
        same = {name.replace("_", "-") for name in one.could_be_from_charset}  # those that read the same text
        matches[next(name for name in _SINGLE_BYTE if name in same)] = one
    names = [name for name in _SINGLE_BYTE if name in matches]
    doubts = {name: len(doubtful.findall(str(matches[name]))) for name in names}
    if not names:
        raise UnreadableInputError(wrong_encoding("utf-8"))
    best = min(names, key=lambda name: (doubts[name], round(matches[name].chaos, 1), names.index(name)))
    limit = matches[best].chaos + _SAME_CHAOS
    rivals = [name for name in names if doubts[name] == doubts[best] and matches[name].chaos <= limit]
    if doubts[best] and (len(rivals) > 1 or doubts[best] > _MAX_DOUBTS * n_high):
        raise UnreadableInputError(
            f"is not UTF-8, and its encoding may be {', '.join(rivals)} or another. Give it with --encoding"
        )
    return best


def _decode(head: _Head, codec: TextCodec) -> str:
    """Return the beginning as text, as far as it can be read."""
    decoder = codecs.getincrementaldecoder(codec.name)("replace")
    return decoder.decode(head.data[len(codec.mark) :], head.is_whole)


def _find_delimiter(text: str, head: _Head, options: ReadOptions, usual: str) -> str:
    """Return what separates the cells: that which gives the named columns, else that which fits the rows.

    Raises:
        UnreadableInputError: Several characters are possible.
    """
    rows = {one: _parse(text, one, head) for one in dict.fromkeys([usual, *_SEPARATORS])}
    named = {plain_name(column) for _, column in list_named_columns(options)}
    fits = [one for one, some in rows.items() if some and named <= set(map(plain_name, some[0]))]
    if not fits:
        fits = [one for one, some in rows.items() if _is_table(some)]
        widest = max((len(rows[one][0]) for one in fits), default=0)
        fits = [one for one in fits if len(rows[one][0]) == widest]
    if not fits or usual in fits:
        return usual
    if len(fits) > 1:
        raise UnreadableInputError(
            f"may be separated by {' or '.join(_SEPARATORS[one] for one in fits)}. Give --delimiter"
        )
    return fits[0]


def _parse(text: str, delimiter: str, head: _Head) -> list[list[str]]:
    """Return the first rows that are not blank; the last one may be cut and is left out."""
    rows: list[list[str]] = []
    is_cut = not head.is_whole
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if len(rows) > _MAX_ROWS:
                is_cut = True
                break
            if row:
                rows.append(row)
    except csv.Error:
        return rows
    return rows[:-1] if is_cut and len(rows) > 1 else rows


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows have several cells, and nearly all as many as the header."""
    if not rows or len(rows[0]) < 2:
        return False
    n_same = sum(len(row) == len(rows[0]) for row in rows)
    return n_same >= _ENOUGH * len(rows)
