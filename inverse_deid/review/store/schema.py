"""The version of the tables, their first rows, and the numbers of cases and files."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from inverse_deid.review.store.rows import SealedRows
from inverse_deid.review.store.tables import MASKINGS, META, METADATA

SCHEMA_VERSION = 1
"""Whoever changes `tables` adds one, and writes the migration to it (`migrations`)."""

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
