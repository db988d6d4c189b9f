"""Clients that are too slow, too many or too talkative, at a real server with short deadlines."""

import asyncio
import socket
import threading
import time
from contextlib import contextmanager

import pytest
import uvicorn

from inverse_deid.web import connections, server
from inverse_deid.web.connections import ConnectionLimits, Guard
from inverse_deid.web.metrics import Metrics
from inverse_deid.web.server import WebSettings, _Front, _Server

BIG = 20 * 2**20
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"


async def answer(scope, receive, send):
    """Read the body and answer; /slow takes its time, /big answers at length, /early does not read."""
    path = scope["path"]
    while path != "/early" and (await receive()).get("more_body"):
        pass
    if path == "/slow":
        await asyncio.sleep(1.5)
    body = b"x" * BIG if path == "/big" else b"well"
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def serving(**limits):
    """Serve until the block ends; yield the port and the guard."""
    short = {"header_seconds": 0.8, "slow_seconds": 0.8, "bytes_per_second": 2000, "idle_seconds": 60}
    limits = ConnectionLimits(**short | limits)
    guard = Guard(limits)
    config = uvicorn.Config(
        _Front(answer, limits, Metrics()),
        port=0,
        http=guard.make_protocol,
        lifespan="off",
        proxy_headers=False,
        log_level="error",
        timeout_keep_alive=limits.idle_seconds,
    )
    one = _Server(config, guard, WebSettings())
    thread = threading.Thread(target=one.run, daemon=True)
    thread.start()
    while not one.started:
        time.sleep(0.01)
    try:
        yield one.servers[0].sockets[0].getsockname()[1], guard
    finally:
        one.should_exit = one.force_exit = True
        thread.join(30)


@contextmanager
def visitor(port, *parts):
    with socket.create_connection(("127.0.0.1", port), 10) as sent:
        sent.settimeout(10)
        for part in parts:
            sent.sendall(part)
        yield sent


def rest(sent):
    """Return all that comes until the server closes the connection."""
    found = b""
    try:
        while part := sent.recv(65536):
            found += part
    except ConnectionResetError:
        pass
    return found


def drip(sent, part, seconds=6.0):
    """Send a part again and again; return after how long the server closed the connection."""
    begun = time.monotonic()
    try:
        while time.monotonic() - begun < seconds:
            sent.sendall(part)
            time.sleep(0.05)
    except OSError:
        return time.monotonic() - begun
    return seconds


@pytest.mark.parametrize(
    ("begin", "more"),
    [(b"GET /", b"x"), (GET[:16], b"a: b\r\n"), (GET + GET[:16], b"a: b\r\n")],
    ids=["line", "header", "second header"],
)
def test_a_header_must_be_complete_in_time(begin, more):
    with serving() as (port, guard), visitor(port, begin) as sent:
        assert drip(sent, more) < 5
        assert guard.dropped["slow header"] == 1


def test_a_connection_without_a_byte_is_closed():
    with serving() as (port, _), visitor(port) as sent:
        assert rest(sent) == b""


@pytest.mark.parametrize("path", [b"/", b"/early"])
def test_a_slow_body_is_closed_whether_it_is_wanted_or_not(path):
    begin = POST.replace(b"/ ", path + b" ", 1) % 10**6
    with serving() as (port, guard), visitor(port, begin) as sent:
        assert drip(sent, b"x") < 5
        assert guard.dropped["slow body"] == 1


def test_a_body_at_the_least_rate_is_read_to_its_end():
    with serving() as (port, _), visitor(port, POST % 8000) as sent:
        for _ in range(20):
            time.sleep(0.1)
            sent.sendall(b"x" * 400)
        assert sent.recv(100).startswith(b"HTTP/1.1 200")


def test_no_body_takes_longer_than_the_upper_bound():
    with serving(body_seconds=1.0) as (port, _), visitor(port, POST % 10**9) as sent:
        assert drip(sent, b"x" * 1000) < 5


def test_an_answer_that_nobody_reads_is_given_up():
    with serving(bytes_per_second=BIG) as (port, guard), visitor(port, GET.replace(b"/", b"/big", 1)) as sent:
        time.sleep(4)
        assert guard.dropped["answer not read"] == 1
        assert len(rest(sent)) < BIG


def test_a_request_that_takes_long_is_not_the_fault_of_the_client():
    with serving() as (port, _), visitor(port, GET.replace(b"/", b"/slow", 1)) as sent:
        assert sent.recv(100).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("more", [b"Cookie: ", b"a: b\r\n"])
def test_an_endless_header_is_refused(more):
    with serving() as (port, guard), visitor(port, GET[:16], more * 6000) as sent:
        sent.shutdown(socket.SHUT_WR)
        found = rest(sent)
        assert guard.dropped["header"] == 1
        assert found[:12] in (b"", b"HTTP/1.1 431")


def test_an_endless_trailer_is_refused():
    begin = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    with serving(header_seconds=60, slow_seconds=60) as (port, guard), visitor(port, begin) as sent:
        drip(sent, b"a" * 10_000, 2)
        assert guard.dropped["header"] == 1


def test_too_many_headers_are_refused():
    with serving() as (port, _), visitor(port, GET[:-2] + b"a: b\r\n" * 101 + b"\r\n") as sent:
        assert sent.recv(100).startswith(b"HTTP/1.1 431")


def test_without_room_half_requests_go_first_then_idle_ones_and_never_those_at_work():
    with (
        serving(connections=6, header_seconds=60, slow_seconds=60) as (port, _),
        visitor(port, GET.replace(b"/", b"/slow", 1)) as at_work,
        visitor(port, GET) as idle,
        visitor(port, b"GET") as half,
        visitor(port, POST % 9, b"x") as half_body,
    ):
        assert idle.recv(100).startswith(b"HTTP/1.1 200")
        time.sleep(1.2)
        others = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(4)]
        assert rest(half) == rest(half_body) == b""
        idle.sendall(GET)
        assert idle.recv(100).startswith(b"HTTP/1.1 200")
        assert at_work.recv(100).startswith(b"HTTP/1.1 200")
        for one in others:
            one.close()


def test_when_all_are_at_work_one_more_is_asked_to_come_again():
    slow = GET.replace(b"/", b"/slow", 1)
    with (
        serving(connections=2) as (port, _),
        visitor(port, slow),
        visitor(port, slow),
        visitor(port) as late,
    ):
        late.sendall(GET)
        found = rest(late)
        assert found.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in found


def test_one_address_has_a_share_of_the_connections(monkeypatch):
    monkeypatch.setattr(connections, "is_local", lambda address: False)
    with serving(per_address=3, header_seconds=60) as (port, guard):
        opened = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(20)]
        time.sleep(0.3)
        assert guard.n_connections == 3
        with visitor(port, GET) as sent:
            assert sent.recv(100).startswith(b"HTTP/1.1 200")
        for one in opened:
            one.close()


def test_the_proxy_stands_for_many_clients_and_each_has_its_share(monkeypatch):
    monkeypatch.setattr(connections, "is_local", lambda address: False)
    monkeypatch.setattr(server, "is_local", lambda address: False)

    def ask(client):
        return (
            GET.replace(b"/", b"/slow", 1)[:-2]
            + b"X-Forwarded-Proto: https\r\nX-Forwarded-For: %b\r\n\r\n" % client
        )

    with serving(per_address=2, proxy="127.0.0.1") as (port, _):
        clients = [b"192.0.2.1", b"192.0.2.1", b"192.0.2.1", b"192.0.2.2"]
        opened = []
        for client in clients:
            opened.append(socket.create_connection(("127.0.0.1", port), 10))
            opened[-1].sendall(ask(client))
            time.sleep(0.05)
        statuses = [one.recv(100)[9:12] for one in opened]
        assert statuses == [b"200", b"200", b"429", b"200"]
        for one in opened:
            one.close()


@pytest.mark.parametrize("header", [b"", b"X-Forwarded-For: \r\n", b"X-Forwarded-For: 192.0.2.1\r\n"])
def test_behind_a_proxy_nobody_comes_directly(header):
    with serving(proxy="127.0.0.1") as (port, _), visitor(port, GET[:-2] + header + b"\r\n") as sent:
        assert sent.recv(100).startswith(b"HTTP/1.1 403")


def test_another_address_than_the_proxy_cannot_forward():
    with (
        serving(proxy="127.0.0.9") as (port, _),
        visitor(port, GET[:-2] + b"X-Forwarded-Proto: https\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n") as sent,
    ):
        assert sent.recv(100).startswith(b"HTTP/1.1 403")
