"""The list of cases: search, filters, order; several cases at once; the next case."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

from starlette.responses import RedirectResponse, Response

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.core.wording import N_, _
from inverse_deid.review.files.waiting import UploadState, count_uploads
from inverse_deid.review.flow.approval import release
from inverse_deid.review.flow.work_list import (
    assign,
    break_locks,
    count_cases,
    count_matches,
    list_cases,
    next_case,
    read_line,
)
from inverse_deid.review.pages.visits import MAX_SEARCH_CHARS, Visit, count_words, read_number
from inverse_deid.review.people.accounts import list_users
from inverse_deid.review.store.sources import SourceRow, list_sources
from inverse_deid.review.store.values import CaseRow, CaseState, User, UserRole, WorkFilter, WorkOrder

_FINISHED = (CaseState.AGREED, CaseState.RELEASED)
_SHOWS = {
    "all": N_("all cases"),
    "free": N_("those I can review now"),
    "mine": N_("my cases"),
    "done": N_("those I approved"),
}
_DOUBTS = ("0", "1", "5", "20")
_ORDERS = {
    WorkOrder.DOUBT: N_("most doubtful first"),
    WorkOrder.NAME: N_("name"),
    WorkOrder.STATE: N_("state"),
    WorkOrder.FILE: N_("file"),
    WorkOrder.NEWEST: N_("newest first"),
}

MAX_LISTINGS = 5
"""So many files are offered as a table above the list, the others are folded."""

Fields = list[tuple[str, str]]
"""Filters and order, as in an address."""


def show_work_list(visit: Visit) -> Response:
    query, user = visit.request.query_params, visit.user
    fields = _read_fields(query.multi_items())
    given = dict(fields)
    states = tuple(value for name, value in fields if name == "state")
    chosen = WorkFilter(
        states=frozenset(CaseState(state) for state in states),
        work_of=user.id if given["show"] == "mine" else None,
        claimable_by=user.id if given["show"] == "free" else None,
        approved_by=user.id if given["show"] == "done" else None,
        min_doubtful=int(given["doubt"]),
        search=visit.open_search(given.get("q", "")),
    )
    order = WorkOrder(given["sort"])
    found = list_cases(visit.store, chosen, after=query.get("after") or None, order=order)
    without_order = [one for one in fields if one[0] != "sort"]
    is_admin = user.role.includes(UserRole.ADMIN)
    return visit.render(
        "work_list.html",
        rows=[(row if is_admin else _hide_names(row, user), link_case(row, user)) for row in found.rows],
        more=None if found.next_key is None else "/?" + urlencode([*fields, ("after", found.next_key)]),
        is_first=not query.get("after"),
        begin="/?" + urlencode(fields),
        here=urlencode(query.multi_items()),
        state_names={one: visit.audience.name_state(one) for one in visit.audience.state_names},
        chosen_states=states,
        given=given,
        search=chosen.search,
        max_search=MAX_SEARCH_CHARS,
        is_filtered=chosen != WorkFilter(),
        n_matches=None if chosen == WorkFilter() else count_matches(visit.store, chosen),
        shows={name: _(label) for name, label in _SHOWS.items()},
        doubts=_DOUBTS,
        orders={order: _(label) for order, label in _ORDERS.items()},
        order_links={order.value: "/?" + urlencode([*without_order, ("sort", order)]) for order in _ORDERS},
        progress=count_shown(visit),
        approvals=visit.store.policy.approvals,
        users=_list_readers(visit) if is_admin else [],
        is_admin=is_admin,
        can_release=user.role.includes(UserRole.ADJUDICATOR),
        can_select=visit.audience.selects_cases and user.role in (UserRole.ADJUDICATOR, UserRole.ADMIN),
        listings=_list_listings(visit),
        max_listings=MAX_LISTINGS,
        unmasked=count_unmasked(visit),
        is_through=not is_admin and find_next(visit) == "/" and can_download(visit),
    )


def count_unmasked(visit: Visit) -> dict[str, int]:
    """Count the added files of which nothing is among the cases, by state, for those who can see to them."""
    is_keeper = visit.user.role is UserRole.ADJUDICATOR and visit.request.app.state.intake is not None
    counts = count_uploads(visit.store) if is_keeper else {}
    return {state.name.lower(): counts.get(state, 0) for state in UploadState}


def _list_listings(visit: Visit) -> list[SourceRow]:
    # Files of many cases that a reader can go through as a table, the newest first.
    if not visit.user.role.includes(UserRole.REVIEWER):
        return []
    found = [one for one in list_sources(visit.store) if 1 < one.n_cases > one.n_released]
    return found[::-1]


def _list_readers(visit: Visit) -> list[User]:
    return [one for one in list_users(visit.store) if one.is_active and one.role is not UserRole.ADMIN]


def _hide_names(row: CaseRow, user: User) -> CaseRow:
    # An adjudicator must not know whose work they settle.
    def hide(name: str | None) -> str | None:
        return name if name is None else _("you") if name == user.name else _("another user")

    return replace(row, assignee=hide(row.assignee), locked_by=hide(row.locked_by))


def count_shown(visit: Visit) -> dict[CaseState, int]:
    return {state: n for state, n in count_cases(visit.store).items() if state in visit.audience.state_names}


def _read_fields(given: Sequence[tuple[str, str]]) -> Fields:
    # Unknown values count as not given.
    last = dict(given)
    show, doubt, order = last.get("show", ""), last.get("doubt", ""), last.get("sort", "")
    states = [state.value for state in CaseState if ("state", state.value) in given]
    search = [("q", last["q"])] if last.get("q") else []
    return [
        *(("state", state) for state in states),
        ("show", show if show in _SHOWS else "all"),
        ("doubt", doubt if doubt in _DOUBTS else "0"),
        ("sort", order if order in set(WorkOrder) else WorkOrder.DOUBT.value),
        *search,
    ]


def find_cases(visit: Visit) -> Response:
    """Redirect to the list with the chosen filters; what was searched for is encrypted in the address."""
    given = [(name, value) for name, values in visit.fields.items() for value in values if name != "q"]
    fields = _read_fields([*given, ("q", visit.seal_search(visit.text("search")))])
    return RedirectResponse("/?" + urlencode(fields), status_code=303)


def link_case(row: CaseRow, user: User) -> str:
    """Return the page of a case for a user, "" = there is none."""
    if not user.role.includes(UserRole.REVIEWER):
        return ""
    if row.state in _FINISHED:
        return f"/cases/{row.case_id}/finished"
    if row.state is CaseState.DISAGREED:
        return f"/disputes/{row.case_id}" if user.role.includes(UserRole.ADJUDICATOR) else ""
    return f"/cases/{row.case_id}"


def can_download(visit: Visit) -> bool:
    """Whether a user can download, and there is something to download."""
    released = count_cases(visit.store)[CaseState.RELEASED]
    return visit.user.role.includes(UserRole.ADJUDICATOR) and released > 0


def go_next(visit: Visit) -> Response:
    address = find_next(visit)
    return visit.redirect(
        address, _("Nothing is left for you to do at the moment.") if address == "/" else ""
    )


def find_next(visit: Visit) -> str:
    """Return the address of the case or dispute that the user should do next, or of the list."""
    case_id = next_case(visit.store, visit.user)
    return "/" if case_id is None else link_case(read_line(visit.store, case_id), visit.user) or "/"


def assign_cases(visit: Visit) -> Response:
    with suppress(ValueError):
        cases = read_selected(visit)
        assignee = int(visit.text("assignee")) if visit.text("assignee") else None
        assign(visit.store, visit.user, cases, assignee)
        name = next((one.name for one in list_users(visit.store) if one.id == assignee), "anybody")
        return go_back(
            visit,
            _("{words} assigned to {name}.", words=count_words(len(cases), "case"), name=name)
            if cases
            else SELECT_FIRST,
        )
    raise ReviewError(_("select cases and an account"))


def break_selected(visit: Visit) -> Response:
    cases = read_selected(visit)
    n_broken = break_locks(visit.store, visit.user, cases)
    return go_back(
        visit, _("{words} broken.", words=count_words(n_broken, "lock")) if cases else SELECT_FIRST
    )


def release_cases(visit: Visit) -> Response:
    """Release the selected cases that are agreed; the others stay as they are."""
    cases, n_released, n_left = read_selected(visit), 0, 0
    for case_id in cases:
        try:
            release(visit.store, visit.user, case_id)
            n_released += 1
        except NotAllowedError:
            raise
        except ReviewError:
            n_left += 1
    notice = _("{words} released.", words=count_words(n_released, "case"))
    if n_left:
        notice += _(" {words} not agreed, so left as before.", words=count_words(n_left, "case"))
    return go_back(visit, notice if cases else SELECT_FIRST)


SELECT_FIRST = N_("Nothing was done. Select cases first.")


def read_selected(visit: Visit) -> tuple[int, ...]:
    """Return the numbers of the selected cases.

    Raises:
        ReviewError: One is not a number.
    """
    numbers = {read_number(one) for one in visit.fields.get("case", [])}
    cases = {number for number in numbers if number is not None}
    if cases != numbers:
        raise ReviewError(_("the selection cannot be read. Load the page again"))
    return tuple(sorted(cases))


def go_back(visit: Visit, notice: str) -> Response:
    """Redirect to the page of the list on which the cases were selected."""
    here = urlencode(parse_qsl(visit.text("here")))
    return visit.redirect("/?" + here if here else "/", notice)
