"""The database of a store: SQLite in a file, or PostgreSQL by URL.

SQLite runs with a write-ahead log and `synchronous=FULL`: when a function returns, its changes are on
the disk, and survive a crash or a power cut. A writing transaction is short and takes SQLite's one write
lock at its beginning, so that two of them queue up and cannot deadlock. In PostgreSQL they lock the row of
the case first and the head of the trail last.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from inverse_deid.core.errors import ConfigurationError, OutputError
from inverse_deid.core.wording import _

BUSY_SECONDS = 30
WRITES = "inverse_deid_writes"
"""The execution option of a connection that writes."""

_POOL_SIZE = 20  # opening a connection takes as long as a decision


def store_path(address: str | Path) -> Path | None:
    """Return the file of a store, None = it is on a server."""
    return None if "://" in str(address) else Path(address)


def make_engine(address: str | Path) -> Engine:
    """Set up connections to a database, as the module describes.

    Raises:
        ConfigurationError: The URL is malformed, or its driver is not installed.
    """
    problem = ""
    try:
        url = make_url(f"sqlite+pysqlite:///{address}" if store_path(address) else str(address))
        is_sqlite = url.get_backend_name() == "sqlite"
        arguments: dict[str, Any] = {"timeout": BUSY_SECONDS} if is_sqlite else {}
        engine = create_engine(url, connect_args=arguments, hide_parameters=True, pool_size=_POOL_SIZE)
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        problem = type(error).__name__
    if problem:
        raise ConfigurationError(
            _(
                "the address of the store cannot be used ({problem}). Give a file, or a URL such as "
                "postgresql+psycopg://HOST/NAME and install its driver",
                problem=problem,
            )
        )
    if is_sqlite:

        def set_up(connection: sqlite3.Connection, _: object) -> None:
            # The program begins transactions itself.
            connection.isolation_level = None
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
                connection.execute(f"PRAGMA {pragma}")

        def begin(connection: Connection) -> None:
            writes = connection.get_execution_options().get(WRITES, False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

        event.listen(engine, "connect", set_up)
        event.listen(engine, "begin", begin)
    return engine


@contextmanager
def database_errors(done: str) -> Iterator[None]:
    """Turn errors of the database into one line; their own messages could contain values."""
    problem = ""
    try:
        yield
    except SQLAlchemyError as error:
        original = getattr(error, "orig", None)
        problem = type(original or error).__name__
    if problem:
        raise OutputError(
            _(
                "the store cannot be {done} ({problem}). Nothing of this step was stored. Check disk "
                "space, permissions and the connection, then try again",
                done=done,
                problem=problem,
            )
        )


def vacuum(engine: Engine) -> bool:
    """Rebuild an SQLite file and empty its write-ahead log; return whether the log could be emptied."""
    busy = 1
    # Around the transactions that the engine begins: `VACUUM` cannot run in one.
    with closing(engine.raw_connection()) as connection, closing(connection.cursor()) as cursor:
        for step in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
            cursor.execute(step)
            busy, *_ = cursor.fetchone() or (busy,)
    return not busy


def checkpoint(engine: Engine) -> None:
    """Write the log of an SQLite file into it, without waiting for readers."""
    if engine.dialect.name == "sqlite":
        with suppress(SQLAlchemyError, sqlite3.Error), closing(engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
