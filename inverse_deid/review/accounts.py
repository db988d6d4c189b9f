"""Accounts: names, roles and argon2 passwords.

Source: RFC 9106 (argon2id); NIST SP 800-63B, section 5.1.1 (length instead of composition rules).
"""

from __future__ import annotations

import re
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy import Connection, Row, delete, insert, select, update

from inverse_deid.core.errors import ReviewError
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import CASES, SESSIONS, USERS
from inverse_deid.review.trail import TrailEvent, append
from inverse_deid.review.values import User, UserRole

MIN_PASSWORD_CHARS = 12
MAX_PASSWORD_CHARS = 1_000

_NAME = re.compile(r"[a-z0-9._@-]{1,64}")


def add_user(store: ReviewStore, name: str, password: str, role: UserRole, *, by: str = "command") -> User:
    """Add an account.

    Args:
        store: The store.
        name: 1 to 64 of a-z, 0-9, `.`, `_`, `-`, `@`; capitals are made small.
        password: 12 to 1,000 characters.
        role: What he may do.
        by: Who adds it, for the trail.

    Raises:
        ReviewError: The name is taken or cannot be used, or the password is too short or too long.
    """
    name = name.lower()
    if not _NAME.fullmatch(name):
        raise ReviewError("a name has 1 to 64 of the signs a-z, 0-9, . _ - @")
    password_hash = hashed(password)
    with store.writing() as connection:
        if _row(connection, name) is not None:
            raise ReviewError(f"there is a user {name} already; choose another name")
        row = {"name": name, "password": password_hash, "role": role.value, "is_active": True}
        user_id = connection.execute(insert(USERS), row).inserted_primary_key
        append(connection, store, [TrailEvent(user=by, event=f"account of {name} added", new=role.value)])
    return User(int(user_id[0]) if user_id else 0, name, role)


def list_users(store: ReviewStore) -> tuple[User, ...]:
    """All accounts by name."""
    with store.reading() as connection:
        return tuple(user_from(row) for row in connection.execute(select(USERS).order_by(USERS.c.name)))


def user_named(store: ReviewStore, name: str) -> User:
    """The account of a name.

    Raises:
        ReviewError: There is none.
    """
    with store.reading() as connection:
        return user_from(_existing(connection, name))


def set_password(store: ReviewStore, name: str, password: str, *, by: str = "command") -> None:
    """Give an account another password and end all its sessions; fails as `add_user`."""
    password_hash = hashed(password)
    with store.writing() as connection:
        row = _existing(connection, name)
        connection.execute(update(USERS).where(USERS.c.id == row.id).values(password=password_hash))
        connection.execute(delete(SESSIONS).where(SESSIONS.c.user_id == row.id))
        append(connection, store, [TrailEvent(user=by, event=f"password of {row.name} changed")])


def set_active(store: ReviewStore, name: str, *, is_active: bool, by: str = "command") -> None:
    """Close an account (its sessions end, its locks are given back) or open it again."""
    with store.writing() as connection:
        row = _existing(connection, name)
        connection.execute(update(USERS).where(USERS.c.id == row.id).values(is_active=is_active))
        if not is_active:
            connection.execute(delete(SESSIONS).where(SESSIONS.c.user_id == row.id))
            mine = update(CASES).where(CASES.c.lock_user_id == row.id)
            connection.execute(mine.values(lock_user_id=None, lock_until=None))
            connection.execute(update(CASES).where(CASES.c.assignee_id == row.id).values(assignee_id=None))
        done = "opened" if is_active else "closed"
        append(connection, store, [TrailEvent(user=by, event=f"account of {row.name} {done}")])


def user_from(row: Row[Any]) -> User:
    """An account from its row."""
    return User(row.id, row.name, UserRole(row.role), row.is_active)


def hashed(password: str) -> str:
    """The argon2id hash of a password, with its salt and parameters.

    Raises:
        ReviewError: Too short or too long.
    """
    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        raise ReviewError(
            f"a password has {MIN_PASSWORD_CHARS} to {MAX_PASSWORD_CHARS:,} characters; a sentence is best"
        )
    return PasswordHasher().hash(password.encode("utf-8", "surrogatepass"))


def is_password(password_hash: str, given: str) -> bool:
    """Whether a password is the one of a hash."""
    if len(given) > MAX_PASSWORD_CHARS:
        return False
    try:
        return PasswordHasher().verify(password_hash, given.encode("utf-8", "surrogatepass"))
    except (Argon2Error, InvalidHashError):
        return False


def _row(connection: Connection, name: str) -> Row[Any] | None:
    return connection.execute(select(USERS).where(USERS.c.name == name.lower())).one_or_none()


def _existing(connection: Connection, name: str) -> Row[Any]:
    row = _row(connection, name)
    if row is None:
        raise ReviewError("there is no user of that name; inverse-deid review user list shows all")
    return row
