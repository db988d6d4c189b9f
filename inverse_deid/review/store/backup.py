"""Encrypted copies of a store: all rows as they are at one moment, in a file that opens with the key alone.

The rows are read in one transaction, so a backup is consistent while others write. They are stored without
the ways of one database: a backup of SQLite can be restored into PostgreSQL, and the other way round. A
backup that was cut or changed restores nothing. Nobody stays logged in: the restored store has no sessions.

The file is `MAGIC`, a salt and a chain of records as in `replacement.reversal`. The first record describes
the store, each other one has rows of one table, and the last one has their number.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from sqlalchemy import Connection, Table, func, insert, select

from inverse_deid.core.errors import OVERWRITE, InputError, OutputExistsError, UnreadableInputError
from inverse_deid.core.files import output_errors, printable, write_whole
from inverse_deid.core.wording import _
from inverse_deid.formats.registry import input_errors
from inverse_deid.replacement.reversal import INCOMPLETE, SALT_BYTES, RecordChain
from inverse_deid.review.store.creation import new_database
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.keys import ReviewKey, StoreKeys
from inverse_deid.review.store.opening import Clock, ReviewStore, Transaction
from inverse_deid.review.store.tables import (
    CASES,
    FAILURES,
    KEYS,
    META,
    METADATA,
    SCHEMA_VERSION,
    SESSIONS,
    SOURCES,
    WAITING_PIECES,
)

MAGIC = b"inverse-deid review backup 1\n"

_ROWS_AT_ONCE = 200
_LARGE = {SOURCES: 1, WAITING_PIECES: 8}
"""Rows at once of tables with large values."""


class _Head(msgspec.Struct, frozen=True):
    """What the first record says: version of the tables, and when the backup was made."""

    version: int
    made_at: float


class _Rows(msgspec.Struct, frozen=True, array_like=True):
    table: str
    columns: tuple[str, ...]
    rows: list[list[Any]]

    def __repr__(self) -> str:
        return f"_Rows({self.table!r})"


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored. `made_at` is in seconds since 1970, UTC."""

    made_at: float
    n_cases: int


def write_backup(store: ReviewStore, key: ReviewKey, path: Path, *, by: str, force: bool = False) -> int:
    """Write a backup that only its owner can read (mode 600); return its number of cases.

    Raises:
        OutputExistsError: The file exists, and `force` is False or it is not a backup.
        OutputError: It cannot be written.
    """
    if path.exists():
        if not force:
            raise OutputExistsError(_("{path} already exists", path=printable(path)), remedies=[OVERWRITE])
        with output_errors(path), path.open("rb") as stream:
            is_backup = stream.read(len(MAGIC)) in (MAGIC, b"")
        if not is_backup:  # it could be the store or its key
            raise OutputExistsError(
                _("{path} is not a backup and is kept. Use another name", path=printable(path))
            )
    with store.reading(snapshot=True) as transaction:
        n_cases = int(transaction.execute(select(func.count()).select_from(CASES)).scalar_one())
        write_whole(path, _encode(transaction, key, store.now()), private=True)
    with store.writing() as transaction:
        transaction.record(TrailEvent(user=by, event=f"backup written: {n_cases} cases"))
    return n_cases


def _encode(transaction: Transaction, key: ReviewKey, now: float) -> Iterator[bytes]:
    salt = os.urandom(SALT_BYTES)
    chain = RecordChain(key.secret, salt, MAGIC)
    yield MAGIC + salt
    yield chain.seal(msgspec.msgpack.encode(_Head(SCHEMA_VERSION, now)), is_last=False)
    n_rows = 0
    for table in METADATA.sorted_tables:
        columns = tuple(str(column.name) for column in table.c)
        found = select(table).order_by(*table.primary_key)
        at_once = _LARGE.get(table, _ROWS_AT_ONCE)
        for rows in transaction.execute(found.execution_options(yield_per=at_once)).partitions():
            n_rows += len(rows)
            packed = _Rows(str(table.name), columns, [list(row) for row in rows])
            yield chain.seal(msgspec.msgpack.encode(packed), is_last=False)
    yield chain.seal(msgspec.msgpack.encode(n_rows), is_last=True)


def restore_backup(
    path: Path, address: str | Path, key: ReviewKey, *, by: str, clock: Clock = time.time
) -> Restored:
    """Make a new store of a backup, whole or not at all.

    Raises:
        UnreadableInputError: The backup was cut or changed, has another key, or is of another version.
        OutputExistsError: There is a store already.
    """
    problem = ""
    with new_database(address) as (engine, connection):
        try:
            with input_errors(), path.open("rb") as stream:
                head, n_cases = _restore(connection, stream, key)
            stored = connection.execute(select(META.c.value).where(META.c.name == KEYS)).scalar_one()
            store = ReviewStore(engine, StoreKeys.unwrap(stored, key), clock)
            transaction = Transaction(connection, store)
            store.load_settings(transaction)
            transaction.delete(SESSIONS, SESSIONS.c.id_hash.is_not(None))
            made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(head.made_at))
            transaction.record(TrailEvent(user=by, event=f"restored from a backup of {made}"))
            transaction.finish()
            return Restored(head.made_at, n_cases)
        except InputError as error:
            problem = str(error)
        raise UnreadableInputError(
            _("{path} {problem}. Nothing was restored", path=printable(path), problem=problem.rstrip("."))
        )


def _restore(connection: Connection, stream: BinaryIO, key: ReviewKey) -> tuple[_Head, int]:
    if stream.read(len(MAGIC)) != MAGIC:
        raise InputError(_("is not a backup of a review store"))
    salt = stream.read(SALT_BYTES)
    records = RecordChain(key.secret, salt, MAGIC).open(stream)
    is_last, first = next(records, (True, b""))
    if is_last:
        raise InputError(INCOMPLETE)
    head = msgspec.msgpack.decode(first, type=_Head)
    if head.version != SCHEMA_VERSION:
        raise InputError(
            _(
                "has version {version}, and this program knows {schema_version}. Restore it with the "
                "program that made it",
                version=head.version,
                schema_version=SCHEMA_VERSION,
            )
        )
    METADATA.create_all(connection)
    n_rows, stated = 0, None
    for is_last, data in records:
        if is_last:
            stated = msgspec.msgpack.decode(data, type=int)
        else:
            n_rows += _insert(connection, msgspec.msgpack.decode(data, type=_Rows))
    if stated != n_rows:
        raise InputError(INCOMPLETE)
    if connection.dialect.name == "postgresql":
        _set_sequences(connection, METADATA.sorted_tables)
    n_cases = connection.execute(select(func.count()).select_from(CASES)).scalar_one()
    return head, int(n_cases)


def _insert(connection: Connection, packed: _Rows) -> int:
    rows = [dict(zip(packed.columns, row, strict=True)) for row in packed.rows]
    if packed.table != FAILURES.name:
        connection.execute(insert(METADATA.tables[packed.table]), rows)
    return len(rows)


def _set_sequences(connection: Connection, tables: Sequence[Table]) -> None:
    # Ids of new rows follow those that were restored.
    for table in tables:
        column = table.autoincrement_column
        if column is not None:
            last = select(func.max(column)).scalar_subquery()
            sequence = func.pg_get_serial_sequence(table.name, column.name)
            connection.execute(select(func.setval(sequence, func.coalesce(last, 1), last.is_not(None))))
