"""Log-in, sessions and CSRF tokens; of session ids only hashes are stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from functools import lru_cache

from sqlalchemy import Connection, delete, func, insert, select, update

from inverse_deid.core.errors import LogInError
from inverse_deid.review.accounts import hashed, is_password, user_from
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import FAILURES, SESSIONS, USERS
from inverse_deid.review.trail import TrailEvent, append
from inverse_deid.review.values import User

SESSION_HOURS = 10
IDLE_MINUTES = 60
MAX_FAILURES_NAME = 5
MAX_FAILURES_ADDRESS = 30
FAILURE_WINDOW_MINUTES = 15

_SEEN_EVERY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Session:
    """A log-in.

    Args:
        id: Random, 256 bits, for the cookie; it stands nowhere else.
        csrf_token: For the forms of this session.
        user: Who logged in.
        expires_at: When it ends at the latest.
    """

    id: str = field(repr=False)
    csrf_token: str = field(repr=False)
    user: User
    expires_at: float


def log_in(
    store: ReviewStore, name: str, password: str, *, address: str = "", old_session_id: str | None = None
) -> Session:
    """Check a password and begin a session with a new id; an old one of the same browser ends.

    Args:
        store: The store.
        name: As it was typed.
        password: As it was typed.
        address: Of the client; its failures are counted, too. "" = not known.
        old_session_id: What the browser sent, if anything.

    Raises:
        LogInError: Wrong name or password, closed account, or too many failures in the last 15
            minutes; the first two look alike.
    """
    keys = _failure_keys(store, name, address)
    # A failure is counted before the password is looked at, so that many tries at once gain nothing.
    with store.writing() as connection:
        _refuse_too_many(connection, store, keys)
        failures = [_count_failure(connection, store, key) for key in keys]
        row = connection.execute(select(USERS).where(USERS.c.name == name.lower())).one_or_none()
    is_right = is_password(_no_password() if row is None else row.password, password)
    if row is None or not is_right or not row.is_active:
        raise LogInError("name or password is wrong, or the account is closed")
    with store.writing() as connection:
        connection.execute(delete(FAILURES).where(FAILURES.c.id.in_(failures)))
        connection.execute(delete(FAILURES).where(FAILURES.c.who_hash == keys[0]))
        connection.execute(delete(SESSIONS).where(SESSIONS.c.expires_at <= store.now()))
        if old_session_id is not None:
            connection.execute(delete(SESSIONS).where(SESSIONS.c.id_hash == _id_hash(old_session_id)))
        return _begun(connection, store, user_from(row))


def _begun(connection: Connection, store: ReviewStore, user: User) -> Session:
    session_id = secrets.token_urlsafe(32)
    expires_at = store.now() + 3600.0 * SESSION_HOURS
    row = {
        "id_hash": _id_hash(session_id),
        "user_id": user.id,
        "expires_at": expires_at,
        "seen_at": store.now(),
    }
    connection.execute(insert(SESSIONS), row)
    append(connection, store, [TrailEvent(user=user.name, event="log in")])
    return Session(session_id, _csrf_token(store, session_id), user, expires_at)


def session_of(store: ReviewStore, session_id: str) -> Session:
    """The session of an id.

    Raises:
        LogInError: None, ended, idle for an hour, or the account is closed.
    """
    now = store.now()
    found = select(SESSIONS, USERS.c.id, USERS.c.name, USERS.c.role, USERS.c.is_active)
    found = found.join(USERS, USERS.c.id == SESSIONS.c.user_id).where(
        SESSIONS.c.id_hash == _id_hash(session_id)
    )
    with store.reading() as connection:
        row = connection.execute(found).one_or_none()
    if row is None or not row.is_active or row.expires_at <= now or row.seen_at + 60.0 * IDLE_MINUTES <= now:
        raise LogInError("log in first")
    if now - row.seen_at > _SEEN_EVERY_SECONDS:
        with store.writing() as connection:
            mine = update(SESSIONS).where(SESSIONS.c.id_hash == _id_hash(session_id))
            connection.execute(mine.values(seen_at=now))
    return Session(session_id, _csrf_token(store, session_id), user_from(row), row.expires_at)


def log_out(store: ReviewStore, session_id: str) -> None:
    """End a session; does nothing if there is none."""
    with store.writing() as connection:
        connection.execute(delete(SESSIONS).where(SESSIONS.c.id_hash == _id_hash(session_id)))


def is_csrf_token(session: Session, given: str) -> bool:
    """Whether a form brings the token of the session; takes as long for wrong ones."""
    return hmac.compare_digest(session.csrf_token.encode(), given.encode("utf-8", "replace"))


def _refuse_too_many(connection: Connection, store: ReviewStore, keys: list[str]) -> None:
    since = store.now() - 60.0 * FAILURE_WINDOW_MINUTES
    connection.execute(delete(FAILURES).where(FAILURES.c.at < since))
    for key, most in zip(keys, (MAX_FAILURES_NAME, MAX_FAILURES_ADDRESS), strict=False):
        found = select(func.count()).select_from(FAILURES).where(FAILURES.c.who_hash == key)
        if connection.execute(found).scalar_one() >= most:
            raise LogInError(f"too many failed log-ins; try again in {FAILURE_WINDOW_MINUTES} minutes")


def _count_failure(connection: Connection, store: ReviewStore, key: str) -> int:
    made = connection.execute(insert(FAILURES), {"who_hash": key, "at": store.now()}).inserted_primary_key
    return int(made[0]) if made else 0


def _failure_keys(store: ReviewStore, name: str, address: str) -> list[str]:
    """What failures are counted by; people type passwords where names belong, so no name is stored."""
    given = [f"name {name.lower()[:200]}", *([f"address {address}"] if address else [])]
    return [hmac.digest(store.session_key, one.encode("utf-8", "replace"), "sha256").hex() for one in given]


def _id_hash(session_id: str) -> str:
    return hashlib.sha256(session_id.encode("utf-8", "replace")).hexdigest()


def _csrf_token(store: ReviewStore, session_id: str) -> str:
    return hmac.digest(store.session_key, b"csrf " + session_id.encode("utf-8", "replace"), "sha256").hex()


@lru_cache(maxsize=1)
def _no_password() -> str:
    """The hash of a password that nobody knows: a name that is not there takes as long as one that is."""
    return hashed(secrets.token_urlsafe(32))
