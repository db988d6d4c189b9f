"""The web application and its server: masking, the page to try it, and each error one line of JSON.

Texts of requests appear in answers alone, never in the log.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import copy_context
from dataclasses import replace
from datetime import date
from functools import cache
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from inverse_deid import __version__
from inverse_deid.choices.table import COLUMNS
from inverse_deid.core.errors import (
    ConfigurationError,
    InputError,
    InverseDeidError,
)
from inverse_deid.core.wording import _, current_language
from inverse_deid.engine.tally import Tally
from inverse_deid.files.facts import list_facts
from inverse_deid.files.workers import MAX_FILES_AT_ONCE
from inverse_deid.masking.case_masker import DocumentMasker
from inverse_deid.masking.choices import Chosen
from inverse_deid.service.batching import Batcher, QueueFullError
from inverse_deid.service.choices import describe_problem
from inverse_deid.service.clients import Client, TooOftenError
from inverse_deid.service.documents import answer_of, read_request
from inverse_deid.service.files import (
    MAX_FIELDS_BYTES,
    MAX_FILES_WAITING,
    NAME_OF_PART,
    FileJob,
    FileRequest,
    FileTooLargeError,
    MaskedFile,
    read_file_form,
)
from inverse_deid.service.interface import describe_api
from inverse_deid.service.page_views import PAGES, render_description, render_page
from inverse_deid.service.settings import ServiceSettings
from inverse_deid.service.shares import Shares, Turns
from inverse_deid.web.connections import name_client
from inverse_deid.web.metrics import Metrics
from inverse_deid.web.server import WebSettings, owned_signals, run_server
from inverse_deid.web.shell import Shell, names_host, read_body

LOGGER = logging.getLogger("inverse_deid.service")
RETRY_AFTER_SECONDS = 1
SWITCH_SECONDS = 0.0005
"""How long the masking thread may keep the interpreter while requests wait to be read."""

MakeMasker = Callable[[Chosen], DocumentMasker]
"""Returns the masker for some settings; called in the thread that masks."""

_OPEN_PATHS = frozenset({"/health", "/", "/docs", "/openapi.json"})
"""They have nothing of a request in them, and a browser cannot send a token with the address of a page."""
_PATHS = frozenset({"/mask", "/mask-file", "/metrics"}) | _OPEN_PATHS
_CLIENT = "inverse_deid.client"
_MAX_WARNINGS = 20
"""So many are in a header, which servers and clients limit to some kilobytes."""
_NAMELESS = ("n_other_language", "removed", "read_as")
"""Facts whose sentences contain nothing of the file."""
"""Where a request has its client."""


def build_app(
    make_masker: MakeMasker, settings: ServiceSettings, metrics: Metrics | None = None
) -> Starlette:
    """Return the application; requests are masked while its lifespan runs."""
    metrics = metrics or Metrics()
    service = _Service(Batcher(make_masker, settings.batching), settings)
    metrics.add("queue_length", "What waits to be masked.", "queue", service.count_waiting)
    app = Starlette(
        routes=[
            Route("/", service.page, methods=["GET"]),
            Route("/docs", service.docs, methods=["GET"]),
            Route("/mask", service.mask, methods=["POST"]),
            Route("/mask-file", service.mask_file, methods=["POST"]),
            Route("/health", service.health, methods=["GET"]),
            Route("/openapi.json", service.openapi, methods=["GET"]),
            metrics.route(),
            PAGES.mount(),
        ],
        exception_handlers={404: _http_error, 405: _http_error},
        lifespan=service.lifespan,
    )
    app.router.redirect_slashes = False  # a redirect repeats the path
    app.add_middleware(
        Shell,
        gate=_Gate(settings),
        static=PAGES.address,
        unforeseen=lambda: _problem(HTTPStatus.INTERNAL_SERVER_ERROR, _("an unforeseen error")),
        log=LOGGER,
    )
    return app


class _Service:
    """The routes."""

    def __init__(self, batcher: Batcher[Chosen], settings: ServiceSettings) -> None:
        self._batcher = batcher
        self._settings = settings
        # By language, and made once each.
        self._description = cache(lambda _language: json.dumps(describe_api()).encode())
        self._page = cache(lambda _language: render_page(settings))
        self._docs = cache(lambda _language: render_description())
        self._file_threads = ThreadPoolExecutor(thread_name_prefix="file")
        self._files, self._file_turns = Shares(MAX_FILES_WAITING), Turns(MAX_FILES_AT_ONCE)
        self._received = Shares(MAX_FILES_WAITING * (settings.max_file_bytes + MAX_FIELDS_BYTES))

    def count_waiting(self) -> dict[str, float]:
        return {"texts": self._batcher.n_waiting, "files": self._files.n_taken}

    @asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        masking = asyncio.create_task(self._batcher.run())
        try:
            yield
        finally:
            self._file_threads.shutdown(wait=False, cancel_futures=True)
            masking.cancel()
            with suppress(asyncio.CancelledError):
                await masking

    async def health(self, _request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__, "waiting": self._batcher.n_waiting})

    async def openapi(self, _request: Request) -> Response:
        return Response(self._description(current_language()), media_type="application/json")

    async def page(self, _request: Request) -> Response:
        return HTMLResponse(self._page(current_language()))

    async def docs(self, _request: Request) -> Response:
        return HTMLResponse(self._docs(current_language()))

    async def mask(self, request: Request) -> Response:
        return await self._answer_in_time(request, "application/json", self._mask_documents)

    async def mask_file(self, request: Request) -> Response:
        return await self._answer_in_time(request, "multipart/form-data", self._mask_form)

    async def _answer_in_time(
        self, request: Request, media_type: str, answer: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != media_type:
            return _problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, _("send {media_type}", media_type=media_type))
        try:
            async with asyncio.timeout(self._settings.seconds):
                return await answer(request)
        except TimeoutError:
            return _busy(_("not done within {seconds:g} seconds", seconds=self._settings.seconds))
        except InverseDeidError as error:
            return _describe_refusal(error)

    async def _mask_documents(self, request: Request) -> Response:
        body = await read_body(request, self._settings.max_body_bytes)
        if body is None:
            return _too_large(
                _(
                    "the request is larger than {max_body_bytes} bytes",
                    max_body_bytes=self._settings.max_body_bytes,
                )
            )
        given = read_request(body, self._settings.max_documents)
        if given.details is not None and not self._settings.has_details:
            return _problem(
                HTTPStatus.FORBIDDEN, _("details: the operator of the service does not permit them")
            )
        chosen = self._settings.operator.choose(given.settings, _today())
        try:
            masked = await self._batcher.mask(given.docs, chosen, self._name_client(request))
        except asyncio.CancelledError:
            # Its time is over, and it may have been masked all the same.
            self._charge(request, sum(len(one.text.split()) for one in given.docs))
            raise
        self._charge(request, sum(len(one.tokens) for one in masked))

        def write() -> bytes:
            # A lone surrogate in a text cannot be written as UTF-8; it is escaped.
            return json.dumps(answer_of(given, masked, chosen.value_of("operating_point"))).encode("ascii")

        content = write() if given.details is None else await asyncio.to_thread(write)
        return Response(content, media_type="application/json")

    async def _mask_form(self, request: Request) -> Response:
        client = self._name_client(request)
        with self._receiving(request, client) as stream:
            given = await read_file_form(request.headers, stream, self._settings.max_file_bytes)
            if given.keeps_columns and COLUMNS not in self._settings.operator.permits:
                return _problem(
                    HTTPStatus.FORBIDDEN,
                    _(
                        "columns cannot be copied unmasked here. The operator of the service does not "
                        "permit it"
                    ),
                )
            if not self._files.admits(client):
                n_files = self._files.n_taken
                raise QueueFullError(_("{n_files} files are waiting. Try again later", n_files=n_files))
            with self._files.taken(client):
                masked = await self._mask_one_file(request, given, client)
        return _file_answer(masked, given.suffix)

    @contextmanager
    def _receiving(self, request: Request, client: str) -> Iterator[AsyncGenerator[bytes, None]]:
        """Give the body of a form; what came of it counts for its client until the block ends."""
        n_bytes = 0

        async def stream() -> AsyncGenerator[bytes, None]:
            nonlocal n_bytes
            async for part in request.stream():
                if not self._received.admits(client, len(part)):
                    raise QueueFullError(_("too many files are being sent. Try again later"))
                self._received.take(client, len(part))
                n_bytes += len(part)
                yield part

        try:
            yield stream()
        finally:
            self._received.give_back(client, n_bytes)

    def _name_client(self, request: Request) -> str:
        """Return who takes turns with others: the client of a token, or an address if all have the same."""
        client: Client | None = request.scope.get(_CLIENT)
        clients = self._settings.clients
        if client is None or clients is None or clients.is_shared:
            return name_client(request.client.host if request.client else "")
        return client.name

    def _charge(self, request: Request, n_words: int) -> None:
        if self._settings.clients is not None:
            self._settings.clients.charge(request.scope.get(_CLIENT), n_words)

    async def _mask_one_file(self, request: Request, given: FileRequest, client: str) -> MaskedFile:
        chosen = self._settings.operator.choose(given.settings, _today())
        job = FileJob(
            given,
            chosen,
            self._batcher,
            client=client,
            max_chars=self._settings.max_body_bytes,
            max_seconds=self._settings.seconds,
        )
        loop = asyncio.get_running_loop()
        try:
            async with self._file_turns.taken(client):
                return await loop.run_in_executor(self._file_threads, copy_context().run, job.work)
        finally:
            job.stop()
            self._charge(request, job.n_words)


def _today() -> date:
    return date.today()  # noqa: DTZ011, RUF100 - a person's day


def _file_answer(masked: MaskedFile, suffix: str) -> Response:
    """Return a masked file; its name is not that of the original, which may hold a name."""
    answer = Response(masked.content, media_type="application/octet-stream")
    answer.headers["content-disposition"] = f'attachment; filename="masked{suffix}"'
    answer.headers["inverse-deid-counts"] = json.dumps(_describe_counts(masked.tally))
    return answer


def _describe_counts(tally: Tally) -> dict[str, object]:
    """Return the counts of a file for a header. Headers are logged, so files in archives have no name."""
    facts = tally.facts
    first = facts.warnings[:_MAX_WARNINGS]
    warnings = [f"{NAME_OF_PART.sub('', one.where)}: {one.reason}" for one in first]
    if n_more := len(facts.warnings) - len(warnings):
        warnings.append(_("... and {n_more} more", n_more=n_more))
    return {
        "failed": tally.n_failed_documents,
        "n_tokens": tally.n_tokens,
        **facts.as_numbers(),
        "said": [one.text for one in list_facts(facts) if one.field in _NAMELESS],
        "warnings": warnings,
    }


class _Gate:
    """Checks the token of requests and logs a line about each."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._clients = settings.clients
        self._hosts = settings.hosts

    def note_end(self, scope: Scope, status: int, seconds: float) -> None:
        """Log a line without anything that a client wrote."""
        path = scope["path"] if scope["path"] in _PATHS else "(no such path)"
        path = "(static)" if scope["path"].startswith(PAGES.address + "/") else path
        method = scope["method"] if scope["method"] in ("GET", "POST") else "(other)"
        client: Client | None = scope.get(_CLIENT)
        name = client.name if client else "-"
        milliseconds = round(1000 * seconds, 1)
        request = {"method": method, "path": path, "status": status, "ms": milliseconds, "client": name}
        line = "%s %s %d %.1f ms %s"
        LOGGER.info(line, method, path, status, milliseconds, name, extra={"request": request})

    def refuse(self, scope: Scope, *, is_static: bool) -> Response | None:
        """Return the refusal of a request, None = it is allowed."""
        if not names_host(scope, self._hosts):
            return _problem(HTTPStatus.MISDIRECTED_REQUEST, _("wrong host name"))
        headers = scope["headers"]
        came_from = {value for name, value in headers if name == b"sec-fetch-site"}
        if scope["method"] == "POST" and not came_from <= {b"same-origin", b"none"}:
            return _problem(HTTPStatus.FORBIDDEN, _("the request comes from a page of another site"))
        # The metrics decide for themselves.
        if self._clients is None or is_static or scope["path"] in _OPEN_PATHS | {"/metrics"}:
            return None
        given = [value for name, value in headers if name == b"authorization"]
        scheme, _ignored, secret = (given[0] if len(given) == 1 else b"").decode("latin-1").partition(" ")
        client = self._clients.find(secret.strip()) if scheme.lower() == "bearer" else None
        if client is None:
            refused = _problem(HTTPStatus.UNAUTHORIZED, _("send the token: Authorization: Bearer TOKEN"))
            refused.headers["www-authenticate"] = "Bearer"
            return refused
        scope[_CLIENT] = client
        try:
            self._clients.begin(client)
        except TooOftenError as error:
            refused = _problem(HTTPStatus.TOO_MANY_REQUESTS, str(error))
            refused.headers["retry-after"] = str(math.ceil(error.seconds))
            return refused
        return None


def _describe_refusal(error: InverseDeidError) -> Response:
    """Return the answer to a request that failed. The messages of our own errors contain no text of it."""
    if isinstance(error, QueueFullError):
        return _busy(str(error))
    if isinstance(error, FileTooLargeError):
        return _too_large(str(error))
    is_request = isinstance(error, InputError | ConfigurationError)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_request else HTTPStatus.INTERNAL_SERVER_ERROR
    return _problem(status, describe_problem(error))


def _problem(status: HTTPStatus, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status_code=status)


def _busy(message: str) -> JSONResponse:
    refused = _problem(HTTPStatus.SERVICE_UNAVAILABLE, message)
    refused.headers["retry-after"] = str(RETRY_AFTER_SECONDS)
    return refused


def _too_large(message: str) -> JSONResponse:
    refused = _problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
    refused.headers["connection"] = "close"  # the rest of the body is not read
    return refused


async def _http_error(_request: Request, error: Exception) -> Response:
    status = HTTPStatus(getattr(error, "status_code", 500))
    refused = _problem(status, _("unknown path or method. See /docs"))
    refused.headers.update(getattr(error, "headers", None) or {})
    return refused


def serve_app(app: Starlette, settings: WebSettings, metrics: Metrics, *, log_requests: bool = False) -> None:
    """Serve until stopped; `log_requests`: a line per request, with method, path, status, time and client."""
    sys.setswitchinterval(SWITCH_SECONDS)
    levels = {"uvicorn": "INFO", LOGGER.name: "INFO" if log_requests else "ERROR"}
    with owned_signals():
        run_server(app, replace(settings, log_levels=levels), metrics)
