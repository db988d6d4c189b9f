"""The routes, and the headers of every answer."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inverse_deid.review.pages import (
    accounts_page,
    case_page,
    finished_page,
    form_page,
    logging_in,
    sample_page,
    summary_page,
    work_list_page,
)
from inverse_deid.review.pages.rendering import STATIC_FOLDER, static_address
from inverse_deid.review.pages.visits import Handler, problem, signed_in
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.values import UserRole

HEADERS = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), microphone=(), geolocation=()"),
    ("Cache-Control", "no-store"),
)
"""Of every answer; the fixed files of the package alone may be kept by the browser."""

_KEEP = "public, max-age=31536000, immutable"


def make_application(
    store: ReviewStore, *, is_secure: bool = False, hosts: frozenset[str] | None = None
) -> Starlette:
    """The application over an open store.

    Args:
        store: The store.
        is_secure: Browsers reach it through TLS; cookies then never go another way.
        hosts: Names that a browser may call it by, None = any.
    """
    application = Starlette(
        routes=_routes(),
        middleware=[Middleware(_Shield, is_secure=is_secure, hosts=hosts)],
        exception_handlers={404: _not_found, 405: _not_found},
    )
    application.state.store = store
    application.state.is_secure = is_secure
    application.state.cookie = "__Host-session" if is_secure else "session"
    return application


def _routes() -> list[Route | Mount]:
    case, dispute = "/cases/{case_id:int}", "/disputes/{case_id:int}"
    adjudicator, admin = UserRole.ADJUDICATOR, UserRole.ADMIN
    return [
        Route("/log-in", logging_in.log_in_page, methods=["GET", "POST"]),
        _post("/log-out", logging_in.leave),
        _post("/theme", logging_in.choose_theme),
        _get("/", work_list_page.work_list),
        _get("/next", work_list_page.next_page),
        _post("/assign", work_list_page.assign_cases, admin),
        _get(case, case_page.reading_page),
        _post(case + "/open", case_page.open_),
        _post(case + "/act", case_page.do),
        _post(case + "/undo", case_page.take_back),
        _post(case + "/redo", case_page.do_again),
        _post(case + "/note", case_page.note),
        _post(case + "/approve", case_page.approve_and_next),
        _post(case + "/keep", case_page.keep),
        _post(case + "/close", case_page.close),
        _get(case + "/print", finished_page.print_page),
        _get(dispute, case_page.dispute_page, adjudicator),
        _post(dispute + "/open", case_page.open_disputed, adjudicator),
        _get(case + "/finished", finished_page.finished),
        _post(case + "/release", finished_page.release_case, adjudicator),
        _post(case + "/withdraw", finished_page.withdraw_case, adjudicator),
        _get(case + "/form", form_page.first_step),
        _post(case + "/form/original", form_page.second_step),
        _post(case + "/form", form_page.save),
        _get("/sample", sample_page.sample, adjudicator),
        _post("/sample", sample_page.draw, adjudicator),
        _get("/sample/{case_id:int}", sample_page.read_case, adjudicator),
        _post("/sample/{case_id:int}", sample_page.answer, adjudicator),
        _get("/summary", summary_page.summary),
        _get("/accounts", accounts_page.accounts, admin),
        _post("/accounts", accounts_page.change_account, admin),
        Mount(static_address(), StaticFiles(directory=STATIC_FOLDER)),
    ]


def _get(path: str, handler: Handler, role: UserRole = UserRole.REVIEWER) -> Route:
    return Route(path, signed_in(handler, role), methods=["GET"])


def _post(path: str, handler: Handler, role: UserRole = UserRole.REVIEWER) -> Route:
    return Route(path, signed_in(handler, role), methods=["POST"])


def _not_found(request: Request, error: Exception) -> Response:
    status = int(getattr(error, "status_code", 404))
    return problem(request, status, "there is no such page")


class _Shield:
    """Sets the headers, and answers only to the names that it is called by (against DNS rebinding)."""

    def __init__(self, app: ASGIApp, *, is_secure: bool, hosts: frozenset[str] | None) -> None:
        self._app = app
        self._hosts = hosts
        self._headers = (
            (*HEADERS, ("Strict-Transport-Security", "max-age=31536000")) if is_secure else HEADERS
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_fixed = scope["path"].startswith(static_address() + "/")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(dict(self._headers))
                if is_fixed and message["status"] in (200, 304):
                    headers["Cache-Control"] = _KEEP
            await send(message)

        request = Request(scope)
        if self._hosts is not None and (request.url.hostname or "") not in self._hosts:
            await Response("wrong host name", status_code=421)(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)
