"""Failed log-ins: how many are allowed, and what the trail says of them.

A try is counted before it is checked, so that many tries at once gain nothing. People type passwords as
names. So failures are counted by hashes, and the trail calls all names without an account `unknown`. It has
each event once an hour; how often it happened again follows as one number, so that a flood does not fill it.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from sqlalchemy import delete, func, insert, select, update

from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.tables import FAILURES, TRAIL_HEAD, UNRECORDED, USERS

MAX_FAILURES_NAME = 5
MAX_FAILURES_ADDRESS = 30
FAILURE_WINDOW_MINUTES = 15
UNKNOWN = "unknown"
"""What the trail calls a visitor without an account."""

_RECORD_EVERY_SECONDS = 3600.0


def limit_log_ins(name: str, address: str) -> dict[str, int]:
    """Return how many failures a name and an address of a client ("" = not known) may have.

    Addresses of one IPv6 network count together: whoever has one has all of them.
    """
    from inverse_deid.web.connections import name_client  # it knows the server

    limits = {f"name {name.lower()[:200]}": MAX_FAILURES_NAME}
    return limits | ({f"address {name_client(address)}": MAX_FAILURES_ADDRESS} if address else {})


def limit_old_passwords(user_id: int) -> dict[str, int]:
    """Return how often a user may mistake their own password when they change something."""
    return {f"password of {user_id}": MAX_FAILURES_NAME}


def limit_codes(user_id: int) -> dict[str, int]:
    """Return how often a user may give a wrong one-time code."""
    return {f"code of {user_id}": MAX_FAILURES_NAME}


def begin_try(transaction: Transaction, limits: Mapping[str, int]) -> list[int] | None:
    """Count a try as a failure; return the numbers of its rows, None = there were too many before."""
    transaction.execute(delete(FAILURES).where(FAILURES.c.at < _window_start(transaction.store)))
    keys = [_hash(transaction.store, who) for who in limits]
    for key, most in zip(keys, limits.values(), strict=True):
        found = select(func.count()).select_from(FAILURES).where(FAILURES.c.who_hash == key)
        if transaction.execute(found).scalar_one() >= most:
            return None
    return [transaction.insert_unsealed(FAILURES, {"who_hash": key, "at": transaction.now()}) for key in keys]


def end_try(
    transaction: Transaction,
    limits: Mapping[str, int],
    tried: list[int],
    *,
    forgets: bool = True,
) -> None:
    """Forget rows of a try that succeeded, and all failures of its first limit."""
    transaction.execute(delete(FAILURES).where(FAILURES.c.id.in_(tried)))
    if forgets:
        transaction.execute(
            delete(FAILURES).where(FAILURES.c.who_hash == _hash(transaction.store, next(iter(limits))))
        )


def list_blocked(store: ReviewStore) -> frozenset[str]:
    """Return the names of the accounts that have too many failures."""
    with store.reading() as transaction:
        recent = select(FAILURES.c.who_hash).where(FAILURES.c.at >= _window_start(store))
        full = recent.group_by(FAILURES.c.who_hash).having(func.count() >= MAX_FAILURES_NAME)
        blocked = set(transaction.execute(full).scalars())
        users = transaction.execute(select(USERS.c.id, USERS.c.name)).all() if blocked else []
    return frozenset(name for user_id, name in users if blocked & _list_keys(store, user_id, name))


def forget_failures(transaction: Transaction, user_id: int, name: str) -> None:
    """Let an account log in again that had too many failures."""
    transaction.execute(
        delete(FAILURES).where(FAILURES.c.who_hash.in_(_list_keys(transaction.store, user_id, name)))
    )


def record_failure(transaction: Transaction, user: str | None, event: str, address: str = "") -> None:
    """Put a failure into the trail, or count it if the trail has the same one within an hour.

    Nothing else is locked afterwards, as with `Transaction.record`. None = a visitor without an account.
    """
    record_counts(transaction)
    who = user or UNKNOWN
    mine = (UNRECORDED.c.user == who) & (UNRECORDED.c.event == event)
    if not transaction.execute(update(UNRECORDED).where(mine).values(n=UNRECORDED.c.n + 1)).rowcount:
        row = {"user": who, "event": event, "since": transaction.now(), "n": 0}
        transaction.execute(insert(UNRECORDED), row)
        new = f"from {address}" if address else None
        transaction.record(TrailEvent(user=who, event=event, new=new))


def record_counts(transaction: Transaction) -> None:
    """Put into the trail how often failures happened again within an hour that is over."""
    transaction.execute(select(TRAIL_HEAD).with_for_update())
    over = UNRECORDED.c.since <= transaction.now() - _RECORD_EVERY_SECONDS
    rows = transaction.execute(select(UNRECORDED).where(over).with_for_update()).all()
    if rows:
        transaction.execute(delete(UNRECORDED).where(over))
        again = [
            TrailEvent(user=one.user, event=one.event, new=f"{one.n} more times") for one in rows if one.n
        ]
        transaction.record(*again)


def _list_keys(store: ReviewStore, user_id: int, name: str) -> frozenset[str]:
    limits = limit_log_ins(name, "") | limit_old_passwords(user_id) | limit_codes(user_id)
    return frozenset(_hash(store, who) for who in limits)


def _hash(store: ReviewStore, who: str) -> str:
    return hmac.digest(store.session_key, who.encode("utf-8", "replace"), "sha256").hex()


def _window_start(store: ReviewStore) -> float:
    return store.now() - 60.0 * FAILURE_WINDOW_MINUTES
