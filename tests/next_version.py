"""A made-up next version of the tables of a store, as a later program would bring it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect

from inverse_deid.review.store import migrations, opening, tables
from inverse_deid.review.store.database import make_engine
from inverse_deid.review.store.tables import METADATA

NEXT = str(tables.SCHEMA_VERSION + 1)

_MIGRATION = f'''
import sqlalchemy as sa
from inverse_deid.review.store.tables import USERS

revision = "{NEXT}"
down_revision = "{tables.SCHEMA_VERSION}"


def upgrade(operations, transaction):
    operations.add_column("cases", sa.Column("colour", sa.Text))
    operations.create_table("shelves", sa.Column("id", sa.Integer, primary_key=True))
    transaction.update(USERS, USERS.c.name == "ann", role="adjudicator")
'''


def use_next_version(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the program be of the next version; ann is an adjudicator in it."""
    place = folder / "migrations"
    shutil.copytree(migrations.FOLDER, place)
    (place / "versions" / f"version_{NEXT}.py").write_text(_MIGRATION)
    monkeypatch.setattr(migrations, "FOLDER", place)
    for module in (tables, opening, migrations):
        monkeypatch.setattr(module, "SCHEMA_VERSION", int(NEXT))


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
