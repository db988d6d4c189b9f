"""Rows that nobody without the key can make or change: every row of a table in `SEALED` has a seal.

A seal is an HMAC-SHA256 over the name of the table, its primary key and its columns. Columns marked
`_UNSEALED` in `tables` decide nothing and are left out. A column that is NULL is left out as well, so that a
new column without a value breaks no seal.

A seal does not tell that a row is an older one which was put back, or that a row was deleted. So every
change is also noted for the trail: the last entry of a transaction has a mark of each row as it is
afterwards (None: it was deleted), and `RecordedRows` compares them with the tables. A mark is made as a seal
is, but without the columns marked `_PASSING`, which change without an entry. A transaction that changes rows
must record an event (`opening.Transaction`).

The actions of a layer have no seals of their own: the layer has a hash over all of them. The encrypted text
and decisions of a case are large, so their row has a hash of them (`hash_content`), which its seal covers.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Double,
    Row,
    Table,
    and_,
    select,
)

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.core.wording import _
from inverse_deid.review.store.tables import ACTIONS, CASES, CONTENTS, LAYERS, META, METADATA, SOURCES

SEALED = tuple(table for table in METADATA.sorted_tables if table.info.get("sealed"))
"""All tables whose rows have seals, each after those that it refers to."""

Marks = dict[str, str | None]
"""Marks of rows by table and primary key, such as `users 3`; None = the row was deleted."""

_MARK_CHARS = 32


class RowSeals:
    """Makes and checks the seals of rows, with 32 secret bytes that are used for nothing else."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def check(self, table: Table, row: Row[Any]) -> Row[Any]:
        """Return a row whose seal is intact.

        Raises:
            UnreadableInputError: It was made or changed without the key.
        """
        values = {column.name: row._mapping[column] for column in select_sealed(table)}
        if not self.is_sealed(table, values):
            raise refuse_row(name_row(table, values))
        return row

    def is_sealed(self, table: Table, values: Mapping[str, Any]) -> bool:
        """Whether a row, given as its columns by name, has the right seal."""
        seal = self.seal(table, values)
        return hmac.compare_digest(str(values["seal"]).encode(), seal.encode())

    def seal(self, table: Table, values: Mapping[str, Any]) -> str:
        return self._digest("row", table, values, select_sealed(table))

    def mark(self, table: Table, values: Mapping[str, Any]) -> str:
        lasting = [column for column in select_sealed(table) if not column.info.get("passes")]
        return self._digest("mark", table, values, lasting)[:_MARK_CHARS]

    def _digest(
        self, what: str, table: Table, values: Mapping[str, Any], columns: Sequence[Column[Any]]
    ) -> str:
        parts = [
            [column.name, _plain(column, values[column.name])]
            for column in columns
            if column.name != "seal" and values[column.name] is not None
        ]
        return hmac.digest(self._key, json.dumps([what, table.name, parts]).encode(), "sha256").hex()


def refuse_row(name: str) -> UnreadableInputError:
    """Return the error of a row that was altered."""
    return UnreadableInputError(
        _(
            "{row} of the store was altered outside the program. Run inverse-deid review verify, "
            "and restore a backup",
            row=name,
        )
    )


def select_sealed(table: Table) -> list[Column[Any]]:
    return [column for column in table.c if column.info.get("seals", True)]


def name_row(table: Table, values: Mapping[Any, Any]) -> str:
    """Return the table and primary key of a row."""
    return " ".join([table.name, *(str(values[key.name]) for key in table.primary_key)])


def hash_actions(stored: Sequence[str]) -> str:
    """Return the hash of the actions of a layer, as they are stored, in order."""
    return hashlib.sha256(json.dumps(list(stored)).encode()).hexdigest()


def hash_content(sealed_text: bytes, sealed_tokens: bytes) -> str:
    """Return the hash of the encrypted text and decisions of a case."""
    both = [hashlib.sha256(one).hexdigest() for one in (sealed_text, sealed_tokens)]
    return hashlib.sha256(" ".join(both).encode()).hexdigest()


def check_content(row: Mapping[Any, Any]) -> None:
    """Check that the encrypted text and decisions of a row are those that its hash is of.

    Raises:
        UnreadableInputError: They were swapped or damaged.
    """
    both = row["sealed_text"], row["sealed_tokens"]
    # Anything can be in a table that somebody changed.
    if not all(isinstance(one, bytes) for one in both) or hash_content(*both) != row["content_hash"]:
        raise refuse_row(name_row(CONTENTS, row))


@dataclass(frozen=True, slots=True)
class Suspect:
    """A row that does not follow from the trail, and the case or file that it concerns (None = not known)."""

    problem: str
    case_id: int | None = None
    source_id: int | None = None


class RecordedRows:
    """Follows what the trail says of every row, and compares it with the tables."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[str | None, int, int | None]] = {}

    def follow(self, number: int, case_id: int | None, marks: Marks, *, is_begin: bool) -> None:
        """Take the marks of an entry over; with `is_begin` they are all that is known."""
        if is_begin:
            self._last.clear()
        for name, mark in marks.items():
            self._last[name] = (mark, number, case_id)

    def compare_acting(self, number: int, marks: Marks) -> list[str]:
        """Return the accounts of an entry that were not as the trail had left them."""
        recorded = {name: self._last[name] for name in marks if name in self._last}
        return [
            f"entry {number} was made while {name} was not as entry {at} left it"
            for name, (mark, at, _) in recorded.items()
            if mark != marks[name]
        ]

    def copy(self) -> RecordedRows:
        """Return the same, as `compare` and `check` forget what they have seen."""
        other = RecordedRows()
        other._last |= self._last
        return other

    def check(self, seals: RowSeals, table: Table, values: Mapping[str, Any]) -> None:
        """Check one row.

        Raises:
            UnreadableInputError: It is not as the trail left it.
        """
        if fault := self._find_fault(seals, table, values):
            raise UnreadableInputError(
                _("{row} of the store {fault}. Restore a backup", row=name_row(table, values), fault=fault)
            )

    def list_missing(self) -> list[Suspect]:
        found = []
        for name, (mark, number, case_id) in self._last.items():
            table_name, _, key = name.partition(" ")
            problem = f"{name} is missing, and entry {number} recorded it"
            if mark is not None:
                is_case = table_name in (CASES.name, CONTENTS.name)
                found.append(Suspect(problem, int(key) if is_case else case_id))
        return found

    def compare(self, connection: Connection, seals: RowSeals) -> Iterator[Suspect]:
        actions = dict(_hash_all_actions(connection))
        for table in SEALED:
            found = select(*select_sealed(table)).order_by(*table.primary_key)
            for row in connection.execute(found).yield_per(1000):
                values = dict(row._mapping)
                fault = self._find_fault(seals, table, values)
                if table is LAYERS and not fault:
                    n_actions, digest = actions.pop(values["id"], (0, hash_actions(())))
                    if digest != values["actions_hash"] or values["n_done"] > n_actions:
                        fault = "has other actions than were done"
                if fault:
                    case_id = values["id"] if table is CASES else values.get("case_id")
                    source_id = values["id"] if table is SOURCES else values.get("source_id")
                    name = name_row(table, values)
                    yield Suspect(f"{name} {fault}", case_id, source_id)
        yield from self.list_missing()

    def _find_fault(self, seals: RowSeals, table: Table, values: Mapping[str, Any]) -> str:
        # The settings of a new store have no entry.
        mark, number, _ = self._last.pop(name_row(table, values), (None, 0, None))
        if not seals.is_sealed(table, values):
            return "was altered outside the program"
        if not number:
            return "" if table is META else "is in no entry of the trail"
        if mark is None:
            return f"was put back after entry {number} deleted it"
        return "" if mark == seals.mark(table, values) else f"is not as entry {number} left it"


def _hash_all_actions(connection: Connection) -> Iterator[tuple[int, tuple[int, str]]]:
    found = select(ACTIONS).order_by(ACTIONS.c.layer_id, ACTIONS.c.position)
    for layer_id, rows in groupby(connection.execute(found).yield_per(1000), lambda row: row.layer_id):
        stored = list(rows)
        is_complete = [row.position for row in stored] == list(range(len(stored)))
        digest = hash_actions([row.steps for row in stored]) if is_complete else ""
        yield layer_id, (len(stored), digest)


def complete_row(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    values = {column.name: row.get(column.name) for column in table.c}
    for column in table.c:
        if column.default is not None and column.name not in row:
            values[column.name] = getattr(column.default, "arg", None)
    return values


def is_row(table: Table, values: Mapping[str, Any]) -> ColumnElement[bool]:
    """Return the condition on one row, given its primary key."""
    return and_(*(key == values[key.name] for key in table.primary_key))


def _plain(column: Column[Any], value: Any) -> Any:  # noqa: ANN401
    # JSON tells types and lengths, the same before it is stored and afterwards.
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(column.type, Double) and isinstance(value, int):
        return float(value)
    return bool(value) if isinstance(column.type, Boolean) else value
