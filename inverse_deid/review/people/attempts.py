"""Failed log-ins: how many are allowed, who is known, and what the trail says of them.

Nobody is locked out by the failures of others: after some failures, each further try waits longer, up to a
minute. An account is counted apart for each browser and each address from which it was used before, so that
strangers delay strangers. Wrong one-time codes and old passwords wait a quarter of an hour.

A try is counted before it is checked, so that many tries at once gain nothing. People type passwords as
names. So failures are counted by hashes, and the trail calls all names without an account `unknown`. It has
each event once an hour; how often it happened again follows as one number, so that a flood does not fill it.
"""

from __future__ import annotations

import hmac
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from inverse_deid.core.errors import TooManyTriesError
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.tables import FAILURES, KNOWN, TRAIL_HEAD, UNRECORDED, USERS
from inverse_deid.review.store.values import User

MAX_FAILURES_NAME = 5
MAX_FAILURES_ADDRESS = 30
FAILURE_WINDOW_MINUTES = 15
MAX_DELAY_SECONDS = 60
KNOWN_DAYS = 180
"""A browser or address is known for so long after the last log-in."""
UNKNOWN = "unknown"
"""What the trail calls a visitor without an account."""

_RECORD_EVERY_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Client:
    """Where somebody is: the address, and the number of the browser ("" = not known)."""

    address: str = ""
    browser: str = ""

    @property
    def places(self) -> list[str]:
        """What can be known of it, the surest first.

        Addresses of one IPv6 network count together: whoever has one has all of them.
        """
        from inverse_deid.web.connections import name_client  # it knows the server

        browser = [f"browser {self.browser}"] if self.browser else []
        return [*browser, *([f"address {name_client(self.address)}"] if self.address else [])]


NOWHERE = Client()
"""Of a command, or of a test."""


def limit_log_ins(transaction: Transaction, name: str, client: Client) -> dict[str, int]:
    """Return how many failures may be before a delay.

    They are those of a name at a place where it is known, or those of a name and of an address.
    """
    given = name.lower()[:200]
    for place in client.places:
        if _is_known(transaction, f"{given} at {place}"):
            return {f"{given} at {place}": MAX_FAILURES_NAME}
    addresses = [place for place in client.places if place.startswith("address")]
    return {f"name {given}": MAX_FAILURES_NAME, **dict.fromkeys(addresses, MAX_FAILURES_ADDRESS)}


def limit_old_passwords(user_id: int) -> dict[str, int]:
    """Return how often a user may mistake their own password when they change something."""
    return {f"password of {user_id}": MAX_FAILURES_NAME}


def limit_codes(transaction: Transaction, user: User, client: Client) -> dict[str, int]:
    """Return how often a user may give a wrong one-time code, where they are known and elsewhere."""
    for place in client.places:
        if _is_known(transaction, f"{user.name} at {place}"):
            return {f"code of {user.id} at {place}": MAX_FAILURES_NAME}
    return {f"code of {user.id}": MAX_FAILURES_NAME}


def remember(transaction: Transaction, name: str, client: Client) -> None:
    """Know the browser and the address of a log-in from now on, for this account."""
    old = KNOWN.c.at < transaction.now() - 86_400 * KNOWN_DAYS
    transaction.execute(delete(KNOWN).where(old))
    for who in [*client.places, *(f"{name} at {place}" for place in client.places)]:
        key, at = _hash(transaction.store, who), transaction.now()
        if not transaction.execute(update(KNOWN).where(KNOWN.c.who_hash == key).values(at=at)).rowcount:
            with transaction.connection.begin_nested(), suppress(IntegrityError):
                transaction.execute(insert(KNOWN), {"who_hash": key, "at": at})


def is_known_address(store: ReviewStore, address: str) -> bool:
    """Whether somebody logged in from an address before."""
    with store.reading() as transaction:
        return any(_is_known(transaction, place) for place in Client(address).places)


def _is_known(transaction: Transaction, who: str) -> bool:
    since = transaction.now() - 86_400 * KNOWN_DAYS
    mine = (KNOWN.c.who_hash == _hash(transaction.store, who)) & (KNOWN.c.at >= since)
    return transaction.execute(select(KNOWN.c.at).where(mine)).first() is not None


@dataclass(frozen=True, slots=True)
class Try:
    """A try: the numbers of its rows, or how long to wait before the next one."""

    rows: tuple[int, ...] = ()
    wait_seconds: int = 0


def begin_try(transaction: Transaction, limits: Mapping[str, int], *, delays: bool = False) -> Try:
    """Count a try as a failure, or say how long it must wait as there were too many before.

    With `delays`, each failure over the limit doubles the wait, from two seconds to a minute. Otherwise it is
    as long as failures count.
    """
    transaction.execute(delete(FAILURES).where(FAILURES.c.at < _window_start(transaction.store)))
    keys = [_hash(transaction.store, who) for who in limits]
    for key, most in zip(keys, limits.values(), strict=True):
        found = select(func.count(), func.max(FAILURES.c.at)).where(FAILURES.c.who_hash == key)
        n_failures, last = transaction.execute(found).one()
        if n_failures < most:
            continue
        delay = min(2 ** min(n_failures - most + 1, 10), MAX_DELAY_SECONDS)
        left = last + (delay if delays else 60 * FAILURE_WINDOW_MINUTES) - transaction.now()
        if left > 0:
            return Try(wait_seconds=math.ceil(left))
    rows = ({"who_hash": key, "at": transaction.now()} for key in keys)
    return Try(tuple(transaction.insert_unsealed(FAILURES, row) for row in rows))


def refuse_try(tried: Try, problem: str) -> TooManyTriesError:
    """Return the error of a try that must wait."""
    error = TooManyTriesError(problem)
    error.wait_seconds = tried.wait_seconds
    return error


def end_try(
    transaction: Transaction,
    limits: Mapping[str, int],
    tried: Sequence[int],
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
    # Where they are not known; others who are known there wait a minute at most.
    counted = (f"name {name}", f"password of {user_id}", f"code of {user_id}")
    return frozenset(_hash(store, who) for who in counted)


def _hash(store: ReviewStore, who: str) -> str:
    return hmac.digest(store.session_key, who.encode("utf-8", "replace"), "sha256").hex()


def _window_start(store: ReviewStore) -> float:
    return store.now() - 60.0 * FAILURE_WINDOW_MINUTES
