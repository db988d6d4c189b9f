"""The shell of both web applications: headers, errors and bodies of requests, static files, templates."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inverse_deid.core.errors import describe_error
from inverse_deid.core.packaged import SHARED_PAGES
from inverse_deid.core.pages.template_texts import (
    TEMPLATE_TEXTS,
    ScriptText,
    find_script_texts,
    translate_script_texts,
)
from inverse_deid.core.wording import _, languages_accepted, speaking

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
"""Of every response; browsers may keep only the static files of the package."""

OVER_TLS = {"Strict-Transport-Security": "max-age=31536000"}

_KEEP = "public, max-age=31536000, immutable"
"""How long browsers keep static files, whose addresses change with them."""
_CLIENT_LEFT = 499
_STOP_SECONDS = 5
"""How long a client should wait for a server that stops to start again."""


class Pages:
    """The templates and static files of a package, next to the static files that all pages share.

    Templates escape all values, and unknown names in them are errors.

    Args:
        package: Has the folder.
        folder: Contains the folders `templates` and `static`; nothing of a case or a text is in them.
    """

    def __init__(self, package: str, folder: str) -> None:
        self._package = package
        self._folder = folder

    @cached_property
    def folder(self) -> Path:
        return Path(str(files(self._package) / self._folder / "static"))

    @cached_property
    def address(self) -> str:
        """The address of the static files; it changes with them, so that browsers may keep them."""
        digest = hashlib.sha256()
        found = [file for folder in (self.folder, SHARED_PAGES) for file in folder.iterdir()]
        for file in sorted(found, key=lambda one: one.name):
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
        return f"/static/{digest.hexdigest()[:16]}"

    def mount(self) -> Mount:
        shared = StaticFiles(directory=self.folder, packages=[("inverse_deid.core", "pages/static")])
        return Mount(self.address, shared)

    def render(self, template: str, **values: object) -> str:
        """Return a page; templates know the address of static files as `static`."""
        return self._environment.get_template(template).render(static=self.address, **values)

    @cached_property
    def _script_texts(self) -> list[ScriptText]:
        scripts = sorted(self.folder.glob("*.js"))
        return sorted({text for one in scripts for text in find_script_texts(one.read_text("utf-8"))})

    @cached_property
    def _environment(self) -> Environment:
        environment = Environment(
            loader=PackageLoader(self._package, f"{self._folder}/templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.globals.update(TEMPLATE_TEXTS)
        environment.globals["script_texts"] = lambda: translate_script_texts(self._script_texts)
        return environment


async def read_body(request: Request, max_bytes: int) -> bytes | None:
    """Return the body of a request, None = it is larger; no more of it is read then."""
    stated = request.headers.get("content-length", "0")
    if not stated.isdecimal() or len(stated) > 18 or int(stated) > max_bytes:
        return None
    parts: list[bytes] = []
    n_bytes = 0
    async for part in request.stream():
        n_bytes += len(part)
        if n_bytes > max_bytes:
            return None
        parts.append(part)
    return b"".join(parts)


LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
"""Host names of this machine alone."""


def names_host(scope: Scope, hosts: Collection[str] | None) -> bool:
    """Tell whether a request is for one of these host names, None = any (against DNS rebinding)."""
    with suppress(ValueError):  # the header is not an address
        return hosts is None or (Request(scope).url.hostname or "") in hosts
    return False


class Gate(Protocol):
    """What an application decides itself about a request."""

    def refuse(self, scope: Scope, *, is_static: bool) -> Response | None:
        """Return the refusal of a request, None = a route may answer it."""

    def note_end(self, scope: Scope, status: int, seconds: float) -> None:
        """Take note of an answered request."""


class Shell:
    """Wraps all routes of an application: refuses, sets headers, and strips errors of their text.

    Args:
        app: The application.
        gate: Decides which requests reach it.
        static: Address of its static files.
        unforeseen: The answer where a route broke.
        log: Is told of it, without the text of the error.
        headers: Of every response.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        gate: Gate,
        static: str,
        unforeseen: Callable[[], Response],
        log: logging.Logger,
        headers: dict[str, str] = HEADERS,
    ) -> None:
        self._app = app
        self._static = static + "/"
        self._gate = gate
        self._unforeseen = unforeseen
        self._log = log
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status, has_begun = 500, False
        is_static = scope["path"].startswith(self._static)

        async def send_with_headers(message: Message) -> None:
            nonlocal status, has_begun
            if message["type"] == "http.response.start":
                status, has_begun = message["status"], True
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                if is_static and status in (200, 304):
                    headers["Cache-Control"] = _KEEP
            await send(message)

        wanted = languages_accepted(Headers(scope=scope).get("accept-language", ""))
        with speaking(wanted):
            try:
                await (self._gate.refuse(scope, is_static=is_static) or self._app)(
                    scope, receive, send_with_headers
                )
            except ClientDisconnect:
                status = _CLIENT_LEFT
            except asyncio.CancelledError:  # the server does not wait for this request
                if has_begun:
                    raise
                await _refuse_while_stopping()(scope, receive, send_with_headers)
            except Exception as error:  # noqa: BLE001 - its message and its traceback may quote a text
                self._log.error("%s", describe_error(error))
                if not has_begun:
                    await self._unforeseen()(scope, receive, send_with_headers)
        self._gate.note_end(scope, status, time.perf_counter() - started)


def _refuse_while_stopping() -> Response:
    said = {"error": _("The server is stopping. Try again in a moment.")}
    return JSONResponse(said, status_code=503, headers={"Retry-After": str(_STOP_SECONDS)})
