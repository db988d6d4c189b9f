"""The way in for one person on their own computer: a one-time address instead of a password.

An address holds 256 random bits and is exchanged once for a session. It can be printed again and again, each
time with new bits. Another start of the program proves that it has the key of the store and gets an address
that only the key can decrypt, so that no other program on the port can pretend to be the desk.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import os
import re
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.core.files import replace_own
from inverse_deid.core.wording import _
from inverse_deid.review.flow.work_list import count_cases
from inverse_deid.review.pages.visits import PAGES, render_page, set_cookie
from inverse_deid.review.people.accounts import begin_session
from inverse_deid.review.store.keys import Sealer
from inverse_deid.review.store.opening import ReviewStore
from inverse_deid.review.store.values import User
from inverse_deid.web.shell import read_body

MAX_TOKENS = 8
"""Addresses that are open at a time; the oldest is closed when one more is made."""
TOKEN_MINUTES = 30

OPENING = "open.html"
"""The file in the folder of a desk that leads a browser to a one-time address."""

CONNECTIONS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6")) if sys.platform == "linux" else ()
"""Lists of all connections with their users; other systems have none."""
_LOOKS = 3
"""The lists are not written at one moment, so that a line can be missing."""
_ESTABLISHED = "01"
_MAX_PROOF_BYTES = 200
_NONCE = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where everything is: shown on the page and in the terminal."""

    folder: Path
    key_file: Path

    def write_opening(self, address: str) -> str:
        """Write the file that leads to a one-time address; return its own address, which contains no secret.

        Lists of processes show the arguments of a browser to every user of a computer.

        Raises:
            OSError: It cannot be written.
        """
        path, link = self.folder / OPENING, html.escape(address)
        page = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>inverse-deid</title>'
            '<meta name="referrer" content="no-referrer"><link rel="icon" href="data:,">'
            f'<meta http-equiv="refresh" content="0; url={link}"><p><a href="{link}">Open the desk</a>'
        )
        replace_own(path, page.encode())
        return path.absolute().as_uri()

    def remove_opening(self, token: str = "") -> None:
        """Delete the file that leads to the address with this token, "" = to any."""
        path = self.folder / OPENING
        with suppress(OSError):
            if token in path.read_text("utf-8"):
                path.unlink()


class Door:
    """Makes one-time addresses and lets their users in.

    Args:
        store: The store behind the door.
        user: Who everybody is that comes in.
        secret: 32 bytes that only a program with the key of the store knows.
        place: Shown to the user.
        port: Where the pages are served.
        tables: Lists of all connections of this computer, none = anybody on it may connect.
    """

    def __init__(
        self,
        store: ReviewStore,
        user: User,
        secret: bytes,
        place: Place,
        port: int,
        *,
        tables: Sequence[Path] = CONNECTIONS,
    ) -> None:
        self.place = place
        self.user = user
        self.address = f"http://127.0.0.1:{port}/"
        self.cookie = f"desk-{port}"
        self.on_new_address: Callable[[], None] = lambda: None
        self._store = store
        self._port = port
        self._tables = tables
        self._secret = secret
        self._tokens: dict[str, float] = {}
        self._lock = Lock()

    def make_address(self) -> str:
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._tokens[hash_token(token)] = self._store.now() + 60.0 * TOKEN_MINUTES
            for old in list(self._tokens)[:-MAX_TOKENS]:
                del self._tokens[old]
        return f"{self.address}open/{token}"

    def use(self, token: str) -> bool:
        """Whether a token is open; it is closed by this."""
        with self._lock:
            until = self._tokens.pop(hash_token(token), 0.0)
        if until:
            self.place.remove_opening(token)
        return until > self._store.now()

    def refuses(self, scope: Scope) -> bool:
        """Whether a request may come from another user of this computer."""
        return is_neighbour(scope.get("client"), self._port, self._tables)

    def list_routes(self) -> list[Route]:
        return [
            Route("/log-in", show_closed_door, methods=["GET"]),
            Route("/open/{token}", self.open, methods=["GET"]),
            Route("/again", self.send_address, methods=["POST"]),
        ]

    async def open(self, request: Request) -> Response:
        """Exchange the token of an address for a session; a second use gets a page that says what to do."""
        if request.method != "GET":  # Starlette sends HEAD here as well, and programs that check links do
            return Response(status_code=405, headers={"Allow": "GET"})
        if "prefetch" in request.headers.get("sec-purpose", "") + request.headers.get("purpose", ""):
            return Response(status_code=503)
        return await run_in_threadpool(self._enter, request)

    def _enter(self, request: Request) -> Response:
        if not self.use(str(request.path_params["token"])):
            return _render_door(request, _("This address was used before, or it is too old."), status=403)
        session = begin_session(self._store, self.user)
        has_cases = any(count_cases(self._store).values())
        # Not a redirect: the file of `Place.write_opening` is another site, and its redirects get no strict
        # cookie.
        home = "/" if has_cases else "/add"
        page = (
            '<!doctype html><html lang="en"><title>inverse-deid</title>'
            f'<link rel="icon" href="{PAGES.address}/mark.png">'
            f'<a href="{home}">Open the desk</a>'
        )
        response = HTMLResponse(page, headers={"Refresh": f"0; url={home}"})
        set_cookie(request, response, request.app.state.cookie, session.id)
        return response

    async def send_address(self, request: Request) -> Response:
        """Send a new address, sealed, to a program that has the key: `NONCE PROOF` in, hexadecimal out."""
        body = await read_body(request, _MAX_PROOF_BYTES) or b""
        nonce, _, proof = body.decode("ascii", "replace").partition(" ")
        right = prove(self._secret, nonce).encode()
        if not (_NONCE.fullmatch(nonce) and hmac.compare_digest(right, proof.encode())):
            return Response(status_code=403)
        sealed = Sealer(self._secret).seal(self.make_address().encode(), f"address {nonce}")
        return Response(sealed.hex(), media_type="text/plain")


def is_neighbour(client: tuple[str, int] | None, port: int, tables: Sequence[Path] = CONNECTIONS) -> bool:
    """Whether a connection belongs to another user of this computer, or nobody knows to whom (Linux).

    A browser sends cookies to every port of a computer, so a cookie alone is not enough. The administrator
    may connect, as programs of theirs pass on connections.

    Args:
        client: Address and port from which it comes, None = unknown.
        port: Of the desk.
        tables: Lists of all connections, as Linux writes them; none = False.
    """
    if not tables:
        return False
    if client is None:
        return True
    ends = (f":{client[1]:04X}", f":{port:04X}")
    for _look in range(_LOOKS):
        are_own = list(_find_owners(ends, tables))
        if are_own:
            return not all(are_own)
    return True


def _find_owners(ends: tuple[str, str], tables: Sequence[Path]) -> Iterator[bool]:
    """Yield for each connection between two ports whether this user or the administrator has it."""
    for table in tables:
        with suppress(OSError):
            for line in table.read_text("ascii").splitlines()[1:]:
                _, here, there, state, _, _, _, owner, *_ = line.split()
                if here.endswith(ends[0]) and there.endswith(ends[1]):
                    # A connection that its program closed seems to be the administrator's.
                    yield state == _ESTABLISHED and int(owner) in (0, os.geteuid())


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def prove(secret: bytes, nonce: str) -> str:
    """Return the proof that a program knows the secret."""
    return hmac.digest(secret, f"desk {nonce}".encode(), "sha256").hex()


def open_answer(secret: bytes, nonce: str, answer: str) -> str | None:
    """Return the address in the answer of a running desk, None = it is not one."""
    try:
        return Sealer(secret).open(bytes.fromhex(answer), f"address {nonce}").decode()
    except (ValueError, UnreadableInputError):
        return None


async def show_closed_door(request: Request) -> Response:
    return _render_door(request, _("The desk is closed here."), status=401)


def _render_door(request: Request, message: str, *, status: int) -> Response:
    return render_page(request, "door.html", None, status=status, message=message)
