"""The list of cases, the next one, and who shall do which."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from inverse_deid.core.errors import ReviewError
from inverse_deid.review.accounts import list_users
from inverse_deid.review.pages.rendering import page
from inverse_deid.review.pages.visits import Visit
from inverse_deid.review.values import CaseRow, CaseState, User, UserRole, WorkFilter
from inverse_deid.review.work_list import assign, list_cases, next_case, progress

_FINISHED = (CaseState.AGREED, CaseState.RELEASED)
_SHOWS = ("all", "free", "mine")
_DOUBTS = ("0", "1", "5", "20")


def work_list(visit: Visit) -> Response:
    """The page."""
    query = visit.request.query_params
    user = visit.session.user
    states = tuple(state.value for state in CaseState if state.value in query.getlist("state"))
    show = query.get("show", "all") if query.get("show", "all") in _SHOWS else "all"
    doubt = query.get("doubt", "0") if query.get("doubt", "0") in _DOUBTS else "0"
    chosen = WorkFilter(
        states=frozenset(CaseState(state) for state in states),
        assignee_id=user.id if show == "mine" else None,
        claimable_by=user.id if show == "free" else None,
        min_doubt=float(doubt),
    )
    found = list_cases(visit.store, chosen, after=query.get("after") or None)
    filters = [*(("state", state) for state in states), ("show", show), ("doubt", doubt)]
    more = None if found.next_key is None else "/?" + urlencode([*filters, ("after", found.next_key)])
    is_admin = user.role.includes(UserRole.ADMIN)
    return page(
        visit.request,
        "work_list.html",
        visit.session,
        rows=[(row, link(row, user)) for row in found.rows],
        more=more,
        is_first=not query.get("after"),
        begin="/?" + urlencode(filters),
        states=list(CaseState),
        chosen_states=states,
        show=show,
        doubt=doubt,
        doubts=_DOUBTS,
        progress=progress(visit.store),
        approvals=visit.store.policy.approvals,
        users=[one for one in list_users(visit.store) if one.is_active] if is_admin else [],
        is_admin=is_admin,
    )


def link(row: CaseRow, user: User) -> str:
    """Where a line of the list leads, "" = nowhere for this user.

    Args:
        row: The line.
        user: Who looks at it.
    """
    if row.state in _FINISHED:
        return f"/cases/{row.case_id}/finished"
    if row.state is CaseState.DISAGREED:
        return f"/disputes/{row.case_id}" if user.role.includes(UserRole.ADJUDICATOR) else ""
    return f"/cases/{row.case_id}"


def next_page(visit: Visit) -> Response:
    """To the next case, or back to the list."""
    return RedirectResponse(next_address(visit), status_code=303)


def next_address(visit: Visit) -> str:
    """The page of the case that the user should do next."""
    case_id = next_case(visit.store, visit.session.user)
    return "/" if case_id is None else f"/cases/{case_id}"


def assign_cases(visit: Visit) -> Response:
    """Assign the chosen cases."""
    with suppress(ValueError):
        cases = tuple(int(case_id) for case_id in visit.fields.get("case", []))
        assignee = int(visit.text("assignee")) if visit.text("assignee") else None
        assign(visit.store, visit.session.user, cases, assignee)
        return RedirectResponse("/", status_code=303)
    raise ReviewError("choose cases and an account")
