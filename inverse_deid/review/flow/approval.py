"""From layers to a release: approve, settle, release, withdraw."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, or_, select

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.core.values import BoolArray
from inverse_deid.core.wording import _
from inverse_deid.review.flow.cases import (
    check_assignee,
    drop_lock,
    lock_row,
    read_row,
    read_user_name,
    set_state,
    take_lock,
)
from inverse_deid.review.flow.contents import CaseContent, read_content, read_model
from inverse_deid.review.flow.editing import check_layer
from inverse_deid.review.flow.layers import (
    find_layer,
    list_layers,
    read_base,
    replay_approved,
    replay_layer,
)
from inverse_deid.review.flow.oversight import lock_user, read_limits, refuse_adder, refuse_hand
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.sources import read_facts
from inverse_deid.review.store.tables import ACTIONS, CASES, LAYERS, TRAIL
from inverse_deid.review.store.values import CaseState, LayerKind, LayerRevision, TokenRange, User, UserRole

_UNDONE = "approval undone"
_EXPORTS = ("released text", "annotated documents")
"""How the entries of the trail begin when texts leave the store."""


@dataclass(frozen=True, slots=True)
class Uncovered:
    """Words of a case that a reviewer unmasked, and how many of them the tool was sure to mask."""

    n_words: int
    n_sure: int


def approve(store: ReviewStore, at: LayerRevision) -> CaseState:
    """Approve the user's layer, review or adjudication, and give the lock back; return the case's new state.

    With the last approval that the policy requires, the case is agreed (and released, if the policy
    releases automatically) or disagreed; an adjudicator's approval settles a disagreement. The trail records
    how many words were unmasked.

    Raises:
        StaleRevisionError: The layer has another revision.
        CaseLockedError: The user no longer holds the lock.
        ReviewError: Already approved, or an adjudicator left tokens undecided.
    """
    with store.writing() as transaction:
        return approve_in(transaction, at)


def approve_in(transaction: Transaction, at: LayerRevision, how: str = "") -> CaseState:
    """Approve in the caller's transaction, as `approve` does; the trail also says `how`."""
    case, layer = check_layer(transaction, at)
    refuse_adder(transaction, read_user_name(transaction, at.user_id), case)
    is_review = layer.kind == LayerKind.REVIEW.value
    number, approvals = case.n_approvals + 1, transaction.policy.approvals
    if is_review and number > approvals:
        raise NotAllowedError(_("case {id} has all its approvals. Take another case", id=case.id))
    content = read_content(transaction, case.id)
    if not is_review:
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
    found = uncovered_by(transaction, layer, content)
    said = f"words unmasked: {found.n_words}, of which the tool was sure: {found.n_sure}{how}"
    transaction.record(TrailEvent(user=user, event=event, case=case.id, name=case.name, new=said))
    if is_review and number < approvals:
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
        if layer.is_blind:
            return 0
        doubts = _find_stops(transaction, layer, read_content(transaction, case_id))
    for one in seen:
        doubts[one.first : one.stop] = False
    return int(doubts.sum())


def _find_stops(transaction: Transaction, layer: Row[Any], content: CaseContent) -> BoolArray:
    # The words that the user should look at: bool (n_tokens,).
    if layer.kind == LayerKind.ADJUDICATION.value:
        sides = replay_approved(transaction, layer.case_id, content)
        disputed: BoolArray = sides[0].keep != sides[-1].keep
        return disputed
    return read_model(content, read_facts(transaction, layer.case_id)).is_doubtful.copy()


def is_other_language(store: ReviewStore, case_id: int) -> bool:
    """Whether a text of a case seems not to be English, so that identifiers may be missed in it."""
    with store.reading() as transaction:
        return read_content(transaction, case_id).other_language


def count_maybe_needless(store: ReviewStore, user_id: int, case_id: int) -> int:
    """Count the masks that may be needless, without those in doubt, and that the user leaves.

    It is 0 for an adjudicator, who settles words in dispute, and for a reviewer who is blind to the model.

    Raises:
        NotAllowedError: The user never opened the case.
    """
    with store.reading() as transaction:
        layer = find_layer(transaction, user_id, case_id)
        if layer.is_blind or layer.kind == LayerKind.ADJUDICATION.value:
            return 0
        content = read_content(transaction, case_id)
        model = read_model(content, read_facts(transaction, case_id))
        left = model.is_maybe_needless & ~replay_layer(transaction, layer, content).keep
    return int(left.sum())


def count_uncovered(store: ReviewStore, user_id: int, case_id: int) -> Uncovered:
    """Count the words that were masked when the user began, and that they unmasked.

    The tool was sure of those that it masked itself and that are not among the words to look at. A reviewer
    who is blind to the model began with the bare text, so they uncover nothing.

    Raises:
        NotAllowedError: The user never opened the case.
    """
    with store.reading() as transaction:
        layer = find_layer(transaction, user_id, case_id)
        return uncovered_by(transaction, layer, read_content(transaction, case_id))


def uncovered_by(transaction: Transaction, layer: Row[Any], content: CaseContent) -> Uncovered:
    """Count the words that a layer uncovers, as `count_uncovered` does."""
    base, now = read_base(transaction, layer, content), replay_layer(transaction, layer, content)
    uncovered = ~base.keep & now.keep & now.decided
    if not uncovered.any():
        return Uncovered(0, 0)
    sure = uncovered & ~content.decisions.keep & ~_find_stops(transaction, layer, content)
    return Uncovered(int(uncovered.sum()), int(sure.sum()))


def can_undo_approval(store: ReviewStore, user: User, case_id: int) -> bool:
    """Whether `undo_approval` would reopen the case for this user now."""
    with store.reading() as transaction:
        case, layer = read_row(transaction, case_id), _find_approved(transaction, case_id, user.id)
        return not _find_obstacle(transaction, case, user.id, layer)


def undo_approval(store: ReviewStore, user: User, case_id: int) -> None:
    """Take back the user's own approval; they hold the case again, with all their decisions.

    Raises:
        NotAllowedError: The user did not approve the case, another reader has worked on it since, or released
            text left the store since.
        CaseLockedError: The case is assigned to another user, or the user holds too many other cases.
        ReviewError: The case does not exist.
    """
    with store.writing() as transaction:
        lock_user(transaction, user.id)
        case = lock_row(transaction, case_id)
        layer = _find_approved(transaction, case_id, user.id)
        obstacle = _find_obstacle(transaction, case, user.id, layer)
        if layer is None or obstacle:
            raise NotAllowedError(obstacle)
        check_assignee(case, user.id)
        take_lock(transaction, case, user.id)
        if case.state != CaseState.IN_REVIEW.value:
            set_state(transaction, case, CaseState.IN_REVIEW, user.id)
        reopened = {"approval": None, "revision": layer.revision + 1, "seen_at": transaction.now()}
        transaction.update(LAYERS, LAYERS.c.id == layer.id, **reopened)
        changes = {"n_approvals": 0}
        if read_limits(transaction).only_assigned:
            changes["assignee_id"] = user.id
        transaction.update(CASES, CASES.c.id == case_id, **changes)
        event = TrailEvent(user=user.name, event=_UNDONE, case=case_id, name=case.name)
        transaction.record(event)


def _find_approved(transaction: Transaction, case_id: int, user_id: int) -> Row[Any] | None:
    rows = list_layers(transaction, case_id, LayerKind.REVIEW, approved=True)
    return next((row for row in rows if row.user_id == user_id), None)


def _find_obstacle(transaction: Transaction, case: Row[Any], user_id: int, layer: Row[Any] | None) -> str:
    # Why the approval of a layer cannot be undone, "" = it can.
    if layer is None:
        return _("you have not approved case {id}", id=case.id)
    others = [row for row in list_layers(transaction, case.id, LayerKind.REVIEW) if row.user_id != user_id]
    is_held = case.lock_user_id not in (None, user_id) and (case.lock_until or 0) > transaction.now()
    if is_held or any(row.approval is not None or row.is_blind or row.n_done for row in others):
        return _("another reader works on case {id}, so your approval cannot be undone", id=case.id)
    if case.state != CaseState.IN_REVIEW.value and _has_left(transaction, case.id):
        return _(
            "released text was downloaded since you approved case {id}. Return it to review instead",
            id=case.id,
        )
    return ""


def _has_left(transaction: Transaction, case_id: int) -> bool:
    # Whether any released text left the store after the last approval of a case.
    found = select(TRAIL.c.line).order_by(TRAIL.c.number.desc())
    begins = or_(
        *(TRAIL.c.line.contains(f'"event":"{one}', autoescape=True) for one in (*_EXPORTS, "approve"))
    )
    for line in transaction.execute(found.where(begins)).yield_per(100).scalars():
        entry = json.loads(line)
        if str(entry["event"]).startswith(_EXPORTS):
            return True
        if entry["event"] == "approve" and entry["case"] == case_id:
            return False
    return True


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
