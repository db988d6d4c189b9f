"""Lanes of log-ins: strangers who try many at once do not hold up those whose browser or address is known.

A browser has a number, which it keeps in a signed cookie for half a year. It gives no access to anything.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from inverse_deid.review.people.attempts import KNOWN_DAYS, is_known_address
from inverse_deid.review.store.opening import ReviewStore
from inverse_deid.web.connections import name_client

BROWSER_COOKIE = "browser"
MAX_LOG_INS_WAITING = 24
MAX_LOG_INS_OF_A_CLIENT = 6
LANES = ("browser", "address", "stranger")

_NUMBER_BYTES = 16


class LogIns:
    """Threads for what takes long at a log-in, so that decisions of others do not wait for it.

    Known browsers, known addresses and strangers have threads and places to wait of their own. A few requests
    can wait in each lane, and fewer of one client. Others are refused before any work is done.
    """

    def __init__(self, n_threads: int) -> None:
        self._threads = {lane: ThreadPoolExecutor(n_threads, f"log-in {lane}", _give_way) for lane in LANES}
        self._waiting: Counter[tuple[str, str]] = Counter()

    @property
    def n_waiting(self) -> int:
        return self._waiting.total()

    async def run(
        self, request: Request, answer: Callable[[], Response], refuse: Callable[[int], Response]
    ) -> Response:
        """Return the answer, or a refusal: too many of this client (429) or of all in its lane (503)."""
        lane, client = await run_in_threadpool(find_lane, request)
        n_in_lane = sum(n for (other, _), n in self._waiting.items() if other == lane)
        is_full = n_in_lane >= MAX_LOG_INS_WAITING
        if is_full or self._waiting[lane, client] >= MAX_LOG_INS_OF_A_CLIENT:
            return refuse(503 if is_full else 429)
        self._waiting[lane, client] += 1
        in_context = partial(copy_context().run, answer)  # the language of the request
        done = asyncio.get_running_loop().run_in_executor(self._threads[lane], in_context)
        done.add_done_callback(lambda _: self._leave(lane, client))
        return await asyncio.shield(done)

    def _leave(self, lane: str, client: str) -> None:
        self._waiting[lane, client] -= 1
        if not self._waiting[lane, client]:
            del self._waiting[lane, client]


def _give_way() -> None:
    # Argon2 takes all cores.
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def find_lane(request: Request) -> tuple[str, str]:
    """Return the lane of a request, and what counts as one client in it."""
    browser = find_browser(request)
    if browser:
        return "browser", browser
    client = name_client(request.client.host if request.client else "")
    is_known = is_known_address(request.app.state.store, client)
    return "address" if is_known else "stranger", client


def find_browser(request: Request) -> str:
    """Return the number of the browser, "" = not one that was given here."""
    number, _, mark = request.cookies.get(_name_cookie(request), "").partition(".")
    right = _sign(request.app.state.store, number)
    return number if number and hmac.compare_digest(mark.encode(), right.encode()) else ""


def make_browser() -> str:
    """Return a number for a browser without one."""
    return secrets.token_urlsafe(_NUMBER_BYTES)


def remember_browser(request: Request, response: Response, number: str) -> None:
    """Let a browser keep its number; a page to which another site leads gets it as well."""
    response.set_cookie(
        _name_cookie(request),
        f"{number}.{_sign(request.app.state.store, number)}",
        86_400 * KNOWN_DAYS,
        httponly=True,
        samesite="lax",
        secure=request.app.state.is_secure,
    )


def _name_cookie(request: Request) -> str:
    return f"__Host-{BROWSER_COOKIE}" if request.app.state.is_secure else BROWSER_COOKIE


def _sign(store: ReviewStore, number: str) -> str:
    return hmac.digest(store.session_key, f"browser {number}".encode("utf-8", "replace"), "sha256").hex()
