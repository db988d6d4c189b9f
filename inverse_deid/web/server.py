"""uvicorn as both servers run it: who may connect, logs, and reloads without a lost request."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import ssl
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Literal, cast

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.server import HANDLED_SIGNALS

from inverse_deid.core.errors import InverseDeidError
from inverse_deid.web.connections import (
    MAX_HEADERS,
    ConnectionLimits,
    Guard,
    is_local,
    is_same,
    name_client,
    parse_address,
)
from inverse_deid.web.metrics import METRICS_PATH, Metrics
from inverse_deid.web.shell import HEADERS

LOG = logging.getLogger("inverse_deid.web")

LogFormat = Literal["text", "json"]

_DIRECT_PATHS = frozenset({"/health", METRICS_PATH})
"""Programs of this machine may ask for them without the proxy."""
_HANDSHAKE_SECONDS = 10.0
_OPEN_FILES = 8192
_HANGUP = getattr(signal, "SIGHUP", None)  # not on Windows
_SIGNALS = (*HANDLED_SIGNALS, *(() if _HANGUP is None else (_HANGUP,)))


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """Where and how an application is served; `sockets` instead of host and port, if others opened them.

    Raises:
        ConfigurationError: The proxy is not an IP address.
    """

    host: str = "127.0.0.1"
    port: int = 0
    sockets: list[socket.socket] | None = None
    certificate: Path | None = None
    private_key: Path | None = None
    proxy: str | None = None
    body_seconds: float = 3600.0
    stop_seconds: int = 10
    log_format: LogFormat = "text"
    log_levels: dict[str, str] = field(default_factory=dict)  # by logger
    # Reads again what may change while the server runs; its errors leave everything as it was.
    reload: Callable[[], None] | None = None
    # Cuts requests that a stop does not wait for.
    cut: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        if self.proxy is not None:
            parse_address(self.proxy)


@contextmanager
def owned_signals() -> Iterator[None]:
    """Let a program that serves finish its work before a signal stops it, until the block ends.

    By default SIGTERM and SIGHUP end a program at once, without its `finally`. Here they raise `SystemExit`
    until `run_server` takes them, and nothing after it: what follows a stop is not cut short by another one.
    """

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        for number in _SIGNALS:
            if number != signal.SIGINT:
                signal.signal(number, leave)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_server(app: Starlette, settings: WebSettings, metrics: Metrics) -> None:
    """Serve an application until the program is stopped by SIGTERM or SIGINT.

    SIGHUP reloads certificates and `reload`; without `reload` it stops the program as well. Call it within
    `owned_signals`: it returns after a stop, and ignores signals from then on.
    """
    _allow_open_files()
    limits = ConnectionLimits(proxy=settings.proxy, body_seconds=settings.body_seconds)
    guard = Guard(limits)
    metrics.know(app.routes)
    metrics.add("connections", "Open connections.", "kind", lambda: {"all": guard.n_connections})
    metrics.add(
        "connections_dropped",
        "Connections that were closed by cause.",
        "cause",
        lambda: dict(guard.dropped),
        is_total=True,
    )
    config = uvicorn.Config(
        _Front(app, limits, metrics),
        host=settings.host,
        port=settings.port,
        http=cast("Any", guard.make_protocol),
        ws="none",
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.private_key,
        proxy_headers=False,  # the front does it
        log_config=make_log_settings(settings.log_format, settings.log_levels),
        access_log=False,  # it would contain paths and queries
        server_header=False,
        timeout_keep_alive=limits.idle_seconds,
        timeout_graceful_shutdown=settings.stop_seconds,
    )
    _Server(config, guard, settings).run(sockets=settings.sockets)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, guard: Guard, settings: WebSettings) -> None:
        super().__init__(config)
        self._guard = guard
        self._settings = settings
        self._sweeping: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        if self.config.ssl is not None:
            # uvicorn has no setting for it, and the default is a minute.
            create = partial(loop.create_server, ssl_handshake_timeout=_HANDSHAKE_SECONDS)
            loop.create_server = create  # type: ignore[method-assign]
        await super().startup(sockets)
        self._sweeping = loop.create_task(self._guard.sweep())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._settings.cut is not None:
            self._settings.cut()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Take the signals. uvicorn would raise them again at the end, and so end the program there."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            signal.signal(number, self.handle_exit)
        if _HANGUP is not None and self._settings.reload is not None:
            signal.signal(_HANGUP, lambda *_: loop.call_soon_threadsafe(self._reload))
        try:
            yield
        finally:
            for number in _SIGNALS:
                signal.signal(number, _ignore)

    def _reload(self) -> None:
        # New connections get the new tokens and certificates. What runs goes on.
        chain, key, context = self._settings.certificate, self._settings.private_key, self.config.ssl
        try:
            # All is read before anything changes. Without the empty password, OpenSSL would ask for one.
            if context is not None and chain is not None:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(chain, key, "")
            if self._settings.reload is not None:
                self._settings.reload()
            if context is not None and chain is not None:
                context.load_cert_chain(chain, key, "")
        except (OSError, InverseDeidError) as error:
            said = str(error) if isinstance(error, InverseDeidError) else type(error).__name__
            LOG.error("not reloaded, the old ones stay: %s", said)  # noqa: TRY400 - one line
        else:
            LOG.warning("reloaded tokens and certificates")


def _ignore(_number: int, _frame: FrameType | None) -> None:
    # Not SIG_IGN, which programs that are started would inherit.
    pass


class _Front:
    """Stands before an application: clients past the proxy, too many headers or requests, and numbers.

    The address of a client comes from `X-Forwarded-For` of the proxy and of nobody else.
    """

    def __init__(self, app: ASGIApp, limits: ConnectionLimits, metrics: Metrics) -> None:
        self._app = app
        self._limits = limits
        self._metrics = metrics
        self._running: Counter[str] = Counter()
        self._forwarded = ProxyHeadersMiddleware(cast("Any", self._answer), limits.proxy or "127.0.0.1")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        peer = scope["client"][0] if scope["client"] else ""
        if self._limits.proxy is None:
            await self._answer(scope, receive, send)
        elif is_same(peer, self._limits.proxy) and _is_forwarded(scope):
            await self._forwarded(scope, receive, send)  # type: ignore[arg-type]
        elif scope["path"] in _DIRECT_PATHS and is_local(peer):
            await self._answer(scope, receive, send)
        else:
            await _refuse(
                "connect through the proxy. It must set X-Forwarded-For and X-Forwarded-Proto", 403
            )(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = name_client(scope["client"][0] if scope["client"] else "")
        started, status = time.perf_counter(), 499

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._running[client] += 1
        self._metrics.in_progress.inc()
        try:
            await (self._refuse_excess(scope, client) or self._app)(scope, receive, note)
        finally:
            self._metrics.in_progress.dec()
            self._running[client] -= 1
            if not self._running[client]:
                del self._running[client]
            self._metrics.observe(scope, status, time.perf_counter() - started)

    def _refuse_excess(self, scope: Scope, client: str) -> Response | None:
        if len(scope["headers"]) > MAX_HEADERS:
            return _refuse("too many headers", 431)
        if self._running[client] > self._limits.per_address and not is_local(client):
            refused = _refuse("too many requests at once", 429)
            refused.headers["retry-after"] = "1"
            return refused
        return None


def _is_forwarded(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return bool(headers.get("x-forwarded-for", "").strip()) and headers.get("x-forwarded-proto") == "https"


def _refuse(message: str, status: int) -> Response:
    return PlainTextResponse(message, status, HEADERS)


def _allow_open_files() -> None:
    # The soft limit is often below the number of connections.
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def strip_exception(record: logging.LogRecord) -> bool:
    """Remove exceptions from a line of the log: their messages may quote a text."""
    if record.exc_info:
        kind = record.exc_info[0]
        record.msg, record.args = "%s (%s)", (record.getMessage(), kind.__name__ if kind else "error")
        record.exc_info = record.exc_text = None
    return True


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, logger, message, and the `request` that a line is about."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "request", {}),
        }
        return json.dumps(line)


def make_log_settings(log_format: LogFormat, levels: dict[str, str]) -> dict[str, Any]:
    """Return settings that write lines of our servers and of uvicorn to standard error."""
    names = {"uvicorn": "WARNING", "asyncio": "ERROR", "inverse_deid": "WARNING"} | levels
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"plain": {"()": lambda: strip_exception}},
        "formatters": {
            "text": {"format": "%(asctime)s %(levelname)s %(message)s"},
            "json": {"()": JsonLines},
        },
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": log_format, "filters": ["plain"]}
        },
        "loggers": {
            name: {"handlers": ["stderr"], "level": level, "propagate": False}
            for name, level in names.items()
        },
    }
