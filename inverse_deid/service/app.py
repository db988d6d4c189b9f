"""The web application and its server: three routes, each error one line of JSON.

Texts of requests appear in answers alone, never in the log.
"""

from __future__ import annotations

import asyncio
import importlib.resources
import json
import logging
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inverse_deid import __version__
from inverse_deid.core.errors import FormatError, InverseDeidError, describe_error
from inverse_deid.engine.masker import Masker
from inverse_deid.service.batching import Batcher, QueueFullError
from inverse_deid.service.documents import answer_of, read_request
from inverse_deid.service.settings import ServiceSettings

LOGGER = logging.getLogger("inverse_deid.service")
RETRY_AFTER_SECONDS = 1
SWITCH_SECONDS = 0.0005
"""How long the masking thread may keep the interpreter while requests wait to be read."""
MAX_CONNECTIONS = 1024

_OPEN_PATHS = frozenset({"/health"})
_PATHS = frozenset({"/mask", "/health", "/openapi.json"})


def describe_api() -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of the service."""
    text = importlib.resources.files("inverse_deid.service").joinpath("openapi.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return {**found, "info": {**found["info"], "version": __version__}}


def build_app(masker: Masker, settings: ServiceSettings) -> Starlette:
    """Return the application; requests are masked while its lifespan runs."""
    service = _Service(Batcher(masker, settings.batching), settings)
    app = Starlette(
        routes=[
            Route("/mask", service.mask, methods=["POST"]),
            Route("/health", service.health, methods=["GET"]),
            Route("/openapi.json", service.openapi, methods=["GET"]),
        ],
        exception_handlers={404: _http_error, 405: _http_error},
        lifespan=service.lifespan,
    )
    app.router.redirect_slashes = False  # a redirect repeats the path
    app.add_middleware(_Gate, settings=settings)
    return app


class _Service:
    """The routes."""

    def __init__(self, batcher: Batcher, settings: ServiceSettings) -> None:
        self._batcher = batcher
        self._settings = settings
        self._description = json.dumps(describe_api()).encode()

    @asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        masking = asyncio.create_task(self._batcher.run())
        try:
            yield
        finally:
            masking.cancel()
            with suppress(asyncio.CancelledError):
                await masking

    async def health(self, _request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__, "waiting": self._batcher.n_waiting})

    async def openapi(self, _request: Request) -> Response:
        return Response(self._description, media_type="application/json")

    async def mask(self, request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send application/json")
        try:
            async with asyncio.timeout(self._settings.seconds):
                return await self._answer(request)
        except TimeoutError:
            return _busy(f"not done within {self._settings.seconds:g} seconds")
        except QueueFullError as error:
            return _busy(str(error))
        except FormatError as error:
            return _problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        except InverseDeidError as error:
            return _problem(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))

    async def _answer(self, request: Request) -> Response:
        body = await _body(request, self._settings.max_body_bytes)
        if body is None:
            limit = self._settings.max_body_bytes
            refused = _problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the request is larger than {limit} bytes"
            )
            refused.headers["connection"] = "close"  # the rest of the body is not read
            return refused
        given = read_request(body, self._settings.max_documents)
        masked = await self._batcher.mask(given.docs)
        answer = answer_of(given, masked, self._settings.operating_point)
        # A lone surrogate in a text cannot be written as UTF-8; it is escaped.
        return Response(json.dumps(answer).encode("ascii"), media_type="application/json")


async def _body(request: Request, max_bytes: int) -> bytes | None:
    """Return the body, or None if it is too large."""
    announced = request.headers.get("content-length", "0")
    if not announced.isdecimal() or len(announced) > 18 or int(announced) > max_bytes:
        return None
    parts: list[bytes] = []
    n_bytes = 0
    async for part in request.stream():
        n_bytes += len(part)
        if n_bytes > max_bytes:
            return None
        parts.append(part)
    return b"".join(parts)


class _Gate:
    """Wraps all routes: checks the token, logs a line, and strips errors of their text."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings) -> None:
        self._app = app
        self._token = settings.token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = HTTPStatus.INTERNAL_SERVER_ERROR.value
        has_begun = False

        async def note(message: Message) -> None:
            nonlocal status, has_begun
            if message["type"] == "http.response.start":
                status, has_begun = message["status"], True
                message["headers"] = [*message.get("headers", []), (b"cache-control", b"no-store")]
            await send(message)

        try:
            if self._may(scope):
                await self._app(scope, receive, note)
            else:
                refused = _problem(HTTPStatus.UNAUTHORIZED, "send the token: Authorization: Bearer TOKEN")
                refused.headers["www-authenticate"] = "Bearer"
                await refused(scope, receive, note)
        except ClientDisconnect:
            status = 499
        except Exception as error:  # noqa: BLE001 - its message and its traceback may quote a text
            LOGGER.error("%s", describe_error(error))  # noqa: TRY400
            if not has_begun:
                await _problem(HTTPStatus.INTERNAL_SERVER_ERROR, "an unforeseen error")(scope, receive, note)
        path = scope["path"] if scope["path"] in _PATHS else "(no such path)"
        method = scope["method"] if scope["method"] in ("GET", "POST") else "(other)"
        LOGGER.info("%s %s %d %.1f ms", method, path, status, 1000 * (time.perf_counter() - started))

    def _may(self, scope: Scope) -> bool:
        if self._token is None or scope["path"] in _OPEN_PATHS:
            return True
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, secret = (given[0] if len(given) == 1 else b"").decode("latin-1").partition(" ")
        return scheme.lower() == "bearer" and self._token.fits(secret.strip())


def _problem(status: HTTPStatus, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status_code=status)


def _busy(message: str) -> JSONResponse:
    refused = _problem(HTTPStatus.SERVICE_UNAVAILABLE, message)
    refused.headers["retry-after"] = str(RETRY_AFTER_SECONDS)
    return refused


async def _http_error(_request: Request, error: Exception) -> Response:
    status = HTTPStatus(getattr(error, "status_code", 500))
    refused = _problem(status, "unknown path or method. Use POST /mask, GET /health or GET /openapi.json")
    refused.headers.update(getattr(error, "headers", None) or {})
    return refused


def serve_app(app: ASGIApp, host: str, port: int, *, seconds: float, log_requests: bool = False) -> None:
    """Serve until stopped.

    Args:
        app: The application.
        host: Address to listen on.
        port: Port, 0 = a free one, which is logged.
        seconds: How long running requests may take when the service is stopped.
        log_requests: One line per request: method, path, status, time.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    logging.getLogger("inverse_deid.service").setLevel(logging.INFO if log_requests else logging.ERROR)
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_config=make_log_settings(),
        access_log=False,  # it would contain paths and queries
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=round(seconds) + 1,
    )


def strip_exception(record: logging.LogRecord) -> bool:
    """Remove exceptions from a line of the log: their messages may quote a text."""
    if record.exc_info:
        kind = record.exc_info[0]
        record.msg, record.args = "%s (%s)", (record.getMessage(), kind.__name__ if kind else "error")
        record.exc_info = record.exc_text = None
    return True


def make_log_settings() -> dict[str, Any]:
    """Return settings that write lines of the service and of uvicorn to standard error."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"plain": {"()": lambda: strip_exception}},
        "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["plain"]}},
        "loggers": {
            "uvicorn": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
            "asyncio": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
            "inverse_deid.service": {"handlers": ["stderr"], "propagate": False},
        },
    }
