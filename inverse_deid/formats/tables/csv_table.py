"""CSV tables: text columns are masked, the id and named columns are copied, all others are dropped.

Tables are read and written row by row, in constant memory. The delimiter, the encoding with its byte-order
mark, a first line `sep=;` and the line end of the header are kept. Cells are quoted where necessary. A row
with more or fewer cells than the header is reported and left out: an unquoted comma would have moved text
into another column. Rows are counted as in a spreadsheet: the header is row 1.

A spreadsheet runs a cell that begins with `=`, `+`, `-`, `@`, a tab or a line end. Such a cell gets a single
quote in front, also in the header. A plain number (`-5`, `+3.2`) is harmless and unchanged. A cell that
already looks quoted in this way gets one more quote, so that reading removes exactly what was added.

Source: OWASP, CSV Injection, https://owasp.org/www-community/attacks/CSV_Injection
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from inverse_deid.core.errors import FormatError, Remedy, UnreadableInputError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.encodings import TextCodec, encode, wrong_encoding
from inverse_deid.formats.records import (
    MAX_RECORD_BYTES,
    Format,
    ReadOptions,
    Record,
    TableHead,
    Writable,
    iterate_changes,
    texts_by_column,
)
from inverse_deid.formats.tables.columns import ColumnFate, Columns, choose_columns, refuse_all_cells
from inverse_deid.formats.tables.csv_dialect import CsvDialect, find_dialect
from inverse_deid.formats.tables.kept_cells import KeptCell

_FORMULA = re.compile(r"'*(?: *[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")
_NUMBER = re.compile(r"[+-](?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """How a table is written and what happens to its columns."""

    columns: Columns
    dialect: CsvDialect
    line_end: str  # of the header
    is_masked: bool = False  # the table is the output of masking; cells are written unchanged

    @property
    def codec(self) -> TextCodec:
        return self.dialect.codec

    @property
    def delimiter(self) -> str:
        return self.dialect.delimiter

    def encode_row(self, cells: Sequence[str]) -> bytes:
        cells = cells if self.is_masked else [neutralise(cell) for cell in cells]
        if list(cells) == [""]:
            return encode('""' + self.line_end, self.codec)
        row = self.delimiter.join(_quote(cell, self.delimiter) for cell in cells)
        return encode(row + self.line_end, self.codec)


@dataclass(frozen=True, slots=True)
class CsvTable:
    """An open CSV file, read up to its header (a `Source`)."""

    rows: Iterator[list[str]] = field(repr=False)
    layout: CsvLayout
    n_before: int = 0
    new_id: Callable[[str], str] = field(default=str, repr=False)  # the id that is written instead of one
    unit: str = N_("row")
    resumable: bool = True

    @property
    def text_encoding(self) -> str:
        return self.layout.codec.name

    @property
    def read_as(self) -> Mapping[str, int]:
        found = self.layout.dialect.found
        return {found: 1} if found else {}

    @property
    def columns(self) -> Mapping[str, str]:
        return self.layout.columns.by_name

    def records(self) -> Iterator[Record]:
        """Yield one record a row; a blank line is copied."""
        number = 1 + self.n_before
        while True:
            number += 1
            row = _next_row(self.rows, number, self.layout.codec)
            if row is None:
                return
            yield _record(number, row, self.layout, self.new_id)

    def sink(self, target: Writable, *, resumed: bool = False) -> CsvSink:
        """Return what writes the table; a new one begins with its header."""
        if not resumed:
            columns = self.layout.columns
            header = [columns.names[i] for i in columns.written]
            first = encode(self.layout.dialect.first_line, self.layout.codec)
            target.write(self.layout.codec.mark + first + self.layout.encode_row(header))
        return CsvSink(target, self.layout)


@dataclass(frozen=True, slots=True)
class CsvSink:
    """Writes rows (a `Sink`)."""

    target: Writable = field(repr=False)
    layout: CsvLayout

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        if not record.carried:
            self.target.write(encode(self.layout.line_end, self.layout.codec))
            return
        columns = self.layout.columns
        texts = texts_by_column(record, masked, columns.text_columns)
        new = iterate_changes(record)
        cells = []
        for i, cell in zip(columns.written, record.carried, strict=True):
            changed = next(new) if columns.fates[i] is ColumnFate.KEPT else None
            cells.append(texts.get(columns.names[i], str(cell)) if changed is None else changed)
        self.target.write(self.layout.encode_row(cells))

    def finish(self) -> None:
        """Nothing follows the last row."""


def neutralise(cell: str) -> str:
    """Return the cell in a form that a spreadsheet shows and does not run.

    Example:
        >>> [neutralise(cell) for cell in ("=A1", "-5", "- rash", "'=A1", "well")]
        ["'=A1", '-5', "'- rash", "''=A1", 'well']
    """
    return f"'{cell}" if _is_run(cell) else cell


def restore(cell: str) -> str:
    """Return the cell from which `neutralise` made this one.

    Example:
        >>> [restore(cell) for cell in ("'=A1", "-5", "''=A1", "'well'")]
        ['=A1', '-5', "'=A1", "'well'"]
    """
    return cell[1:] if cell.startswith("'") and _is_run(cell[1:]) else cell


def _is_run(cell: str) -> bool:
    return _FORMULA.match(cell) is not None and _NUMBER.fullmatch(cell) is None


def _quote(cell: str, delimiter: str) -> str:
    special = ('"', "\n", "\r", delimiter)
    if any(sign in cell for sign in special) or cell[:1].isspace() or cell[-1:].isspace():
        return '"' + cell.replace('"', '""') + '"'
    return cell


def read_csv(stream: BinaryIO, options: ReadOptions, name: str = "") -> CsvTable:
    r"""Open a CSV file and read its header; the cells of a file named `.tsv` are separated by tabs.

    Raises:
        FormatError: No header, a missing or doubled column.
        UnreadableInputError: Binary or of another encoding.

    Example:
        >>> import io
        >>> table = read_csv(io.BytesIO(b"id,text\n7,Pt well.\n"), ReadOptions())
        >>> [(record.number, record.doc.id) for record in table.records()]
        [(2, '7')]
    """
    refuse_all_cells(options, _("a CSV table"))
    rows, header, layout = _open(stream, options, name)
    delimiter = Remedy("delimiter", step=N_("give {} if cells are not separated by commas"))
    columns = choose_columns(header, options, delimiter)
    return CsvTable(rows, replace(layout, columns=columns), options.n_before, options.new_id)


def look_at_csv(stream: BinaryIO, options: ReadOptions, name: str = "") -> TableHead:
    """Open a CSV file to show its first rows. Raises as `read_csv` does; no column needs to be there."""
    rows, header, layout = _open(stream, options, name)

    def cells() -> Iterator[dict[str, str]]:
        number = 1
        while (row := _next_row(rows, number := number + 1, layout.codec)) is not None:
            yield dict(zip(header, row, strict=False))

    return TableHead(tuple(header), cells(), layout.dialect.found)


def _open(
    stream: BinaryIO, options: ReadOptions, name: str
) -> tuple[Iterator[list[str]], list[str], CsvLayout]:
    csv.field_size_limit(MAX_RECORD_BYTES)
    stream, dialect = find_dialect(stream, options, name)
    codec = dialect.codec
    lines = _Lines(io.TextIOWrapper(stream, codec.name, "strict", newline=""))
    if dialect.first_line:
        next(lines)
    rows = csv.reader(lines, delimiter=dialect.delimiter, strict=True)
    header = _next_row(rows, 1, codec)
    if not header:
        if _is_blank(rows, codec):
            raise UnreadableInputError(_("is empty. Give a file with text"))
        raise FormatError(_("has no header. The first row must contain the names of the columns"))
    if any("\0" in cell for cell in header):
        raise wrong_encoding(codec.name)
    if options.is_masked:
        header = [restore(cell) for cell in header]
    layout = CsvLayout(Columns((), (), (), None), dialect, lines.first_end, options.is_masked)
    return rows, header, layout


def _is_blank(rows: Iterator[list[str]], codec: TextCodec) -> bool:
    # Whether no row has anything in it.
    while (row := _next_row(rows, 1, codec)) is not None:
        if any(cell.strip() for cell in row):
            return False
    return True


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


def _next_row(rows: Iterator[list[str]], number: int, codec: TextCodec) -> list[str] | None:
    # Errors of the csv module may quote the row and are dropped.
    try:
        return next(rows)
    except StopIteration:
        return None
    except UnicodeError:
        wrong = wrong_encoding(codec.name)
        problem = FormatError(str(wrong), remedies=wrong.remedies)
    except csv.Error:
        problem = FormatError(
            _(
                "is broken at row {number}: a quote is not closed or not doubled, or a cell is too long. "
                "Save the table again as CSV, with the quotes inside a cell doubled",
                number=number,
            )
        )
    raise problem


def _record(number: int, row: list[str], layout: CsvLayout, new_id: Callable[[str], str]) -> Record:
    columns = layout.columns
    if not row:
        return Record(number)
    if len(row) != len(columns.names):
        n_cells, n_columns = len(row), len(columns.names)
        remedy = _("Put text that contains the separator in quotes")
        return Record(
            number,
            problem=_(
                "has {n_cells} cells, not {n_columns}. {remedy}",
                n_cells=n_cells,
                n_columns=n_columns,
                remedy=remedy,
            ),
        )
    if layout.is_masked:
        row = [restore(cell) for cell in row]
    columns.check_order(row)
    doc_id = str(number) if columns.id_index is None else row[columns.id_index]
    docs = tuple(Document(doc_id, row[columns.names.index(name)]) for name in columns.text_columns)
    shown_id = ""
    if columns.id_index is not None:
        shown_id = row[columns.id_index] = new_id(doc_id)
    fates = columns.fates
    carried = tuple("" if fates[i] is ColumnFate.MASKED else row[i] for i in columns.written)
    names = columns.text_columns if len(docs) > 1 else ()
    is_numbered = columns.id_index is None
    kept = tuple(KeptCell(columns.names[i], row[i]) for i in columns.checked)
    return Record(
        number, docs, carried=carried, columns=names, new_id=shown_id, is_numbered=is_numbered, kept=kept
    )


def blank_rows(data: bytes, options: ReadOptions, name: str, numbers: Collection[int]) -> bytes:
    r"""Return a table with a blank line in the place of some rows.

    Raises:
        InputError: The table cannot be read.

    Example:
        >>> blank_rows(b'text\n"a\nb"\nc\n', ReadOptions(), "", [2])
        b'text\n\nc\n'
    """
    stream, dialect = find_dialect(io.BytesIO(data), options, name)
    lines = list(io.TextIOWrapper(stream, dialect.codec.name, "strict", newline=""))
    kept, lines = (lines[:1], lines[1:]) if dialect.first_line else ([], lines)
    rows = csv.reader(lines, delimiter=dialect.delimiter, strict=True)
    number = begin = 0
    while _next_row(rows, number := number + 1, dialect.codec) is not None:
        row = lines[begin : rows.line_num]
        begin = rows.line_num
        kept += [row[-1][len(row[-1].rstrip("\r\n")) :] or "\n"] if number in numbers else row
    return dialect.codec.mark + "".join(kept).encode(dialect.codec.name)


FORMAT = Format(
    name="csv",
    open=read_csv,
    suffixes=(".csv", ".tsv"),
    can_be_split=True,
    look=look_at_csv,
    blank=blank_rows,
)
