"""Parquet tables: text columns are masked, the id and named columns are copied, all others are dropped.

The table is read in batches of rows, so memory does not grow with the file. Dropped columns are not read. An
empty cell (null) stays empty. Only values are written: no metadata of the file, its fields or its types, and
no dictionary, which may contain values of no row. A Parquet file ends with an index of all its rows, so a cut
output cannot be continued: `--resume` masks such a file from its beginning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from inverse_deid.core.errors import FormatError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.columns import Columns, choose_columns
from inverse_deid.formats.records import Format, ReadOptions, Record, TableHead, Writable, texts_by_column

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

N_ROWS_A_BATCH = 2048


class ParquetTable:
    """An open Parquet file (a `Source`).

    Batches that are read but not yet written wait here for their masked texts. Reader and writer share no
    other state.
    """

    unit = "row"
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

    @property
    def columns(self) -> Mapping[str, str]:
        """What happens to each column."""
        return self._columns.by_name

    @property
    def n_records(self) -> int:
        """How many rows are read."""
        metadata = self._file.metadata
        if self._options.row_groups is None:
            return int(metadata.num_rows)
        return sum(metadata.row_group(i).num_rows for i in range(*self._options.row_groups))

    def records(self) -> Iterator[Record]:
        """Yield one record a row, counted from 1."""
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
            for doc_id, *row in zip(ids, *texts, strict=True):
                number += 1
                there = {name: text for name, text in zip(names, row, strict=True) if text is not None}
                docs = tuple(Document(doc_id or str(number), text) for text in there.values())
                new_id = self._options.new_id(doc_id or "")
                columns = tuple(there) if has_several else ()
                yield Record(number, docs, columns=columns, new_id=new_id, is_numbered=not doc_id)

    def sink(self, target: Writable, *, resumed: bool = False) -> ParquetSink:
        """Return what writes the table with the masked columns."""
        return ParquetSink(target, self._waiting, self._schema, self._columns.text_columns, self._renamed)


class ParquetSink:
    """Writes batches of rows as soon as all their texts are masked (a `Sink`)."""

    def __init__(
        self,
        target: Writable,
        waiting: deque[pa.RecordBatch],
        schema: pa.Schema,
        text_columns: tuple[str, ...],
        id_column: str | None = None,
    ) -> None:
        import pyarrow.parquet

        self._waiting = waiting
        self._schema = schema
        self._text_columns = text_columns
        self._id_column = id_column  # written anew, None = it is not
        self._rows: list[dict[str, str]] = []
        self._writer = pyarrow.parquet.ParquetWriter(target, schema)

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Take the masked texts of one row."""
        row = texts_by_column(record, masked, self._text_columns)
        if self._id_column is not None:
            row[self._id_column] = record.new_id
        self._rows.append(row)
        if len(self._rows) == self._waiting[0].num_rows:
            self._write_batch()

    def _write_batch(self) -> None:
        import pyarrow as pa

        others = self._waiting.popleft()
        columns = []
        for field in self._schema:
            if field.name in self._text_columns or field.name == self._id_column:
                texts = [row.get(field.name) for row in self._rows]
                columns.append(pa.array(texts, type=field.type))
            else:
                columns.append(_plain_column(others.column(field.name), field))
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._rows = []

    def finish(self) -> None:
        """Write the index of the file."""
        self._writer.close()


def read_parquet(stream: BinaryIO, options: ReadOptions, name: str = "") -> ParquetTable:
    """Open a Parquet file.

    Raises:
        FormatError: Not Parquet, a missing, doubled or non-text column.
    """
    file = _open(stream)
    columns = choose_columns(file.schema_arrow.names, options)
    for column in columns.text_columns:
        if not _is_text(file.schema_arrow.field(column).type):
            raise FormatError(
                f"column {column!r} does not contain text. Name the right one with --text-column"
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
        raise FormatError("is not a Parquet file or is damaged. Export it again")
    return file


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return pa.types.is_null(plain) or any(test(plain) for test in tests)  # the former: all cells are empty


def _plain_schema(schema: pa.Schema, columns: Columns, renamed: str | None = None) -> pa.Schema:
    """Return the schema of the output: columns that leave, as plain types, without any metadata."""
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
    """Return the type of the same values, without dictionary, extension and metadata of inner fields."""
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
    """Return the same values in the plain type.

    Raises:
        FormatError: The type cannot be converted.
    """
    import pyarrow as pa

    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    plain = None
    with suppress(pa.ArrowException):
        plain = column if column.type.equals(field.type, check_metadata=True) else column.cast(field.type)
    if plain is None:
        raise FormatError(f"column {field.name!r} has a type that cannot be copied. Leave it out")
    return plain


def _batches(
    file: pq.ParquetFile, names: list[str], row_groups: tuple[int, int] | None
) -> Iterator[pa.RecordBatch]:
    """Yield batches of at least one row, with these columns only."""
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
    raise FormatError("is a damaged Parquet file. Export it again")


def _values(column: pa.Array) -> list[Any]:
    """Return the cells as Python values; errors have no reference to the bytes."""
    values: list[Any] | None = None
    with suppress(UnicodeError):
        values = column.to_pylist()
    if values is None:
        raise FormatError("contains text that is not UTF-8. Export it again")
    return values


def _ids(column: pa.Array) -> list[str | None]:
    """Return the ids as text; dates, structs and fractions are refused, since they may be data."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    tests = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string, pa.types.is_null)
    if not any(test(kind) for test in tests):
        raise FormatError("has ids that are neither text nor whole numbers. Correct them or use --id-column")
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
