"""The right to see an original, the record of everybody who did, unusual volume, and limits that admins set.

Every disclosure of an original enters the trail before the text is shown. An entry on the same case, of the
same person and in the same way, stands for ten minutes. The memory of that is in the process alone: a new
process writes one more entry, and nobody can hide a disclosure by forging a row.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Row, and_, exists, func, or_, select

from inverse_deid.core.errors import CaseLockedError, NotAllowedError
from inverse_deid.core.wording import _
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.tables import ACTIONS, CASES, INTAKES, LAYERS, META, TRAIL, USERS
from inverse_deid.review.store.trail import ORIGINAL_SHOWN
from inverse_deid.review.store.values import LayerKind, ReviewLimits, User, UserRole

SAME_VIEW_SECONDS = 600.0
TIMES_USUAL = 5
"""Reading so many times one's own usual number of cases an hour is unusual."""

_FILE_SHOWN = "original of a file shown"
_LIMITS = "limits"
_USUAL_DAYS = 30
_MIN_HOURS = 3
_MIN_UNUSUAL = 10
_EVENTS_AT_ONCE = 1_000
_MAX_REMEMBERED = 10_000


def read_limits(transaction: Transaction) -> ReviewLimits:
    stored = transaction.read(select(META).where(META.c.name == _LIMITS), META)
    return ReviewLimits(**json.loads(stored[0].value)) if stored else ReviewLimits()


def set_limits(store: ReviewStore, limits: ReviewLimits, *, by: str) -> None:
    """Change the limits of a store; each change enters the trail."""
    with store.writing() as transaction:
        old, new = asdict(read_limits(transaction)), asdict(limits)
        value = json.dumps(new)
        if not transaction.update(META, META.c.name == _LIMITS, value=value):
            transaction.insert(META, {"name": _LIMITS, "value": value})
        events = [
            TrailEvent(user=by, event=f"limit {name} changed", old=str(old[name]), new=str(new[name]))
            for name in new
            if new[name] != old[name]
        ]
        transaction.record(*(events or [TrailEvent(user=by, event="limit stored unchanged")]))


def refuse_admin(user: User) -> None:
    """Refuse a user whose role never sees a text."""
    if not user.role.includes(UserRole.REVIEWER):
        raise NotAllowedError(_("your role does not see the texts of cases"))


def refuse_adder(transaction: Transaction, user: str, case: Row[Any]) -> None:
    """Refuse a user who added the file of a case, if the limits of the store say so."""
    if not read_limits(transaction).adders_stay_out:
        return
    found = select(INTAKES).where(INTAKES.c.source_id == case.source_id)
    if any(one.added_by == user for one in transaction.read(found, INTAKES)):
        raise NotAllowedError(
            _("you added the file of case {id}, so another user must work on it", id=case.id)
        )


def has_hand(user_id: int, *kinds: LayerKind) -> ColumnElement[bool]:
    """Whether a user changed or approved a case in some kinds of layers; undone changes count."""
    return exists().where(LAYERS.c.case_id == CASES.c.id, _is_hand(user_id, kinds))


def _is_hand(user_id: int, kinds: Sequence[LayerKind]) -> ColumnElement[bool]:
    return and_(
        LAYERS.c.user_id == user_id,
        LAYERS.c.kind.in_([kind.value for kind in kinds]),
        or_(LAYERS.c.approval.is_not(None), exists().where(ACTIONS.c.layer_id == LAYERS.c.id)),
    )


def refuse_hand(transaction: Transaction, user: User, case: Row[Any], done: str, *kinds: LayerKind) -> None:
    """Refuse a user with a hand in a case; `done` is what another user must do with it."""
    found = select(LAYERS).where(LAYERS.c.case_id == case.id, _is_hand(user.id, kinds))
    if transaction.read(found, LAYERS):
        raise NotAllowedError(
            _("you changed or approved case {id}, so another user must {done} it", id=case.id, done=done)
        )


def added_by(user_id: int) -> ColumnElement[bool]:
    name = select(USERS.c.name).where(USERS.c.id == user_id).scalar_subquery()
    return CASES.c.source_id.in_(select(INTAKES.c.source_id).where(INTAKES.c.added_by == name))


def lock_user(transaction: Transaction, user_id: int) -> None:
    """Let one user take only one case at a time; before the row of the case is locked."""
    transaction.execute(select(USERS.c.id).where(USERS.c.id == user_id).with_for_update(key_share=True))


def refuse_too_many_locks(transaction: Transaction, user_id: int, case_id: int) -> None:
    """Refuse a user who holds as many other cases as one person may."""
    others = (
        (CASES.c.lock_user_id == user_id) & (CASES.c.lock_until > transaction.now()) & (CASES.c.id != case_id)
    )
    n_locks = transaction.execute(select(func.count()).select_from(CASES).where(others)).scalar_one()
    if n_locks >= read_limits(transaction).max_locks:
        raise CaseLockedError(
            _(
                "you hold {n_locks} cases, and one person cannot hold more. Approve or close one of them "
                "first",
                n_locks=n_locks,
            )
        )


Shown = Mapping[tuple[str, int, str, str], float]
"""Entries of disclosures: who, the number of the case or file, the event, the way, and when."""


def disclose(
    transaction: Transaction,
    user: str,
    cases: Sequence[Row[Any]],
    way: str,
    event: str = ORIGINAL_SHOWN,
) -> Shown:
    """Enter into the trail that a user is shown cases, unless the same entry is recent.

    The caller gives the result to `remember` once the transaction is on the disk, and shows nothing before.
    """
    now = transaction.now()
    due = [case for case in cases if not _is_recent(transaction.store, (user, case.id, event, way), now)]
    events = [TrailEvent(user=user, event=event, case=case.id, name=case.name, new=way) for case in due]
    transaction.record(*events)
    return {(user, case.id, event, way): now for case in due}


def disclose_files(store: ReviewStore, user: str, files: Mapping[int, tuple[int, str]], way: str) -> None:
    """Enter into the trail that a user is shown values of files that wait.

    `files` has the key and the name of each by its number.
    """
    now, event = store.now(), _FILE_SHOWN
    due = [number for number in files if not _is_recent(store, (user, number, event, way), now)]
    if due:
        with store.writing() as transaction:
            names = [transaction.names.seal(*files[number]) for number in due]
            transaction.record(*(TrailEvent(user=user, event=event, name=name, new=way) for name in names))
        remember(store, {(user, number, event, way): now for number in due})


def forget_file(store: ReviewStore, number: int) -> None:
    """Forget who was shown an earlier file of this number: SQLite uses numbers again."""
    for key in [key for key in list(store.shown) if key[1:3] == (number, _FILE_SHOWN)]:
        store.shown.pop(key, None)


def disclose_all(store: ReviewStore, user: str, case_ids: Sequence[int], way: str) -> None:
    """Enter into the trail that the originals of many cases leave the store, in short transactions."""
    for begin in range(0, len(case_ids), _EVENTS_AT_ONCE):
        some = case_ids[begin : begin + _EVENTS_AT_ONCE]
        with store.writing() as transaction:
            found = select(CASES.c.id, CASES.c.name).where(CASES.c.id.in_(some)).order_by(CASES.c.id)
            events = [
                TrailEvent(user=user, event=ORIGINAL_SHOWN, case=case.id, name=case.name, new=way)
                for case in transaction.execute(found).all()
            ]
            transaction.record(*events)


def remember(store: ReviewStore, shown: Shown) -> None:
    """Keep which entries are on the disk; old ones are forgotten."""
    store.shown.update(shown)
    if len(store.shown) > _MAX_REMEMBERED:
        since = store.now() - SAME_VIEW_SECONDS
        for key, at in list(store.shown.items()):
            if at < since:
                store.shown.pop(key, None)


def _is_recent(store: ReviewStore, key: tuple[str, int, str, str], now: float) -> bool:
    at = store.shown.get(key)
    return at is not None and at <= now < at + SAME_VIEW_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Cases of one user: held now, read in the last hour, and usually read in an hour (None = not known)."""

    user: str
    n_held: int
    n_read: int
    usual_cases: float | None  # the mean of the hours of the last 30 days in which they read any
    is_unusual: bool


class _Shown(msgspec.Struct):
    at: datetime
    user: str
    case: int


def list_activity(store: ReviewStore) -> tuple[Activity, ...]:
    """Return who holds and reads how many cases, from locks and the trail; the unusual ones first."""
    now = store.now()
    with store.reading() as transaction:
        limits = read_limits(transaction)
        held = select(USERS.c.name, func.count()).join(CASES, CASES.c.lock_user_id == USERS.c.id)
        held = held.where(CASES.c.lock_until > now).group_by(USERS.c.name)
        n_held: dict[str, int] = {str(name): int(n) for name, n in transaction.execute(held)}
        hours = _read_hours(transaction, now)
    found = []
    for user in sorted(n_held.keys() | hours.keys()):
        n_read = len(hours[user].pop(0, ()))
        usual = [len(cases) for cases in hours[user].values()]
        mean = sum(usual) / len(usual) if len(usual) >= _MIN_HOURS else None
        is_much = mean is not None and n_read >= max(_MIN_UNUSUAL, TIMES_USUAL * mean)
        is_unusual = is_much or n_read > limits.cases_per_hour
        held_now = n_held.get(user, 0)
        found.append(
            Activity(user=user, n_held=held_now, n_read=n_read, usual_cases=mean, is_unusual=is_unusual)
        )
    return tuple(sorted(found, key=lambda one: (not one.is_unusual, -one.n_read, one.user)))


def _read_hours(transaction: Transaction, now: float) -> dict[str, dict[int, set[int]]]:
    hours: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    found = select(TRAIL.c.line).where(TRAIL.c.line.contains(f'"event":"{ORIGINAL_SHOWN}"', autoescape=True))
    for line in transaction.execute(found.order_by(TRAIL.c.number.desc())).yield_per(1000).scalars():
        try:
            one = msgspec.json.decode(line, type=_Shown)
        except msgspec.MsgspecError:
            continue  # somebody altered it: `verify` says so
        seconds = now - one.at.astimezone(UTC).timestamp()
        if seconds > 86_400 * _USUAL_DAYS:
            break
        hours[one.user][max(0, int(seconds // 3600))].add(one.case)
    return hours
