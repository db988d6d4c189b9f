"""Make the database of a new store: whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from sqlalchemy import Connection, Engine, insert, inspect

from inverse_deid.core.errors import OutputExistsError
from inverse_deid.core.files import output_errors, partial_path
from inverse_deid.core.wording import _
from inverse_deid.review.store.database import database_errors, make_engine, store_path
from inverse_deid.review.store.entries import begin_trail
from inverse_deid.review.store.keys import ReviewKey, StoreKeys
from inverse_deid.review.store.rows import RowSeals
from inverse_deid.review.store.tables import (
    KEYS,
    LAST_CASE,
    LAST_SOURCE,
    META,
    METADATA,
    SCHEMA_VERSION,
    SETTINGS,
    VERSION,
)
from inverse_deid.review.store.values import MaskingFacts, ReviewPolicy

_NOWHERE = Path()


@contextmanager
def new_tables(
    address: str | Path, key: ReviewKey, policy: ReviewPolicy, facts: MaskingFacts
) -> Iterator[str | Path]:
    """Make a store without cases, and yield the address where it is until the block ends.

    If the block ends with an error, nothing is left of it.

    Raises:
        OutputExistsError: The address already has a store.
    """
    path = store_path(address)
    with _new_file(path) as place:
        here = address if path is None else place
        engine = make_engine(here)
        is_complete = False
        try:
            with engine.connect() as connection, connection.begin():
                is_complete = True  # as long as nothing was made
                _check_empty(connection)
                is_complete = False
                make_tables(connection, key, policy, facts)
            yield here
            is_complete = True
        finally:
            if not is_complete and path is None:
                METADATA.drop_all(engine)
            engine.dispose()


def make_tables(
    connection: Connection, key: ReviewKey, policy: ReviewPolicy, facts: MaskingFacts
) -> StoreKeys:
    """Make the tables of a new store, its settings and its trail; return its keys."""
    METADATA.create_all(connection)
    keys = StoreKeys.make(key)
    seals = RowSeals(keys.data[0].derive("rows"))
    stored = {
        VERSION: str(SCHEMA_VERSION),
        KEYS: keys.wrap(key),
        SETTINGS: json.dumps({"policy": asdict(policy), "facts": facts.as_json()}),
        LAST_CASE: "0",
        LAST_SOURCE: "0",
    }
    rows = [{"name": name, "value": value} for name, value in stored.items()]
    connection.execute(insert(META), [{**row, "seal": seals.seal(META, row)} for row in rows])
    begin_trail(connection, keys.trail)
    return keys


def _check_empty(connection: Connection) -> None:
    if inspect(connection).has_table(META.name):
        raise OutputExistsError(_("the database already has a store. Use another database"))


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
                yield engine, connection
        finally:
            engine.dispose()


@contextmanager
def _new_file(path: Path | None) -> Iterator[Path]:
    # It gets its name when the block ends without an error.
    if path is None:
        yield _NOWHERE
        return
    if os.path.lexists(path):
        raise OutputExistsError(
            _("{path} already exists, and a store is never overwritten. Use another name", path=path)
        )
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
