"""From layers to a release: approve, settle, release, withdraw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.review.flow.cases import drop_lock, lock_row, read_user_name, set_state
from inverse_deid.review.flow.contents import read_content, read_model
from inverse_deid.review.flow.editing import check_layer
from inverse_deid.review.flow.layers import find_layer, list_layers, replay_approved, replay_layer
from inverse_deid.review.flow.oversight import refuse_adder, refuse_hand
from inverse_deid.review.store.opening import ReviewStore
from inverse_deid.review.store.sources import read_facts
from inverse_deid.review.store.tables import ACTIONS, CASES, LAYERS
from inverse_deid.review.store.trail import TrailEvent, append
from inverse_deid.review.store.values import CaseState, LayerKind, LayerRevision, TokenRange, User, UserRole


def approve(store: ReviewStore, at: LayerRevision) -> CaseState:
    """Approve the user's layer, review or adjudication, and give the lock back; return the case's new state.

    With the last approval that the policy requires, the case is agreed (and released, if the policy
    releases automatically) or disagreed; an adjudicator's approval settles a disagreement.

    Raises:
        StaleRevisionError: The layer has another revision.
        CaseLockedError: The user no longer holds the lock.
        ReviewError: Already approved, or an adjudicator left tokens undecided.
    """
    with store.writing() as connection:
        case, layer = check_layer(connection, store, at)
        refuse_adder(connection, store, read_user_name(connection, at.user_id), case)
        is_review = layer.kind == LayerKind.REVIEW.value
        number = case.n_approvals + 1
        if is_review and number > store.policy.approvals:
            raise NotAllowedError(f"case {case.id} has all its approvals. Take another case")
        if not is_review:
            content = read_content(connection, case.id, store.sealer)
            n_undecided = int((~replay_layer(connection, store, layer, content).decided).sum())
            if n_undecided:
                raise ReviewError(f"you still have to decide {n_undecided} words in dispute")
        values = {"approval": number, "revision": layer.revision + 1}
        store.rows.update(connection, LAYERS, LAYERS.c.id == layer.id, **values)
        changes = {"n_approvals": number if is_review else case.n_approvals, "assignee_id": None}
        store.rows.update(connection, CASES, CASES.c.id == case.id, **changes)
        drop_lock(connection, store, case.id)
        user = read_user_name(connection, at.user_id)
        event = "approve" if is_review else "settle"
        append(connection, store, [TrailEvent(user=user, event=event, case=case.id, name=case.name)])
        if is_review and number < store.policy.approvals:
            return CaseState(case.state)
        return _conclude(connection, store, case, at.user_id, is_review=is_review)


def _conclude(
    connection: Connection, store: ReviewStore, case: Row[Any], user_id: int, *, is_review: bool
) -> CaseState:
    """Set and return the state of a case with all its approvals."""
    if is_review:
        content = read_content(connection, case.id, store.sealer)
        first, *others = replay_approved(connection, store, case.id, content)
        if not all(bool((other.keep == first.keep).all()) for other in others):
            set_state(connection, store, case, CaseState.DISAGREED, user_id)
            return CaseState.DISAGREED
    set_state(connection, store, case, CaseState.AGREED, user_id)
    if not store.policy.automatic_release:
        return CaseState.AGREED
    set_state(connection, store, case, CaseState.RELEASED, user_id, old=CaseState.AGREED)
    return CaseState.RELEASED


def count_unseen(store: ReviewStore, user_id: int, case_id: int, seen: Sequence[TokenRange]) -> int:
    """Count the doubtful words that the user should have looked at before approving, and did not.

    For an adjudicator these are words in dispute, and 0 for a reviewer who is blind to the model.

    Raises:
        NotAllowedError: The user never opened the case.
    """
    with store.reading() as connection:
        layer = find_layer(connection, store, user_id, case_id)
        content = read_content(connection, case_id, store.sealer)
        if layer.kind == LayerKind.ADJUDICATION.value:
            sides = replay_approved(connection, store, case_id, content)
            doubts = sides[0].keep != sides[-1].keep
        elif layer.is_blind:
            return 0
        else:
            doubts = read_model(content, read_facts(connection, store, case_id)).is_doubtful.copy()
    for one in seen:
        doubts[one.first : one.stop] = False
    return int(doubts.sum())


def release(store: ReviewStore, user: User, case_id: int) -> None:
    """Release an agreed case.

    Raises:
        NotAllowedError: The user is not an adjudicator, or changed or approved the case.
        ReviewError: The case is not agreed, or has an undecided token.
    """
    if not user.role.includes(UserRole.ADJUDICATOR):
        raise NotAllowedError("only an adjudicator can release cases")
    with store.writing() as connection:
        case = lock_row(connection, store, case_id)
        if case.state == CaseState.AGREED.value:
            refuse_hand(connection, store, user, case, "release", *LayerKind)
            refuse_adder(connection, store, user.name, case)
        set_state(connection, store, case, CaseState.RELEASED, user.id)


def withdraw(store: ReviewStore, user: User, case_id: int) -> None:
    """Take a release back, for instance because a leak was found.

    Reviewers can change their layers again and must approve them again; the adjudicator's decisions
    are deleted.

    Raises:
        NotAllowedError: The user is not an adjudicator.
        ReviewError: The case is neither agreed nor released.
    """
    if not user.role.includes(UserRole.ADJUDICATOR):
        raise NotAllowedError("only an adjudicator can take releases back")
    with store.writing() as connection:
        reopen(connection, store, lock_row(connection, store, case_id), user.id)


def reopen(connection: Connection, store: ReviewStore, case: Row[Any], user_id: int) -> None:
    """Bring an agreed or released case back into review, in the caller's transaction."""
    set_state(connection, store, case, CaseState.IN_REVIEW, user_id)
    for layer in list_layers(connection, store, case.id, LayerKind.ADJUDICATION):
        connection.execute(delete(ACTIONS).where(ACTIONS.c.layer_id == layer.id))
        store.rows.delete(connection, LAYERS, LAYERS.c.id == layer.id)
    for layer in list_layers(connection, store, case.id, LayerKind.REVIEW):
        reopened = {"approval": None, "revision": layer.revision + 1, "seen_at": store.now()}
        store.rows.update(connection, LAYERS, LAYERS.c.id == layer.id, **reopened)
    store.rows.update(connection, CASES, CASES.c.id == case.id, n_approvals=0)
    drop_lock(connection, store, case.id)
