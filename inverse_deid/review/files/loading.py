"""Make a new store, empty or with the cases of files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect

from inverse_deid.core.errors import ConfigurationError, OutputExistsError, UnreadableInputError
from inverse_deid.core.files import output_errors, partial_path
from inverse_deid.engine.jobs.planning import Job
from inverse_deid.engine.masker import Masker
from inverse_deid.engine.tally import Tally
from inverse_deid.review.files.intake import LoadSettings, add_cases, plan_cases
from inverse_deid.review.store import rows
from inverse_deid.review.store.opening import (
    Clock,
    ReviewKey,
    ReviewStore,
    database_errors,
    make_engine,
    open_store,
    store_path,
    write_settings,
)
from inverse_deid.review.store.tables import META, METADATA
from inverse_deid.review.store.trail import begin_trail

__all__ = ["LoadSettings", "create_store", "plan_cases"]

_NOWHERE = Path()


def create_store(
    address: str | Path,
    key: ReviewKey,
    jobs: Sequence[Job],
    masker: Masker | None,
    settings: LoadSettings,
    *,
    clock: Clock = time.time,
) -> tuple[ReviewStore, Tally]:
    """Make a store of all cases in the files of jobs from `plan_cases`, or without jobs an empty one.

    The file of a store appears only when it is complete; the masker can be None for an empty one. The cases
    are added as `add_cases` does. The address is the path of an SQLite file, or a URL of SQLAlchemy. The key
    encrypts the texts; without it they cannot be read again.

    Raises:
        OutputExistsError: The address already has a store.
        InputError: There are files, but no case could be read.
        ConfigurationError: There are files, but no masker.
    """
    if jobs and masker is None:
        raise ConfigurationError("cases cannot be added without a masker")
    path = store_path(address)
    tally = Tally()
    with _new_file(path) as place, _new_tables(address if path is None else place, key, settings) as made:
        with open_store(made, key, clock=clock) as store:
            if masker is not None and jobs:
                tally = add_cases(store, jobs, masker, settings, by="command")
        if jobs and not tally.n_documents:
            first = tally.failures[0] if tally.failures else None
            why = "" if first is None else f": {first.where}: {first.reason}"
            raise UnreadableInputError(
                f"no case could be read{why}", remedies=() if first is None else first.remedies
            )
    return open_store(address, key, clock=clock), tally


@contextmanager
def _new_tables(address: str | Path, key: ReviewKey, settings: LoadSettings) -> Iterator[str | Path]:
    """Make the tables of a new store; they are removed if the block ends with an error."""
    engine = make_engine(address)
    is_complete = False
    try:
        with engine.connect() as connection, connection.begin():
            is_complete = True  # as long as nothing was made
            _check_empty(connection)
            is_complete = False
            keys = write_settings(connection, key, settings.policy, settings.facts)
            begin_trail(connection, keys.trail)
        yield address
        is_complete = True
    finally:
        if not is_complete and store_path(address) is None:
            METADATA.drop_all(engine)
        engine.dispose()


def _check_empty(connection: Connection) -> None:
    if inspect(connection).has_table(META.name):
        raise OutputExistsError("the database already has a store. Use another database")


@contextmanager
def new_database(address: str | Path) -> Iterator[tuple[Engine, Connection]]:
    """Give a connection to an empty database; what its transaction does is there whole or not at all.

    Raises:
        OutputExistsError: There is a store already.
    """
    path = store_path(address)
    with _new_file(path) as place:
        engine = make_engine(address if path is None else place)
        try:
            with database_errors("written"), engine.connect() as connection, connection.begin():
                _check_empty(connection)
                rows.begin(connection)
                yield engine, connection
                rows.finish(connection)
        finally:
            engine.dispose()


@contextmanager
def _new_file(path: Path | None) -> Iterator[Path]:
    """Yield the path to write a new store to; it gets its name when the block ends without an error."""
    if path is None:
        yield _NOWHERE
        return
    if os.path.lexists(path):
        raise OutputExistsError(f"{path} already exists, and a store is never overwritten. Use another name")
    place = partial_path(path)
    is_complete = False
    try:
        with output_errors(path):
            place.unlink(missing_ok=True)
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield place
        with output_errors(path):
            place.rename(path)
        is_complete = True
    finally:
        for name in ("",) if is_complete else ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                place.with_name(place.name + name).unlink()
