"""Migrations of the tables of a store: one module in `versions` per version, with alembic's operations.

A migration is a function `upgrade(operations, transaction)`. The version of a store is a sealed row of
`meta`. All migrations of a store run in one transaction, with one entry in the trail. Rows keep their seals:
a seal covers only columns that have a value, so tables and empty columns can be added as they are. Other
changes go through the `Transaction`, which refuses rows that were altered.
"""

from __future__ import annotations

import time
from pathlib import Path

from alembic.config import Config
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import select

from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.keys import ReviewKey
from inverse_deid.review.store.opening import Clock, open_any_version
from inverse_deid.review.store.tables import META, SCHEMA_VERSION, VERSION

FOLDER = Path(__file__).parent


def migrate_store(address: str | Path, key: ReviewKey, *, by: str, clock: Clock = time.time) -> bool:
    """Give a store of an older version the tables of this one; return whether it was older.

    Raises:
        UnreadableInputError: As `open_any_version`; or it was altered so that it says that it is older.
        ConfigurationError: The key belongs to another store.
    """
    store, stated = open_any_version(address, key, clock=clock)
    with store:
        if stated == SCHEMA_VERSION:
            return False
        with store.writing(alone=True) as transaction:
            is_version = META.c.name == VERSION
            found = select(META).where(is_version).with_for_update()
            version = transaction.read(found, META)[0].value
            newest = str(SCHEMA_VERSION)
            if version == newest:
                return True  # another process was faster
            store.load_settings(transaction)
            config = Config()
            config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
            operations = Operations(MigrationContext.configure(transaction.connection))
            scripts = ScriptDirectory.from_config(config)
            for script in reversed(list(scripts.iterate_revisions(newest, version))):
                script.module.upgrade(operations, transaction)
            transaction.update(META, is_version, value=newest)
            event = f"store migrated from version {version} to {newest}"
            transaction.record(TrailEvent(user=by, event=event))
    return True
