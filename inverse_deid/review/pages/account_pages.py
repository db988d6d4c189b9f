"""Accounts for admins, and the own password of every user."""

from __future__ import annotations

from starlette.responses import Response

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.review.accounts import (
    MIN_PASSWORD_CHARS,
    add_user,
    change_own_password,
    list_users,
    set_active,
    set_password,
    set_role,
)
from inverse_deid.review.pages.visits import Visit, make_sentence
from inverse_deid.review.values import UserRole

ROLES = {
    UserRole.REVIEWER: "reads, corrects and approves cases",
    UserRole.ADJUDICATOR: "also adds files, settles disagreements, releases and downloads cases",
    UserRole.ADMIN: "also assigns cases, deletes files, keeps accounts and reads the trail",
}


def show_accounts(visit: Visit) -> Response:
    """Return all accounts, and a form to add one."""
    users = list_users(visit.store)
    return visit.render("accounts.html", users=users, roles=ROLES, min_chars=MIN_PASSWORD_CHARS)


def change_account(visit: Visit) -> Response:
    """Add, close or open an account, change its role, or set its password."""
    name, by, what = visit.text("name").lower(), visit.user.name, visit.text("what")
    role = UserRole(visit.text("role")) if visit.text("role") in set(UserRole) else None
    if what in ("close", "open"):
        if name == by:
            raise ReviewError("you cannot close your own account. Ask another admin.")
        set_active(visit.store, name, is_active=what == "open", by=by)
        notice = f"Account of {name} {'opened' if what == 'open' else 'closed'}."
    elif what == "password":
        if name == by:
            raise ReviewError("change your own password on the page Password, which asks for the old one")
        set_password(visit.store, name, visit.text("password"), by=by, must_change=True)
        notice = f"Password of {name} set. They choose their own at the next log-in."
    elif what == "role" and role is not None:
        set_role(visit.store, name, role, by=by)
        notice = f"{name} is now {'an' if role.value[0] == 'a' else 'a'} {role.value}."
    elif what == "add" and role is not None:
        add_user(visit.store, name, visit.text("password"), role, by=by, must_change=True)
        notice = f"Account of {name} added. They choose their own password at the first log-in."
    else:
        raise ReviewError("this change is not known. Load the page again.")
    is_no_longer_admin = what == "role" and name == by and role is not UserRole.ADMIN
    return visit.redirect("/" if is_no_longer_admin else "/accounts", notice)


def show_password(visit: Visit) -> Response:
    """Return the form for the own password."""
    return _render_password(visit)


def change_password(visit: Visit) -> Response:
    """Change the own password; mistakes are shown beside the form."""
    old, new = visit.text("old"), visit.text("new")
    problem, status = "", 400
    if new != visit.text("again"):
        problem = "the two new passwords differ"
    else:
        try:
            change_own_password(visit.store, visit.session, old, new)
        except NotAllowedError as error:
            problem, status = str(error), 403
        except ReviewError as error:
            problem = str(error)
    if problem:
        return _render_password(visit, make_sentence(problem), status=status)
    return visit.redirect("/", "Password changed. You are logged out everywhere else.")


def _render_password(visit: Visit, problem: str = "", *, status: int = 200) -> Response:
    must_change = visit.user.must_change_password
    return visit.render(
        "password.html", problem=problem, must_change=must_change, min_chars=MIN_PASSWORD_CHARS, status=status
    )
