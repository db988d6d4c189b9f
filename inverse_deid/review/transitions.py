"""How a case goes from one state to the next; every step stands in the trail."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, update

from inverse_deid.core.errors import ReviewError
from inverse_deid.review.contents import read_content
from inverse_deid.review.final import final_tokens
from inverse_deid.review.locks import user_name
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import CASES
from inverse_deid.review.trail import TrailEvent, append
from inverse_deid.review.values import CaseState

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


def set_state(
    connection: Connection,
    store: ReviewStore,
    case: Row[Any],
    state: CaseState,
    user_id: int,
    *,
    old: CaseState | None = None,
) -> None:
    """Bring a case into a state.

    Args:
        connection: A writing transaction that holds the row of the case.
        store: The store.
        case: The row.
        state: The new one.
        user_id: Who does it.
        old: The state now, if it is not that of the row any more.

    Raises:
        ReviewError: No step leads there, or a case that is to be released is not decided as a whole.
    """
    old = CaseState(case.state) if old is None else old
    if (old, state) not in _STEPS:
        raise ReviewError(f"case {case.id} is {old.value} and cannot become {state.value}")
    if state is CaseState.RELEASED:
        final_tokens(connection, store, case.id, read_content(connection, case.id, store.sealer))
    connection.execute(update(CASES).where(CASES.c.id == case.id).values(state=state.value))
    event = TrailEvent(
        user=user_name(connection, user_id),
        event="state",
        case=case.id,
        name=case.name,
        old=old.value,
        new=state.value,
    )
    append(connection, store, [event])
