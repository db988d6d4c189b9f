"""Who works on a case: a lock that ends by itself when nobody touches the case for a while."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, select, update

from inverse_deid.core.errors import CaseLockedError
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import CASES, LAYERS, USERS

MAX_PAUSE_SECONDS = 120.0
"""So much of a pause between two actions counts as work."""


def user_name(connection: Connection, user_id: int) -> str:
    """The name of a user, for the trail."""
    return str(connection.execute(select(USERS.c.name).where(USERS.c.id == user_id)).scalar_one())


def is_free(case: Row[Any], user_id: int, now: float) -> bool:
    """Whether a user could lock a case now."""
    return case.lock_user_id in (None, user_id) or case.lock_until is None or case.lock_until <= now


def take_lock(connection: Connection, store: ReviewStore, case: Row[Any], user_id: int) -> float:
    """Lock a case for a user, or prolong his lock; when it ends.

    Raises:
        CaseLockedError: Another holds it.
    """
    if not is_free(case, user_id, store.now()):
        raise CaseLockedError(
            f"another user works on case {case.id}; take another, or wait until the lock ends"
        )
    until = store.now() + 60.0 * store.policy.lock_minutes
    values = {"lock_user_id": user_id, "lock_until": until}
    connection.execute(update(CASES).where(CASES.c.id == case.id).values(**values))
    return until


def hold_lock(connection: Connection, store: ReviewStore, case: Row[Any], user_id: int) -> float:
    """Prolong the lock that a user holds; an ended one that nobody took over is still his.

    Raises:
        CaseLockedError: He holds none.
    """
    if case.lock_user_id != user_id:
        raise CaseLockedError(f"you do not work on case {case.id} any more; open it again")
    return take_lock(connection, store, case, user_id)


def drop_lock(connection: Connection, case_id: int) -> None:
    """Give the lock of a case back."""
    values = {"lock_user_id": None, "lock_until": None}
    connection.execute(update(CASES).where(CASES.c.id == case_id).values(**values))


def count_time(connection: Connection, store: ReviewStore, layer: Row[Any]) -> None:
    """Add the time since the user was seen last to the working time of his layer."""
    pause = min(max(store.now() - float(layer.seen_at), 0.0), MAX_PAUSE_SECONDS)
    values = {"seconds": LAYERS.c.seconds + pause, "seen_at": store.now()}
    connection.execute(update(LAYERS).where(LAYERS.c.id == layer.id).values(**values))
