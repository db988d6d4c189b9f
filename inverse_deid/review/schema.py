"""The version of the tables, how an older store becomes a newer one, and the numbers of cases and files.

Version 1 knew one way of masking for a whole store, which is copied to all of its files. Later versions add
tables, indexes and columns that are NULL or have a default. Version 3 seals the rows.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, insert, inspect, select, update
from sqlalchemy.schema import CreateColumn

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.review.rows import SealedRows
from inverse_deid.review.tables import CASES, INTAKES, MASKINGS, META, METADATA, SOURCES

if TYPE_CHECKING:
    from inverse_deid.review.store import ReviewStore

SCHEMA_VERSION = 3
OLDER_VERSIONS = frozenset({"1", "2"})
"""Of stores that are migrated when they are opened."""

VERSION = "schema version"
_LAST_CASE = "last case"
_LAST_SOURCE = "last file"


@dataclass(slots=True)
class LastNumbers:
    """The largest numbers that a case and a file of the store ever had; a deleted one is not given again."""

    case: int
    source: int


def make_tables(connection: Connection, sealed: SealedRows, stored: Mapping[str, str]) -> None:
    """Make the tables of a new store and the rows of `meta`."""
    METADATA.create_all(connection)
    rows = {VERSION: str(SCHEMA_VERSION), _LAST_CASE: "0", _LAST_SOURCE: "0", **stored}
    sealed.insert_all(connection, META, [{"name": name, "value": value} for name, value in rows.items()])


def lock_numbers(connection: Connection, sealed: SealedRows) -> LastNumbers:
    """Return the last numbers; until the transaction ends, nobody else adds or deletes files."""
    found = select(META).where(META.c.name.in_((_LAST_CASE, _LAST_SOURCE)))
    rows = sealed.read(connection, found.order_by(META.c.name).with_for_update(), META)
    numbers = {row.name: int(row.value) for row in rows}
    return LastNumbers(numbers[_LAST_CASE], numbers[_LAST_SOURCE])


def store_numbers(connection: Connection, sealed: SealedRows, numbers: LastNumbers) -> None:
    """Store the last numbers, which this transaction has locked."""
    for name, value in ((_LAST_CASE, numbers.case), (_LAST_SOURCE, numbers.source)):
        sealed.update(connection, META, META.c.name == name, value=str(value))


def store_masking(
    connection: Connection, sealed: SealedRows, facts: Mapping[str, Any], output: Mapping[str, Any]
) -> int:
    """Store a way of masking and return its id; one that the store has already gets no second row."""
    fingerprint = hash_masking(facts, output)
    found = select(MASKINGS.c.id).where(MASKINGS.c.fingerprint == fingerprint)
    known: int | None = connection.execute(found).scalar_one_or_none()
    if known is not None:
        return known
    row = {"fingerprint": fingerprint, "facts": json.dumps(facts), "output": json.dumps(output)}
    return sealed.insert(connection, MASKINGS, row)


def hash_masking(facts: Mapping[str, Any], output: Mapping[str, Any]) -> str:
    """Return a hash that changes with everything that shapes decisions and files."""
    return hashlib.sha256(json.dumps([facts, output], sort_keys=True).encode()).hexdigest()


def hash_file(key: bytes, data: bytes) -> str:
    """Return a hash of a file that only holders of the key can compare with another file."""
    return hmac.digest(key, hashlib.sha256(data).digest(), "sha256").hex()


def migrate(connection: Connection, store: ReviewStore) -> bool:
    """Make an older store one of this version, except for the seals; return False if another process did.

    The transaction of the connection must go on with `replay.seal_all`.
    """
    found = select(META.c.value).where(META.c.name == VERSION).with_for_update()
    version = connection.execute(found).scalar_one()
    if version not in OLDER_VERSIONS:
        return False
    METADATA.create_all(connection)
    for table in METADATA.sorted_tables:
        known = {column["name"] for column in inspect(connection).get_columns(table.name)}
        for column in table.c:
            if column.name not in known:
                added = CreateColumn(column).compile(dialect=connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {added}")
        for index in table.indexes:
            index.create(connection, checkfirst=True)
    if version == "1":
        _copy_masking(connection, store)
    _write_meta(connection, VERSION, str(SCHEMA_VERSION))
    return True


def _copy_masking(connection: Connection, store: ReviewStore) -> None:
    """Give all files of a store of version 1 its one way of masking."""
    stored = connection.execute(select(META.c.value).where(META.c.name == "settings")).scalar_one()
    settings = json.loads(stored)
    masking_id = store_masking(connection, store.rows, settings["facts"], settings.pop("extra"))
    last = {}
    for name, table in ((_LAST_CASE, CASES), (_LAST_SOURCE, SOURCES)):
        last[name] = str(connection.execute(select(func.max(table.c.id))).scalar_one() or 0)
    connection.execute(insert(META), [{"name": name, "value": value} for name, value in last.items()])
    for source in connection.execute(select(SOURCES.c.id, SOURCES.c.name)).all():
        sealed = connection.execute(select(SOURCES.c.sealed).where(SOURCES.c.id == source.id)).scalar_one()
        content_hash = ""  # of a damaged file: it is the same as no other
        with suppress(UnreadableInputError):
            content_hash = hash_file(store.file_key, store.sealer.open(sealed, f"file {source.id}"))
        row = {
            "source_id": source.id,
            "masking_id": masking_id,
            "export_name": source.name,
            "content_hash": content_hash,
            "added_at": store.now(),
            "added_by": "migration",
        }
        connection.execute(insert(INTAKES), row)
    _write_meta(connection, "settings", json.dumps(settings))


def _write_meta(connection: Connection, name: str, value: str) -> None:
    connection.execute(update(META).where(META.c.name == name).values(value=value))
