"""Agreed and released cases: masked text to read and print, release, withdraw."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from inverse_deid.review.approval import release, withdraw
from inverse_deid.review.causality import final_texts, form_of
from inverse_deid.review.pages.rendering import page
from inverse_deid.review.pages.visits import Visit
from inverse_deid.review.reading import state_of, view_masked
from inverse_deid.review.values import CaseState, UserRole


def finished(visit: Visit) -> Response:
    """The masked text, and what can be done with it."""
    masked, _ = final_texts(visit.store, visit.case_id, with_original=False)
    state = state_of(visit.store, visit.case_id)
    return page(
        visit.request,
        "finished.html",
        visit.session,
        case_id=visit.case_id,
        masked=masked,
        form=form_of(visit.store, visit.session.user, visit.case_id),
        is_adjudicator=visit.session.user.role.includes(UserRole.ADJUDICATOR),
        state=state,
        can_release=state is CaseState.AGREED,
    )


def print_page(visit: Visit) -> Response:
    """The masked text of the user's own layer, for paper."""
    view, masked = view_masked(visit.store, visit.session.user, visit.case_id)
    return page(
        visit.request,
        "print.html",
        visit.session,
        case_id=visit.case_id,
        name=view.name,
        state=view.state.value,
        revision=view.revision,
        is_approved=view.is_approved,
        masked=masked.text,
    )


def release_case(visit: Visit) -> Response:
    """Release an agreed case."""
    release(visit.store, visit.session.user, visit.case_id)
    return RedirectResponse(f"/cases/{visit.case_id}/finished", status_code=303)


def withdraw_case(visit: Visit) -> Response:
    """Take a release back."""
    withdraw(visit.store, visit.session.user, visit.case_id)
    return RedirectResponse("/", status_code=303)
