"""Open a case: lock it for the user, and show what they may see of it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, delete, select

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.core.wording import _
from inverse_deid.files.pictures import ScanFile, may_have_scans
from inverse_deid.review.flow.cases import (
    check_assignee,
    check_holder,
    count_time,
    drop_lock,
    hold_lock,
    lock_row,
    read_row,
    set_state,
    take_lock,
)
from inverse_deid.review.flow.contents import read_content, read_model
from inverse_deid.review.flow.layers import (
    find_layer,
    list_layers,
    read_copied,
    read_steps,
    render_case,
    replay_approved,
    replay_layer,
)
from inverse_deid.review.flow.oversight import (
    disclose,
    lock_user,
    read_limits,
    refuse_adder,
    refuse_admin,
    refuse_hand,
    remember,
)
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.rows import hash_actions
from inverse_deid.review.store.sources import open_source, read_facts
from inverse_deid.review.store.tables import ACTIONS, LAYERS, NOTES, SOURCES, place_of
from inverse_deid.review.store.values import (
    CaseState,
    CaseView,
    CopiedValue,
    DisputeView,
    LayerKind,
    Note,
    TokenRange,
    User,
    UserRole,
)
from inverse_deid.text.rendering import Rendering


def open_case(store: ReviewStore, user: User, case_id: int, way: str = "reading page") -> CaseView:
    """Lock a case for a reviewer and show it; make their layer if it does not exist.

    Reviewers who approved see the case as they left it, unlocked. Nobody sees another user's layer. The trail
    records the `way` in which the original is shown.

    Raises:
        CaseLockedError: Another user is working on it, or it is assigned to another user.
        NotAllowedError: It has all its approvals, from other users, or the user may not take it.
        ReviewError: The case does not exist.
    """
    refuse_admin(user)
    with store.writing() as transaction:
        lock_user(transaction, user.id)
        case = lock_row(transaction, case_id)
        layers = list_layers(transaction, case_id, LayerKind.REVIEW)
        own = [row for row in layers if row.user_id == user.id]
        if not (own and own[0].approval is not None):
            begin_review(transaction, case, own[0] if own else None, user)
        shown = disclose(transaction, user.name, [case], way)
    remember(store, shown)
    return view_case(store, user, case_id)


def begin_review(transaction: Transaction, case: Row[Any], layer: Row[Any] | None, user: User) -> None:
    """Lock a case for a reviewer, and make their layer if it does not exist; fails as `open_case`."""
    if case.n_approvals >= transaction.policy.approvals:
        raise NotAllowedError(_("case {id} has all its approvals. Take another case", id=case.id))
    check_taker(transaction, case, user)
    take_lock(transaction, case, user.id)
    is_blind = transaction.policy.blind_to_model and case.n_approvals > 0
    if layer is None:
        _add_layer(transaction, user, case, LayerKind.REVIEW, is_blind=is_blind)
    else:
        if is_blind and not layer.is_blind:
            # The second reviewer must not see what they did with the model's help.
            transaction.execute(delete(ACTIONS).where(ACTIONS.c.layer_id == layer.id))
            changes = {
                "is_blind": True,
                "n_done": 0,
                "revision": layer.revision + 1,
                "actions_hash": hash_actions(()),
            }
            transaction.update(LAYERS, LAYERS.c.id == layer.id, **changes)
            _note_beginning(transaction, user, case)
        count_time(transaction, layer)
    if case.state == CaseState.NEW.value:
        set_state(transaction, case, CaseState.IN_REVIEW, user.id)


def check_taker(transaction: Transaction, case: Row[Any], user: User) -> None:
    """Refuse a user who may not take a case: it is assigned to others, or they added its file."""
    check_assignee(case, user.id)
    if case.assignee_id is None and read_limits(transaction).only_assigned:
        raise NotAllowedError(_("case {id} is not assigned to you. Ask an admin", id=case.id))
    refuse_adder(transaction, user.name, case)


def _add_layer(
    transaction: Transaction, user: User, case: Row[Any], kind: LayerKind, *, is_blind: bool
) -> None:
    row = {
        "case_id": case.id,
        "user_id": user.id,
        "kind": kind.value,
        "is_blind": is_blind,
        "revision": 0,
        "n_done": 0,
        "actions_hash": hash_actions(()),
        "seconds": 0.0,
        "seen_at": transaction.now(),
    }
    transaction.insert(LAYERS, row)
    _note_beginning(transaction, user, case)


def _note_beginning(transaction: Transaction, user: User, case: Row[Any]) -> None:
    event = TrailEvent(user=user.name, event="begin", case=case.id, name=case.name)
    transaction.record(event)


def view_case(store: ReviewStore, user: User, case_id: int) -> CaseView:
    """Show a case that the user holds or has approved, without locking it.

    Raises:
        NotAllowedError: The user never opened it.
        CaseLockedError: The user neither holds it any longer nor has approved it.
    """
    with store.reading() as transaction:
        return _view(transaction, user, case_id)


def view_masked(store: ReviewStore, user: User, case_id: int) -> tuple[CaseView, Rendering]:
    """Show a case as `view_case` does, with the masked text of the user's layer; fails as `view_case`.

    A layer can keep every word, so the trail records it as an original.
    """
    with store.reading() as transaction:
        view = _view(transaction, user, case_id)
        content = read_content(transaction, case_id)
    with store.writing() as transaction:
        shown = disclose(transaction, user.name, [lock_row(transaction, case_id)], "print view")
    remember(store, shown)
    return view, render_case(content, view.layer, view.facts)


def has_scans(store: ReviewStore, case_id: int) -> bool:
    """Whether a case may have pages that were read as scans."""
    with store.reading() as transaction:
        case = read_row(transaction, case_id)
        found = select(SOURCES.c.name, SOURCES.c.format).where(SOURCES.c.id == case.source_id)
        source = transaction.execute(found).one()
        names = transaction.names
        return may_have_scans(source.format, names.open(source.name), names.open(case.name))


def open_scan(store: ReviewStore, user: User, case_id: int) -> ScanFile:
    """Return the file of a case whose original the user may see now, as `view_case` says; fails alike.

    The trail records that they are shown its pages.
    """
    refuse_admin(user)
    with store.writing() as transaction:
        layer = find_layer(transaction, user.id, case_id)
        case = lock_row(transaction, case_id)
        if layer.approval is None:
            check_holder(case, user.id)
        shown = disclose(transaction, user.name, [case], "pictures of pages")
    remember(store, shown)
    with store.reading() as transaction:
        source = transaction.execute(select(SOURCES).where(SOURCES.c.id == case.source_id)).one()
        names = transaction.names
        return ScanFile(
            source.format,
            names.open(source.name),
            names.open(case.name),
            open_source(transaction, source.id, source.sealed),
        )


def list_copied(store: ReviewStore, user: User, case_id: int) -> tuple[CopiedValue, ...] | None:
    """Return what is released beside the texts of a case, for a user who is shown its masked text.

    None = the case has kept columns, but an earlier version of the program did not store their values.
    """
    refuse_admin(user)
    with store.reading() as transaction:
        return read_copied(transaction, read_row(transaction, case_id), read_content(transaction, case_id))


def _view(transaction: Transaction, user: User, case_id: int) -> CaseView:
    refuse_admin(user)
    layer = find_layer(transaction, user.id, case_id)
    case = read_row(transaction, case_id)
    if layer.approval is None:
        check_holder(case, user.id)
    content = read_content(transaction, case_id)
    n_actions = len(read_steps(transaction, layer))
    facts = read_facts(transaction, case_id)
    sees_all = layer.kind == LayerKind.ADJUDICATION.value
    return CaseView(
        case_id=case_id,
        name=transaction.names.open(case.name),
        state=CaseState(case.state),
        text=content.text,
        parts=content.parts,
        tokens=content.tokens,
        kind=LayerKind(layer.kind),
        layer=replay_layer(transaction, layer, content),
        model=None if layer.is_blind else read_model(content, facts),
        facts=facts,
        revision=layer.revision,
        can_undo=layer.n_done > 0 and layer.approval is None,
        can_redo=layer.n_done < n_actions and layer.approval is None,
        is_approved=layer.approval is not None,
        notes=_read_notes(transaction, case_id, user, sees_all=sees_all),
        copied=read_copied(transaction, case, content),
        other_language=content.other_language,
    )


def _read_notes(transaction: Transaction, case_id: int, user: User, *, sees_all: bool) -> tuple[Note, ...]:
    # Adjudicators do not learn who wrote them.
    found = select(NOTES).where(NOTES.c.case_id == case_id)
    if not sees_all:
        found = found.where(NOTES.c.user_id == user.id)
    return tuple(
        Note(
            user.name if row.user_id == user.id else "",
            row.at,
            None if row.first is None else TokenRange(row.first, row.stop),
            transaction.sealer.open(row.sealed, place_of(NOTES.c.sealed, row._mapping)).decode(),
        )
        for row in transaction.read(found.order_by(NOTES.c.id), NOTES)
    )


def open_dispute(store: ReviewStore, user: User, case_id: int) -> DisputeView:
    """Lock a case on which two reviewers disagree for an adjudicator, and show both sides.

    Raises:
        NotAllowedError: The user is not an adjudicator, or changed the case before as a reviewer.
        CaseLockedError: Another user is working on it, or it is assigned to another user.
        ReviewError: The reviewers do not disagree on this case.
    """
    if not user.role.includes(UserRole.ADJUDICATOR):
        raise NotAllowedError(_("only an adjudicator can settle disagreements"))
    with store.writing() as transaction:
        lock_user(transaction, user.id)
        case = lock_row(transaction, case_id)
        if case.state != CaseState.DISAGREED.value:
            raise ReviewError(_("case {case_id} has no disagreement to settle", case_id=case_id))
        refuse_hand(transaction, user, case, "settle", LayerKind.REVIEW)
        check_taker(transaction, case, user)
        take_lock(transaction, case, user.id)
        layers = list_layers(transaction, case_id, LayerKind.ADJUDICATION)
        own = [row for row in layers if row.user_id == user.id]
        if own:
            count_time(transaction, own[0])
        else:
            _add_layer(transaction, user, case, LayerKind.ADJUDICATION, is_blind=False)
        shown = disclose(transaction, user.name, [case], "dispute")
    remember(store, shown)
    with store.reading() as transaction:
        view = _view(transaction, user, case_id)
        content = read_content(transaction, case_id)
        sides = replay_approved(transaction, case_id, content)
    return DisputeView(case=view, reviewers=tuple(sides), disputed=sides[0].keep != sides[-1].keep)


def keep_lock(store: ReviewStore, user: User, case_id: int) -> float:
    """Note that the user is still working on a case; return when the lock ends now.

    Raises:
        CaseLockedError: The lock ended, and another user took the case over.
    """
    with store.writing() as transaction:
        case = lock_row(transaction, case_id)
        until = hold_lock(transaction, case, user.id)
        count_time(transaction, find_layer(transaction, user.id, case_id))
        return until


def close_case(store: ReviewStore, user: User, case_id: int) -> None:
    """Give the lock back, if the user holds it; all changes stay."""
    with store.writing() as transaction:
        case = lock_row(transaction, case_id)
        if case.lock_user_id == user.id:
            found = select(LAYERS).where(LAYERS.c.case_id == case_id, LAYERS.c.user_id == user.id)
            for layer in transaction.execute(found.where(LAYERS.c.approval.is_(None))).all():
                count_time(transaction, layer)
            drop_lock(transaction, case_id)
