"""Who asks: every page and request goes through `signed_in`, which checks before anything is done.

Handlers are plain functions; they run in worker threads, and what they raise becomes an answer that
holds the message of our own errors only.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from inverse_deid.core.errors import (
    CaseLockedError,
    InverseDeidError,
    LogInError,
    NotAllowedError,
    OutputError,
    ReviewError,
    StaleRevisionError,
)
from inverse_deid.core.unforeseen import describe_error
from inverse_deid.formats.strict_json import parse_json
from inverse_deid.review.pages.rendering import page
from inverse_deid.review.sessions import Session, is_csrf_token, session_of
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.values import UserRole

MAX_POST_BYTES = 256 * 1024
MAX_FIELDS = 2_000

LOG = logging.getLogger("inverse_deid.review")

_STATUS: tuple[tuple[type[InverseDeidError], int], ...] = (
    (LogInError, 401),
    (StaleRevisionError, 409),
    (CaseLockedError, 423),
    (NotAllowedError, 403),
    (ReviewError, 400),
    (OutputError, 503),
    (InverseDeidError, 500),
)


class PostTooLargeError(ReviewError):
    """A post is larger than any that the pages send."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of somebody who is logged in.

    Args:
        store: The store.
        session: Whose it is.
        request: As it came.
        fields: Of a form.
        payload: Of a JSON request.
    """

    store: ReviewStore
    session: Session
    request: Request = field(repr=False)
    fields: Mapping[str, list[str]] = field(repr=False)
    payload: Mapping[str, Any] = field(repr=False)

    @property
    def case_id(self) -> int:
        """The case in the path."""
        return int(self.request.path_params["case_id"])

    def text(self, name: str) -> str:
        """A field of the form, "" = not given."""
        return self.fields.get(name, [""])[0]

    def number(self, name: str) -> int:
        """A whole number of the JSON request.

        Raises:
            ReviewError: It is none.
        """
        given = self.payload.get(name)
        if not isinstance(given, int) or isinstance(given, bool):
            raise ReviewError(f"{name} has to be a whole number")
        return given


Handler = Callable[[Visit], Response]
Endpoint = Callable[[Request], Awaitable[Response]]


def signed_in(handler: Handler, role: UserRole = UserRole.REVIEWER) -> Endpoint:
    """An endpoint that calls a handler for those who are logged in, have the role and, posting, the token."""

    async def endpoint(request: Request) -> Response:
        try:
            body = await read_body(request)
        except PostTooLargeError as error:
            return problem(request, 413, str(error))
        return await run_in_threadpool(guarded, request, lambda: _visited(request, body, handler, role))

    return endpoint


async def read_body(request: Request) -> bytes:
    """The body of a post of bounded size.

    Raises:
        PostTooLargeError: Larger, or said to be.
    """
    if request.method != "POST":
        return b""
    pieces: list[bytes] = []
    said = request.headers.get("content-length", "0")
    n_bytes = int(said) if said.isdecimal() else 0
    if n_bytes <= MAX_POST_BYTES:
        n_bytes = 0
        async for piece in request.stream():
            n_bytes += len(piece)
            if n_bytes > MAX_POST_BYTES:
                break
            pieces.append(piece)
    if n_bytes > MAX_POST_BYTES:
        raise PostTooLargeError(f"more than {MAX_POST_BYTES // 1024} KiB cannot be posted at once")
    return b"".join(pieces)


def _visited(request: Request, body: bytes, handler: Handler, role: UserRole) -> Response:
    store: ReviewStore = request.app.state.store
    session = session_of(store, request.cookies.get(request.app.state.cookie, ""))
    is_json = wants_json(request)
    fields = {} if is_json else form_fields(body)
    visit = Visit(store, session, request, fields, json_payload(body) if is_json else {})
    if request.method == "POST":
        given = request.headers.get("x-csrf-token", "") or visit.text("csrf_token")
        if not is_csrf_token(session, given):
            raise NotAllowedError("the page is too old or was not made here; load it again")
    if not session.user.role.includes(role):
        raise NotAllowedError(f"only an {role.value} may do this")
    return handler(visit)


def guarded(request: Request, call: Callable[[], Response]) -> Response:
    """An answer, also where an error is raised; messages of foreign errors may quote a narrative."""
    try:
        return call()
    except InverseDeidError as error:
        status = next(status for kind, status in _STATUS if isinstance(error, kind))
        return problem(request, status, str(error))
    except Exception as error:  # noqa: BLE001 - only kind and place are told
        LOG.error("%s", describe_error(error))  # noqa: TRY400 - no traceback
        return problem(request, 500, "an unforeseen error; nothing of this step was stored")


def wants_json(request: Request) -> bool:
    """Whether a script of the page asks."""
    return request.headers.get("content-type", "").partition(";")[0].strip() == "application/json"


def problem(request: Request, status: int, message: str) -> Response:
    """An error as an answer; who is not logged in comes to the log-in."""
    if wants_json(request):
        return JSONResponse({"error": message}, status_code=status)
    if status == 401:
        return RedirectResponse("/log-in", status_code=303)
    return page(request, "problem.html", None, status=status, message=message, status_code=status)


def form_fields(body: bytes) -> dict[str, list[str]]:
    """The fields of a form.

    Raises:
        ReviewError: Not UTF-8, or too many.
    """
    try:
        return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:
        pass
    raise ReviewError("the form cannot be read; load the page again")


def json_payload(body: bytes) -> dict[str, Any]:
    """The object of a JSON request.

    Raises:
        ReviewError: It is none.
    """
    try:
        payload = parse_json(body or b"{}")
    except (ValueError, RecursionError):
        payload = None
    if isinstance(payload, dict):
        return payload
    raise ReviewError("the request cannot be read; load the page again")
