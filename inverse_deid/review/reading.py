"""Opening a case: it is locked for the user, and shown as far as he may see it."""

from __future__ import annotations

from inverse_deid.review.store import ReviewStore
from inverse_deid.review.values import CaseView, DisputeView, User


def open_case(store: ReviewStore, user: User, case_id: int) -> CaseView:
    """Lock a case for a reviewer and show it; his layer is made if he has none.

    A reviewer who approved sees the case as he left it, unlocked. Nobody sees another's layer.

    Raises:
        CaseLockedError: Another works on it, or it is assigned to another.
        NotAllowedError: It has all its approvals, from others.
        ReviewError: No such case.
    """
    raise NotImplementedError


def view_case(store: ReviewStore, user: User, case_id: int) -> CaseView:
    """Show a case that the user has a layer of, without locking it.

    Raises:
        NotAllowedError: He never opened it.
    """
    raise NotImplementedError


def open_dispute(store: ReviewStore, user: User, case_id: int) -> DisputeView:
    """Lock a case on which two reviewers disagree for an adjudicator and show both sides.

    Raises:
        NotAllowedError: No adjudicator, or he is one of the two reviewers.
        CaseLockedError: Another works on it.
        ReviewError: There is no disagreement in this case.
    """
    raise NotImplementedError


def keep_lock(store: ReviewStore, user: User, case_id: int) -> float:
    """Say that the user is still at a case; when the lock ends now.

    Raises:
        CaseLockedError: The lock ended, and another took the case over.
    """
    raise NotImplementedError


def close_case(store: ReviewStore, user: User, case_id: int) -> None:
    """Give the lock back; what was done stays. Does nothing if the user does not hold it."""
    raise NotImplementedError
