"""What a reviewer changes in his layer: every call is one transaction, on the disk when it returns."""

from __future__ import annotations

from inverse_deid.review.store import ReviewStore
from inverse_deid.review.values import Action, Edited, Place, TokenRange


def act(store: ReviewStore, place: Place, action: Action) -> Edited:
    """Mask, unmask or categorise tokens; what was undone before can no longer be redone.

    Raises:
        StaleRevisionError: The layer is of another revision; open the case again.
        CaseLockedError: The user does not hold the lock any more.
        ReviewError: Tokens that are not in the case, an approved layer, CATEGORY of a kept token.
    """
    raise NotImplementedError


def undo(store: ReviewStore, place: Place) -> Edited:
    """Take the last action back; fails as `act`, and if there is none."""
    raise NotImplementedError


def redo(store: ReviewStore, place: Place) -> Edited:
    """Do again what was undone last; fails as `act`, and if there is nothing."""
    raise NotImplementedError


def add_note(store: ReviewStore, place: Place, text: str, tokens: TokenRange | None = None) -> None:
    """Add a remark of 1 to 4,000 characters (encrypted like the narrative); the revision stays."""
    raise NotImplementedError
