"""Seals for the rows of an older store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, Table, select, update

from inverse_deid.review.store.opening import ReviewStore
from inverse_deid.review.store.rows import SEALED, hash_actions
from inverse_deid.review.store.tables import ACTIONS, LAYERS
from inverse_deid.review.store.trail import SEALED_EVENT, TrailEvent, append, renew_head


def seal_all(connection: Connection, store: ReviewStore) -> None:
    """Seal all rows of a store of version 1 or 2 as they are.

    Raises:
        UnreadableInputError: The head of the trail is not that of an older store. So nobody gets seals for
            forged rows by making a store say that it is older.
    """
    renew_head(connection, store)
    for layer_id in connection.execute(select(LAYERS.c.id)).scalars().all():
        found = select(ACTIONS.c.steps).where(ACTIONS.c.layer_id == layer_id).order_by(ACTIONS.c.position)
        digest = hash_actions(connection.execute(found).scalars().all())
        connection.execute(update(LAYERS).where(LAYERS.c.id == layer_id).values(actions_hash=digest))
    reseal(connection, store)


def reseal(
    connection: Connection,
    store: ReviewStore,
    *,
    by: str = "migration",
    check: Callable[[Table, Mapping[str, Any]], None] | None = None,
) -> None:
    """Seal all rows that a check lets pass with the key of the store, and let the replay begin here.

    For a store that was migrated or has a new key. The trail of a store with a new key must have a new head
    before.
    """
    counts = [f"{store.rows.seal_table(connection, table, check)} {table.name}" for table in SEALED]
    append(connection, store, [TrailEvent(user=by, event=f"{SEALED_EVENT}: {', '.join(counts)}")])
