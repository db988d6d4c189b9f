"""The database of a review: SQLite in a file, or PostgreSQL by URL.

SQLite runs with a write-ahead log and `synchronous=FULL`: what a function returned from is on the
disk, whatever happens to the program or the power. A writing transaction is short and takes the one
write lock of SQLite at its beginning, so that two of them queue up and cannot deadlock; in PostgreSQL
they lock the row of the case first and the head of the trail last.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from inverse_deid.core.errors import ConfigurationError, OutputError, UnreadableInputError
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.review.keys import ReviewKey
from inverse_deid.review.sealing import Sealer
from inverse_deid.review.tables import META, METADATA
from inverse_deid.review.values import ReviewPolicy

SCHEMA_VERSION = 1

_BUSY_SECONDS = 30
_KEY_CHECK = b"the key of this store"
_WRITES = "inverse_deid_writes"

Clock = Callable[[], float]
"""Seconds since 1970, UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingFacts:
    """What the cases of a store were masked with.

    Args:
        fingerprint: Changes with anything that can change a decision.
        model_sha256: None = without the network.
        lexicon_sha256: Of the dictionaries.
        thresholds: None = without the network.
        marker: Stands for masked text.
        category_markers: The category stands for it instead.
    """

    fingerprint: str
    model_sha256: str | None = None
    lexicon_sha256: str = ""
    thresholds: Thresholds | None = None
    marker: str = "PHI"
    category_markers: bool = False

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> MaskingFacts:
        """Read the facts that `as_json` wrote."""
        rest = {name: value for name, value in stored.items() if name not in _THRESHOLDS}
        if stored["low"] is None:
            return cls(**rest)
        return cls(**rest, thresholds=Thresholds(**{name: stored[name] for name in _THRESHOLDS}))

    def as_json(self) -> dict[str, Any]:
        """Return the facts as one flat dictionary."""
        stored = asdict(self)
        thresholds = stored.pop("thresholds") or dict.fromkeys(_THRESHOLDS)
        return stored | thresholds


_THRESHOLDS = [field.name for field in fields(Thresholds)]


class ReviewStore:
    """An open store; safe to share between threads.

    Get one with `open_store` or `loading.create_store`. Use it in a `with` block, or `close` it.

    Args:
        engine: Of the database.
        key: Of the store.
        clock: Tells the time.
    """

    def __init__(self, engine: Engine, key: ReviewKey, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self.sealer = Sealer(key.derived("encryption"))
        self.trail_key = key.derived("trail")
        self.session_key = key.derived("sessions")
        self.case_key = key.secret
        with self.reading() as connection:
            rows = connection.execute(select(META.c.name, META.c.value))
            stored: dict[str, str] = {row[0]: row[1] for row in rows}
        self.sealer.opened(bytes.fromhex(stored["key check"]), "key check")
        settings = json.loads(stored["settings"])
        self.policy = ReviewPolicy(**settings["policy"])
        self.facts = MaskingFacts.from_json(settings["facts"])
        self.extra: dict[str, Any] = settings["extra"]

    def __enter__(self) -> ReviewStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ReviewStore(version={SCHEMA_VERSION})"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with _database_errors("read"), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes; it is on the disk when the block ends without an error."""
        with (
            _database_errors("written"),
            self._engine.connect().execution_options(**{_WRITES: True}) as connection,
            connection.begin(),
        ):
            yield connection

    def now(self) -> float:
        """The time, as the store's clock says."""
        return self._clock()

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


@contextmanager
def _database_errors(done: str) -> Iterator[None]:
    """What the database raises becomes one line; its own message could hold values."""
    problem = ""
    try:
        yield
    except SQLAlchemyError as error:
        original = getattr(error, "orig", None)
        problem = type(original or error).__name__
    if problem:
        raise OutputError(
            f"the store cannot be {done} ({problem}); nothing of this step was stored: check disk space, "
            "permissions and the connection, and try again"
        )


def store_url(address: str | Path) -> str:
    """The URL of a store: itself, or that of an SQLite file.

    Example:
        >>> store_url("postgresql+psycopg://db/review"), store_url("review.db")
        ('postgresql+psycopg://db/review', 'sqlite+pysqlite:///review.db')
    """
    return str(address) if "://" in str(address) else f"sqlite+pysqlite:///{address}"


def store_path(address: str | Path) -> Path | None:
    """The file of a store, None = it is on a server."""
    return None if "://" in str(address) else Path(address)


def engine_for(address: str | Path) -> Engine:
    """Connections to a database, set up as the module says.

    Raises:
        ConfigurationError: The URL is none, or its driver is not installed.
    """
    problem = ""
    try:
        url = make_url(store_url(address))
        is_sqlite = url.get_backend_name() == "sqlite"
        arguments: dict[str, Any] = {"timeout": _BUSY_SECONDS} if is_sqlite else {}
        engine = create_engine(url, connect_args=arguments, hide_parameters=True)
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        problem = type(error).__name__
    if problem:
        raise ConfigurationError(
            f"the address of the store cannot be used ({problem}); give a file, or a URL such as "
            "postgresql+psycopg://HOST/NAME with its driver installed"
        )
    if is_sqlite:
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _: object) -> None:
    """The program begins transactions itself; a full disk or a power cut loses nothing that was said done."""
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def write_settings(
    connection: Connection, key: ReviewKey, policy: ReviewPolicy, facts: MaskingFacts, extra: dict[str, Any]
) -> None:
    """Make the tables of a new store and write what it is."""
    METADATA.create_all(connection)
    check = Sealer(key.derived("encryption")).sealed(_KEY_CHECK, "key check")
    settings = {"policy": asdict(policy), "facts": facts.as_json(), "extra": extra}
    stored = {
        "schema version": str(SCHEMA_VERSION),
        "key check": check.hex(),
        "settings": json.dumps(settings),
    }
    connection.execute(insert(META), [{"name": name, "value": value} for name, value in stored.items()])


def open_store(address: str | Path, key: ReviewKey, *, clock: Clock = time.time) -> ReviewStore:
    """Open a store.

    Args:
        address: Path of an SQLite file, or a URL of SQLAlchemy.
        key: Of the store.
        clock: Tells the time.

    Raises:
        UnreadableInputError: No such store, no database, or of another version.
        ConfigurationError: The key is not that of the store.
    """
    path = store_path(address)
    if path is not None and not path.is_file():
        raise UnreadableInputError(f"{path} does not exist; make a store with inverse-deid review init")
    shown = "the store" if path is None else str(path)
    engine = engine_for(address)
    version = _version(engine)
    problem = ""
    if version != str(SCHEMA_VERSION):
        found = (
            "is no store of a review" if version is None else f"is of version {version}, not {SCHEMA_VERSION}"
        )
        problem = f"{shown} {found}; give the store of inverse-deid review init"
    else:
        with suppress(UnreadableInputError):
            return ReviewStore(engine, key, clock)
    engine.dispose()
    if problem:
        raise UnreadableInputError(problem)
    raise ConfigurationError(f"the key is not that of {shown}; give the one that it was made with")


def _version(engine: Engine) -> str | None:
    """The version of a store, None = it is none."""
    with suppress(SQLAlchemyError), engine.connect() as connection:
        if inspect(connection).has_table(META.name):
            found = select(META.c.value).where(META.c.name == "schema version")
            return connection.execute(found).scalar_one_or_none()
    return None
