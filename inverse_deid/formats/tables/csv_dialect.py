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
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from inverse_deid.core.errors import Remedy, UnreadableInputError
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.encodings import Head, TextCodec, name_codec, open_text
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.tables.columns import list_named_columns, plain_name

_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
_MAX_ROWS = 50
_ENOUGH = 0.9  # of the rows must have as many cells as the header
_SEP_LINE = re.compile(r'"?sep=([^\w\s"]|\t)"?\r?\n?', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """Encoding and separator of a file."""

    codec: TextCodec  # encoding and byte-order mark
    delimiter: str  # between the cells
    first_line: str = field(default="", repr=False)  # `sep=;` with its line end, "" = the header comes first
    found: str = ""  # what was found out, in words, "" = the user gave all


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
    stream, codec, head = open_text(stream, options.encoding, finds_out=options.finds_out)
    dialect = CsvDialect(codec, options.delimiter or usual)
    if not options.finds_out:
        return stream, dialect
    decoder = codecs.getincrementaldecoder(codec.name)("replace")
    text = decoder.decode(head.data[len(codec.mark) :], head.is_whole)
    if sep := _SEP_LINE.match(text):
        if options.delimiter not in (None, sep[1]):
            raise UnreadableInputError(
                _("says in its first line that another character separates its cells"),
                remedies=[Remedy("delimiter", step=N_("leave out {}"))],
            )
        dialect = replace(dialect, delimiter=sep[1], first_line=sep[0])
    elif options.delimiter is None:
        dialect = replace(dialect, delimiter=_find_delimiter(text, head, options, usual))
    if options.encoding is None or options.delimiter is None:
        separator = _SEPARATORS.get(dialect.delimiter, "another separator")
        dialect = replace(dialect, found=f"{separator}, {name_codec(codec)}")
    return stream, dialect


def _find_delimiter(text: str, head: Head, options: ReadOptions, usual: str) -> str:
    # The one that gives the named columns, else the one that fits the rows.
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
            _("may be separated by {fits}", fits=_(" or ").join(_SEPARATORS[one] for one in fits)),
            remedies=[Remedy("delimiter", step=N_("give {}"))],
        )
    return fits[0]


def _parse(text: str, delimiter: str, head: Head) -> list[list[str]]:
    # The last one may be cut and is left out.
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
    # Several cells, and nearly all rows as many as the header.
    if not rows or len(rows[0]) < 2:
        return False
    n_same = sum(len(row) == len(rows[0]) for row in rows)
    return n_same >= _ENOUGH * len(rows)
