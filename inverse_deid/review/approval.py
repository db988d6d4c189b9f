"""From layers to a release: approve, settle, release, withdraw."""

from __future__ import annotations

from inverse_deid.review.store import ReviewStore
from inverse_deid.review.values import CaseState, Place, User


def approve(store: ReviewStore, place: Place) -> CaseState:
    """Approve the user's layer, review or adjudication, and give the lock back.

    With the last approval that the policy asks for, the case is agreed (and released, if the policy
    releases by itself) or disagreed; an adjudicator's approval settles a disagreement.

    Returns:
        The state of the case now.

    Raises:
        StaleRevisionError: The layer is of another revision.
        CaseLockedError: The user does not hold the lock any more.
        ReviewError: Approved already, or an adjudicator left tokens undecided.
    """
    raise NotImplementedError


def release(store: ReviewStore, user: User, case_id: int) -> None:
    """Release an agreed case.

    Raises:
        NotAllowedError: No adjudicator.
        ReviewError: It is not agreed, or some token is not decided by the policy.
    """
    raise NotImplementedError


def withdraw(store: ReviewStore, user: User, case_id: int) -> None:
    """Take a release back, for instance because a leak was found: all reviewers begin anew.

    Raises:
        NotAllowedError: No adjudicator.
        ReviewError: It is neither agreed nor released.
    """
    raise NotImplementedError
