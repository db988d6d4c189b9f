"""CSV tables: the text column is masked, all other columns are copied as they are.

Read and written row by row, in constant memory. The delimiter, the byte-order
mark and the line end of the header are kept; cells are quoted where they must
be. A row with more or fewer cells than the header is reported and left out: a
comma that was not quoted would have moved narrative into another column. Rows
are counted as a spreadsheet counts them: the header is row 1.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from inverse_deid.core.errors import FormatError, UnreadableInputError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.encodings import TextCodec, encode, split_mark, wrong_encoding
from inverse_deid.formats.records import MAX_RECORD_BYTES, ReadOptions, Record, Writable


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """How a table is written and where its narrative stands."""

    header: tuple[str, ...] = field(repr=False)
    codec: TextCodec
    delimiter: str
    line_end: str
    text_index: int
    id_index: int | None

    def encode_row(self, cells: tuple[str, ...]) -> bytes:
        """One row as bytes."""
        if cells == ("",):
            return encode('""' + self.line_end, self.codec)
        row = self.delimiter.join(_quoted(cell, self.delimiter) for cell in cells)
        return encode(row + self.line_end, self.codec)


@dataclass(frozen=True, slots=True)
class CsvTable:
    """An open CSV file behind its header (a `Source`)."""

    rows: Iterator[list[str]] = field(repr=False)
    layout: CsvLayout
    n_before: int = 0
    unit: str = "row"
    resumable: bool = True

    @property
    def text_encoding(self) -> str:
        """That of the file."""
        return self.layout.codec.name

    @property
    def n_copied_columns(self) -> int:
        """How many columns are copied without masking."""
        return len(self.layout.header) - 1

    def records(self) -> Iterator[Record]:
        """One record a row; a blank line is copied."""
        number = 1 + self.n_before
        while True:
            number += 1
            row = _next_row(self.rows, number, self.layout)
            if row is None:
                return
            yield _record(number, row, self.layout)

    def sink(self, target: Writable, *, resumed: bool = False) -> CsvSink:
        """Writes the table; a new one begins with its header."""
        if not resumed:
            target.write(self.layout.codec.mark + self.layout.encode_row(self.layout.header))
        return CsvSink(target, self.layout)


@dataclass(frozen=True, slots=True)
class CsvSink:
    """Writes rows (a `Sink`)."""

    target: Writable = field(repr=False)
    layout: CsvLayout

    def write(self, record: Record, masked: MaskedDocument | None) -> None:
        """Write the row with the masked text in its column."""
        cells = [str(cell) for cell in record.carried]
        if masked is not None:
            cells[self.layout.text_index] = masked.text
        self.target.write(self.layout.encode_row(tuple(cells)) if cells else self._blank())

    def _blank(self) -> bytes:
        return encode(self.layout.line_end, self.layout.codec)

    def finish(self) -> None:
        """Nothing follows the last row."""


def _quoted(cell: str, delimiter: str) -> str:
    special = ('"', "\n", "\r", delimiter)
    if any(sign in cell for sign in special) or cell[:1].isspace() or cell[-1:].isspace():
        return '"' + cell.replace('"', '""') + '"'
    return cell


def read_csv(stream: BinaryIO, options: ReadOptions, *, default_delimiter: str = ",") -> CsvTable:
    r"""Open a CSV file and read its header.

    Raises:
        FormatError: No header, a missing or doubled column.
        UnreadableInputError: Binary or of another encoding.

    Example:
        >>> import io
        >>> table = read_csv(io.BytesIO(b"id,text\n7,Pt well.\n"), ReadOptions())
        >>> [(record.number, record.doc.id) for record in table.records()]
        [(2, '7')]
    """
    stream, codec = split_mark(stream, options.encoding)
    csv.field_size_limit(MAX_RECORD_BYTES)
    lines = _Lines(io.TextIOWrapper(stream, codec.name, "strict", newline=""))
    delimiter = options.delimiter or default_delimiter
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    layout = CsvLayout((), codec, delimiter, "\n", 0, None)
    header = _next_row(rows, 1, layout)
    if not header:
        raise FormatError("has no header; the first row must hold the names of the columns")
    if any("\0" in cell for cell in header):
        raise UnreadableInputError(wrong_encoding(codec.name))
    text_index, id_index = _columns(header, options)
    named = replace(
        layout, header=tuple(header), line_end=lines.first_end, text_index=text_index, id_index=id_index
    )
    return CsvTable(rows, named, options.n_before)


class _Lines:
    """The lines of a text, untranslated; remembers how the first one ended."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text
        self.first_end = ""

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._text)
        if not self.first_end:
            self.first_end = line[len(line.rstrip("\r\n")) :] or "\n"
        return line


def _next_row(rows: Iterator[list[str]], number: int, layout: CsvLayout) -> list[str] | None:
    """The next row, None at the end; what the csv module says is not passed on."""
    problem = ""
    try:
        return next(rows)
    except StopIteration:
        return None
    except UnicodeError:
        problem = wrong_encoding(layout.codec.name)
    except csv.Error:
        problem = (
            f"is broken at row {number}: a quote is not closed or not doubled, or a cell is too long; "
            "save the table again as CSV (quotes inside a cell are doubled)"
        )
    raise FormatError(problem)


def _columns(header: list[str], options: ReadOptions) -> tuple[int, int | None]:
    """Where the text and the id stand."""
    text_index = column_index(header, options.text_column, "--text-column")
    if options.id_column is not None:
        return text_index, column_index(header, options.id_column, "--id-column")
    return text_index, header.index("id") if options.id_name and header.count("id") == 1 else None


def column_index(header: list[str], column: str, option: str) -> int:
    """The position of a column; the header is not shown, it may be a row of data.

    Raises:
        FormatError: The column is missing or there are two of the name.
    """
    n = header.count(column)
    if n == 1:
        return header.index(column)
    found = "no column" if n == 0 else f"{n} columns"
    hint = "; for another separator than a comma give --delimiter" if len(header) == 1 else ""
    raise FormatError(
        f"has {found} named {column!r} among its {len(header)}; name the right one with {option}{hint}"
    )


def _record(number: int, row: list[str], layout: CsvLayout) -> Record:
    if not row:
        return Record(number)
    if len(row) != len(layout.header):
        n_cells, n_columns = len(row), len(layout.header)
        remedy = "put text that holds the separator in quotes"
        return Record(number, problem=f"has {n_cells} cells, not {n_columns}; {remedy}")
    text = row[layout.text_index]
    doc_id = str(number) if layout.id_index is None else row[layout.id_index]
    row[layout.text_index] = ""
    return Record(number, Document(doc_id, text), carried=tuple(row))
