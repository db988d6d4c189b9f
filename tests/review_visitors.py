"""Users of the review pages without a browser."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from argon2 import PasswordHasher
from review_stores import PASSWORD, user
from starlette.testclient import TestClient

from inverse_deid.review.pages.application import make_application
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore
from inverse_deid.review.store.tables import USERS
from inverse_deid.review.store.values import UserRole

_HASHED = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
_TOKEN = re.compile(r'name="csrf_token" value="([0-9a-f]+)"')
_SEALED_LENGTH = 39
"""The least length of anything sealed in Base64: 12 bytes of a nonce, 16 of a seal and one of text."""


def is_sealed_search(address: str, searched: str) -> bool:
    """Return whether an address contains a search, and its text only sealed.

    Sealed bytes are random, so that a short text may occur in them by chance: they must be long enough.
    """
    [sealed] = parse_qs(urlsplit(address).query)["q"]
    return len(sealed) >= _SEALED_LENGTH and searched.lower() not in address.replace(sealed, "").lower()


def account(store: ReviewStore, name: str, role: UserRole = UserRole.REVIEWER) -> None:
    """Add an account with the password `PASSWORD`, hashed as cheaply as possible."""
    made = user(store, name, role)
    with store.writing() as transaction:
        transaction.update(USERS, USERS.c.id == made.id, password=_HASHED)
        transaction.record(TrailEvent(user="command", event=f"password of {name} changed"))


class Visitor:
    """A browser without scripts.

    Args:
        store: The store.
        secure: The application is served over TLS.
        address: Of a server that runs, "" = the application answers without one.
    """

    def __init__(self, store: ReviewStore, *, secure: bool = False, address: str = "") -> None:
        if address:
            self.client: Any = httpx.Client(
                base_url=address, limits=httpx.Limits(max_keepalive_connections=0), timeout=60
            )
        else:
            scheme = "https" if secure else "http"
            application = make_application(store, is_secure=secure)
            self.client = TestClient(application, base_url=f"{scheme}://localhost", follow_redirects=False)
        self.token = ""

    def log_in(self, name: str, password: str = PASSWORD) -> Any:
        form = {"name": name, "password": password, "csrf_token": self.token_of("/log-in")}
        answer = self.client.post("/log-in", data=form)
        if answer.status_code == 303:
            self.token = self.token_of(self.get("/").headers.get("location", "/"))
        return answer

    def token_of(self, address: str) -> str:
        found = _TOKEN.search(self.client.get(address).text)
        return found.group(1) if found else ""

    def get(self, address: str) -> Any:
        return self.client.get(address)

    def ask(self, address: str, **payload: object) -> Any:
        """Send a request as a script does."""
        return self.client.post(address, json=payload, headers={"X-CSRF-Token": self.token})

    def send(self, address: str, **fields: object) -> Any:
        """Send a form."""
        return self.client.post(address, data={"csrf_token": self.token, **fields})

    def act(self, case_id: int, revision: int, kind: str, *ranges: tuple[int, int], **more: object) -> Any:
        payload = {"kind": kind, "ranges": [list(one) for one in ranges], "revision": revision, **more}
        return self.ask(f"/cases/{case_id}/act", **payload)


def visitor(
    store: ReviewStore, name: str, role: UserRole = UserRole.REVIEWER, *, address: str = ""
) -> Visitor:
    """Add an account and log in."""
    account(store, name, role)
    made = Visitor(store, address=address)
    assert made.log_in(name).status_code == 303
    return made
