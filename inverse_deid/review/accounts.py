"""Accounts: names, roles and argon2 passwords.

Source: RFC 9106 (argon2id); NIST SP 800-63B, section 5.1.1 (length instead of composition rules).
"""

from __future__ import annotations

from inverse_deid.review.store import ReviewStore
from inverse_deid.review.values import User, UserRole

MIN_PASSWORD_CHARS = 12


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
    raise NotImplementedError


def list_users(store: ReviewStore) -> tuple[User, ...]:
    """All accounts by name."""
    raise NotImplementedError


def user_named(store: ReviewStore, name: str) -> User:
    """The account of a name.

    Raises:
        ReviewError: There is none.
    """
    raise NotImplementedError


def set_password(store: ReviewStore, name: str, password: str, *, by: str = "command") -> None:
    """Give an account another password and end all its sessions; fails as `add_user`."""
    raise NotImplementedError


def set_active(store: ReviewStore, name: str, *, is_active: bool, by: str = "command") -> None:
    """Close an account (its sessions end, its locks are given back) or open it again."""
    raise NotImplementedError
