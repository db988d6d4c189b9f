"""Stores as older versions of the program made them, with invented cases under the key of the tests."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import MetaData, create_engine, func, insert, inspect, select

from inverse_deid.review.store.opening import make_engine
from inverse_deid.review.store.tables import METADATA

VERSIONS = ("1", "2")
_DESCENDING = {"cases_by_doubt": "doubt DESC, id", "cases_by_state": "state, doubt DESC, id"}
_DUMPS = Path(__file__).parent / "unit" / "review"


def make_older_store(path: Path, version: str) -> Path:
    """Make an SQLite store of a version; its marker is XXX."""
    raw = sqlite3.connect(path)
    raw.executescript((_DUMPS / f"store_version_{version}.sql").read_text(encoding="utf-8"))
    raw.close()
    return path


def copy_tables(path: Path, address: str) -> None:
    """Copy an SQLite store as it is into an empty database on a server."""
    source, target = create_engine(f"sqlite:///{path}"), create_engine(address)
    tables = MetaData()
    tables.reflect(source)
    for table in tables.sorted_tables:
        for column in table.c:
            column.type = column.type.as_generic()
        for index in [one for one in table.indexes if one.name in _DESCENDING]:
            table.indexes.remove(index)  # SQLite does not tell the order of its columns
    with source.connect() as old, target.begin() as new:
        tables.create_all(new)
        for name, columns in _DESCENDING.items():
            new.exec_driver_sql(f"CREATE INDEX {name} ON cases ({columns})")
        for table in tables.sorted_tables:
            rows = [dict(row._mapping) for row in old.execute(select(table))]
            if rows:
                new.execute(insert(table), rows)
            key = table.autoincrement_column
            if key is not None and rows:
                sequence = func.pg_get_serial_sequence(table.name, key.name)
                new.execute(select(func.setval(sequence, select(func.max(key)).scalar_subquery())))
    source.dispose()
    target.dispose()


def describe_schema(address: str | Path) -> list[object]:
    """Return all tables, columns and indexes of a store, and how they differ from what the program knows."""
    engine = make_engine(address)
    found: list[object] = []
    with engine.connect() as connection:
        looked = inspect(connection)
        for name in sorted(looked.get_table_names()):
            columns = [(one["name"], str(one["type"]), one["nullable"]) for one in looked.get_columns(name)]
            keys = [one["constrained_columns"] for one in looked.get_foreign_keys(name)]
            unique = [one["column_names"] for one in looked.get_unique_constraints(name)]
            indexes = [(one["name"], one["column_names"], one["unique"]) for one in looked.get_indexes(name)]
            found.append((name, *map(sorted, (columns, keys, unique, map(repr, indexes)))))
        differences = compare_metadata(MigrationContext.configure(connection), METADATA)
    engine.dispose()
    return [*found, *sorted(re.sub("0x[0-9a-f]+", "", repr(one)) for one in differences)]
