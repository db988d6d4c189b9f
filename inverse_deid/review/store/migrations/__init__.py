"""Migrations of the tables of a store: one module in `versions` per version, with alembic's operations.

The version of a store is a row of `meta`, which programs without alembic know as well. All migrations of a
store run in one transaction, which seals its rows at the end. A migration to a version after 3 must also say
which rows it seals.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alembic.config import Config
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, update

from inverse_deid.review.store.replay import seal_all
from inverse_deid.review.store.tables import META

if TYPE_CHECKING:
    from inverse_deid.review.store.opening import ReviewStore


def run_migrations(connection: Connection, store: ReviewStore, version: str, wrapped_keys: str) -> None:
    """Migrate a store of an older version; nothing else may be in the transaction of the connection.

    `wrapped_keys` are its keys as it will store them.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    operations = Operations(MigrationContext.configure(connection))
    scripts = ScriptDirectory.from_config(config)
    for script in reversed(list(scripts.iterate_revisions("head", version))):
        change = update(META).where(META.c.name == "schema version")
        connection.execute(change.values(value=script.revision))
        script.module.upgrade(operations, store, wrapped_keys)
    seal_all(connection, store)
