"""Log-in, sessions and CSRF tokens; of session ids only hashes are stored."""

from __future__ import annotations

from dataclasses import dataclass, field

from inverse_deid.review.store import ReviewStore
from inverse_deid.review.values import User

SESSION_HOURS = 10
IDLE_MINUTES = 60
MAX_FAILURES_NAME = 5
MAX_FAILURES_ADDRESS = 30
FAILURE_WINDOW_MINUTES = 15


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
        LogInError: Wrong, closed account, or too many failures in the last 15 minutes; it says
            which of the last two only when the password was right.
    """
    raise NotImplementedError


def session_of(store: ReviewStore, session_id: str) -> Session:
    """The session of an id.

    Raises:
        LogInError: None, ended, idle for an hour, or the account is closed.
    """
    raise NotImplementedError


def log_out(store: ReviewStore, session_id: str) -> None:
    """End a session; does nothing if there is none."""
    raise NotImplementedError


def is_csrf_token(session: Session, given: str) -> bool:
    """Whether a form brings the token of the session; takes as long for wrong ones."""
    raise NotImplementedError
