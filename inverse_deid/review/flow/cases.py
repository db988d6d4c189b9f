"""The row of a case: the lock of the user who works on it, and its state.

A lock ends by itself when nobody touches the case for a while. Every change of a state is in the trail.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, Select, select, update

from inverse_deid.core.errors import CaseLockedError, ReviewError
from inverse_deid.core.wording import _
from inverse_deid.review.flow.contents import read_content
from inverse_deid.review.flow.layers import read_final
from inverse_deid.review.flow.oversight import refuse_too_many_locks
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import Transaction
from inverse_deid.review.store.tables import CASES, LAYERS, USERS
from inverse_deid.review.store.values import CaseState

MAX_PAUSE_SECONDS = 120.0
"""At most this much of a pause between two actions counts as work."""
_RENEW_SECONDS = 20.0  # a lock is not prolonged by less

_STEPS: frozenset[tuple[CaseState, CaseState]] = frozenset(
    {
        (CaseState.NEW, CaseState.IN_REVIEW),
        (CaseState.IN_REVIEW, CaseState.AGREED),
        (CaseState.IN_REVIEW, CaseState.DISAGREED),
        (CaseState.DISAGREED, CaseState.AGREED),
        (CaseState.AGREED, CaseState.RELEASED),
        (CaseState.AGREED, CaseState.IN_REVIEW),
        (CaseState.RELEASED, CaseState.IN_REVIEW),
    }
)


def lock_row(transaction: Transaction, case_id: int) -> Row[Any]:
    """Return the row of a case, locked until the transaction ends.

    Raises:
        ReviewError: The case does not exist.
    """
    found = select(CASES).where(CASES.c.id == case_id).with_for_update()
    return _read_one(transaction, found, case_id)


def read_row(transaction: Transaction, case_id: int) -> Row[Any]:
    """Return the row of a case as it is now; fails as `lock_row`."""
    return _read_one(transaction, select(CASES).where(CASES.c.id == case_id), case_id)


def _read_one(transaction: Transaction, found: Select[Any], case_id: int) -> Row[Any]:
    rows = transaction.read(found, CASES)
    if not rows:
        raise ReviewError(_("the store has no case {case_id}", case_id=case_id))
    return rows[0]


def read_user_name(transaction: Transaction, user_id: int) -> str:
    return str(transaction.execute(select(USERS.c.name).where(USERS.c.id == user_id)).scalar_one())


def take_lock(transaction: Transaction, case: Row[Any], user_id: int) -> float:
    """Lock a case for a user, or prolong their lock; return when it ends.

    Raises:
        CaseLockedError: Another user holds it, or the user holds as many other cases as one person may.
    """
    is_mine = case.lock_user_id in (None, user_id)
    if not is_mine and case.lock_until is not None and case.lock_until > transaction.now():
        raise CaseLockedError(
            _(
                "another user is working on case {id}. Take another case, or wait until the lock ends",
                id=case.id,
            )
        )
    if case.lock_user_id != user_id or case.lock_until <= transaction.now():
        refuse_too_many_locks(transaction, user_id, case.id)
    until = transaction.now() + 60.0 * transaction.policy.lock_minutes
    if case.lock_user_id == user_id and 0.0 <= until - case.lock_until < _RENEW_SECONDS:
        return float(case.lock_until)
    transaction.update(CASES, CASES.c.id == case.id, lock_user_id=user_id, lock_until=until)
    return until


def hold_lock(transaction: Transaction, case: Row[Any], user_id: int) -> float:
    """Prolong the lock of a user; one that ended without being taken over is still theirs.

    Raises:
        CaseLockedError: The user does not hold it.
    """
    check_holder(case, user_id)
    return take_lock(transaction, case, user_id)


def check_holder(case: Row[Any], user_id: int) -> None:
    """Refuse a user who does not hold a case; fails as `hold_lock`."""
    check_assignee(case, user_id)
    if case.lock_user_id != user_id:
        raise CaseLockedError(_("you no longer hold case {id}. Open it again", id=case.id))


def check_assignee(case: Row[Any], user_id: int) -> None:
    """Refuse a user if a case is assigned to another one.

    Raises:
        CaseLockedError: It is.
    """
    if case.assignee_id not in (None, user_id):
        raise CaseLockedError(
            _(
                "case {id} is assigned to another user. Your stored changes are kept. Take another case",
                id=case.id,
            )
        )


def drop_lock(transaction: Transaction, case_id: int) -> None:
    transaction.update(CASES, CASES.c.id == case_id, lock_user_id=None, lock_until=None)


def count_time(transaction: Transaction, layer: Row[Any]) -> None:
    """Add the time since the user's last action to the working time of their layer."""
    pause = min(max(transaction.now() - float(layer.seen_at), 0.0), MAX_PAUSE_SECONDS)
    values = {"seconds": LAYERS.c.seconds + pause, "seen_at": transaction.now()}
    transaction.execute(update(LAYERS).where(LAYERS.c.id == layer.id).values(**values))


def set_state(
    transaction: Transaction,
    case: Row[Any],
    state: CaseState,
    user_id: int,
    *,
    old: CaseState | None = None,
) -> None:
    """Change the state of a case, whose row is locked; `old` is its state now, if not that of the row.

    Raises:
        ReviewError: The change is not allowed, or a case to be released has an undecided token.
    """
    old = CaseState(case.state) if old is None else old
    if (old, state) not in _STEPS:
        raise ReviewError(
            _("case {id} is {old} and cannot become {state}", id=case.id, old=old.value, state=state.value)
        )
    if state is CaseState.RELEASED:
        read_final(transaction, case.id, read_content(transaction, case.id))
    transaction.update(CASES, CASES.c.id == case.id, state=state.value)
    event = TrailEvent(
        user=read_user_name(transaction, user_id),
        event="state",
        case=case.id,
        name=case.name,
        old=old.value,
        new=state.value,
    )
    transaction.record(event)
