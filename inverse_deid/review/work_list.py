"""The work list: pages of cases, the most doubtful first; progress, assignment."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, Select, and_, exists, func, or_, select, update

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.review.cases import lock_row
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import CASES, INTAKES, LAYERS, USERS
from inverse_deid.review.trail import TrailEvent, append
from inverse_deid.review.values import CaseRow, CaseState, LayerKind, User, UserRole, WorkFilter, WorkPage

PAGE_ROWS = 50
MAX_PAGE_ROWS = 500

_ASSIGNEES = USERS.alias("assignees")
_HOLDERS = USERS.alias("holders")
_OPEN = (CaseState.NEW.value, CaseState.IN_REVIEW.value)


def list_cases(
    store: ReviewStore, chosen: WorkFilter, *, after: str | None = None, n_rows: int = PAGE_ROWS
) -> WorkPage:
    """Return one page of 1 to 500 cases by falling doubt, then by number.

    `after` is the `next_key` of the page before; None = the first page.

    Raises:
        ReviewError: `after` is malformed, or `n_rows` is out of range.
    """
    if not 1 <= n_rows <= MAX_PAGE_ROWS:
        raise ReviewError(f"a page must have 1 to {MAX_PAGE_ROWS} lines")
    found = _filter(store, select(CASES.c.id), chosen)
    if after is not None:
        doubt, case_id = _parse_key(after)
        found = found.where(CASES.c.doubt <= doubt, or_(CASES.c.doubt < doubt, CASES.c.id > case_id))
    found = found.order_by(CASES.c.doubt.desc(), CASES.c.id).limit(n_rows + 1)
    with store.reading() as connection:
        ids = connection.execute(found).scalars().all()
        rows = connection.execute(_select_lines().where(CASES.c.id.in_(ids[:n_rows]))).all()
    now = store.now()
    lines = {row.id: _read_line(row, now) for row in rows}
    ordered = tuple(lines[case_id] for case_id in ids[:n_rows])
    next_key = f"{ordered[-1].doubt.hex()}_{ordered[-1].case_id}" if len(ids) > n_rows else None
    return WorkPage(ordered, next_key)


def _filter(store: ReviewStore, found: Select[Any], chosen: WorkFilter) -> Select[Any]:
    if chosen.states:
        found = found.where(CASES.c.state.in_(sorted(state.value for state in chosen.states)))
    if chosen.assignee_id is not None:
        found = found.where(CASES.c.assignee_id == chosen.assignee_id)
    if chosen.min_doubt > 0:
        found = found.where(CASES.c.doubt >= chosen.min_doubt)
    if chosen.claimable_by is None:
        return found
    user_id = chosen.claimable_by
    is_free = or_(
        CASES.c.lock_user_id.is_(None), CASES.c.lock_user_id == user_id, CASES.c.lock_until <= store.now()
    )
    has_approved = exists().where(
        LAYERS.c.case_id == CASES.c.id, LAYERS.c.user_id == user_id, LAYERS.c.approval.is_not(None)
    )
    return found.where(
        CASES.c.state.in_(_OPEN),
        CASES.c.n_approvals < store.policy.approvals,
        or_(CASES.c.assignee_id.is_(None), CASES.c.assignee_id == user_id),
        is_free,
        ~has_approved,
    )


def _select_lines() -> Select[Any]:
    columns = (
        CASES,
        INTAKES.c.export_name.label("source"),
        _ASSIGNEES.c.name.label("assignee"),
        _HOLDERS.c.name.label("holder"),
    )
    return (
        select(*columns)
        .join(INTAKES, INTAKES.c.source_id == CASES.c.source_id)
        .outerjoin(_ASSIGNEES, _ASSIGNEES.c.id == CASES.c.assignee_id)
        .outerjoin(_HOLDERS, _HOLDERS.c.id == CASES.c.lock_user_id)
    )


def _read_line(row: Row[Any], now: float) -> CaseRow:
    is_locked = row.lock_until is not None and row.lock_until > now
    return CaseRow(
        case_id=row.id,
        name=row.name,
        source=row.source,
        source_id=row.source_id,
        state=CaseState(row.state),
        doubt=row.doubt,
        n_tokens=row.n_tokens,
        n_doubtful=row.n_doubtful,
        n_approvals=row.n_approvals,
        assignee=row.assignee,
        locked_by=row.holder if is_locked else None,
        is_failed=row.is_failed,
    )


def _parse_key(key: str) -> tuple[float, int]:
    doubt, _, case_id = key.partition("_")
    try:
        return float.fromhex(doubt), int(case_id)
    except (ValueError, OverflowError):
        pass
    raise ReviewError("the page cannot be found. Begin at the first page.")


def next_case(store: ReviewStore, user: User) -> int | None:
    """Return the case that a reviewer should do next, None = there is none.

    First a case that they have begun, then one assigned to them, then the most doubtful free one.
    """
    mine = and_(
        LAYERS.c.case_id == CASES.c.id,
        LAYERS.c.user_id == user.id,
        LAYERS.c.kind == LayerKind.REVIEW.value,
        LAYERS.c.approval.is_(None),
    )
    free = _filter(store, select(CASES.c.id), WorkFilter(claimable_by=user.id))
    by_doubt = (CASES.c.doubt.desc(), CASES.c.id)
    with store.reading() as connection:
        for found in (
            free.where(exists().where(mine)),
            free.where(CASES.c.assignee_id == user.id),
            free,
        ):
            ids: list[int] = list(connection.execute(found.order_by(*by_doubt).limit(1)).scalars())
            if ids:
                return ids[0]
    return None


def count_cases(store: ReviewStore) -> dict[CaseState, int]:
    """Count the cases in each state, including states without cases."""
    with store.reading() as connection:
        found = select(CASES.c.state, func.count()).group_by(CASES.c.state)
        counts = {row[0]: int(row[1]) for row in connection.execute(found)}
    return {state: counts.get(state.value, 0) for state in CaseState}


def assign(store: ReviewStore, admin: User, case_ids: tuple[int, ...], assignee_id: int | None) -> None:
    """Assign cases to a user; None = anybody.

    Raises:
        NotAllowedError: The user is not an admin.
        ReviewError: A case does not exist, or the account is not open.
    """
    if not admin.role.includes(UserRole.ADMIN):
        raise NotAllowedError("only an admin can assign cases")
    with store.writing() as connection:
        name = None
        if assignee_id is not None:
            found = select(USERS.c.name).where(USERS.c.id == assignee_id, USERS.c.is_active)
            name = connection.execute(found).scalar_one_or_none()
            if name is None:
                raise ReviewError("this account does not exist or is closed")
        events = []
        for case_id in sorted(set(case_ids)):
            case = lock_row(connection, case_id)
            connection.execute(update(CASES).where(CASES.c.id == case_id).values(assignee_id=assignee_id))
            events.append(TrailEvent(user=admin.name, event="assign", case=case_id, name=case.name, new=name))
        append(connection, store, events)
