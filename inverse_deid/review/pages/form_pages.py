"""The pages without a script: the list of cases, summary, accounts; finished cases, forms, the sample."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.review.accounts import MIN_PASSWORD_CHARS, add_user, list_users, set_active, set_password
from inverse_deid.review.approval import release, withdraw
from inverse_deid.review.causality import (
    CausalityForm,
    Preserved,
    Topic,
    TopicAnswer,
    read_final_texts,
    read_form,
    save_form,
    summarise_forms,
)
from inverse_deid.review.pages.visits import Visit
from inverse_deid.review.quality import (
    CONFIDENCE,
    bound_leaks,
    draw_sample,
    list_unread,
    read_sample,
    record_reading,
    summarise_reviewers,
)
from inverse_deid.review.reading import read_state, view_masked
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


USUAL_CASES = 60
"""If none of them leaks, at most 4.88 % of the released cases do."""

_ANSWERS = {"none": False, "leak": True}


def show_finished(visit: Visit) -> Response:
    """Return the masked text and the possible actions."""
    masked, _ = read_final_texts(visit.store, visit.case_id, with_original=False)
    state = read_state(visit.store, visit.case_id)
    return visit.render(
        "finished.html",
        case_id=visit.case_id,
        masked=masked,
        form=read_form(visit.store, visit.user, visit.case_id),
        is_adjudicator=visit.user.role.includes(UserRole.ADJUDICATOR),
        state=state,
        can_release=state is CaseState.AGREED,
    )


def show_print(visit: Visit) -> Response:
    """Return the masked text of the user's own layer, for paper."""
    view, masked = view_masked(visit.store, visit.user, visit.case_id)
    return visit.render(
        "print.html",
        case_id=view.case_id,
        name=view.name,
        state=view.state.value,
        revision=view.revision,
        is_approved=view.is_approved,
        masked=masked.text,
    )


def release_case(visit: Visit) -> Response:
    """Release an agreed case."""
    release(visit.store, visit.user, visit.case_id)
    return RedirectResponse(f"/cases/{visit.case_id}/finished", status_code=303)


def withdraw_case(visit: Visit) -> Response:
    """Take a release back."""
    withdraw(visit.store, visit.user, visit.case_id)
    return RedirectResponse("/", status_code=303)


def ask_preserved(visit: Visit) -> Response:
    """Return step 1 of the causality form, with the masked text alone."""
    old = read_form(visit.store, visit.user, visit.case_id)
    said = {} if old is None else {topic: answer.preserved for topic, answer in old.answers.items()}
    return _render_form(visit, said, with_original=False)


def ask_needed(visit: Visit) -> Response:
    """Return step 2, with the original: was the missing information needed?"""
    return _render_form(visit, _read_preserved(visit), with_original=True)


def store_form(visit: Visit) -> Response:
    """Store the causality form."""
    answers = {}
    for topic, preserved in _read_preserved(visit).items():
        needed = visit.text(f"needed {topic.value}")
        if preserved.is_incomplete and needed not in ("yes", "no"):
            raise ReviewError(f"say whether the missing part of {topic.value} was needed")
        answers[topic] = TopicAnswer(preserved, needed == "yes" if preserved.is_incomplete else None)
    form = CausalityForm(visit.case_id, answers, visit.text("remark"))
    save_form(visit.store, visit.user, form)
    return RedirectResponse(f"/cases/{visit.case_id}/finished", status_code=303)


def _read_preserved(visit: Visit) -> dict[Topic, Preserved]:
    """Return the answers of step 1."""
    given = {topic: visit.text(f"preserved {topic.value}") for topic in Topic}
    missing = [topic.value for topic, said in given.items() if said not in set(Preserved)]
    if missing:
        raise ReviewError(f"no answer on {', '.join(missing)}. Answer every topic.")
    return {topic: Preserved(said) for topic, said in given.items()}


def _render_form(visit: Visit, said: dict[Topic, Preserved], *, with_original: bool) -> Response:
    masked, original = read_final_texts(visit.store, visit.case_id, with_original=with_original)
    old = read_form(visit.store, visit.user, visit.case_id)
    return visit.render(
        "form.html",
        case_id=visit.case_id,
        topics=list(Topic),
        choices=list(Preserved),
        said=said,
        missing=[topic for topic, preserved in said.items() if preserved.is_incomplete],
        needed={} if old is None else {topic: answer.is_needed for topic, answer in old.answers.items()},
        remark="" if old is None else old.remark,
        masked=masked,
        original=original,
        with_original=with_original,
    )


def show_sample(visit: Visit) -> Response:
    """Return the progress of the latest sample and, once all is read, its result."""
    n_released = count_cases(visit.store)[CaseState.RELEASED]
    found, result = None, None
    with suppress(ReviewError):
        found = read_sample(visit.store)
    if found is not None and not found.unread:
        result = bound_leaks(visit.store)
    return visit.render(
        "sample.html",
        sample=found,
        result=result,
        to_read=() if found is None else list_unread(visit.store, visit.user),
        confidence=CONFIDENCE,
        n_released=n_released,
        n_usual=min(USUAL_CASES, n_released),
    )


def draw(visit: Visit) -> Response:
    """Draw a sample; readings of the previous one no longer count."""
    given = visit.text("n_cases")
    if not (given.isascii() and given.isdecimal() and len(given) < 10):
        raise ReviewError("give the number of cases to draw")
    draw_sample(visit.store, int(given), by=visit.user.name)
    return RedirectResponse("/sample", status_code=303)


def read_case(visit: Visit) -> Response:
    """Return one released case of the sample, as it is exported, to be read in full."""
    to_read = list_unread(visit.store, visit.user)
    if visit.case_id not in to_read:
        raise NotAllowedError(f"case {visit.case_id} is not among the cases of the sample left for you")
    masked, _ = read_final_texts(visit.store, visit.case_id, with_original=False)
    return visit.render("sample_case.html", case_id=visit.case_id, masked=masked, n_left=len(to_read))


def answer(visit: Visit) -> Response:
    """Record whether the case leaks, and redirect to the next one."""
    said = visit.text("said")
    if said not in _ANSWERS:
        raise ReviewError("say whether the case leaks")
    record_reading(visit.store, visit.user, visit.case_id, leaks=_ANSWERS[said])
    to_read = list_unread(visit.store, visit.user)
    return RedirectResponse(f"/sample/{to_read[0]}" if to_read else "/sample", status_code=303)
