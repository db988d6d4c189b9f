"""The elusion check: draw released cases, read each in full, see how many leak at most."""

from __future__ import annotations

from contextlib import suppress

from starlette.responses import RedirectResponse, Response

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.review.causality import final_texts
from inverse_deid.review.pages.rendering import page
from inverse_deid.review.pages.visits import Visit
from inverse_deid.review.sampling import (
    CONFIDENCE,
    cases_to_read,
    draw_sample,
    latest_sample,
    record_reading,
    sample_result,
)
from inverse_deid.review.values import CaseState
from inverse_deid.review.work_list import progress

USUAL_CASES = 60
"""If none of them leaks, at most 4.88 % of the released cases do."""

_ANSWERS = {"none": False, "leak": True}


def sample(visit: Visit) -> Response:
    """The latest sample: how far it is read, and what it shows."""
    n_released = progress(visit.store).by_state[CaseState.RELEASED]
    found, result = None, None
    with suppress(ReviewError):
        found = latest_sample(visit.store)
    if found is not None and not found.unread:
        result = sample_result(visit.store)
    return page(
        visit.request,
        "sample.html",
        visit.session,
        sample=found,
        result=result,
        to_read=() if found is None else cases_to_read(visit.store, visit.session.user),
        confidence=CONFIDENCE,
        n_released=n_released,
        n_usual=min(USUAL_CASES, n_released),
    )


def draw(visit: Visit) -> Response:
    """Draw a sample; the readings of the one before count no more."""
    given = visit.text("n_cases")
    if not (given.isascii() and given.isdecimal() and len(given) < 10):
        raise ReviewError("say how many cases are to be drawn, as a whole number")
    draw_sample(visit.store, int(given), by=visit.session.user.name)
    return RedirectResponse("/sample", status_code=303)


def read_case(visit: Visit) -> Response:
    """One released case of the sample as it leaves, to be read from its first word to its last."""
    to_read = cases_to_read(visit.store, visit.session.user)
    if visit.case_id not in to_read:
        raise NotAllowedError(f"case {visit.case_id} is not among those of the sample that you are to read")
    masked, _ = final_texts(visit.store, visit.case_id, with_original=False)
    return page(
        visit.request,
        "sample_case.html",
        visit.session,
        case_id=visit.case_id,
        masked=masked,
        n_left=len(to_read),
    )


def answer(visit: Visit) -> Response:
    """Say what the reading showed, and go on with the next case."""
    said = visit.text("said")
    if said not in _ANSWERS:
        raise ReviewError("say whether the case leaks")
    record_reading(visit.store, visit.session.user, visit.case_id, leaks=_ANSWERS[said])
    to_read = cases_to_read(visit.store, visit.session.user)
    return RedirectResponse(f"/sample/{to_read[0]}" if to_read else "/sample", status_code=303)
