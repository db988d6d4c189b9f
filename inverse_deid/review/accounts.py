"""Accounts, argon2 passwords, log-in, sessions and CSRF tokens; of session ids only hashes are stored.

Source: RFC 9106 (argon2id); NIST SP 800-63B, section 5.1.1 (length instead of composition rules).
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy import Connection, Row, delete, func, select

from inverse_deid.core.errors import LogInError, NotAllowedError, ReviewError
from inverse_deid.review.store import ReviewStore, insert_row
from inverse_deid.review.tables import CASES, FAILURES, SESSIONS, USERS
from inverse_deid.review.trail import TrailEvent, append
from inverse_deid.review.values import User, UserRole

MIN_PASSWORD_CHARS = 12
MAX_PASSWORD_CHARS = 1_000
SESSION_HOURS = 10
IDLE_MINUTES = 60
MAX_FAILURES_NAME = 5
MAX_FAILURES_ADDRESS = 30
FAILURE_WINDOW_MINUTES = 15

_NAME = re.compile(r"[a-z0-9._@-]{1,64}")
_NOT_PEOPLE = frozenset({"command", "migration"})
"""What the trail calls programs: no person may have their entries."""
_SEEN_EVERY_SECONDS = 60.0


def add_user(
    store: ReviewStore,
    name: str,
    password: str,
    role: UserRole,
    *,
    by: str = "command",
    must_change: bool = False,
) -> User:
    """Add an account; `by` is for the trail. `must_change`: the password serves for the first log-in only.

    A name has 1 to 64 of a-z, 0-9, `.`, `_`, `-`, `@` (capitals become small letters), a password 12 to
    1,000 characters.

    Raises:
        ReviewError: The name is taken, malformed or that of a program, or the password is too short or
            too long.
    """
    name = name.lower()
    if name in _NOT_PEOPLE:
        raise ReviewError(f"the trail calls a program {name}. Choose another name.")
    if not _NAME.fullmatch(name):
        raise ReviewError("the name must have 1 to 64 characters, only a-z, 0-9 and . _ - @")
    password_hash = hash_password(password)
    with store.writing() as connection:
        if connection.execute(select(USERS.c.id).where(USERS.c.name == name)).one_or_none() is not None:
            raise ReviewError(f"the name {name} is already taken. Choose another name.")
        row = {
            "name": name,
            "password": password_hash,
            "role": role.value,
            "is_active": True,
            "must_change_password": must_change,
        }
        user_id = store.rows.insert(connection, USERS, row)
        append(connection, store, [TrailEvent(user=by, event=f"account of {name} added", new=role.value)])
    return User(user_id, name, role, must_change_password=must_change)


def list_users(store: ReviewStore) -> tuple[User, ...]:
    """Return all accounts by name."""
    with store.reading() as connection:
        rows = store.rows.read(connection, select(USERS).order_by(USERS.c.name), USERS)
        return tuple(map(_read_user, rows))


def find_user(store: ReviewStore, name: str) -> User:
    """Return the account of a name.

    Raises:
        ReviewError: It does not exist.
    """
    with store.reading() as connection:
        return _read_user(_find_row(connection, store, name))


def set_password(
    store: ReviewStore, name: str, password: str, *, by: str = "command", must_change: bool = False
) -> None:
    """Change the password of an account and end all its sessions; fails as `add_user`."""
    password_hash = hash_password(password)
    with store.writing() as connection:
        row = _find_row(connection, store, name)
        values = {"password": password_hash, "must_change_password": must_change}
        store.rows.update(connection, USERS, USERS.c.id == row.id, **values)
        store.rows.delete(connection, SESSIONS, SESSIONS.c.user_id == row.id)
        append(connection, store, [TrailEvent(user=by, event=f"password of {row.name} changed")])


def change_own_password(store: ReviewStore, session: Session, old: str, new: str) -> None:
    """Change the password of the user of a session; all their other sessions end.

    Raises:
        NotAllowedError: The old password is wrong, or was wrong too often in the last 15 minutes.
        ReviewError: The new password is too short or too long, or equals the old one.
    """
    user = session.user
    key = hmac.digest(store.session_key, f"password of {user.id}".encode(), "sha256").hex()
    # As at a log-in, a try is counted before it is checked.
    with store.writing() as connection:
        try:
            _refuse_too_many(connection, store, [key])
        except LogInError:
            # Not a LogInError here: the session goes on.
            raise NotAllowedError(
                f"the old password was wrong too often. Try again in {FAILURE_WINDOW_MINUTES} minutes."
            ) from None
        insert_row(connection, FAILURES, {"who_hash": key, "at": store.now()})
        row = _find_row(connection, store, user.name)
    if not _is_password(row.password, old):
        raise NotAllowedError("the old password is wrong")
    if new == old:
        raise ReviewError("the new password must differ from the old one")
    password_hash = hash_password(new)
    with store.writing() as connection:
        # The old hash is in the condition: an admin may have changed it meanwhile.
        mine = (USERS.c.id == user.id) & (USERS.c.password == row.password)
        values = {"password": password_hash, "must_change_password": False}
        if store.rows.update(connection, USERS, mine, **values) != 1:
            raise NotAllowedError("the password was changed meanwhile. Log in again.")
        connection.execute(delete(FAILURES).where(FAILURES.c.who_hash == key))
        others = (SESSIONS.c.user_id == user.id) & (SESSIONS.c.id_hash != _hash_id(session.id))
        store.rows.delete(connection, SESSIONS, others)
        append(connection, store, [TrailEvent(user=user.name, event=f"password of {user.name} changed")])


def set_role(store: ReviewStore, name: str, role: UserRole, *, by: str = "command") -> None:
    """Change the role of an account; it holds from the next request on.

    Raises:
        ReviewError: The account does not exist, or is the only open admin account.
    """
    with store.writing() as connection:
        row = _find_row(connection, store, name)
        if row.role == role.value:
            return
        if role is not UserRole.ADMIN:
            _refuse_last_admin(connection, store, row)
        store.rows.update(connection, USERS, USERS.c.id == row.id, role=role.value)
        event = TrailEvent(user=by, event=f"role of {row.name} changed", old=row.role, new=role.value)
        append(connection, store, [event])


def _refuse_last_admin(connection: Connection, store: ReviewStore, row: Row[Any]) -> None:
    """Keep one open admin account; all are locked, as two admins may close each other at once."""
    is_admin = (USERS.c.role == UserRole.ADMIN.value) & USERS.c.is_active
    admins = store.rows.read(connection, select(USERS).where(is_admin).with_for_update(), USERS)
    if [one.id for one in admins] == [row.id]:
        raise ReviewError(f"{row.name} is the only open admin account. Make another admin first.")


def set_active(store: ReviewStore, name: str, *, is_active: bool, by: str = "command") -> None:
    """Close an account (its sessions, locks and assignments end) or open it again.

    Raises:
        ReviewError: The account does not exist, or is the only open admin account.
    """
    with store.writing() as connection:
        row = _find_row(connection, store, name)
        if not is_active:
            _refuse_last_admin(connection, store, row)
        store.rows.update(connection, USERS, USERS.c.id == row.id, is_active=is_active)
        if not is_active:
            store.rows.delete(connection, SESSIONS, SESSIONS.c.user_id == row.id)
            locked = CASES.c.lock_user_id == row.id
            store.rows.update(connection, CASES, locked, lock_user_id=None, lock_until=None)
            store.rows.update(connection, CASES, CASES.c.assignee_id == row.id, assignee_id=None)
        done = "opened" if is_active else "closed"
        append(connection, store, [TrailEvent(user=by, event=f"account of {row.name} {done}")])


def hash_password(password: str) -> str:
    """Return the argon2id hash of a password, with its salt and parameters.

    Raises:
        ReviewError: The password is too short or too long.
    """
    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        raise ReviewError(
            f"the password must have {MIN_PASSWORD_CHARS} to {MAX_PASSWORD_CHARS:,} characters. "
            "A sentence is best."
        )
    return PasswordHasher().hash(password.encode("utf-8", "surrogatepass"))


def _is_password(password_hash: str, given: str) -> bool:
    if len(given) > MAX_PASSWORD_CHARS:
        return False
    try:
        return PasswordHasher().verify(password_hash, given.encode("utf-8", "surrogatepass"))
    except (Argon2Error, InvalidHashError):
        return False


def _read_user(row: Row[Any]) -> User:
    return User(row.id, row.name, UserRole(row.role), row.is_active, row.must_change_password)


def _find_row(connection: Connection, store: ReviewStore, name: str) -> Row[Any]:
    rows = store.rows.read(connection, select(USERS).where(USERS.c.name == name.lower()), USERS)
    if not rows:
        raise ReviewError("no account has this name. List all with inverse-deid review user list.")
    return rows[0]


@dataclass(frozen=True, slots=True)
class Session:
    """A log-in. The id, random, 256 bits, is for the cookie and stored nowhere else."""

    id: str = field(repr=False)
    csrf_token: str = field(repr=False)
    user: User


def log_in(
    store: ReviewStore, name: str, password: str, *, address: str = "", old_session_id: str | None = None
) -> Session:
    """Check a password and begin a session with a new id; an old one of the same browser ends.

    Failures are counted by name and by the address of the client ("" = not known).

    Raises:
        LogInError: Wrong name or password, closed account, or too many failures in the last 15
            minutes; the first two look alike.
    """
    # People type passwords as names, so failures are counted by hashes.
    given = [f"name {name.lower()[:200]}", *([f"address {address}"] if address else [])]
    keys = [hmac.digest(store.session_key, one.encode("utf-8", "replace"), "sha256").hex() for one in given]
    # A failure is counted before the password is checked, so that many tries at once gain nothing.
    with store.writing() as connection:
        _refuse_too_many(connection, store, keys)
        failures = [insert_row(connection, FAILURES, {"who_hash": key, "at": store.now()}) for key in keys]
        rows = store.rows.read(connection, select(USERS).where(USERS.c.name == name.lower()), USERS)
    row = rows[0] if rows else None
    is_right = _is_password(_hash_nothing() if row is None else row.password, password)
    if row is None or not is_right or not row.is_active:
        raise LogInError("name or password is wrong, or the account is closed")
    with store.writing() as connection:
        connection.execute(delete(FAILURES).where(FAILURES.c.id.in_(failures)))
        connection.execute(delete(FAILURES).where(FAILURES.c.who_hash == keys[0]))
        store.rows.delete(connection, SESSIONS, SESSIONS.c.expires_at <= store.now())
        if old_session_id is not None:
            store.rows.delete(connection, SESSIONS, SESSIONS.c.id_hash == _hash_id(old_session_id))
        return _begin_session(connection, store, _read_user(row))


def begin_session(store: ReviewStore, user: User) -> Session:
    """Begin a session of a user who was recognised in another way than by a password."""
    with store.writing() as connection:
        store.rows.delete(connection, SESSIONS, SESSIONS.c.expires_at <= store.now())
        return _begin_session(connection, store, user)


def _begin_session(connection: Connection, store: ReviewStore, user: User) -> Session:
    session_id = secrets.token_urlsafe(32)
    row = {
        "id_hash": _hash_id(session_id),
        "user_id": user.id,
        "expires_at": store.now() + 3600.0 * SESSION_HOURS,
        "seen_at": store.now(),
    }
    store.rows.insert(connection, SESSIONS, row)
    append(connection, store, [TrailEvent(user=user.name, event="log in")])
    return Session(session_id, _make_csrf_token(store, session_id), user)


def find_session(store: ReviewStore, session_id: str) -> Session:
    """Return the session of an id.

    Raises:
        LogInError: It does not exist, has ended or was idle for an hour, or the account is closed.
    """
    now = store.now()
    mine = SESSIONS.c.id_hash == _hash_id(session_id)
    found = select(SESSIONS, USERS)
    found = found.join(USERS, USERS.c.id == SESSIONS.c.user_id).where(mine)
    with store.reading() as connection:
        rows = store.rows.read(connection, found, SESSIONS, USERS)
    row = rows[0] if rows else None
    if row is None or not row.is_active or row.expires_at <= now or row.seen_at + 60.0 * IDLE_MINUTES <= now:
        raise LogInError("log in first")
    if now - row.seen_at > _SEEN_EVERY_SECONDS:
        with store.writing() as connection:
            store.rows.update(connection, SESSIONS, mine, seen_at=now)
    return Session(session_id, _make_csrf_token(store, session_id), _read_user(row))


def log_out(store: ReviewStore, session_id: str) -> None:
    """End a session, if it exists."""
    mine = SESSIONS.c.id_hash == _hash_id(session_id)
    with store.writing() as connection:
        found = select(USERS).join(SESSIONS, SESSIONS.c.user_id == USERS.c.id).where(mine)
        for row in store.rows.read(connection, found, USERS):
            store.rows.delete(connection, SESSIONS, mine)
            append(connection, store, [TrailEvent(user=row.name, event="log out")])


def is_csrf_token(session: Session, given: str) -> bool:
    """Whether a form has the token of the session; wrong ones take as long to compare."""
    return hmac.compare_digest(session.csrf_token.encode(), given.encode("utf-8", "replace"))


def _refuse_too_many(connection: Connection, store: ReviewStore, keys: list[str]) -> None:
    since = store.now() - 60.0 * FAILURE_WINDOW_MINUTES
    connection.execute(delete(FAILURES).where(FAILURES.c.at < since))
    for key, most in zip(keys, (MAX_FAILURES_NAME, MAX_FAILURES_ADDRESS), strict=False):
        found = select(func.count()).select_from(FAILURES).where(FAILURES.c.who_hash == key)
        if connection.execute(found).scalar_one() >= most:
            raise LogInError(f"too many failed log-ins. Try again in {FAILURE_WINDOW_MINUTES} minutes.")


def _hash_id(session_id: str) -> str:
    return hashlib.sha256(session_id.encode("utf-8", "replace")).hexdigest()


def _make_csrf_token(store: ReviewStore, session_id: str) -> str:
    return hmac.digest(store.session_key, b"csrf " + session_id.encode("utf-8", "replace"), "sha256").hex()


@lru_cache(maxsize=1)
def _hash_nothing() -> str:
    """Return the hash of an unknown password, so that an unknown name takes as long as a known one."""
    return hash_password(secrets.token_urlsafe(32))
