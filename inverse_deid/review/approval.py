"""From layers to a release: approve, settle, release, withdraw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.review.contents import read_content
from inverse_deid.review.doubt import model_tokens
from inverse_deid.review.editing import checked_layer
from inverse_deid.review.layers import layer_tokens, layers_of, locked_case, own_layer, reviewers_tokens
from inverse_deid.review.locks import drop_lock, user_name
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import ACTIONS, CASES, LAYERS
from inverse_deid.review.trail import TrailEvent, append
from inverse_deid.review.transitions import set_state
from inverse_deid.review.values import CaseState, LayerKind, Place, TokenRange, User, UserRole


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
    with store.writing() as connection:
        case, layer = checked_layer(connection, store, place)
        is_review = layer.kind == LayerKind.REVIEW.value
        number = case.n_approvals + 1
        if is_review and number > store.policy.approvals:
            raise NotAllowedError(f"case {case.id} has all its approvals; take another")
        if not is_review:
            _check_settled(connection, store, layer)
        values = {"approval": number, "revision": layer.revision + 1}
        connection.execute(update(LAYERS).where(LAYERS.c.id == layer.id).values(**values))
        changes = {"n_approvals": number if is_review else case.n_approvals, "assignee_id": None}
        connection.execute(update(CASES).where(CASES.c.id == case.id).values(**changes))
        drop_lock(connection, case.id)
        user = user_name(connection, place.user_id)
        event = "approve" if is_review else "settle"
        append(connection, store, [TrailEvent(user=user, event=event, case=case.id, name=case.name)])
        if is_review and number < store.policy.approvals:
            return CaseState(case.state)
        return _concluded(connection, store, case, place.user_id, is_review=is_review)


def count_unseen(store: ReviewStore, user_id: int, case_id: int, seen: Sequence[TokenRange]) -> int:
    """Count the words that the user should have looked at before approving, and did not.

    Args:
        store: The store.
        user_id: Whose layer is to be approved.
        case_id: The case.
        seen: What the user looked at.

    Returns:
        Doubtful words, for an adjudicator words in dispute; 0 for a reviewer who is blind to the model.

    Raises:
        NotAllowedError: The user never opened the case.
    """
    with store.reading() as connection:
        layer = own_layer(connection, user_id, case_id)
        content = read_content(connection, case_id, store.sealer)
        if layer.kind == LayerKind.ADJUDICATION.value:
            sides = reviewers_tokens(connection, store, case_id, content)
            doubts = sides[0].keep != sides[-1].keep
        elif layer.is_blind:
            return 0
        else:
            doubts = model_tokens(content, store.facts).is_doubtful.copy()
    for one in seen:
        doubts[one.first : one.stop] = False
    return int(doubts.sum())


def _check_settled(connection: Connection, store: ReviewStore, layer: Row[Any]) -> None:
    content = read_content(connection, layer.case_id, store.sealer)
    n_undecided = int((~layer_tokens(connection, store, layer, content).decided).sum())
    if n_undecided:
        raise ReviewError(f"{n_undecided} tokens on which the reviewers disagree are still to be decided")


def _concluded(
    connection: Connection,
    store: ReviewStore,
    case: Row[Any],
    user_id: int,
    *,
    is_review: bool,
) -> CaseState:
    """The state of a case with all its approvals."""
    if is_review and not _agree(connection, store, case.id):
        set_state(connection, store, case, CaseState.DISAGREED, user_id)
        return CaseState.DISAGREED
    set_state(connection, store, case, CaseState.AGREED, user_id)
    if not store.policy.automatic_release:
        return CaseState.AGREED
    set_state(connection, store, case, CaseState.RELEASED, user_id, old=CaseState.AGREED)
    return CaseState.RELEASED


def _agree(connection: Connection, store: ReviewStore, case_id: int) -> bool:
    content = read_content(connection, case_id, store.sealer)
    first, *others = reviewers_tokens(connection, store, case_id, content)
    return all(bool((other.keep == first.keep).all()) for other in others)


def release(store: ReviewStore, user: User, case_id: int) -> None:
    """Release an agreed case.

    Raises:
        NotAllowedError: No adjudicator.
        ReviewError: It is not agreed, or some token is not decided by the policy.
    """
    if not user.role.includes(UserRole.ADJUDICATOR):
        raise NotAllowedError("only an adjudicator releases cases")
    with store.writing() as connection:
        set_state(connection, store, locked_case(connection, case_id), CaseState.RELEASED, user.id)


def withdraw(store: ReviewStore, user: User, case_id: int) -> None:
    """Take a release back, for instance because a leak was found.

    The layers of the reviewers can be changed again and have to be approved again; what an
    adjudicator decided is gone.

    Raises:
        NotAllowedError: No adjudicator.
        ReviewError: It is neither agreed nor released.
    """
    if not user.role.includes(UserRole.ADJUDICATOR):
        raise NotAllowedError("only an adjudicator takes releases back")
    with store.writing() as connection:
        reopen(connection, store, locked_case(connection, case_id), user.id)


def reopen(connection: Connection, store: ReviewStore, case: Row[Any], user_id: int) -> None:
    """Bring an agreed or released case back into review, in the caller's transaction."""
    set_state(connection, store, case, CaseState.IN_REVIEW, user_id)
    for layer in layers_of(connection, case.id, LayerKind.ADJUDICATION):
        connection.execute(delete(ACTIONS).where(ACTIONS.c.layer_id == layer.id))
        connection.execute(delete(LAYERS).where(LAYERS.c.id == layer.id))
    reopened = {"approval": None, "revision": LAYERS.c.revision + 1, "seen_at": store.now()}
    connection.execute(update(LAYERS).where(LAYERS.c.case_id == case.id).values(**reopened))
    connection.execute(update(CASES).where(CASES.c.id == case.id).values(n_approvals=0))
    drop_lock(connection, case.id)


def approvers(connection: Connection, case_id: int) -> frozenset[int]:
    """The users whose layers of a case are approved, reviewers and adjudicator."""
    found = select(LAYERS.c.user_id).where(LAYERS.c.case_id == case_id, LAYERS.c.approval.is_not(None))
    return frozenset(connection.execute(found).scalars())
