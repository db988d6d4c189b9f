"""Parquet tables: text columns are masked, the id and named columns are copied, all others are dropped.

The table is read in batches of rows, so memory does not grow with the file. Dropped columns are not read. An
empty cell (null) stays empty. Only values are written: no metadata of the file, its fields or its types, and
no dictionary, which may contain values of no row. A Parquet file ends with an index of all its rows, so a cut
output cannot be continued: a resumed run masks such a file from its beginning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING, Any, BinaryIO

from inverse_deid.core.errors import FormatError, Remedy
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.records import (
    Format,
    ReadOptions,
    Record,
    TableHead,
    Writable,
    changes_of,
    texts_by_column,
)
from inverse_deid.formats.tables.columns import Columns, choose_columns, is_age_column, refuse_all_cells
from inverse_deid.formats.tables.kept_cells import CellType, KeptCell, KeptChanges, make_key_cell

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

N_ROWS_A_BATCH = 2048
_UNITS_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


class ParquetTable:
    """An open Parquet file (a `Source`).

    Batches that are read but not yet written wait here for their masked texts. Reader and writer share no
    other state.
    """

    unit = N_("row")
    resumable = False
    text_encoding = "utf-8"

    def __init__(self, file: pq.ParquetFile, columns: Columns, options: ReadOptions) -> None:
        self._file = file
        self._options = options
        self._columns = columns
        self._id = columns.names[columns.id_index] if columns.id_index is not None else None
        self._renamed = self._id if options.renames is not None else None  # the column of new ids
        self._schema = _plain_schema(file.schema_arrow, columns, self._renamed)
        self._waiting: deque[pa.RecordBatch] = deque()
        checked = [columns.names[i] for i in columns.checked]
        # A row has one cell of each of the first ones, so that their numbers are known.
        self._checked = sorted(checked, key=lambda name: _is_nested(self._schema.field(name).type))

    @property
    def columns(self) -> Mapping[str, str]:
        return self._columns.by_name

    @property
    def n_records(self) -> int:
        metadata = self._file.metadata
        if self._options.row_groups is None:
            return int(metadata.num_rows)
        return sum(metadata.row_group(i).num_rows for i in range(*self._options.row_groups))

    def records(self) -> Iterator[Record]:
        number = self._options.n_before
        names = self._columns.text_columns
        has_several = len(names) > 1
        for batch in _batches(self._file, self._schema.names, self._options.row_groups):
            others = [name for name in self._schema.names if name not in names]
            self._waiting.append(batch.select(others))
            texts = [_values(batch.column(name)) for name in names]
            ids: list[str | None] = [None] * batch.num_rows
            if self._id is not None:
                ids = _ids(batch.column(self._id))
            kept = [_list_cells(batch.column(name), name) for name in self._checked]
            for row_number, (doc_id, *row) in enumerate(zip(ids, *texts, strict=True)):
                number += 1
                there = {name: text for name, text in zip(names, row, strict=True) if text is not None}
                docs = tuple(Document(doc_id or str(number), text) for text in there.values())
                new_id = self._options.new_id(doc_id or "")
                columns = tuple(there) if has_several else ()
                cells = tuple(cell for column in kept for cell in column[row_number])
                yield Record(number, docs, columns=columns, new_id=new_id, is_numbered=not doc_id, kept=cells)

    def sink(self, target: Writable, *, resumed: bool = False) -> ParquetSink:
        return ParquetSink(
            target, self._waiting, self._schema, self._columns.text_columns, self._checked, self._renamed
        )


class ParquetSink:
    """Writes batches of rows as soon as all their texts are masked (a `Sink`)."""

    def __init__(
        self,
        target: Writable,
        waiting: deque[pa.RecordBatch],
        schema: pa.Schema,
        text_columns: tuple[str, ...],
        checked: Sequence[str] = (),
        id_column: str | None = None,
    ) -> None:
        self._target = target
        self._waiting = waiting
        self._schema = schema
        self._text_columns = text_columns
        self._id_column = id_column  # written anew, None = it is not
        self._rows: list[dict[str, str]] = []
        self._changes: list[KeptChanges] = []  # of the kept cells of each row
        self._numbers = {name: number for number, name in enumerate(checked)}
        self._writer: pq.ParquetWriter | None = None

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        row = texts_by_column(record, masked, self._text_columns)
        if self._id_column is not None:
            row[self._id_column] = record.new_id
        self._rows.append(row)
        self._changes.append(changes_of(record))
        if len(self._rows) == self._waiting[0].num_rows:
            self._write_batch()

    def _write_batch(self) -> None:
        import pyarrow as pa

        others = self._waiting.popleft()
        writer = self._open_writer()
        columns = []
        for field in self._schema:
            if field.name in self._text_columns or field.name == self._id_column:
                texts = [row.get(field.name) for row in self._rows]
                columns.append(pa.array(texts, type=field.type))
            else:
                new = self._list_changes(field.name)
                columns.append(_change_column(others.column(field.name), field, new))
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._rows, self._changes = [], []

    def _list_changes(self, name: str) -> dict[int, str]:
        number = self._numbers.get(name)
        if number is None:
            return {}
        every = (changes.values.get(number) for changes in self._changes)
        return {row: value for row, value in enumerate(every) if value is not None}

    def _open_writer(self) -> pq.ParquetWriter:
        # The first batch tells which dates and ages are written as text.
        import pyarrow as pa
        import pyarrow.parquet

        if self._writer is not None:
            return self._writer
        dates_are_text = any(changes.dates_are_text for changes in self._changes)
        ages_are_text = any(changes.ages_are_text for changes in self._changes)
        fields = []
        for field in self._schema:
            is_text = (dates_are_text and _is_day(field.type)) or (
                ages_are_text and _is_number(field.type) and is_age_column(field.name)
            )
            is_changed = is_text and field.name in self._numbers
            fields.append(field.with_type(pa.string()) if is_changed else field)
        self._schema = pa.schema(fields)
        self._writer = pyarrow.parquet.ParquetWriter(self._target, self._schema)
        return self._writer

    def finish(self) -> None:
        self._open_writer().close()


def read_parquet(stream: BinaryIO, options: ReadOptions, name: str = "") -> ParquetTable:
    """Open a Parquet file.

    Raises:
        FormatError: Not Parquet, a missing, doubled or non-text column.
    """
    file = _open(stream)
    refuse_all_cells(options, _("a Parquet table"))
    columns = choose_columns(file.schema_arrow.names, options)
    for column in columns.text_columns:
        if not _is_text(file.schema_arrow.field(column).type):
            raise FormatError(
                _("column {column!r} does not contain text", column=column),
                remedies=[Remedy("text_column", step=N_("name the right one with {}"))],
            )
    return ParquetTable(file, columns, options)


def look_at_parquet(stream: BinaryIO, options: ReadOptions, name: str = "") -> TableHead:
    """Open a Parquet file to show its first rows.

    Raises:
        FormatError: Not Parquet.
    """
    file = _open(stream)
    names = file.schema_arrow.names

    def cells() -> Iterator[dict[str, str]]:
        for batch in _batches(file, names, None):
            for row in zip(*(_values(batch.column(i)) for i in range(len(names))), strict=True):
                yield {name: "" if cell is None else str(cell) for name, cell in zip(names, row, strict=True)}

    return TableHead(tuple(names), cells())


def _open(stream: BinaryIO) -> pq.ParquetFile:
    import pyarrow as pa
    import pyarrow.parquet

    file = None
    with suppress(pa.ArrowException, OSError):
        file = pyarrow.parquet.ParquetFile(stream)
    if file is None:
        raise FormatError(_("is not a Parquet file or is damaged. Export it again"))
    return file


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return pa.types.is_null(plain) or any(test(plain) for test in tests)  # the former: all cells are empty


def _plain_schema(schema: pa.Schema, columns: Columns, renamed: str | None = None) -> pa.Schema:
    # Columns that leave, as plain types, without any metadata.
    import pyarrow as pa

    fields = []
    for field in (schema.field(i) for i in columns.written):
        kind = _plain_type(field.type)
        is_new = field.name in columns.text_columns or field.name == renamed
        if is_new and not pa.types.is_large_string(kind):
            kind = pa.string()
        fields.append(pa.field(field.name, kind, nullable=field.nullable))
    return pa.schema(fields)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    # Without dictionary, extension and metadata of inner fields.
    import pyarrow as pa

    while pa.types.is_dictionary(kind) or isinstance(kind, pa.BaseExtensionType):
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind.storage_type
    inner = [kind.field(i) for i in range(kind.num_fields)]
    plain = [pa.field(one.name, _plain_type(one.type), nullable=one.nullable) for one in inner]
    if pa.types.is_struct(kind):
        kind = pa.struct(plain)
    elif pa.types.is_map(kind):
        entries = plain[0].type
        kind = pa.map_(entries.field(0), entries.field(1))
    elif pa.types.is_large_list(kind):
        kind = pa.large_list(plain[0])
    elif pa.types.is_fixed_size_list(kind):
        kind = pa.list_(plain[0], kind.list_size)
    elif pa.types.is_list(kind):
        kind = pa.list_(plain[0])
    return kind


def _plain_column(column: pa.Array, field: pa.Field) -> pa.Array:
    import pyarrow as pa

    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    plain = None
    with suppress(pa.ArrowException):
        plain = column if column.type.equals(field.type, check_metadata=True) else column.cast(field.type)
    if plain is None:
        raise FormatError(
            _("column {field!r} has a type that cannot be copied. Leave it out", field=field.name)
        )
    return plain


def _is_day(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_nested(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_nested(kind))


def _list_cells(column: pa.Array, name: str) -> list[tuple[KeptCell, ...]]:
    # One, or all inner ones of a nested type.
    import pyarrow as pa

    column = _plain_column(column, pa.field(name, _plain_type(column.type)))
    kind = column.type
    if _is_nested(kind):
        return [tuple(_list_inner(value, name)) for value in _values(column)]
    if _is_day(kind):
        days = (
            column.cast(pa.timestamp("us"), safe=False).to_pylist() if pa.types.is_timestamp(kind) else None
        )
        shown = [f"{day:%Y-%m-%d}" if day else "" for day in days or column.cast(pa.date32()).to_pylist()]
        return [(KeptCell(name, value, "date"),) for value in shown]
    cell_type: CellType = "number" if _is_number(kind) else "text" if _is_text(kind) else "bytes"
    if (
        pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
        or pa.types.is_time(kind)
        or pa.types.is_duration(kind)
    ):
        return [(KeptCell(name, ""),)] * len(column)
    values = (
        _values(column) if cell_type != "bytes" else ["?" if value else "" for value in column.is_valid()]
    )
    return [(KeptCell(name, "" if value is None else str(value), cell_type),) for value in values]


def _list_inner(value: object, column: str) -> Iterator[KeptCell]:
    # None of it can be changed.
    if isinstance(value, dict):
        for key, one in value.items():
            yield make_key_cell(column, str(key))
            yield from _list_inner(one, f"{column}.{key}")
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _list_inner(one, column)
    elif value is not None and not isinstance(value, bool):
        yield KeptCell(column, str(value), "bytes" if isinstance(value, bytes) else "nested")


def _change_column(column: pa.Array, field: pa.Field, new: Mapping[int, str]) -> pa.Array:
    # `new` by row, "" = null.
    import pyarrow as pa

    if not new and not (pa.types.is_string(field.type) and not _is_text(column.type)):
        return _plain_column(column, field)
    plain = _plain_column(column, pa.field(field.name, _plain_type(column.type)))
    if _is_text(field.type) or _is_number(field.type):
        values: list[Any] = _values(plain)
        if _is_text(field.type) and not _is_text(plain.type):
            values = [None] * len(values) if _is_day(plain.type) else [_as_text(value) for value in values]
        for row, value in new.items():
            values[row] = value if value and _is_text(field.type) else None
        return pa.array(values, type=field.type)
    shifted = None
    with suppress(pa.ArrowException, ValueError):
        shifted = _shift_days(plain, new)
    if shifted is None:
        raise FormatError(
            _("column {field!r} has dates that cannot be moved. Leave it out", field=field.name)
        )
    return shifted


def _as_text(value: object) -> str | None:
    return None if value is None else str(value)


def _shift_days(column: pa.Array, new: Mapping[int, str]) -> pa.Array:
    # The time of day stays.
    import pyarrow as pa

    kind = column.type
    days = [cells[0].value for cells in _list_cells(column, "")]
    per_day = 1 if pa.types.is_date32(kind) else _UNITS_A_DAY["ms" if pa.types.is_date64(kind) else kind.unit]
    storage = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    counts = column.cast(storage).to_pylist()
    for row, value in new.items():
        moved = (date.fromisoformat(value) - date.fromisoformat(days[row])).days if value else None
        counts[row] = None if moved is None else counts[row] + moved * per_day
    return pa.array(counts, type=storage).cast(kind)


def _batches(
    file: pq.ParquetFile, names: list[str], row_groups: tuple[int, int] | None
) -> Iterator[pa.RecordBatch]:
    # Of at least one row.
    import pyarrow as pa

    groups = None if row_groups is None else list(range(*row_groups))
    batches = file.iter_batches(batch_size=N_ROWS_A_BATCH, row_groups=groups, columns=names)
    while True:
        try:
            batch = next(batches)
        except StopIteration:
            return
        except (pa.ArrowException, OSError):
            break
        if batch.num_rows:
            yield batch
    raise FormatError(_("is a damaged Parquet file. Export it again"))


def _values(column: pa.Array) -> list[Any]:
    # Errors have no reference to the bytes.
    values: list[Any] | None = None
    with suppress(UnicodeError):
        values = column.to_pylist()
    if values is None:
        raise FormatError(_("contains text that is not UTF-8. Export it again"))
    return values


def _ids(column: pa.Array) -> list[str | None]:
    # Dates, structs and fractions are refused, since they may be data.
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    tests = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string, pa.types.is_null)
    if not any(test(kind) for test in tests):
        raise FormatError(
            _("has ids that are neither text nor whole numbers"),
            remedies=[Remedy(step=N_("correct them")), Remedy("id_column")],
        )
    return [None if value is None else str(value) for value in _values(column)]


FORMAT = Format(
    name="parquet",
    open=read_parquet,
    suffixes=(".parquet",),
    can_be_piped=False,
    can_be_split=True,
    is_split_by_row_group=True,
    needs_all_records=True,
    look=look_at_parquet,
)
