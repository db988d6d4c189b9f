"""Accounts, activity and limits for admins, and the own account of every user."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, datetime

import segno
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from inverse_deid.core.errors import (
    ConfigurationError,
    LogInError,
    NotAllowedError,
    ReviewError,
    TooManyTriesError,
    UnreadableInputError,
)
from inverse_deid.core.wording import N_, _
from inverse_deid.review.flow.oversight import TIMES_USUAL, list_activity, read_limits, set_limits
from inverse_deid.review.pages.lanes import find_browser, make_browser, remember_browser
from inverse_deid.review.pages.visits import (
    Visit,
    count_words,
    find_address,
    make_sentence,
    read_number,
    set_cookie,
    tell_wait,
)
from inverse_deid.review.people import second_factor
from inverse_deid.review.people.accounts import (
    MIN_PASSWORD_CHARS,
    Step,
    add_user,
    change_own_password,
    end_own_sessions,
    end_sessions,
    list_sessions,
    list_users,
    set_active,
    set_password,
    set_role,
    unlock,
)
from inverse_deid.review.people.attempts import Client, list_blocked
from inverse_deid.review.store.values import ReviewLimits, UserRole

ROLES = {
    UserRole.REVIEWER: N_("reads, corrects and approves cases"),
    UserRole.ADJUDICATOR: N_("also adds files, settles disagreements, releases and downloads cases"),
    UserRole.ADMIN: N_(
        "assigns cases, deletes files, keeps accounts, reads the trail, and never sees a text"
    ),
}


def show_accounts(visit: Visit) -> Response:
    return visit.render(
        "accounts.html",
        users=list_users(visit.store),
        blocked=list_blocked(visit.store),
        roles={role: _(does) for role, does in ROLES.items()},
        min_chars=MIN_PASSWORD_CHARS,
        is_required=second_factor.is_required(visit.store),
    )


def change_account(visit: Visit) -> Response:
    """Add, close or open an account, change its role, set its password, or let its user in again."""
    name, by, what = visit.text("name").lower(), visit.user.name, visit.text("what")
    role = UserRole(visit.text("role")) if visit.text("role") in set(UserRole) else None
    if what in ("close", "open"):
        if name == by:
            raise ReviewError(_("you cannot close your own account. Ask another admin"))
        set_active(visit.store, name, is_active=what == "open", by=by)
        notice = (
            _("Account of {name} opened.", name=name)
            if what == "open"
            else _("Account of {name} closed.", name=name)
        )
    elif what == "password":
        if name == by:
            raise ReviewError(_("change your own password on the page Password, which asks for the old one"))
        set_password(visit.store, name, visit.text("password"), by=by, must_change=True)
        notice = _("Password of {name} set. They choose their own at the next log-in.", name=name)
    elif what == "role" and role is not None:
        if name == by:
            raise ReviewError(_("you cannot change your own role. Ask another admin"))
        set_role(visit.store, name, role, by=by)
        notice = (
            _("{name} is now an {role}.", name=name, role=_(role.value))
            if role.value[0] == "a"
            else _("{name} is now a {role}.", name=name, role=_(role.value))
        )
    elif what == "add" and role is not None:
        add_user(visit.store, name, visit.text("password"), role, by=by, must_change=True)
        notice = _("Account of {name} added. They choose their own password at the first log-in.", name=name)
    elif what in _HELP:
        notice = _HELP[what](visit, name)
    else:
        raise ReviewError(_("this change is not known. Load the page again"))
    return visit.redirect("/accounts", notice)


def show_activity(visit: Visit) -> Response:
    """Return who holds and reads how many cases, what is unusual, and the limits."""
    with visit.store.reading() as transaction:
        limits = read_limits(transaction)
    return visit.render(
        "activity.html", activity=list_activity(visit.store), limits=limits, times_usual=TIMES_USUAL
    )


def change_limits(visit: Visit) -> Response:
    max_locks, cases_per_hour = (
        read_number(visit.text("max_locks")),
        read_number(visit.text("cases_per_hour")),
    )
    if max_locks is None or cases_per_hour is None:
        raise ReviewError(_("give both limits as numbers"))
    try:
        limits = ReviewLimits(
            max_locks=max_locks,
            cases_per_hour=cases_per_hour,
            only_assigned=visit.text("only_assigned") == "yes",
            adders_stay_out=visit.text("adders_stay_out") == "yes",
            no_allow_lists=visit.text("no_allow_lists") == "yes",
        )
    except ConfigurationError as error:
        raise ReviewError(str(error)) from None
    set_limits(visit.store, limits, by=visit.user.name)
    return visit.redirect("/activity", _("Limits stored."))


def _unlock(visit: Visit, name: str) -> str:
    unlock(visit.store, name, by=visit.user.name)
    return _("{name} can log in again.", name=name)


def _end_sessions(visit: Visit, name: str) -> str:
    if name == visit.user.name:
        raise ReviewError(_("end your own sessions on the page of your account"))
    n = end_sessions(visit.store, name, by=visit.user.name)
    return _("{words} of {name} ended.", words=count_words(n, "session"), name=name)


def _reset_second_factor(visit: Visit, name: str) -> str:
    if name == visit.user.name:
        raise ReviewError(_("remove your own second factor on the page of your account"))
    second_factor.turn_off(visit.store, name, by=visit.user.name)
    return _("{name} logs in without a second factor now.", name=name)


_HELP: dict[str, Callable[[Visit, str], str]] = {
    "unlock": _unlock,
    "end": _end_sessions,
    "reset": _reset_second_factor,
}


def change_policy(visit: Visit) -> Response:
    """Require a second factor of everybody, or leave it to each user."""
    is_required = visit.text("second_factor") == "required"
    second_factor.require(visit.store, is_required=is_required, by=visit.user.name)
    notice = (
        _("Everybody needs a second factor now.") if is_required else _("A second factor is optional now.")
    )
    return visit.redirect("/accounts", notice)


def show_account(visit: Visit) -> Response:
    return _render_account(visit)


def change_own_account(visit: Visit) -> Response:
    """End one or all other sessions, or remove the second factor."""
    what = visit.text("what")
    if what == "second factor":
        try:
            second_factor.turn_off_own(visit.store, visit.session, visit.text("code"))
        except NotAllowedError as error:
            return _render_account(visit, make_sentence(str(error)), status=403)
        return visit.redirect("/account", _("Second factor removed."))
    end_own_sessions(visit.store, visit.session, visit.text("session") if what == "one" else None)
    return visit.redirect(
        "/account", _("Session ended.") if what == "one" else _("All other sessions ended.")
    )


def _render_account(visit: Visit, problem: str = "", *, status: int = 200) -> Response:
    here, others = list_sessions(visit.store, visit.session)
    sessions = [
        (
            one,
            *(
                datetime.fromtimestamp(at, UTC).isoformat("T", "seconds")
                for at in (one.begun_at, one.seen_at)
            ),
        )
        for one in (here, *others)
    ]
    is_required = second_factor.is_required(visit.store)
    return visit.render(
        "account.html", sessions=sessions, problem=problem, is_required=is_required, status=status
    )


def show_second_factor(visit: Visit) -> Response:
    return _render_second_factor(visit, second_factor.make_secret())


def add_second_factor(visit: Visit) -> Response:
    """Turn the second factor on, and show the recovery codes once."""
    place = f"new second factor for {visit.session.csrf_token}"
    try:
        sealed = base64.urlsafe_b64decode(visit.text("sealed"))
        secret = visit.store.sealer.open(sealed, place).decode()
    except (ValueError, UnreadableInputError):
        return _render_second_factor(
            visit, second_factor.make_secret(), _("The page was too old. Try again.")
        )
    code, password = visit.text("code"), visit.text("password")
    try:
        codes = second_factor.turn_on(visit.store, visit.session, secret, code=code, password=password)
    except ReviewError as error:
        return _render_second_factor(visit, secret, make_sentence(str(error)))
    return visit.render("recovery_codes.html", codes=codes, step=None)


def _render_second_factor(visit: Visit, secret: str, problem: str = "") -> Response:
    if visit.user.issuer is not None or visit.user.has_second_factor:
        raise ReviewError(_("your account has a second factor, or signs in at the provider"))
    place = f"new second factor for {visit.session.csrf_token}"
    sealed = base64.urlsafe_b64encode(visit.store.sealer.seal(secret.encode(), place)).decode()
    code = segno.make(second_factor.make_address(visit.session, secret), micro=False)
    svg = Markup(code.svg_inline(scale=4, light="#fff", title=_("QR code of the secret")))  # noqa: S704
    status = 400 if problem else 200
    return visit.render(
        "second_factor.html", svg=svg, secret=secret, sealed=sealed, problem=problem, status=status
    )


def ask_code(visit: Visit) -> Response:
    return _render_code(visit)


def check_code(visit: Visit) -> Response:
    if visit.session.step is not Step.CODE:
        return RedirectResponse("/", status_code=303)
    request = visit.request
    client = Client(find_address(request), find_browser(request) or make_browser())
    try:
        session = second_factor.complete_log_in(visit.store, visit.session, visit.text("code"), client=client)
    except LogInError as error:
        status = 429 if isinstance(error, TooManyTriesError) else 403
        return tell_wait(_render_code(visit, make_sentence(str(error)), status=status), error)
    response = RedirectResponse("/", status_code=303)
    set_cookie(request, response, request.app.state.cookie, session.id)
    remember_browser(request, response, client.browser)
    return response


def _render_code(visit: Visit, problem: str = "", *, status: int = 200) -> Response:
    return visit.render("code.html", problem=problem, status=status)


def show_password(visit: Visit) -> Response:
    if visit.user.issuer is not None:
        raise ReviewError(_("you have no password here. Change it where you sign in"))
    return _render_password(visit)


def change_password(visit: Visit) -> Response:
    old, new = visit.text("old"), visit.text("new")
    problem, status = "", 400
    if new != visit.text("again"):
        problem = _("the two new passwords differ")
    else:
        try:
            change_own_password(visit.store, visit.session, old, new)
        except NotAllowedError as error:
            problem, status = str(error), 403
        except ReviewError as error:
            problem = str(error)
    if problem:
        return _render_password(visit, make_sentence(problem), status=status)
    return visit.redirect("/", _("Password changed. You are logged out everywhere else."))


def _render_password(visit: Visit, problem: str = "", *, status: int = 200) -> Response:
    must_change = visit.user.must_change_password
    return visit.render(
        "password.html", problem=problem, must_change=must_change, min_chars=MIN_PASSWORD_CHARS, status=status
    )
