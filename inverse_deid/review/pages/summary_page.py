"""Progress, agreement and time. Agreement decrypts every case with two reviews: only when asked for."""

from __future__ import annotations

from starlette.responses import Response

from inverse_deid.review.causality import summarise_forms
from inverse_deid.review.pages.rendering import page
from inverse_deid.review.pages.visits import Visit
from inverse_deid.review.reviewers import summarise_reviewers
from inverse_deid.review.values import UserRole
from inverse_deid.review.work_list import progress


def summary(visit: Visit) -> Response:
    """The page; times by name are for adjudicators and admins."""
    forms = summarise_forms(visit.store)
    shares = zip(
        ("still hold valuable information", "miss none", "miss none that was needed"),
        (forms.any_preserved, forms.none_missing, forms.none_needed_missing),
        forms.intervals,
        strict=True,
    )
    is_asked = visit.request.query_params.get("agreement") == "1"
    return page(
        visit.request,
        "summary.html",
        visit.session,
        progress=progress(visit.store),
        reviewers=summarise_reviewers(visit.store) if is_asked else None,
        forms=forms,
        shares=list(shares),
        shows_names=visit.session.user.role.includes(UserRole.ADJUDICATOR),
    )
