"""Measure over HTTP how quick the pages of the review are in a file of many rows.

Usage: python scripts/measure_pages.py [--cases 10000] [--times 20] [--word]

Masks invented cases into a store in a temporary folder (`review init --fast`), serves it with `inverse-deid
review serve`, and asks for each page in turn as one adjudicator. Prints JSON: of each page the median and the
largest milliseconds, the seconds and requests until all words in doubt are read, and the most memory of the
server in MB. With --word also those of one word in all cases, which takes minutes. The exit status is 1 if a
page fails.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from load_review import PASSWORD, Server, command, invented_cases

from inverse_deid.review.people.accounts import add_user
from inverse_deid.review.store.keys import make_key_file
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.values import UserRole

FORM, JSON = "application/x-www-form-urlencoded", "application/json"
WORD = "fever"
"""In most of the invented cases."""


class Browser:
    """One adjudicator, with one connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        self._cookies: dict[str, str] = {}
        self._token = ""

    def log_in(self, name: str) -> None:
        self._token = _find_token(self.get("/log-in"))
        self.post("/log-in", {"name": name, "password": PASSWORD, "csrf_token": self._token})
        self._token = _find_token(self.get("/"))

    def get(self, address: str) -> str:
        return self._send("GET", address, "", {})[1]

    def post(self, address: str, fields: dict[str, Any]) -> str:
        """Send a form; return where it leads."""
        return self._send("POST", address, urlencode({"csrf_token": self._token, **fields}), FORM)[0]

    def ask(self, address: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Send a request as a script does."""
        body = self._send("POST", address, json.dumps(payload), JSON)[1]
        return dict(json.loads(body))

    def _send(self, method: str, address: str, body: str, kind: Any) -> tuple[str, str]:
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        if kind:
            headers |= {"Content-Type": kind, "X-CSRF-Token": self._token}
        self._connection.request(method, address, body or None, headers)
        answer = self._connection.getresponse()
        text = answer.read().decode()
        for given in answer.headers.get_all("Set-Cookie") or ():
            name, _, value = given.partition(";")[0].partition("=")
            self._cookies[name] = value
        if answer.status not in (200, 303):
            raise RuntimeError(f"{method} {address.partition('?')[0]}: status {answer.status}")
        return answer.headers.get("Location", ""), text


def _find_token(page: str) -> str:
    found = re.search(r'name="csrf_token" value="([0-9a-f]+)"', page)
    return found.group(1) if found else ""


def measure_all(browser: Browser, n_cases: int, n_times: int) -> dict[str, Any]:
    """Return the figures of all pages; the store has cases 1 to `n_cases` in one file."""
    first = browser.get("/")
    more = re.search(r'<a class="button" href="(/\?[^"]*after=[^"]*)"', first)
    following = more.group(1).replace("&amp;", "&") if more else "/"
    middle = n_cases // 2
    pages = {
        "list of cases": lambda: browser.get("/"),
        "its second page": lambda: browser.get(following),
        "by name": lambda: browser.get("/?sort=name"),
        "new ones": lambda: browser.get("/?state=new"),
        "next case": lambda: browser.get("/next"),
        "case": lambda: browser.ask(f"/cases/{middle}/open", {}),
        "table": lambda: browser.get("/table/1"),
        "first rows of the table": lambda: browser.ask("/table/1/rows", {"after": -1}),
        "rows in its middle": lambda: browser.ask("/table/1/rows", {"after": middle}),
        "files": lambda: browser.get("/files"),
        "word lists": lambda: browser.get("/lists"),
        "words in doubt": lambda: browser.get("/lists/doubts"),
    }
    begun, n_requests, is_left = time.perf_counter(), 0, True
    while is_left:
        is_left = browser.ask("/lists/doubts/read", {"read": True})["n_unread"] > 0
        n_requests += 1
    read = {"seconds": round(time.perf_counter() - begun, 1), "requests": n_requests}
    times = {name: [_take(does) for _ in range(n_times)] for name, does in pages.items()}
    found = {
        name: {"median": round(statistics.median(ms)), "largest": round(max(ms))}
        for name, ms in times.items()
    }
    return {"milliseconds": found, "read all words": read}


def measure_word(browser: Browser) -> dict[str, Any]:
    """Return what it takes to mask a word in all cases, and to undo it."""
    figures: dict[str, Any] = {}
    for what, begin in (
        ("mask", lambda: browser.post("/lists/add", {"words": WORD, "sort": "always masked"})),
        ("undo", lambda: browser.post("/lists/change", {"entry": _find_entry(browser), "what": "remove"})),
    ):
        begun, n_steps, longest = time.perf_counter(), 1, 0.0
        address = begin()
        longest = time.perf_counter() - begun
        while "/lists/work" in address:
            entry = re.search(r"entry=(\d+)", address)
            before = time.perf_counter()
            body = browser.ask("/lists/work", {"entry": entry.group(1) if entry else ""})
            longest = max(longest, time.perf_counter() - before)
            n_steps += 1
            address = body["next"] or address
        seconds = round(time.perf_counter() - begun, 1)
        figures[what] = {"seconds": seconds, "steps": n_steps, "longest step": round(longest, 1)}
    return figures


def _find_entry(browser: Browser) -> str:
    found = re.search(r'name="entry" value="(\d+)"', browser.get("/lists"))
    return found.group(1) if found else ""


def _take(does: Any) -> float:
    begun = time.perf_counter()
    does()
    return 1000 * (time.perf_counter() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--word", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        key, address = make_key_file(folder / "key"), str(folder / "review.db")
        invented_cases(folder / "cases.jsonl", given.cases)
        words = (
            "init",
            str(folder / "cases.jsonl"),
            "--store",
            address,
            "--key",
            str(folder / "key"),
            "--fast",
        )
        subprocess.run(command(*words, "--approvals", "1"), check=True, stdout=subprocess.DEVNULL)
        with open_store(address, key) as store:
            add_user(store, "ann", PASSWORD, UserRole.ADJUDICATOR)
        server = Server(address, folder / "key")
        server.start()
        try:
            browser = Browser(server.port)
            browser.log_in("ann")
            found = measure_all(browser, given.cases, given.times)
            if given.word:
                found["a word in all cases"] = measure_word(browser)
            found["memory_mb"] = server.memory_mb()[0]
        finally:
            server.stop(signal.SIGTERM)
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
