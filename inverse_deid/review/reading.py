"""Opening a case: it is locked for the user, and shown as far as he may see it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, select

from inverse_deid.core.errors import CaseLockedError, NotAllowedError, ReviewError
from inverse_deid.review.contents import read_content
from inverse_deid.review.doubt import model_tokens
from inverse_deid.review.final import masked_view
from inverse_deid.review.layers import (
    layer_tokens,
    layers_of,
    locked_case,
    new_layer,
    own_layer,
    restart_blind,
    reviewers_tokens,
    steps_of,
)
from inverse_deid.review.locks import count_time, drop_lock, hold_lock, take_lock
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import CASES, LAYERS, NOTES, USERS
from inverse_deid.review.transitions import set_state
from inverse_deid.review.values import (
    CaseState,
    CaseView,
    DisputeView,
    LayerKind,
    MaskedView,
    Note,
    TokenRange,
    User,
    UserRole,
)


def open_case(store: ReviewStore, user: User, case_id: int) -> CaseView:
    """Lock a case for a reviewer and show it; his layer is made if he has none.

    A reviewer who approved sees the case as he left it, unlocked. Nobody sees another's layer.

    Raises:
        CaseLockedError: Another works on it, or it is assigned to another.
        NotAllowedError: It has all its approvals, from others.
        ReviewError: No such case.
    """
    with store.writing() as connection:
        case = locked_case(connection, case_id)
        own = [row for row in layers_of(connection, case_id, LayerKind.REVIEW) if row.user_id == user.id]
        if not (own and own[0].approval is not None):
            _begin(connection, store, (case, own[0] if own else None), user)
    return view_case(store, user, case_id)


def _begin(
    connection: Connection,
    store: ReviewStore,
    found: tuple[Row[Any], Row[Any] | None],
    user: User,
) -> None:
    """Lock a case and make or revive the layer of a reviewer."""
    case, layer = found
    if case.n_approvals >= store.policy.approvals:
        raise NotAllowedError(f"case {case.id} has all its approvals; take another")
    if case.assignee_id not in (None, user.id):
        raise CaseLockedError(f"case {case.id} is assigned to another user; take another")
    take_lock(connection, store, case, user.id)
    is_blind = store.policy.blind_to_model and case.n_approvals > 0
    if layer is None:
        new_layer(connection, store, (user.id, case.id), LayerKind.REVIEW, is_blind=is_blind)
    elif is_blind and not layer.is_blind:
        restart_blind(connection, layer.id, layer.revision)
    if layer is not None:
        count_time(connection, store, layer)
    if case.state == CaseState.NEW.value:
        set_state(connection, store, case, CaseState.IN_REVIEW, user.id)


def view_case(store: ReviewStore, user: User, case_id: int) -> CaseView:
    """Show a case that the user has a layer of, without locking it.

    Raises:
        NotAllowedError: He never opened it.
    """
    with store.reading() as connection:
        return _view(connection, store, user, case_id)


def view_masked(store: ReviewStore, user: User, case_id: int) -> tuple[CaseView, MaskedView]:
    """A case as `view_case` shows it, and the masked text of the user's layer at that revision.

    Raises:
        NotAllowedError: He never opened it.
    """
    with store.reading() as connection:
        view = _view(connection, store, user, case_id)
        content = read_content(connection, case_id, store.sealer)
    return view, masked_view(content, view.layer, store.facts)


def state_of(store: ReviewStore, case_id: int) -> CaseState:
    """The state of a case.

    Raises:
        ReviewError: No such case.
    """
    with store.reading() as connection:
        return CaseState(locked_case(connection, case_id).state)


def _view(connection: Connection, store: ReviewStore, user: User, case_id: int) -> CaseView:
    layer = own_layer(connection, user.id, case_id)
    case = connection.execute(select(CASES.c.name, CASES.c.state).where(CASES.c.id == case_id)).one()
    content = read_content(connection, case_id, store.sealer)
    said = layer_tokens(connection, store, layer, content)
    n_actions = len(steps_of(connection, layer.id))
    return CaseView(
        case_id=case_id,
        name=case.name,
        state=CaseState(case.state),
        text=content.text,
        parts=content.parts,
        tokens=content.tokens,
        kind=LayerKind(layer.kind),
        layer=said,
        model=None if layer.is_blind else model_tokens(content, store.facts),
        revision=layer.revision,
        can_undo=layer.n_done > 0 and layer.approval is None,
        can_redo=layer.n_done < n_actions and layer.approval is None,
        is_approved=layer.approval is not None,
        notes=_notes(
            connection, store, case_id, None if layer.kind == LayerKind.ADJUDICATION.value else user.id
        ),
    )


def _notes(connection: Connection, store: ReviewStore, case_id: int, user_id: int | None) -> tuple[Note, ...]:
    """The notes on a case, those of one user or (None) of all."""
    found = select(NOTES, USERS.c.name).join(USERS, USERS.c.id == NOTES.c.user_id)
    found = found.where(NOTES.c.case_id == case_id)
    if user_id is not None:
        found = found.where(NOTES.c.user_id == user_id)
    rows = connection.execute(found.order_by(NOTES.c.id)).all()
    return tuple(
        Note(
            row.name,
            row.at,
            None if row.first is None else TokenRange(row.first, row.stop),
            store.sealer.opened(row.sealed, f"a note on case {case_id}").decode(),
        )
        for row in rows
    )


def open_dispute(store: ReviewStore, user: User, case_id: int) -> DisputeView:
    """Lock a case on which two reviewers disagree for an adjudicator and show both sides.

    Raises:
        NotAllowedError: No adjudicator, or he is one of the two reviewers.
        CaseLockedError: Another works on it.
        ReviewError: There is no disagreement in this case.
    """
    if not user.role.includes(UserRole.ADJUDICATOR):
        raise NotAllowedError("only an adjudicator settles disagreements")
    with store.writing() as connection:
        case = locked_case(connection, case_id)
        if case.state != CaseState.DISAGREED.value:
            raise ReviewError(f"there is no disagreement to settle in case {case_id}")
        reviewers = layers_of(connection, case_id, LayerKind.REVIEW, approved=True)
        if user.id in {row.user_id for row in reviewers}:
            raise NotAllowedError(f"you reviewed case {case_id} yourself; another adjudicator settles it")
        take_lock(connection, store, case, user.id)
        own = [
            row for row in layers_of(connection, case_id, LayerKind.ADJUDICATION) if row.user_id == user.id
        ]
        if own:
            count_time(connection, store, own[0])
        else:
            new_layer(connection, store, (user.id, case_id), LayerKind.ADJUDICATION, is_blind=False)
    with store.reading() as connection:
        view = _view(connection, store, user, case_id)
        content = read_content(connection, case_id, store.sealer)
        said = reviewers_tokens(connection, store, case_id, content)
    return DisputeView(case=view, reviewers=tuple(said), disputed=said[0].keep != said[-1].keep)


def keep_lock(store: ReviewStore, user: User, case_id: int) -> float:
    """Say that the user is still at a case; when the lock ends now.

    Raises:
        CaseLockedError: The lock ended, and another took the case over.
    """
    with store.writing() as connection:
        case = locked_case(connection, case_id)
        until = hold_lock(connection, store, case, user.id)
        count_time(connection, store, own_layer(connection, user.id, case_id))
        return until


def close_case(store: ReviewStore, user: User, case_id: int) -> None:
    """Give the lock back; what was done stays. Does nothing if the user does not hold it."""
    with store.writing() as connection:
        case = locked_case(connection, case_id)
        if case.lock_user_id == user.id:
            found = select(LAYERS).where(LAYERS.c.case_id == case_id, LAYERS.c.user_id == user.id)
            for layer in connection.execute(found.where(LAYERS.c.approval.is_(None))).all():
                count_time(connection, store, layer)
            drop_lock(connection, case_id)
