"""Pages over all cases: the list, the next case, assignment; summary; accounts."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from inverse_deid.core.errors import ReviewError
from inverse_deid.review.accounts import MIN_PASSWORD_CHARS, add_user, list_users, set_active, set_password
from inverse_deid.review.causality import summarise_forms
from inverse_deid.review.pages.visits import Visit
from inverse_deid.review.quality import summarise_reviewers
from inverse_deid.review.values import CaseRow, CaseState, User, UserRole, WorkFilter
from inverse_deid.review.work_list import assign, count_cases, list_cases, next_case

_FINISHED = (CaseState.AGREED, CaseState.RELEASED)
_SHOWS = ("all", "free", "mine")
_DOUBTS = ("0", "1", "5", "20")


def show_work_list(visit: Visit) -> Response:
    """Return the list of cases."""
    query, user = visit.request.query_params, visit.user
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
    return visit.render(
        "work_list.html",
        rows=[(row, _link(row, user)) for row in found.rows],
        more=more,
        is_first=not query.get("after"),
        begin="/?" + urlencode(filters),
        states=list(CaseState),
        chosen_states=states,
        show=show,
        doubt=doubt,
        doubts=_DOUBTS,
        progress=count_cases(visit.store),
        approvals=visit.store.policy.approvals,
        users=[one for one in list_users(visit.store) if one.is_active] if is_admin else [],
        is_admin=is_admin,
    )


def _link(row: CaseRow, user: User) -> str:
    """Return the page of a case for a user, "" = there is none."""
    if row.state in _FINISHED:
        return f"/cases/{row.case_id}/finished"
    if row.state is CaseState.DISAGREED:
        return f"/disputes/{row.case_id}" if user.role.includes(UserRole.ADJUDICATOR) else ""
    return f"/cases/{row.case_id}"


def go_next(visit: Visit) -> Response:
    """Redirect to the next case, or to the list."""
    return RedirectResponse(find_next(visit), status_code=303)


def find_next(visit: Visit) -> str:
    """Return the address of the case that the user should do next, or of the list."""
    case_id = next_case(visit.store, visit.user)
    return "/" if case_id is None else f"/cases/{case_id}"


def assign_cases(visit: Visit) -> Response:
    """Assign the selected cases."""
    with suppress(ValueError):
        cases = tuple(int(case_id) for case_id in visit.fields.get("case", []))
        assignee = int(visit.text("assignee")) if visit.text("assignee") else None
        assign(visit.store, visit.user, cases, assignee)
        return RedirectResponse("/", status_code=303)
    raise ReviewError("select cases and an account")


def show_summary(visit: Visit) -> Response:
    """Return progress, agreement and time; times by name are for adjudicators and admins.

    Agreement decrypts every case with two reviews, so it is computed only on request.
    """
    is_asked = visit.request.query_params.get("agreement") == "1"
    return visit.render(
        "summary.html",
        progress=count_cases(visit.store),
        reviewers=summarise_reviewers(visit.store) if is_asked else None,
        forms=summarise_forms(visit.store),
        shows_names=visit.user.role.includes(UserRole.ADJUDICATOR),
    )


def show_accounts(visit: Visit) -> Response:
    """Return all accounts, and a form to add one."""
    users = list_users(visit.store)
    return visit.render("accounts.html", users=users, roles=list(UserRole), min_chars=MIN_PASSWORD_CHARS)


def change_account(visit: Visit) -> Response:
    """Add, close or open an account, or change its password."""
    name, by, what = visit.text("name"), visit.user.name, visit.text("what")
    if what in ("close", "open"):
        if name == by:
            raise ReviewError("you cannot close your own account. Ask another admin.")
        set_active(visit.store, name, is_active=what == "open", by=by)
    elif what == "password":
        set_password(visit.store, name, visit.text("password"), by=by)
    elif what == "add" and visit.text("role") in set(UserRole):
        add_user(visit.store, name, visit.text("password"), UserRole(visit.text("role")), by=by)
    else:
        raise ReviewError("this change is not known. Load the page again.")
    return RedirectResponse("/accounts", status_code=303)
