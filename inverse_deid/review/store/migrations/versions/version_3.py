"""Give a store its own keys and seals of its rows, and add what else this version has in its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from inverse_deid.review.store.tables import METADATA

if TYPE_CHECKING:
    from alembic.operations import Operations

    from inverse_deid.review.store.opening import ReviewStore

revision = "3"
down_revision = "2"


def upgrade(op: Operations, _store: ReviewStore, wrapped_keys: str) -> None:
    """Migrate a store of version 2; what somebody else added to the database stays.

    Version 3 only adds to the tables. When there is a version 4, write the additions of this one down here.
    """
    connection = op.get_bind()
    inspector = sa.inspect(connection)
    for table in METADATA.sorted_tables:
        if inspector.has_table(table.name):
            known = {column["name"] for column in inspector.get_columns(table.name)}
            for column in table.c:
                if column.name not in known:
                    op.add_column(table.name, column._copy())
        else:
            table.create(connection)
        for index in table.indexes:
            index.create(connection, checkfirst=True)
    meta = sa.table("meta", sa.column("name"), sa.column("value"))
    op.execute(sa.delete(meta).where(meta.c.name == "key check"))
    op.bulk_insert(meta, [{"name": "keys", "value": wrapped_keys}])
