"""Accounts, for admins."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from inverse_deid.core.errors import ReviewError
from inverse_deid.review.accounts import MIN_PASSWORD_CHARS, add_user, list_users, set_active, set_password
from inverse_deid.review.pages.rendering import page
from inverse_deid.review.pages.visits import Visit
from inverse_deid.review.values import UserRole


def accounts(visit: Visit) -> Response:
    """All accounts, and a form for another."""
    return page(
        visit.request,
        "accounts.html",
        visit.session,
        users=list_users(visit.store),
        roles=list(UserRole),
        min_chars=MIN_PASSWORD_CHARS,
    )


def change_account(visit: Visit) -> Response:
    """Add, close, open, or give another password."""
    name, by, what = visit.text("name"), visit.session.user.name, visit.text("what")
    if what in ("close", "open"):
        if name == by:
            raise ReviewError("another admin closes your account")
        set_active(visit.store, name, is_active=what == "open", by=by)
    elif what == "password":
        set_password(visit.store, name, visit.text("password"), by=by)
    elif what == "add" and visit.text("role") in set(UserRole):
        add_user(visit.store, name, visit.text("password"), UserRole(visit.text("role")), by=by)
    else:
        raise ReviewError("the change is not known; load the page again")
    return RedirectResponse("/accounts", status_code=303)
