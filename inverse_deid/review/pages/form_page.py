"""The causality form, in two steps: the masked text alone first, then the original."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from inverse_deid.core.errors import ReviewError
from inverse_deid.review.causality import (
    CausalityForm,
    Preserved,
    Topic,
    TopicAnswer,
    final_texts,
    form_of,
    save_form,
)
from inverse_deid.review.pages.rendering import page
from inverse_deid.review.pages.visits import Visit

_MISSING = (Preserved.PARTLY, Preserved.NO)


def first_step(visit: Visit) -> Response:
    """What does the masked text tell?"""
    old = form_of(visit.store, visit.session.user, visit.case_id)
    said = {} if old is None else {topic: answer.preserved for topic, answer in old.answers.items()}
    return _page(visit, said, with_original=False)


def second_step(visit: Visit) -> Response:
    """With the original beside it: was needed what is missing?"""
    return _page(visit, _said(visit), with_original=True)


def save(visit: Visit) -> Response:
    """Store the form."""
    answers = {}
    for topic, preserved in _said(visit).items():
        needed = visit.text(f"needed {topic.value}")
        if preserved in _MISSING and needed not in ("yes", "no"):
            raise ReviewError(f"say whether what is missing of {topic.value} was needed")
        answers[topic] = TopicAnswer(preserved, needed == "yes" if preserved in _MISSING else None)
    form = CausalityForm(visit.case_id, answers, visit.text("remark"))
    save_form(visit.store, visit.session.user, form)
    return RedirectResponse(f"/cases/{visit.case_id}/finished", status_code=303)


def _said(visit: Visit) -> dict[Topic, Preserved]:
    """The answers of the first step.

    Raises:
        ReviewError: One is left out.
    """
    given = {topic: visit.text(f"preserved {topic.value}") for topic in Topic}
    missing = [topic.value for topic, said in given.items() if said not in set(Preserved)]
    if missing:
        raise ReviewError(f"no answer on {', '.join(missing)}; answer every topic")
    return {topic: Preserved(said) for topic, said in given.items()}


def _page(visit: Visit, said: dict[Topic, Preserved], *, with_original: bool) -> Response:
    masked, original = final_texts(visit.store, visit.case_id, with_original=with_original)
    old = form_of(visit.store, visit.session.user, visit.case_id)
    return page(
        visit.request,
        "form.html",
        visit.session,
        case_id=visit.case_id,
        topics=list(Topic),
        choices=list(Preserved),
        said=said,
        missing=[topic for topic, preserved in said.items() if preserved in _MISSING],
        needed={} if old is None else {topic: answer.is_needed for topic, answer in old.answers.items()},
        remark="" if old is None else old.remark,
        masked=masked,
        original=original,
        with_original=with_original,
    )
