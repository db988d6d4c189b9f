"""Parquet tables: the text column is masked, all other columns are copied as they are.

Read in batches of rows, so that memory does not grow with the file. An empty
cell (null) stays empty. A Parquet file ends with an index of all its rows, so a
cut output cannot be continued: `--resume` masks such a file from its beginning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from inverse_deid.core.errors import FormatError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.csv_table import column_index
from inverse_deid.formats.records import ReadOptions, Record, Writable

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

N_ROWS_A_BATCH = 2048


class ParquetTable:
    """An open Parquet file (a `Source`).

    The batches that were read but not yet written wait here for their masked
    texts: that is the only state that reader and writer share.
    """

    unit = "row"
    resumable = False
    text_encoding = "utf-8"

    def __init__(
        self, file: pq.ParquetFile, text_index: int, id_index: int | None, options: ReadOptions
    ) -> None:
        self._file = file
        self._options = options
        self._text_index = text_index
        self._id_index = id_index
        self._waiting: deque[pa.RecordBatch] = deque()

    @property
    def n_copied_columns(self) -> int:
        """How many columns are copied without masking."""
        return len(self._file.schema_arrow) - 1

    def records(self) -> Iterator[Record]:
        """One record a row, counted from 1."""
        number = self._options.n_before
        for batch in _batches(self._file, self._options.row_groups):
            self._waiting.append(_without_text(batch, self._text_index))
            texts = _values(batch.column(self._text_index))
            ids = [None] * len(texts) if self._id_index is None else _ids(batch.column(self._id_index))
            for text, doc_id in zip(texts, ids, strict=True):
                number += 1
                doc = None if text is None else Document(doc_id or str(number), text)
                yield Record(number, doc)

    def sink(self, target: Writable, *, resumed: bool = False) -> ParquetSink:
        """Writes the table with the masked column."""
        return ParquetSink(target, self._waiting, _output_schema(self._file.schema_arrow, self._text_index))


class ParquetSink:
    """Writes batches of rows as soon as all their texts are masked (a `Sink`)."""

    def __init__(self, target: Writable, waiting: deque[pa.RecordBatch], schema: pa.Schema) -> None:
        import pyarrow.parquet

        self._waiting = waiting
        self._schema = schema
        self._texts: list[str | None] = []
        self._writer = pyarrow.parquet.ParquetWriter(target, schema)

    def write(self, record: Record, masked: MaskedDocument | None) -> None:
        """Take one masked text."""
        self._texts.append(None if masked is None else masked.text)
        if len(self._texts) == self._waiting[0].num_rows:
            self._write_batch()

    def _write_batch(self) -> None:
        import pyarrow as pa

        others = self._waiting.popleft()
        columns = []
        for field in self._schema:
            if field.name in others.schema.names:
                columns.append(others.column(field.name))
            else:
                columns.append(pa.array(self._texts, type=field.type))
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._texts = []

    def finish(self) -> None:
        """Write the index of the file."""
        self._writer.close()


def read_parquet(stream: BinaryIO, options: ReadOptions) -> ParquetTable:
    """Open a Parquet file.

    Raises:
        FormatError: Not Parquet, a missing, doubled or non-text column.
    """
    import pyarrow as pa
    import pyarrow.parquet

    file = None
    with suppress(pa.ArrowException, OSError):
        file = pyarrow.parquet.ParquetFile(stream)
    if file is None:
        raise FormatError("is not a Parquet file or is damaged; export it again")
    names = file.schema_arrow.names
    if len(set(names)) != len(names):
        raise FormatError("has two columns of the same name; rename one")
    text_index = column_index(names, options.text_column, "--text-column")
    if not _is_text(file.schema_arrow.field(text_index).type):
        raise FormatError(
            f"column {options.text_column!r} does not hold text; name the right one with --text-column"
        )
    return ParquetTable(file, text_index, _id_index(names, options), options)


def _id_index(names: list[str], options: ReadOptions) -> int | None:
    if options.id_column is not None:
        return column_index(names, options.id_column, "--id-column")
    return names.index("id") if options.id_name and "id" in names else None


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_string_view(plain)
    )


def _output_schema(schema: pa.Schema, text_index: int) -> pa.Schema:
    """The schema of the output: the masked column is plain text, foreign metadata is dropped."""
    import pyarrow as pa

    field = schema.field(text_index)
    kind = field.type if pa.types.is_large_string(field.type) else pa.string()
    kept = {key: value for key, value in (schema.metadata or {}).items() if key == b"pandas"}
    masked = pa.field(field.name, kind, nullable=field.nullable)
    return schema.set(text_index, masked).with_metadata(kept or None)


def _batches(file: pq.ParquetFile, row_groups: tuple[int, int] | None) -> Iterator[pa.RecordBatch]:
    """Batches of rows that hold at least one row."""
    import pyarrow as pa

    groups = None if row_groups is None else list(range(*row_groups))
    batches = file.iter_batches(batch_size=N_ROWS_A_BATCH, row_groups=groups)
    while True:
        try:
            batch = next(batches)
        except StopIteration:
            return
        except (pa.ArrowException, OSError):
            break
        if batch.num_rows:
            yield batch
    raise FormatError("is a damaged Parquet file; export it again")


def _without_text(batch: pa.RecordBatch, text_index: int) -> pa.RecordBatch:
    return batch.select([i for i in range(batch.num_columns) if i != text_index])


def _values(column: pa.Array) -> list[Any]:
    """The cells as Python values; outside the `except` the error does not refer to the bytes."""
    values: list[Any] | None = None
    with suppress(UnicodeError):
        values = column.to_pylist()
    if values is None:
        raise FormatError("holds text that is not UTF-8; export it again")
    return values


def _ids(column: pa.Array) -> list[str | None]:
    return [None if value is None else str(value) for value in _values(column)]
