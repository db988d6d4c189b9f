"""An open store, and its transactions: all reads and writes of rows, with the entries of the trail."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import (
    ColumnElement,
    Connection,
    CursorResult,
    Engine,
    Executable,
    Row,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from inverse_deid.core.errors import (
    ConfigurationError,
    OutputError,
    ReviewError,
    StageError,
    UnreadableInputError,
)
from inverse_deid.core.wording import _
from inverse_deid.review.store.database import (
    BUSY_SECONDS,
    WRITES,
    checkpoint,
    database_errors,
    make_engine,
    store_path,
    vacuum,
)
from inverse_deid.review.store.entries import TrailEvent, lock_head, write_entries
from inverse_deid.review.store.keys import FileNames, ReviewKey, Sealer, StoreKeys
from inverse_deid.review.store.rows import Marks, RowSeals, complete_row, is_row, name_row, select_sealed
from inverse_deid.review.store.tables import (
    CASES,
    INTAKES,
    KEYS,
    MASKINGS,
    META,
    SCHEMA_VERSION,
    SETTINGS,
    USERS,
    VERSION,
)
from inverse_deid.review.store.values import MaskingFacts, ReviewPolicy

FILE_HASHES = "hashes of files"
"""The purpose of the key that compares files."""

_ADVISORY_LOCK = 0x1DE1D
_IDS_AT_ONCE = 1000

Clock = Callable[[], float]
"""Seconds since 1970, UTC."""


class Transaction:
    """One transaction on a store. Get one with `ReviewStore.reading` or `ReviewStore.writing`.

    Rows with seals are read and written by `read`, `insert`, `update` and `delete`, all others by `execute`.
    Whoever changes a row with a seal also records an event: the last entry of a transaction has the marks of
    all rows that it changed (`rows`), and a transaction without one fails.
    """

    def __init__(self, connection: Connection, store: ReviewStore) -> None:
        self.connection = connection
        self.store = store
        self.names = FileNames(connection, store.sealer)
        self._marks: Marks = {}
        self._entries: list[dict[str, Any]] = []

    @property
    def sealer(self) -> Sealer:
        return self.store.sealer

    @property
    def policy(self) -> ReviewPolicy:
        return self.store.policy

    def now(self) -> float:
        """Return the time by the clock of the store."""
        return self.store.now()

    def execute(
        self, statement: Executable, rows: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> CursorResult[*tuple[Any, ...]]:
        """Execute a statement; no seal is checked or made."""
        return self.connection.execute(statement, rows)

    def read(self, found: Select[Any], *tables: Table) -> Sequence[Row[Any]]:
        """Return what a query finds that selects all columns of these tables, and check every row.

        Raises:
            UnreadableInputError: A row was altered.
        """
        rows = self.execute(found).all()
        for row in rows:
            for table in tables:
                self.store.seals.check(table, row)
        return rows

    def insert(self, table: Table, row: Mapping[str, Any]) -> int:
        """Insert a row and return its id (0 = its key is a text)."""
        seals, values, keys = self.store.seals, complete_row(table, row), list(table.primary_key)
        if any(values[key.name] is None for key in keys):
            made = self.execute(insert(table), dict(row)).inserted_primary_key
            values |= {key.name: value for key, value in zip(keys, made or (), strict=True)}
            self.execute(update(table).where(is_row(table, values)).values(seal=seals.seal(table, values)))
        else:
            self.execute(insert(table), {**row, "seal": seals.seal(table, values)})
        self._note(table, None, values)
        first = values[keys[0].name]
        return first if isinstance(first, int) else 0

    def insert_all(self, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
        complete = [complete_row(table, row) for row in rows]
        if complete:
            self.execute(
                insert(table), [{**one, "seal": self.store.seals.seal(table, one)} for one in complete]
            )
        for one in complete:
            self._note(table, None, one)

    def insert_unsealed(self, table: Table, row: Mapping[str, object]) -> int:
        """Insert a row into a table without seals and return its id."""
        key = self.execute(insert(table), dict(row)).inserted_primary_key
        return int(key[0]) if key else 0

    def update(self, table: Table, condition: ColumnElement[bool], **values: object) -> int:
        """Check the rows that meet a condition, change them, and return how many they are.

        Raises:
            UnreadableInputError: A row was altered; nothing is changed.
        """
        found = select(*select_sealed(table)).where(condition).order_by(*table.primary_key).with_for_update()
        rows = self.read(found, table)
        for row in rows:
            before = dict(row._mapping)
            after = before | values
            changed = {**values, "seal": self.store.seals.seal(table, after)}
            self.execute(update(table).where(is_row(table, before)).values(**changed))
            self._note(table, before, after)
        return len(rows)

    def update_each(self, table: Table, changed: Sequence[tuple[Row[Any], Mapping[str, Any]]]) -> None:
        """Change rows that `read` has checked in this transaction; every change is of the same columns."""
        if not changed:
            return
        mine = and_(*(key == bindparam(f"key_{key.name}") for key in table.primary_key))
        names = (*changed[0][1], "seal")
        new: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
        rows = []
        for row, values in changed:
            before = dict(row._mapping)
            after = {**before, **values}
            keys = {f"key_{key.name}": before[key.name] for key in table.primary_key}
            given = {**values, "seal": self.store.seals.seal(table, after)}
            rows.append({**keys, **{f"new_{name}": value for name, value in given.items()}})
            self._note(table, before, after)
        self.execute(update(table).where(mine).values(new), rows)

    def delete(self, table: Table, condition: ColumnElement[bool]) -> int:
        """Delete rows and return how many they were; a broken seal does not keep a row from going."""
        for row in self.execute(select(*table.primary_key).where(condition)):
            self._marks[name_row(table, row._mapping)] = None
        return self.execute(delete(table).where(condition)).rowcount

    def seal_again(self, table: Table, check: Callable[[Table, Mapping[str, Any]], None]) -> int:
        """Seal all rows of a table that a check lets pass, and return how many they are."""
        keys = list(table.primary_key)
        mine = and_(*(key == bindparam(f"key_{key.name}") for key in keys))
        changed = update(table).where(mine).values(seal=bindparam("new_seal"))
        sealed = []
        for row in self.execute(select(*select_sealed(table)).order_by(*keys)).all():
            values = dict(row._mapping)
            check(table, values)
            new = {f"key_{key.name}": values[key.name] for key in keys}
            sealed.append({**new, "new_seal": self.store.seals.seal(table, values)})
            self._note(table, None, values)
        if sealed:
            self.execute(changed, sealed)
        return len(sealed)

    def _note(self, table: Table, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> None:
        # No row is noted if nothing lasting changed.
        mark = self.store.seals.mark(table, after)
        if before is None or mark != self.store.seals.mark(table, before):
            self._marks[name_row(table, after)] = mark

    def record(self, *events: TrailEvent, facts: MaskingFacts | None = None) -> None:
        """Append events, which this transaction brings about, to the trail at its end.

        They state the model of their case; those that are about no case state that of `facts` (None: of the
        store).
        """
        facts_of = self.read_facts(sorted({one.case for one in events if one.case is not None}))
        for one in events:
            about = (facts or self.store.facts) if one.case is None else facts_of[one.case]
            pair = about.thresholds
            made = {
                "model": about.model_sha256 or about.fingerprint,
                "thresholds": [None, None] if pair is None else [pair.low, pair.high],
            }
            self._entries.append({**asdict(one), **made})

    def read_facts(self, case_ids: Sequence[int]) -> dict[int, MaskingFacts]:
        """Return how cases were masked, by their numbers.

        Raises:
            ReviewError: A case does not exist.
            UnreadableInputError: The settings of its file were altered.
        """
        parsed: dict[int, MaskingFacts] = {}
        facts: dict[int, MaskingFacts] = {}
        for begin in range(0, len(case_ids), _IDS_AT_ONCE):
            found = select(CASES.c.id.label("case_id"), MASKINGS)
            found = found.join(INTAKES, INTAKES.c.source_id == CASES.c.source_id)
            found = found.join(MASKINGS, MASKINGS.c.id == INTAKES.c.masking_id)
            found = found.where(CASES.c.id.in_(case_ids[begin : begin + _IDS_AT_ONCE]))
            for row in self.execute(found):
                if row.id not in parsed:
                    stored = json.loads(self.store.seals.check(MASKINGS, row).facts)
                    parsed[row.id] = MaskingFacts.from_json(stored)
                facts[row.case_id] = parsed[row.id]
        for case_id in case_ids:
            if case_id not in facts:
                raise ReviewError(_("the store has no case {case_id}", case_id=case_id))
        return facts

    def finish(self) -> None:
        """Write the entries, with the marks of all rows that were changed.

        Raises:
            StageError: Rows were changed and no event was recorded, so that a replay would not know of them.
        """
        marks, entries = self._marks, self._entries
        self._marks, self._entries = {}, []
        if entries:
            head = lock_head(self.connection, self.store.trail_key)
            changed = {"rows": marks, "acting": self._mark_users({str(one["user"]) for one in entries})}
            changed = {name: marked for name, marked in changed.items() if marked}
            write_entries(self.connection, self.store.trail_key, head, self.now(), entries, changed)
        elif marks:
            raise StageError(
                _(
                    "rows were changed without an entry of the trail: {marks}",
                    marks=", ".join(sorted(marks)[:5]),
                )
            )

    def _mark_users(self, names: Collection[str]) -> Marks:
        # A replay finds an older account that was put back.
        found = select(*select_sealed(USERS)).where(USERS.c.name.in_(names))
        users = [dict(row._mapping) for row in self.execute(found)]
        return {name_row(USERS, one): self.store.seals.mark(USERS, one) for one in users}


class ReviewStore:
    """An open store; safe to share between threads.

    Get one with `open_store` or `loading.create_store`. Use it in a `with` block, or `close` it. `facts` are
    those that the store was made with; `Transaction.read_facts` has those of a case. The `signer` signs heads
    of the trail; a key of its own can replace the derived one. `shown` is the memory of `oversight`,
    `case_names` that of `work_list`, and `swept` that of `table.RowsShown`.
    """

    def __init__(self, engine: Engine, keys: StoreKeys, clock: Clock) -> None:
        self._engine = engine
        self._turn = Lock()
        self.now = clock
        self.keys = keys
        key = keys.data[0]
        self.sealer = Sealer(*(one.derive("encryption") for one in keys.data))
        self.seals = RowSeals(key.derive("rows"))
        self.trail_key = keys.trail
        self.session_key = key.derive("sessions")
        self.file_key = key.derive(FILE_HASHES)
        self.case_key = keys.case
        self.word_key = key.derive("hashes of words")
        self.signer = Ed25519PrivateKey.from_private_bytes(keys.signatures)
        self.shown: dict[tuple[str, int, str, str], float] = {}
        self.case_names: dict[int, tuple[str, str, int]] = {}
        self.case_words: dict[tuple[int, int], Any] = {}
        self.word_work: dict[int, Any] = {}
        self.swept: dict[tuple[int, int], dict[Any, int]] = {}
        self.policy = ReviewPolicy()
        self.facts = MaskingFacts(fingerprint="")

    def load_settings(self, transaction: Transaction) -> None:
        """Read policy and facts.

        Raises:
            UnreadableInputError: They were altered.
        """
        stored = {row.name: row.value for row in transaction.read(select(META), META)}
        settings = json.loads(stored[SETTINGS])
        self.policy = ReviewPolicy(**settings["policy"])
        self.facts = MaskingFacts.from_json(settings["facts"])

    def with_keys(self, keys: StoreKeys) -> ReviewStore:
        """Return the same store with other keys; both have the same connections."""
        other = ReviewStore(self._engine, keys, self.now)
        other.policy, other.facts = self.policy, self.facts
        other._turn = self._turn
        return other

    @contextmanager
    def _taking_turns(self) -> Iterator[None]:
        # SQLite would let the other threads sleep up to 0.1 s.
        if self._engine.dialect.name != "sqlite":
            yield
            return
        if not self._turn.acquire(timeout=BUSY_SECONDS):
            raise OutputError(
                _("others are writing to the store. Nothing of this step was stored. Try again")
            )
        try:
            yield
        finally:
            self._turn.release()

    def __enter__(self) -> ReviewStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ReviewStore(version={SCHEMA_VERSION})"

    @contextmanager
    def reading(self, *, snapshot: bool = False) -> Iterator[Transaction]:
        """Give a transaction that only reads; with `snapshot`, at one moment."""
        # SQLite always reads at one moment.
        at_one_moment = snapshot and self._engine.dialect.name != "sqlite"
        options = {"isolation_level": "REPEATABLE READ"} if at_one_moment else {}
        connect = self._engine.connect()
        with database_errors("read"), connect.execution_options(**options) as connection, connection.begin():
            yield Transaction(connection, self)

    @contextmanager
    def writing(self, *, alone: bool = False) -> Iterator[Transaction]:
        """Give a transaction that is on the disk when the block ends without error.

        Entries for the trail are written at its end. `alone` is for a change of keys or tables: it
        waits until no other transaction writes, and whoever makes it checks what it changes.

        Raises:
            OutputError: Another program migrated the store or gave it another key.
        """
        with (
            self._taking_turns(),
            database_errors("written"),
            self._engine.connect().execution_options(**{WRITES: True}) as connection,
            connection.begin(),
        ):
            if connection.dialect.name == "postgresql":
                # SQLite has one writer at a time.
                lock = "pg_advisory_xact_lock" if alone else "pg_advisory_xact_lock_shared"
                connection.exec_driver_sql(f"SELECT {lock}({_ADVISORY_LOCK})")
            transaction = Transaction(connection, self)
            if not alone:
                self.check_state(transaction)
            yield transaction
            transaction.finish()

    def check_state(self, transaction: Transaction) -> None:
        """Refuse to write with keys that others dropped, or into tables that this program does not know."""
        found = select(META.c.name, META.c.value).where(META.c.name.in_([VERSION, KEYS]))
        stored = {row.name: row.value for row in transaction.execute(found)}
        generation = str(stored.get(KEYS, "")).partition(" ")[0]
        if (stored.get(VERSION), generation) != (str(SCHEMA_VERSION), str(self.keys.generation)):
            raise OutputError(
                _(
                    "another program gave the store other tables or another key. Stop this program, and "
                    "start it again with a version and a key that belong to the store"
                )
            )

    def rewrite(self, tables: Sequence[str]) -> bool:
        """Rewrite the database without what was deleted; return whether old pages are gone.

        PostgreSQL rewrites the given tables only. Others wait meanwhile. Old pages stay if somebody is
        reading them, or if there is no room for a second copy.
        """
        try:
            if self._engine.dialect.name == "sqlite":
                return vacuum(self._engine)
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                for name in tables:
                    connection.exec_driver_sql(f"VACUUM FULL {name}")
        except (SQLAlchemyError, sqlite3.Error):
            return False
        return True

    def checkpoint(self) -> None:
        """Write what is in the log of an SQLite file into it, so far as others who read it permit."""
        checkpoint(self._engine)

    def close(self) -> None:
        self._engine.dispose()


def open_store(address: str | Path, key: ReviewKey, *, clock: Clock = time.time) -> ReviewStore:
    """Open a store at the path of an SQLite file or at a URL of SQLAlchemy.

    Raises:
        UnreadableInputError: The store does not exist, is not a database or has another version.
        ConfigurationError: The key belongs to another store.
    """
    store, version = open_any_version(address, key, clock=clock)
    is_open = False
    try:
        if version != SCHEMA_VERSION:
            raise UnreadableInputError(
                _(
                    "{store} has the older version {version}. Run inverse-deid review migrate",
                    store=_name_store(address),
                    version=version,
                )
            )
        with store.reading() as transaction:
            store.load_settings(transaction)
        is_open = True
        return store
    finally:
        if not is_open:
            store.close()


def open_any_version(
    address: str | Path, key: ReviewKey, *, clock: Clock = time.time
) -> tuple[ReviewStore, int]:
    """Open a store of this version or an older one, without its settings; return it and what it says it is.

    Raises:
        UnreadableInputError: The store does not exist, is not a database or has a newer version.
        ConfigurationError: The key belongs to another store.
    """
    path, name = store_path(address), _name_store(address)
    if path is not None and not path.is_file():
        raise UnreadableInputError(
            _("{path} does not exist. Make a store with inverse-deid review init", path=path)
        )
    engine = make_engine(address)
    is_open = False
    try:
        stored = _read_meta(engine)
        version = stored.get(VERSION)
        if version is None:
            raise UnreadableInputError(
                _("{name} is not a review store. Give one made by inverse-deid review init", name=name)
            )
        if version not in map(str, range(1, SCHEMA_VERSION + 1)):
            raise UnreadableInputError(
                _(
                    "{name} has version {version}, and this program knows only {schema_version} and "
                    "older ones. Install a newer program",
                    name=name,
                    version=version,
                    schema_version=SCHEMA_VERSION,
                )
            )
        keys = None
        with suppress(UnreadableInputError):
            keys = StoreKeys.unwrap(stored.get(KEYS, ""), key)
        if keys is None:
            raise ConfigurationError(
                _(
                    "the key does not belong to {name}. Give the key that it was made with, or its "
                    "newest one",
                    name=name,
                )
            )
        is_open = True
        return ReviewStore(engine, keys, clock), int(version)
    finally:
        if not is_open:
            engine.dispose()


def _name_store(address: str | Path) -> str:
    # A URL can contain a password.
    return _("the store") if store_path(address) is None else str(address)


def _read_meta(engine: Engine) -> dict[str, str]:
    # Empty = it is not a store.
    with suppress(SQLAlchemyError), engine.connect() as connection:
        if inspect(connection).has_table(META.name):
            found = select(META.c.name, META.c.value)
            return {row.name: row.value for row in connection.execute(found)}
    return {}
