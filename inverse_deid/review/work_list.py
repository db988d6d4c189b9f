"""The work list: pages of cases, the most doubtful first; progress, assignment."""

from __future__ import annotations

from inverse_deid.review.store import ReviewStore
from inverse_deid.review.values import Progress, User, WorkFilter, WorkPage

PAGE_ROWS = 50


def list_cases(
    store: ReviewStore, chosen: WorkFilter, *, after: str | None = None, n_rows: int = PAGE_ROWS
) -> WorkPage:
    """One page of cases by falling doubt, then by number.

    Args:
        store: The store.
        chosen: Which cases.
        after: `next_key` of the page before; None = the first page.
        n_rows: In [1, 500].

    Raises:
        ReviewError: `after` is no key, or `n_rows` is out of range.
    """
    raise NotImplementedError


def next_case(store: ReviewStore, user: User) -> int | None:
    """The case that a reviewer should do next, None = there is none: his own begun one, one assigned
    to him, then the most doubtful one that is free."""
    raise NotImplementedError


def progress(store: ReviewStore) -> Progress:
    """How many cases are in which state."""
    raise NotImplementedError


def assign(store: ReviewStore, admin: User, case_ids: tuple[int, ...], assignee_id: int | None) -> None:
    """Say who shall do cases next; None = anybody.

    Raises:
        NotAllowedError: Not an admin.
        ReviewError: No such case, or no active user.
    """
    raise NotImplementedError
