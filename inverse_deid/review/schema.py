"""The version of the tables, how an older store becomes a newer one, and the numbers of cases and files.

Version 1 knew one way of masking for a whole store. Version 2 adds tables, an index and a column with a
default, so that an older store becomes a newer one by copying its one way of masking to all of its files.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection, func, insert, select, update

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.review.tables import CASES, INTAKES, MASKINGS, META, METADATA, SOURCES, USERS

SCHEMA_VERSION = 2
OLDER_VERSIONS = frozenset({"1"})
"""Of stores that are migrated when they are opened."""

VERSION = "schema version"
_LAST_CASE = "last case"
_LAST_SOURCE = "last file"


@dataclass(slots=True)
class LastNumbers:
    """The largest numbers that a case and a file of the store ever had; a deleted one is not given again."""

    case: int
    source: int


class Opens(Protocol):
    """Decrypts."""

    def open(self, sealed: bytes, place: str) -> bytes:
        """Return what was sealed for a place."""
        ...


def make_tables(connection: Connection, stored: Mapping[str, str]) -> None:
    """Make the tables of a new store and the rows of `meta`."""
    METADATA.create_all(connection)
    rows = {VERSION: str(SCHEMA_VERSION), _LAST_CASE: "0", _LAST_SOURCE: "0", **stored}
    connection.execute(insert(META), [{"name": name, "value": value} for name, value in rows.items()])


def lock_numbers(connection: Connection) -> LastNumbers:
    """Return the last numbers; until the transaction ends, nobody else adds or deletes files."""
    found = select(META.c.name, META.c.value).where(META.c.name.in_((_LAST_CASE, _LAST_SOURCE)))
    rows = connection.execute(found.order_by(META.c.name).with_for_update())
    numbers = {row.name: int(row.value) for row in rows}
    return LastNumbers(numbers[_LAST_CASE], numbers[_LAST_SOURCE])


def store_numbers(connection: Connection, numbers: LastNumbers) -> None:
    """Store the last numbers, which this transaction has locked."""
    for name, value in ((_LAST_CASE, numbers.case), (_LAST_SOURCE, numbers.source)):
        connection.execute(update(META).where(META.c.name == name).values(value=str(value)))


def store_masking(connection: Connection, facts: Mapping[str, Any], output: Mapping[str, Any]) -> int:
    """Store a way of masking and return its id; one that the store has already gets no second row."""
    fingerprint = hash_masking(facts, output)
    found = select(MASKINGS.c.id).where(MASKINGS.c.fingerprint == fingerprint)
    known: int | None = connection.execute(found).scalar_one_or_none()
    if known is not None:
        return known
    row = {"fingerprint": fingerprint, "facts": json.dumps(facts), "output": json.dumps(output)}
    made = connection.execute(insert(MASKINGS), row).inserted_primary_key
    return int(made[0]) if made else 0


def hash_masking(facts: Mapping[str, Any], output: Mapping[str, Any]) -> str:
    """Return a hash that changes with everything that shapes decisions and files."""
    return hashlib.sha256(json.dumps([facts, output], sort_keys=True).encode()).hexdigest()


def hash_file(key: bytes, data: bytes) -> str:
    """Return a hash of a file that only holders of the key can compare with another file."""
    return hmac.digest(key, hashlib.sha256(data).digest(), "sha256").hex()


def migrate(connection: Connection, sealer: Opens, file_key: bytes, now: float) -> None:
    """Make a store of version 1 one of version 2, in the transaction of the connection."""
    version = select(META.c.value).where(META.c.name == VERSION).with_for_update()
    if connection.execute(version).scalar_one() not in OLDER_VERSIONS:
        return  # another process was faster
    METADATA.create_all(connection)
    for index in CASES.indexes:
        index.create(connection, checkfirst=True)
    added = f"{USERS.c.must_change_password.name} BOOLEAN NOT NULL DEFAULT false"
    connection.exec_driver_sql(f"ALTER TABLE {USERS.name} ADD COLUMN {added}")
    stored = connection.execute(select(META.c.value).where(META.c.name == "settings")).scalar_one()
    settings = json.loads(stored)
    masking_id = store_masking(connection, settings["facts"], settings.pop("extra"))
    last = {}
    for name, table in ((_LAST_CASE, CASES), (_LAST_SOURCE, SOURCES)):
        last[name] = str(connection.execute(select(func.max(table.c.id))).scalar_one() or 0)
    connection.execute(insert(META), [{"name": name, "value": value} for name, value in last.items()])
    for source in connection.execute(select(SOURCES.c.id, SOURCES.c.name)).all():
        sealed = connection.execute(select(SOURCES.c.sealed).where(SOURCES.c.id == source.id)).scalar_one()
        content_hash = ""  # of a damaged file: it is the same as no other
        with suppress(UnreadableInputError):
            content_hash = hash_file(file_key, sealer.open(sealed, f"file {source.id}"))
        row = {
            "source_id": source.id,
            "masking_id": masking_id,
            "export_name": source.name,
            "content_hash": content_hash,
            "added_at": now,
            "added_by": "migration",
        }
        connection.execute(insert(INTAKES), row)
    for name, value in (("settings", json.dumps(settings)), (VERSION, str(SCHEMA_VERSION))):
        connection.execute(update(META).where(META.c.name == name).values(value=value))
