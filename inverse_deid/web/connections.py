"""Connections with deadlines, bounded headers and limits per address.

uvicorn gives a client as long as it likes to send a request. Here a header and a body must be complete in
time, and a client must read its answer. If there are too many connections, those with half a request are
closed first, then idle ones. A request that the server works on is never dropped.

Source: RFC 9112, section 9.5 (failures and time-outs); RFC 6585, section 5 (431).
"""

from __future__ import annotations

import asyncio
import heapq
import ipaddress
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.wording import _

SWEEP_SECONDS = 0.5
MAX_HEADERS = 100

_PIECE_BYTES = 16 * 1024
_IPV6_CLIENT_BITS = 64
_REFUSED_HEADER = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """What a client may take. The addresses of this machine and of the proxy stand for many clients."""

    connections: int = 2000
    per_address: int = 256  # connections; not of this machine or of the proxy
    header_bytes: int = 32 * 1024
    header_seconds: float = 10.0  # from the first byte, or from the connection, until the header is complete
    body_seconds: float = 3600.0  # until the body is complete
    slow_seconds: float = 15.0  # how far a body, or the reading of an answer, may fall behind the rate
    bytes_per_second: int = 8 * 1024  # the least rate of a body, and of the reading of an answer
    idle_seconds: int = 15  # between two requests
    proxy: str | None = None  # its address


@lru_cache(1024)
def parse_address(given: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an IP address; an IPv4 address within an IPv6 address is itself.

    Raises:
        ConfigurationError: It is malformed.

    Example:
        >>> parse_address("::ffff:10.0.0.7")
        IPv4Address('10.0.0.7')
    """
    with suppress(ValueError):
        found = ipaddress.ip_address(given)
        return getattr(found, "ipv4_mapped", None) or found
    raise ConfigurationError(_("{given} is not an IP address such as 127.0.0.1", given=given))


def is_local(address: str) -> bool:
    """Tell whether an address is one of this machine alone.

    Example:
        >>> is_local("127.0.0.1"), is_local("10.0.0.7"), is_local("")
        (True, False, False)
    """
    with suppress(ConfigurationError):
        return parse_address(address).is_loopback
    return False


def is_same(address: str, other: str | None) -> bool:
    """Tell whether two addresses are the same, however they are written. None equals nothing.

    Example:
        >>> is_same("::FFFF:10.0.0.7", "10.0.0.7"), is_same("10.0.0.7", None)
        (True, False)
    """
    with suppress(ConfigurationError):
        return other is not None and parse_address(address) == parse_address(other)
    return False


@lru_cache(1024)
def name_client(address: str) -> str:
    """Return what is counted as one client: an IPv4 address, or the network of 64 bits of an IPv6 address.

    Example:
        >>> name_client("10.0.0.7"), name_client("2001:db8::1:2"), name_client("testclient")
        ('10.0.0.7', '2001:db8::', 'testclient')
    """
    try:
        found = parse_address(address.partition("%")[0])
    except ConfigurationError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        found = ipaddress.ip_network((int(found), _IPV6_CLIENT_BITS), strict=False).network_address
    return str(found)


class Guard:
    """The connections of one server."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.dropped: Counter[str] = Counter()
        self._all: dict[GuardedProtocol, None] = {}
        self._by_client: dict[str, dict[GuardedProtocol, None]] = {}

    @property
    def n_connections(self) -> int:
        return len(self._all)

    def make_protocol(self, **given: Any) -> GuardedProtocol:  # noqa: ANN401 - as uvicorn calls it
        return GuardedProtocol(self, **given)

    def admit(self, one: GuardedProtocol, now: float) -> bool:
        """Make room for a connection; return whether there is."""
        limits, has_room = self.limits, True
        if not (is_same(one.address, limits.proxy) or is_local(one.address)):
            same = self._by_client.setdefault(name_client(one.address), {})
            has_room = len(same) < limits.per_address or self._drop_worst(same, 1, now)
            same[one] = None
        if has_room and len(self._all) >= limits.connections:
            has_room = self._drop_worst(self._all, max(1, limits.connections // 20), now)
        self._all[one] = None
        return has_room

    def forget(self, one: GuardedProtocol) -> None:
        self._all.pop(one, None)
        client = name_client(one.address)
        same = self._by_client.get(client, {})
        same.pop(one, None)
        if not same:
            self._by_client.pop(client, None)

    def _drop_worst(self, among: Iterable[GuardedProtocol], n_most: int, now: float) -> bool:
        waiting = [(rank, id(one), one) for one in among if (rank := one.rank(now)) is not None]
        for _ignored, _ignored_2, one in heapq.nsmallest(n_most, waiting):
            self.drop(one, "room")
        return bool(waiting)

    def drop(self, one: GuardedProtocol, reason: str) -> None:
        self.dropped[reason] += 1
        self.forget(one)
        one.transport.abort()

    async def sweep(self) -> None:
        """Close what is overdue, again and again."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = loop.time()
            for one in list(self._all):
                reason = one.find_fault(now)
                if reason:
                    self.drop(one, reason)


class GuardedProtocol(HttpToolsProtocol):
    """A connection of uvicorn that knows how long its client has kept it waiting."""

    def __init__(self, guard: Guard, **given: Any) -> None:  # noqa: ANN401 - as uvicorn calls it
        super().__init__(**given)
        self.address = ""
        self._guard = guard
        self._since = self.loop.time()  # the server waits for this client since then
        self._n_unparsed = 0  # bytes since the last complete header, piece of a body, or end of one
        self._n_requests = 0
        self._n_body = 0
        self._is_in_body = False
        self._unsent: tuple[float, int] | None = None  # since when, and how many bytes then

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for it; without any, its requests get 503."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self.address = self.client[0] if self.client else ""
        if not self._guard.admit(self, self._since):
            self._guard.dropped["full"] += 1
            self.app = refuse_busy

    def connection_lost(self, exc: Exception | None) -> None:
        self._guard.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, piece by piece: httptools keeps an endless header, and copies it each time."""
        for start in range(0, len(data), _PIECE_BYTES):
            if self.transport.is_closing():
                return
            if not (self._n_unparsed or self._is_in_body):
                self._since = self.loop.time()
            piece = data[start : start + _PIECE_BYTES]
            self._n_unparsed += len(piece)
            super().data_received(piece)
            if self._n_unparsed > self._guard.limits.header_bytes and not self.transport.is_closing():
                self._guard.dropped["header"] += 1
                if not self._is_answering:
                    self.transport.write(_REFUSED_HEADER)
                self.transport.close()

    def on_headers_complete(self) -> None:
        self._since = self.loop.time()
        self._n_unparsed = self._n_body = 0
        self._is_in_body = True
        super().on_headers_complete()
        self._n_requests += 1

    def on_body(self, body: bytes) -> None:
        self._n_unparsed = 0
        self._n_body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._n_unparsed = 0
        self._is_in_body = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request from now on, or for the rest of a body that nobody wants."""
        self._since = self.loop.time()
        super().on_response_complete()

    def resume_writing(self) -> None:
        self._unsent = None
        super().resume_writing()

    @property
    def _is_answering(self) -> bool:
        return self._n_requests > 0 and not self.cycle.response_complete

    def find_fault(self, now: float) -> str:
        """Return which deadline has passed, "" = none. Called every `SWEEP_SECONDS`."""
        limits = self._guard.limits
        n_unsent = self.transport.get_write_buffer_size()
        if not n_unsent:
            self._unsent = None
        elif self._unsent is None:
            self._unsent = now, n_unsent
        else:
            since, n_bytes = self._unsent
            if now - since > limits.slow_seconds + n_bytes / limits.bytes_per_second:
                return "answer not read"
        if self._is_in_body and self._is_answering:
            if self.flow.read_paused:  # the server is slow, not the client
                self._since += SWEEP_SECONDS
            is_late = self._lateness(now) > limits.slow_seconds or now - self._since > limits.body_seconds
            return "slow body" if is_late else ""
        is_half = self._is_in_body or self._n_unparsed > 0 or self._n_requests == 0
        if is_half and not self._is_answering and now - self._since > limits.header_seconds:
            return "slow body" if self._is_in_body else "slow header"
        return ""  # uvicorn closes idle connections

    def _lateness(self, now: float) -> float:
        # In seconds behind the least rate.
        return now - self._since - self._n_body / self._guard.limits.bytes_per_second

    def rank(self, now: float) -> tuple[int, float] | None:
        """Return in which order to drop it, the lowest first; None = the server works on its request.

        First come half requests that took longer than honest ones, then idle connections, then the rest.
        """
        if self._is_in_body:
            if self.flow.read_paused:
                return None
            late = self._lateness(now)
            return (0 if late > 1 else 2), -late
        if self._is_answering:
            return None
        waited = now - self._since
        is_late_half = self._n_unparsed > 0 and waited > 1
        return (0 if is_late_half else 2 if self._n_unparsed else 1), -waited


async def refuse_busy(scope: Scope, receive: Receive, send: Send) -> None:
    headers = {"retry-after": "1", "connection": "close"}
    await PlainTextResponse("too many connections. Try again later", 503, headers)(scope, receive, send)
