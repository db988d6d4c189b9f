"""The work list: pages of cases, found, filtered and ordered; progress, assignment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    and_,
    exists,
    func,
    or_,
    select,
)

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.core.wording import _
from inverse_deid.review.flow.cases import drop_lock, lock_row, read_user_name
from inverse_deid.review.flow.oversight import added_by, has_hand, read_limits
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.tables import CASES, INTAKES, LAYERS, USERS
from inverse_deid.review.store.values import (
    CaseRow,
    CaseState,
    LayerKind,
    User,
    UserRole,
    WorkFilter,
    WorkOrder,
    WorkPage,
)

PAGE_ROWS = 50
MAX_PAGE_ROWS = 500

_MAX_ID = 2**31
_BY_NAME = (WorkOrder.NAME, WorkOrder.FILE)

_ASSIGNEES = USERS.alias("assignees")
_HOLDERS = USERS.alias("holders")
_OPEN = (CaseState.NEW.value, CaseState.IN_REVIEW.value)


def list_cases(
    store: ReviewStore,
    chosen: WorkFilter,
    *,
    after: str | None = None,
    n_rows: int = PAGE_ROWS,
    order: WorkOrder = WorkOrder.DOUBT,
) -> WorkPage:
    """Return one page of 1 to 500 cases in an order, by default by falling doubt.

    `after` is the `next_key` of the page before; None = the first page. Each page begins where an index
    continues, so that a late page takes no longer than the first. Names are sealed: what depends on them is
    found and ordered here. A key never contains a name.

    Raises:
        ReviewError: `after` is malformed, or `n_rows` is out of range.
    """
    if not 1 <= n_rows <= MAX_PAGE_ROWS:
        raise ReviewError(_("a page must have 1 to {max_page_rows} lines", max_page_rows=MAX_PAGE_ROWS))
    found = select_cases(store, select(CASES.c.id), chosen)
    with store.reading() as transaction:
        if order in _BY_NAME:
            ids = _order_by_name(transaction, found, chosen, order, after)[: n_rows + 1]
        else:
            matches = _match(transaction, chosen)
            ids = []
            for part in _order_parts(found, chosen, order, after):
                # A rare name is looked for in all cases.
                limited = part if chosen.search else part.limit(n_rows + 1 - len(ids))
                rest = filter(matches, transaction.execute(limited).scalars())
                ids += islice(rest, n_rows + 1 - len(ids))
                if len(ids) > n_rows:
                    break
        rows = transaction.execute(_select_lines().where(CASES.c.id.in_(ids[:n_rows]))).all()
        lines = {row.id: _read_line(transaction, row) for row in rows}
    # A case can be deleted between two queries.
    ordered = tuple(lines[case_id] for case_id in ids[:n_rows] if case_id in lines)
    return WorkPage(ordered, _make_key(ordered[-1], order) if ordered and len(ids) > n_rows else None)


def read_line(store: ReviewStore, case_id: int) -> CaseRow:
    """Return the line of one case.

    Raises:
        ReviewError: The case does not exist.
    """
    with store.reading() as transaction:
        row = transaction.execute(_select_lines().where(CASES.c.id == case_id)).one_or_none()
        if row is None:
            raise ReviewError(_("the store has no case {case_id}", case_id=case_id))
        return _read_line(transaction, row)


def count_matches(store: ReviewStore, chosen: WorkFilter) -> int:
    with store.reading() as transaction:
        found = select_cases(store, select(CASES.c.id if chosen.search else func.count()), chosen)
        if not chosen.search:
            return int(transaction.execute(found.select_from(CASES)).scalar_one())
        return sum(map(_match(transaction, chosen), transaction.execute(found).scalars()))


def _match(transaction: Transaction, chosen: WorkFilter) -> Callable[[int], bool]:
    # Names are sealed, so the database cannot search them.
    search = chosen.search.casefold()
    if not search:
        return lambda _case_id: True
    names = _read_names(transaction)

    def is_found(case_id: int) -> bool:
        name, file, _number = names.get(case_id, ("", "", 0))
        return search in name.casefold() or search in file.casefold()

    return is_found


def _read_names(transaction: Transaction) -> Mapping[int, tuple[str, str, int]]:
    # The name, the name of the file and the number in it of all cases. They never change, so they are kept.
    # What is kept is replaced as a whole: it always begins with the first case.
    known = dict(transaction.store.case_names)
    newest = max(known, default=0)
    found = select(CASES.c.id, CASES.c.name, CASES.c.number, INTAKES.c.export_name)
    found = found.join(INTAKES, INTAKES.c.source_id == CASES.c.source_id).where(CASES.c.id > newest)
    opened = lru_cache(transaction.names.find)
    for row in transaction.execute(found.order_by(CASES.c.id)).all():
        known[row.id] = transaction.names.find(row.name), opened(row.export_name), row.number
    transaction.store.case_names = known
    return known


def _order_by_name(
    transaction: Transaction, found: Select[Any], chosen: WorkFilter, order: WorkOrder, after: str | None
) -> list[int]:
    # The numbers of all cases behind a key.
    names = _read_names(transaction)

    def key_of(case_id: int) -> tuple[Any, ...]:
        name, file, number = names.get(case_id, ("", "", 0))
        return (name, case_id) if order is WorkOrder.NAME else (file, number, case_id)

    begin = None
    if after is not None:
        last = _parse_key(after, order)[-1]
        if last not in names:
            raise _refuse_page()
        begin = key_of(last)
    wanted = filter(_match(transaction, chosen), transaction.execute(found).scalars())
    keys = sorted(key for key in map(key_of, wanted) if begin is None or key > begin)
    return [key[-1] for key in keys]


def _order_parts(
    found: Select[Any], chosen: WorkFilter, order: WorkOrder, after: str | None
) -> Iterator[Select[Any]]:
    # One after the other, their results are the cases behind a key.
    by_doubt = (CASES.c.doubt.desc(), CASES.c.id)
    key = None if after is None else _parse_key(after, order)
    if order is WorkOrder.NEWEST:
        yield (found if key is None else found.where(CASES.c.id < key[-1])).order_by(CASES.c.id.desc())
    elif order is WorkOrder.DOUBT:
        yield _behind_doubt(found, key).order_by(*by_doubt)
    else:
        states = [state for state in CaseState if not chosen.states or state in chosen.states]
        begin = None if key is None else list(CaseState).index(key[0])
        for state in states:
            number = list(CaseState).index(state)
            if begin is None or number >= begin:
                part = found.where(CASES.c.state == state.value)
                yield _behind_doubt(part, key[1:] if key and number == begin else None).order_by(*by_doubt)


def _behind_doubt(found: Select[Any], key: tuple[Any, ...] | None) -> Select[Any]:
    if key is None:
        return found
    doubt, case_id = key
    return found.where(CASES.c.doubt <= doubt, or_(CASES.c.doubt < doubt, CASES.c.id > case_id))


def _make_key(last: CaseRow, order: WorkOrder) -> str:
    # Names are looked up again by the number of the case.
    if order is WorkOrder.DOUBT:
        return f"{last.doubt.hex()}_{last.case_id}"
    if order is WorkOrder.STATE:
        return f"{last.state.name.lower()}_{last.doubt.hex()}_{last.case_id}"
    return str(last.case_id)


def _parse_key(key: str, order: WorkOrder) -> tuple[Any, ...]:
    *place, number = key.split("_")
    with suppress(ValueError, OverflowError, KeyError):
        case_id = int(number)
        if order in (WorkOrder.DOUBT, WorkOrder.STATE) and place and abs(case_id) < _MAX_ID:
            doubt = float.fromhex(place.pop())
            if order is WorkOrder.STATE:
                return CaseState["_".join(place).upper()], doubt, case_id
            if not place:
                return doubt, case_id
        elif not place and abs(case_id) < _MAX_ID:
            return (case_id,)
    raise _refuse_page()


def _refuse_page() -> ReviewError:
    return ReviewError(_("the page cannot be found. Begin at the first page"))


def select_cases(store: ReviewStore, found: Select[Any], chosen: WorkFilter) -> Select[Any]:
    """Return a query of cases with the conditions of a filter."""
    if chosen.states:
        found = found.where(CASES.c.state.in_(sorted(state.value for state in chosen.states)))
    if chosen.assignee_id is not None:
        found = found.where(CASES.c.assignee_id == chosen.assignee_id)
    if chosen.min_doubtful > 0:
        found = found.where(or_(CASES.c.n_doubtful >= chosen.min_doubtful, CASES.c.is_failed))
    if chosen.work_of is not None:
        begun = _has_layer(chosen.work_of, LAYERS.c.approval.is_(None))
        found = found.where(or_(CASES.c.assignee_id == chosen.work_of, begun))
    if chosen.approved_by is not None:
        found = found.where(_has_layer(chosen.approved_by, LAYERS.c.approval.is_not(None)))
    if chosen.claimable_by is None:
        return found
    user_id = chosen.claimable_by
    return found.where(
        CASES.c.state.in_(_OPEN),
        CASES.c.n_approvals < store.policy.approvals,
        _is_open_to(store, user_id),
        ~_has_layer(user_id, LAYERS.c.approval.is_not(None)),
    )


def _is_open_to(store: ReviewStore, user_id: int) -> ColumnElement[bool]:
    # Not locked by or assigned to another, and within the limits.
    lock, assignee = CASES.c.lock_user_id, CASES.c.assignee_id
    with store.reading() as transaction:
        limits = read_limits(transaction)
    return and_(
        or_(lock.is_(None), lock == user_id, CASES.c.lock_until <= store.now()),
        assignee == user_id if limits.only_assigned else or_(assignee.is_(None), assignee == user_id),
        *([~added_by(user_id)] if limits.adders_stay_out else []),
    )


def _has_layer(user_id: int, condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(LAYERS.c.case_id == CASES.c.id, LAYERS.c.user_id == user_id, condition)


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


def _read_line(transaction: Transaction, row: Row[Any]) -> CaseRow:
    is_locked = row.lock_until is not None and row.lock_until > transaction.now()
    return CaseRow(
        case_id=row.id,
        name=transaction.names.open(row.name),
        source=transaction.names.open(row.source),
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


def next_case(store: ReviewStore, user: User) -> int | None:
    """Return the case or dispute that a user should do next, None = there is none.

    For an adjudicator these are disputes as long as there are any that they may settle. In each kind, first
    comes what they have begun, then what is assigned to them, then the most doubtful free one.
    """
    reviews = select_cases(store, select(CASES.c.id), WorkFilter(claimable_by=user.id))
    kinds = [(LayerKind.REVIEW, reviews)]
    if user.role.includes(UserRole.ADJUDICATOR):
        kinds.insert(0, (LayerKind.ADJUDICATION, _select_disputes(store, user.id)))
    with store.reading() as transaction:
        for kind, free in kinds:
            begun = _has_layer(user.id, and_(LAYERS.c.kind == kind.value, LAYERS.c.approval.is_(None)))
            for found in (free.where(begun), free.where(CASES.c.assignee_id == user.id), free):
                first = found.order_by(CASES.c.doubt.desc(), CASES.c.id).limit(1)
                case_id: int | None = transaction.execute(first).scalar_one_or_none()
                if case_id is not None:
                    return case_id
    return None


def _select_disputes(store: ReviewStore, user_id: int) -> Select[Any]:
    # None on a case that they reviewed.
    return select(CASES.c.id).where(
        CASES.c.state == CaseState.DISAGREED.value,
        _is_open_to(store, user_id),
        ~has_hand(user_id, LayerKind.REVIEW),
    )


def count_cases(store: ReviewStore) -> dict[CaseState, int]:
    """Count the cases in each state, including states without cases."""
    with store.reading() as transaction:
        found = select(CASES.c.state, func.count()).group_by(CASES.c.state)
        counts = {row[0]: int(row[1]) for row in transaction.execute(found)}
    return {state: counts.get(state.value, 0) for state in CaseState}


def assign(store: ReviewStore, admin: User, case_ids: tuple[int, ...], assignee_id: int | None) -> None:
    """Assign cases to a user; None = anybody. Others who hold them lose their locks at once.

    Raises:
        NotAllowedError: The user is not an admin.
        ReviewError: A case does not exist, or the account is not open or sees no texts.
    """
    if not admin.role.includes(UserRole.ADMIN):
        raise NotAllowedError(_("only an admin can assign cases"))
    with store.writing() as transaction:
        name = None
        if assignee_id is not None:
            found = select(USERS).where(USERS.c.id == assignee_id, USERS.c.is_active)
            assignees = transaction.read(found, USERS)
            if not assignees or assignees[0].role == UserRole.ADMIN.value:
                raise ReviewError(_("this account does not exist, is closed or sees no texts"))
            name = assignees[0].name
        events = []
        for case_id in sorted(set(case_ids)):
            case = lock_row(transaction, case_id)
            transaction.update(CASES, CASES.c.id == case_id, assignee_id=assignee_id)
            events.append(TrailEvent(user=admin.name, event="assign", case=case_id, name=case.name, new=name))
            if assignee_id is not None and case.lock_user_id not in (None, assignee_id):
                events += _break_lock(transaction, admin, case)
        transaction.record(*events)


def break_locks(store: ReviewStore, admin: User, case_ids: Collection[int]) -> int:
    """Take cases from those who hold them; all stored work stays. Return how many locks were broken.

    Raises:
        NotAllowedError: The user is not an admin.
        ReviewError: A case does not exist.
    """
    if not admin.role.includes(UserRole.ADMIN):
        raise NotAllowedError(_("only an admin can break locks"))
    with store.writing() as transaction:
        events: list[TrailEvent] = []
        for case_id in sorted(set(case_ids)):
            events += _break_lock(transaction, admin, lock_row(transaction, case_id))
        transaction.record(*events)
    return len(events)


def _break_lock(transaction: Transaction, admin: User, case: Row[Any]) -> Iterator[TrailEvent]:
    # A lock that had not ended gets an entry in the trail.
    if case.lock_user_id is None:
        return
    drop_lock(transaction, case.id)
    if case.lock_until > transaction.now():
        holder = read_user_name(transaction, case.lock_user_id)
        yield TrailEvent(user=admin.name, event="lock broken", case=case.id, name=case.name, old=holder)
