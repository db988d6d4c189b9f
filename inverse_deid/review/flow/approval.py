"""From layers to a release: approve, settle, release, withdraw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, delete

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.core.wording import _
from inverse_deid.review.flow.cases import drop_lock, lock_row, read_user_name, set_state
from inverse_deid.review.flow.contents import read_content, read_model
from inverse_deid.review.flow.editing import check_layer
from inverse_deid.review.flow.layers import find_layer, list_layers, replay_approved, replay_layer
from inverse_deid.review.flow.oversight import refuse_adder, refuse_hand
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.sources import read_facts
from inverse_deid.review.store.tables import ACTIONS, CASES, LAYERS
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
    with store.writing() as transaction:
        case, layer = check_layer(transaction, at)
        refuse_adder(transaction, read_user_name(transaction, at.user_id), case)
        is_review = layer.kind == LayerKind.REVIEW.value
        number = case.n_approvals + 1
        if is_review and number > store.policy.approvals:
            raise NotAllowedError(_("case {id} has all its approvals. Take another case", id=case.id))
        if not is_review:
            content = read_content(transaction, case.id)
            n_undecided = int((~replay_layer(transaction, layer, content).decided).sum())
            if n_undecided:
                raise ReviewError(
                    _("you still have to decide {n_undecided} words in dispute", n_undecided=n_undecided)
                )
        values = {"approval": number, "revision": layer.revision + 1}
        transaction.update(LAYERS, LAYERS.c.id == layer.id, **values)
        changes = {"n_approvals": number if is_review else case.n_approvals, "assignee_id": None}
        transaction.update(CASES, CASES.c.id == case.id, **changes)
        drop_lock(transaction, case.id)
        user = read_user_name(transaction, at.user_id)
        event = "approve" if is_review else "settle"
        transaction.record(TrailEvent(user=user, event=event, case=case.id, name=case.name))
        if is_review and number < store.policy.approvals:
            return CaseState(case.state)
        return _conclude(transaction, case, at.user_id, is_review=is_review)


def _conclude(transaction: Transaction, case: Row[Any], user_id: int, *, is_review: bool) -> CaseState:
    if is_review:
        content = read_content(transaction, case.id)
        first, *others = replay_approved(transaction, case.id, content)
        if not all(bool((other.keep == first.keep).all()) for other in others):
            set_state(transaction, case, CaseState.DISAGREED, user_id)
            return CaseState.DISAGREED
    set_state(transaction, case, CaseState.AGREED, user_id)
    if not transaction.policy.automatic_release:
        return CaseState.AGREED
    set_state(transaction, case, CaseState.RELEASED, user_id, old=CaseState.AGREED)
    return CaseState.RELEASED


def count_unseen(store: ReviewStore, user_id: int, case_id: int, seen: Sequence[TokenRange]) -> int:
    """Count the doubtful words that the user should have looked at before approving, and did not.

    For an adjudicator these are words in dispute, and 0 for a reviewer who is blind to the model.

    Raises:
        NotAllowedError: The user never opened the case.
    """
    with store.reading() as transaction:
        layer = find_layer(transaction, user_id, case_id)
        content = read_content(transaction, case_id)
        if layer.kind == LayerKind.ADJUDICATION.value:
            sides = replay_approved(transaction, case_id, content)
            doubts = sides[0].keep != sides[-1].keep
        elif layer.is_blind:
            return 0
        else:
            doubts = read_model(content, read_facts(transaction, case_id)).is_doubtful.copy()
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
        raise NotAllowedError(_("only an adjudicator can release cases"))
    with store.writing() as transaction:
        case = lock_row(transaction, case_id)
        if case.state == CaseState.AGREED.value:
            refuse_hand(transaction, user, case, "release", *LayerKind)
            refuse_adder(transaction, user.name, case)
        set_state(transaction, case, CaseState.RELEASED, user.id)


def withdraw(store: ReviewStore, user: User, case_id: int) -> None:
    """Take a release back, for instance because a leak was found.

    Reviewers can change their layers again and must approve them again; the adjudicator's decisions
    are deleted.

    Raises:
        NotAllowedError: The user is not an adjudicator.
        ReviewError: The case is neither agreed nor released.
    """
    if not user.role.includes(UserRole.ADJUDICATOR):
        raise NotAllowedError(_("only an adjudicator can take releases back"))
    with store.writing() as transaction:
        reopen(transaction, lock_row(transaction, case_id), user.id)


def reopen(transaction: Transaction, case: Row[Any], user_id: int) -> None:
    """Bring an agreed or released case back into review, in the caller's transaction."""
    set_state(transaction, case, CaseState.IN_REVIEW, user_id)
    for layer in list_layers(transaction, case.id, LayerKind.ADJUDICATION):
        transaction.execute(delete(ACTIONS).where(ACTIONS.c.layer_id == layer.id))
        transaction.delete(LAYERS, LAYERS.c.id == layer.id)
    for layer in list_layers(transaction, case.id, LayerKind.REVIEW):
        reopened = {"approval": None, "revision": layer.revision + 1, "seen_at": transaction.now()}
        transaction.update(LAYERS, LAYERS.c.id == layer.id, **reopened)
    transaction.update(CASES, CASES.c.id == case.id, n_approvals=0)
    drop_lock(transaction, case.id)
