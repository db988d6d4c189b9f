"""Log-in and log-out. The log-in form has a token of its own, bound to a cookie: nobody is logged in yet."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from threading import BoundedSemaphore

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inverse_deid.core.errors import LogInError
from inverse_deid.review.pages.rendering import THEME_COOKIE, THEMES, page
from inverse_deid.review.pages.visits import (
    PostTooLargeError,
    Visit,
    form_fields,
    guarded,
    problem,
    read_body,
)
from inverse_deid.review.sessions import log_in, log_out
from inverse_deid.review.store import ReviewStore

VISITOR_COOKIE = "visitor"

_AT_ONCE = BoundedSemaphore(2)
"""A check of a password takes 64 MiB of memory; more wait."""


async def log_in_page(request: Request) -> Response:
    """The form, and what it sends."""
    if request.method != "POST":
        return _form(request)
    try:
        body = await read_body(request)
    except PostTooLargeError as error:
        return problem(request, 413, str(error))
    return await run_in_threadpool(guarded, request, lambda: _logged_in(request, body))


def _logged_in(request: Request, body: bytes) -> Response:
    fields = form_fields(body)
    store: ReviewStore = request.app.state.store
    visitor = request.cookies.get(VISITOR_COOKIE, "")
    if not visitor or not hmac.compare_digest(_token(store, visitor).encode(), _one(fields, "csrf_token")):
        return _form(request, "The page was too old; try again.", status=403)
    cookie: str = request.app.state.cookie
    address = request.client.host if request.client else ""
    name, password = (_one(fields, key).decode() for key in ("name", "password"))
    try:
        with _AT_ONCE:
            session = log_in(
                store, name, password, address=address, old_session_id=request.cookies.get(cookie)
            )
    except LogInError as error:
        message = str(error)
        return _form(
            request, message[0].upper() + message[1:] + ".", status=429 if "too many" in message else 401
        )
    response = RedirectResponse("/", status_code=303)
    response.set_cookie(
        cookie, session.id, httponly=True, samesite="strict", secure=request.app.state.is_secure, path="/"
    )
    response.delete_cookie(VISITOR_COOKIE)
    return response


def _one(fields: Mapping[str, list[str]], name: str) -> bytes:
    return fields.get(name, [""])[0].encode("utf-8", "replace")


def _form(request: Request, message: str = "", *, status: int = 200) -> Response:
    visitor = request.cookies.get(VISITOR_COOKIE, "") or secrets.token_urlsafe(32)
    token = _token(request.app.state.store, visitor)
    response = page(request, "log_in.html", None, status=status, message=message, csrf_token=token)
    secure: bool = request.app.state.is_secure
    response.set_cookie(VISITOR_COOKIE, visitor, httponly=True, samesite="strict", secure=secure, path="/")
    return response


def _token(store: ReviewStore, visitor: str) -> str:
    return hmac.digest(
        store.session_key, b"log-in form " + visitor.encode("utf-8", "replace"), "sha256"
    ).hex()


def leave(visit: Visit) -> Response:
    """End the session."""
    log_out(visit.store, visit.session.id)
    response = RedirectResponse("/log-in", status_code=303)
    response.delete_cookie(visit.request.app.state.cookie)
    response.headers["Clear-Site-Data"] = '"cache", "storage"'
    return response


def choose_theme(visit: Visit) -> Response:
    """Remember light or dark in a cookie; anything else follows the system."""
    theme = visit.text("theme")
    response = RedirectResponse("/", status_code=303)
    if theme in THEMES:
        secure: bool = visit.request.app.state.is_secure
        response.set_cookie(
            THEME_COOKIE, theme, max_age=31_536_000, samesite="strict", secure=secure, httponly=True
        )
    else:
        response.delete_cookie(THEME_COOKIE)
    return response
