"""Requests: every page and request goes through `require`, which checks before anything is done.

Handlers are plain functions; they run in worker threads. Their errors become responses that contain
messages of our own errors only. Templates escape all values, and unknown names in them are errors.
"""

from __future__ import annotations

import base64
import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qs

import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from inverse_deid.core.errors import (
    CaseLockedError,
    InverseDeidError,
    LogInError,
    NotAllowedError,
    OutputError,
    ReviewError,
    StaleRevisionError,
    TooManyTriesError,
    UnreadableInputError,
    describe_error,
)
from inverse_deid.core.wording import N_, _, ngettext
from inverse_deid.formats.tables.strict_json import parse_json
from inverse_deid.review.pages.audience import Audience
from inverse_deid.review.pages.lanes import LogIns, find_browser, make_browser, remember_browser
from inverse_deid.review.people.accounts import Session, Step, find_session, is_csrf_token, log_in, log_out
from inverse_deid.review.people.attempts import Client
from inverse_deid.review.store.opening import ReviewStore
from inverse_deid.review.store.values import User, UserRole
from inverse_deid.web.shell import Pages, read_body

MAX_POST_BYTES = 256 * 1024
MAX_FIELDS = 2_000
THEMES = ("light", "dark")
THEME_COOKIE = "theme"
VISITOR_COOKIE = "visitor"
LEGEND_COOKIE = "legend"
NOTICE_COOKIE = "notice"
NOTICE_SECONDS = 60
MAX_NOTICE_CHARS = 300
MAX_SEARCH_CHARS = 200

PAGES = Pages("inverse_deid.review", "pages")

LOG = logging.getLogger("inverse_deid.review")

_PASSWORD_PATHS = frozenset({"/log-in", "/password", "/accounts", "/second-factor"})
"""Posts to them check or hash a password, which takes 64 MiB of memory and a good part of a second."""
_PROVIDER_PATHS = frozenset({"/sign-in", "/signed-in", "/signed-out"})
"""They ask the OpenID provider, which may take until its time-out."""
LOG_IN_RETRY_SECONDS = 3

_ALWAYS_OPEN = frozenset({"/log-out", "/theme"})
"""All that is open to a user who must do something first."""

_FIRST = {
    Step.CODE: N_("give your one-time code first"),
    Step.PASSWORD: N_("choose your own password first"),
    Step.SECOND_FACTOR: N_("set up your second factor first"),
}

_STATUS: tuple[tuple[type[InverseDeidError], int], ...] = (
    (LogInError, 401),
    (StaleRevisionError, 409),
    (CaseLockedError, 423),
    (NotAllowedError, 403),
    (ReviewError, 400),
    (OutputError, 503),
    (InverseDeidError, 500),
)

Payload = TypeVar("Payload", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a user who is logged in, with the fields of a form or the payload of JSON."""

    store: ReviewStore
    session: Session
    request: Request = field(repr=False)
    fields: Mapping[str, list[str]] = field(repr=False)
    payload: Mapping[str, Any] = field(repr=False)

    @property
    def user(self) -> User:
        return self.session.user

    @property
    def audience(self) -> Audience:
        audience: Audience = self.request.app.state.audience
        return audience

    @property
    def case_id(self) -> int:
        return int(self.request.path_params["case_id"])

    def text(self, name: str) -> str:
        """Return a field of the form, "" = not given."""
        return self.fields.get(name, [""])[0]

    def parse(self, kind: type[Payload]) -> Payload:
        """Return the JSON request as a typed value.

        Raises:
            ReviewError: It is malformed.
        """
        try:
            return msgspec.convert(self.payload, kind)
        except msgspec.ValidationError:
            pass
        raise ReviewError(_("the request is malformed. Load the page again"))

    def render(
        self,
        template: str,
        *,
        keeps_notice: bool = False,
        **values: Any,  # noqa: ANN401
    ) -> HTMLResponse:
        """Return a page for the user, with the message of their last action, or keep it for the next page."""
        notice, case_id = ("", 0) if keeps_notice else self._read_notice()
        response = render_page(
            self.request, template, self.session, notice=notice, undo_case=case_id, **values
        )
        if NOTICE_COOKIE in self.request.cookies and not keeps_notice:
            response.delete_cookie(NOTICE_COOKIE)
        return response

    def redirect(self, address: str, notice: str = "") -> RedirectResponse:
        """Send the browser to another page, which shows a message once."""
        response = RedirectResponse(address, status_code=303)
        self.notify(response, notice)
        return response

    def notify(self, response: Response, notice: str, *, undo_case: int = 0) -> None:
        """Let the next page show a message once: it travels in a cookie, encrypted for this session.

        With `undo_case`, the message has a button that undoes the user's approval of this case.
        """
        if notice:
            sealed = self.store.sealer.seal(
                f"{undo_case} {notice[:MAX_NOTICE_CHARS]}".encode("utf-8", "replace"), self._notice_place
            )
            value = base64.urlsafe_b64encode(sealed).decode()
            set_cookie(self.request, response, NOTICE_COOKIE, value, max_age=NOTICE_SECONDS)

    @property
    def _notice_place(self) -> str:
        return f"notice for {self.session.csrf_token}"

    def _read_notice(self) -> tuple[str, int]:
        # The message, "" = none, or one of another session; and the case whose approval it undoes, 0 = none.
        try:
            sealed = base64.urlsafe_b64decode(self.request.cookies.get(NOTICE_COOKIE, ""))
            case_id, _space, notice = (
                self.store.sealer.open(sealed, self._notice_place).decode().partition(" ")
            )
            return notice, int(case_id)
        except (ValueError, UnreadableInputError):
            return "", 0

    @property
    def _search_place(self) -> str:
        return f"a search of user {self.user.id}"

    def seal_search(self, text: str) -> str:
        """Return what was searched for, for an address: addresses end up in logs, and names may be in it."""
        text = text.strip()[:MAX_SEARCH_CHARS]
        if not text:
            return ""
        sealed = self.store.sealer.seal(text.encode(), self._search_place)
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def open_search(self, sealed: str) -> str:
        """Return what was searched for, "" = nothing, or not sealed here for this user."""
        try:
            data = base64.urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
            return self.store.sealer.open(data, self._search_place).decode()
        except (ValueError, UnreadableInputError):
            return ""


Threads = Literal["decisions", "readings"]
"""Of decisions, and of what waits for a child process that reads files."""
Handler = Callable[[Visit], Response]
Endpoint = Callable[[Request], Awaitable[Response]]


def require(
    roles: Collection[UserRole],
    handler: Handler,
    *,
    is_background: bool = False,
    threads: Threads | None = None,
) -> Endpoint:
    """Return an endpoint that calls a handler for users with a role and, in posts, the CSRF token.

    `is_background`: an open page asks by itself, so the request does not prolong the session.
    `threads`: those in which it runs, None = those of all pages. In those of decisions nothing may take long.
    """

    def answer(request: Request, body: bytes) -> Response:
        session = _find_session(request, prolongs=not is_background)
        is_json = _wants_json(request)
        fields = {} if is_json else _parse_form(body)
        payload = _parse_payload(body) if is_json else {}
        visit = Visit(request.app.state.store, session, request, fields, payload)
        _check_token(request, session, visit.text("csrf_token"))
        # Not `request.url`, which is made of the `Host` of the request.
        if session.step is not None and request.scope["path"] not in {session.step, *_ALWAYS_OPEN}:
            if is_json:
                raise NotAllowedError(_FIRST[session.step])
            return RedirectResponse(session.step, status_code=303)
        _check_role(session, roles)
        return handler(visit)

    return guard(answer, threads=threads)


def require_stream(
    roles: Collection[UserRole], receive: Callable[[Request, Session], Awaitable[dict[str, object]]]
) -> Endpoint:
    """Return an endpoint for posts whose body is read in pieces by `receive`, after the same checks.

    The response is JSON. The CSRF token is in a header.
    """

    def check(request: Request) -> Session:
        session = _find_session(request)
        _check_token(request, session, "")
        if session.step is not None:
            raise NotAllowedError(_FIRST[session.step])
        _check_role(session, roles)
        return session

    async def endpoint(request: Request) -> Response:
        try:
            return JSONResponse(await receive(request, await run_in_threadpool(check, request)))
        except InverseDeidError as error:
            return JSONResponse({"error": make_sentence(str(error))}, status_code=_find_status(error))
        except Exception as error:  # noqa: BLE001 - only kind and place are logged
            LOG.error("%s", describe_error(error))  # noqa: TRY400 - no traceback
            message = _("An unforeseen error. Nothing of this file was stored.")
            return JSONResponse({"error": message}, status_code=500)

    return endpoint


def _find_session(request: Request, *, prolongs: bool = True) -> Session:
    state = request.app.state
    session = find_session(state.store, request.cookies.get(state.cookie, ""), prolongs=prolongs)
    if session.user.issuer is None and not state.local_accounts:
        raise LogInError(_("log in first"))
    return session


def _check_token(request: Request, session: Session, form_token: str) -> None:
    if request.method == "POST":
        given = request.headers.get("x-csrf-token", "") or form_token
        if not is_csrf_token(session, given):
            raise NotAllowedError(_("the page is too old or comes from elsewhere. Load it again"))


def _check_role(session: Session, roles: Collection[UserRole]) -> None:
    if session.user.role not in roles:
        raise NotAllowedError(_("this needs the role {roles}", roles=_(" or ").join(roles)))


def _find_status(error: InverseDeidError) -> int:
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def guard(answer: Callable[[Request, bytes], Response], *, threads: Threads | None = None) -> Endpoint:
    """Return an endpoint that also responds to errors; messages of foreign errors may quote a narrative."""

    def answer_safely(request: Request, body: bytes) -> Response:
        try:
            return answer(request, body)
        except InverseDeidError as error:
            return report_problem(request, _find_status(error), str(error))
        except Exception as error:  # noqa: BLE001 - only kind and place are logged
            LOG.error("%s", describe_error(error))  # noqa: TRY400 - no traceback
            return report_problem(request, 500, _("an unforeseen error. Nothing of this step was stored."))

    async def endpoint(request: Request) -> Response:
        body = await read_body(request, MAX_POST_BYTES) if request.method == "POST" else b""
        if body is None:
            limit = _(
                "a request can have at most {max_post_bytes} KiB", max_post_bytes=MAX_POST_BYTES // 1024
            )
            return report_problem(request, 413, limit)
        log_ins = _find_queue(request)
        if log_ins is not None:
            return await log_ins.run(
                request, partial(answer_safely, request, body), partial(_refuse_for_now, request)
            )
        if threads is not None:
            limiter: CapacityLimiter = getattr(request.app.state, threads)
            return await to_thread.run_sync(answer_safely, request, body, limiter=limiter)
        return await run_in_threadpool(answer_safely, request, body)

    return endpoint


def _refuse_for_now(request: Request, status: int) -> Response:
    refused = report_problem(request, status, _("too many log-ins at once. Try again in a few seconds."))
    refused.headers["Retry-After"] = str(LOG_IN_RETRY_SECONDS)
    return refused


def _find_queue(request: Request) -> LogIns | None:
    # None = the request does not take long.
    state, path = request.app.state, request.scope["path"]
    queue: LogIns | None = None
    if request.method == "POST" and path in _PASSWORD_PATHS:
        queue = state.passwords
    elif path in _PROVIDER_PATHS:
        queue = state.sign_ins
    return queue


def _wants_json(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip() == "application/json"


def report_problem(request: Request, status: int, message: str) -> Response:
    """Return an error as a response; a visitor without a session is sent to the log-in."""
    message = make_sentence(message)
    if _wants_json(request):
        return JSONResponse({"error": message}, status_code=status)
    if status == 401:
        return RedirectResponse("/log-in", status_code=303)
    return render_page(request, "problem.html", None, status=status, message=message, status_code=status)


def make_sentence(message: str) -> str:
    """Return the message of an error with a capital and a full stop.

    Example:
        >>> make_sentence("log in first")
        'Log in first.'
    """
    return message[:1].upper() + message[1:] + ("" if message.endswith((".", "?")) else ".")


def read_number(given: str) -> int | None:
    """Return a whole number of at most nine digits, None = it is not one.

    Example:
        >>> read_number("12"), read_number("-1"), read_number("")
        (12, None, None)
    """
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else None


def count_words(n: int, noun: str) -> str:
    """Return a number of things in words.

    Example:
        >>> count_words(1, "case"), count_words(2_000, "case")
        ('1 case', '2,000 cases')
    """
    return _COUNTED[noun](n)


_COUNTED: dict[str, Callable[[int], str]] = {
    "case": lambda n: ngettext("{n:,} case", "{n:,} cases", n, n=n),
    "decision": lambda n: ngettext("{n:,} decision", "{n:,} decisions", n, n=n),
    "document": lambda n: ngettext("{n:,} document", "{n:,} documents", n, n=n),
    "file": lambda n: ngettext("{n:,} file", "{n:,} files", n, n=n),
    "lock": lambda n: ngettext("{n:,} lock", "{n:,} locks", n, n=n),
    "note": lambda n: ngettext("{n:,} note", "{n:,} notes", n, n=n),
    "session": lambda n: ngettext("{n:,} session", "{n:,} sessions", n, n=n),
}


def _parse_form(body: bytes) -> dict[str, list[str]]:
    try:
        return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:
        pass
    raise ReviewError(_("the form cannot be read. Load the page again"))


def _parse_payload(body: bytes) -> dict[str, Any]:
    try:
        payload = parse_json(body or b"{}")
    except (ValueError, RecursionError):
        payload = None
    if isinstance(payload, dict):
        return payload
    raise ReviewError(_("the request cannot be read. Load the page again"))


def render_page(
    request: Request,
    template: str,
    session: Session | None,
    *,
    status: int = 200,
    **values: Any,  # noqa: ANN401
) -> HTMLResponse:
    """Return a page with the theme of the request and the values of a template; no session = no user."""
    theme = request.cookies.get(THEME_COOKIE, "")
    common = {
        "user": None if session is None else session.user,
        "step": None if session is None else session.step,
        "csrf_token": "" if session is None else session.csrf_token,
        "theme": theme if theme in THEMES else "",
        "notice": "",
        "undo_case": 0,
        "path": request.scope["path"],
        "intake": request.app.state.intake is not None,
        "audience": request.app.state.audience,
    }
    return HTMLResponse(PAGES.render(template, **{**common, **values}), status_code=status)


async def show_log_in(request: Request) -> Response:
    """Return the log-in form, or respond to it; its token is bound to a cookie, as no session exists."""
    return await guard(_log_in)(request) if request.method == "POST" else render_log_in(request)


def _log_in(request: Request, body: bytes) -> Response:
    fields = _parse_form(body)
    name, password, token = (
        fields.get(key, [""])[0].encode("utf-8", "replace") for key in ("name", "password", "csrf_token")
    )
    store: ReviewStore = request.app.state.store
    if not request.app.state.local_accounts:
        return render_log_in(request, _("Nobody logs in with a password here."), status=403)
    visitor = request.cookies.get(VISITOR_COOKIE, "")
    if not visitor or not hmac.compare_digest(_make_visitor_token(store, visitor).encode(), token):
        return render_log_in(request, _("The page was too old. Try again."), status=403)
    cookie: str = request.app.state.cookie
    address = find_address(request)
    old = request.cookies.get(cookie)
    visitor_of = Client(address, find_browser(request) or make_browser())
    try:
        session = log_in(store, name.decode(), password.decode(), client=visitor_of, old_session_id=old)
    except LogInError as error:
        status = 429 if isinstance(error, TooManyTriesError) else 401
        return tell_wait(render_log_in(request, make_sentence(str(error)), status=status), error)
    response = RedirectResponse("/", status_code=303)
    set_cookie(request, response, cookie, session.id)
    remember_browser(request, response, visitor_of.browser)
    response.delete_cookie(VISITOR_COOKIE)
    return response


def render_log_in(request: Request, message: str = "", *, status: int = 200) -> Response:
    visitor = request.cookies.get(VISITOR_COOKIE, "") or secrets.token_urlsafe(32)
    state = request.app.state
    token = _make_visitor_token(state.store, visitor)
    provider = None if state.provider is None else state.provider.title
    values = {"message": message, "provider": provider, "local_accounts": state.local_accounts}
    response = render_page(request, "log_in.html", None, status=status, csrf_token=token, **values)
    set_cookie(request, response, VISITOR_COOKIE, visitor)
    return response


def tell_wait(response: Response, error: LogInError) -> Response:
    """Say in a header when to try again, if the error does."""
    if isinstance(error, TooManyTriesError):
        response.headers["Retry-After"] = str(error.wait_seconds)
    return response


def find_address(request: Request) -> str:
    """Return the address of the client, "" = not known."""
    return request.client.host if request.client else ""


def set_cookie(
    request: Request, response: Response, name: str, value: str, max_age: int | None = None
) -> None:
    """Set a cookie that scripts cannot read and other sites do not send."""
    secure: bool = request.app.state.is_secure
    response.set_cookie(name, value, max_age, httponly=True, samesite="strict", secure=secure)


def clear_cookie(request: Request, response: Response, name: str) -> None:
    """Delete a cookie; browsers ignore this for a cookie that begins with `__Host-` unless it is secure."""
    response.delete_cookie(name, secure=request.app.state.is_secure, httponly=True, samesite="strict")


def _make_visitor_token(store: ReviewStore, visitor: str) -> str:
    secret = b"log-in form " + visitor.encode("utf-8", "replace")
    return hmac.digest(store.session_key, secret, "sha256").hex()


def leave(visit: Visit) -> Response:
    log_out(visit.store, visit.session)
    address = "/log-in" if visit.user.issuer is None else "/signed-out"
    response = RedirectResponse(address, status_code=303)
    clear_cookie(visit.request, response, visit.request.app.state.cookie)
    response.headers["Clear-Site-Data"] = '"cache", "storage"'
    return response


def choose_legend(visit: Visit) -> Response:
    """Remember in a cookie whether the legend of the reading page is open; it is until somebody closes it."""
    response = Response(status_code=204)
    if visit.text("legend") == "closed":
        set_cookie(visit.request, response, LEGEND_COOKIE, "closed", max_age=31_536_000)
    else:
        response.delete_cookie(LEGEND_COOKIE)
    return response


def choose_theme(visit: Visit) -> Response:
    """Remember light or dark in a cookie; any other choice follows the system."""
    theme = visit.text("theme")
    response = RedirectResponse("/", status_code=303)
    if theme in THEMES:
        set_cookie(visit.request, response, THEME_COOKIE, theme, max_age=31_536_000)
    else:
        response.delete_cookie(THEME_COOKIE)
    return response
