"""Let many reviewers work at once, kill the server meanwhile, and look for lost decisions.

Usage: python scripts/load_review.py [--reviewers 20] [--seconds 300] [--cases 1000] [--kills 2]
       [--stops 0] [--uploads FOLDER] [--store ADDRESS] [--idle 0] [--hostile 0] [--pause 0.135]

Makes a store of invented cases in a temporary folder (or at a database address), serves it with
`inverse-deid review serve`, and lets each reviewer open cases, mask, unmask, undo and approve. Every
tenth reviewer settles disagreements. --pause is the mean of the seconds between two decisions of one
reviewer. A person takes a second or more, so the default asks for far more than that many people do. At
equal distances, the server gets SIGKILL (--kills) and after that SIGTERM (--stops), and is restarted. With
--uploads, one more adjudicator meanwhile adds the files of a folder in turn, and takes away those that could
be read. --idle and --hostile are those of load_service.py.
A decision is lost if the server acknowledged it and the store does not contain it. Prints JSON: counts of
actions and errors by kind, the most memory of the server in MB, alone and with the processes that read files,
and the median, 99th percentile and largest latency of the reviewers in milliseconds.
The exit status is 1 if anything went wrong.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from load_service import quantile, strangers

from inverse_deid.core.errors import InverseDeidError
from inverse_deid.review.flow.reading import view_case
from inverse_deid.review.people.accounts import add_user
from inverse_deid.review.store.keys import ReviewKey, make_key_file
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import User, UserRole

PASSWORD = "a sentence that is long enough"
SENTENCES = (
    "Ms. {name} had a rash two hours after dose {n}.",
    "Seen by Dr. {name} on 12-OCT-2019; the fever of 38.{n} C resolved.",
    "{name} was given cetirizine {n} mg with relief.",
    "The mother of {name} reported vomiting for {n} days.",
)
NAMES = ("Zebulonova", "Okonkwo", "Ferreira-Lindt", "Achterberg")
_ASK_FIRST = 428
"""HTTP status: words were unmasked that the tool was sure of, so the page asks before it approves."""
_TOKEN = re.compile(r'name="csrf_token" value="([0-9a-f]+)"')
_DISPUTE = re.compile(r'href="/disputes/(\d+)"')


@dataclass(slots=True)
class Work:
    """What all reviewers did together.

    Args:
        port: Of the server.
        begin: Where all wait until everybody is logged in.
        pause: Mean of the seconds between two decisions.
        until: When they stop (clock of `time.monotonic`).
        done: How often what was done.
        wrong: How often what went wrong.
        latencies: Seconds of each answer.
        decisions: Seconds of each decision that was stored.
        is_stopping: The server was told to stop, and has not started again.
    """

    port: int
    begin: threading.Barrier
    pause: float
    until: float = math.inf
    done: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    decisions: list[float] = field(default_factory=list)
    is_stopping: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, where: Counter[str], what: str) -> None:
        with self.lock:
            where[what] += 1


class ServerGoneError(Exception):
    """The connection broke; it is not known whether the server processed the request."""


class Reviewer(threading.Thread):
    """One user in one browser.

    Args:
        work: Shared by all.
        user: The account.
        seed: Of the choices.
    """

    def __init__(self, work: Work, user: User, seed: int) -> None:
        super().__init__(name=user.name, daemon=True)
        self.user = user
        self.stored: dict[int, tuple[str, bool]] = {}
        """Acknowledged decisions of each case, one digit per token, and whether it was approved."""
        self._work, self._random = work, random.Random(seed)
        self._cookies: dict[str, str] = {}
        self._token = ""
        self._connection: http.client.HTTPConnection | None = None

    def run(self) -> None:
        try:
            self._log_in()
            self._work.begin.wait(120)
            while time.monotonic() < self._work.until:
                # Opening a case, or trying an old revision, changes no decision.
                with suppress(ServerGoneError):
                    self._one_case()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
            self._work.count(self._work.wrong, f"a reviewer stopped: {type(error).__name__}")

    def _log_in(self) -> None:
        _, _, page = self._send("GET", "/log-in")
        form = {"name": self.user.name, "password": PASSWORD, "csrf_token": _found(_TOKEN, page)}
        status = 429
        while status in (429, 503):  # others are logging in
            status, _, _ = self._send("POST", "/log-in", urlencode(form), "application/x-www-form-urlencoded")
            time.sleep(self._random.uniform(0.1, 1) if status != 303 else 0)
        if status != 303:
            raise RuntimeError(f"log-in: status {status}")
        self._token = _found(_TOKEN, self._send("GET", "/")[2])

    def _one_case(self) -> None:
        is_dispute = self.user.role is UserRole.ADJUDICATOR
        case_id = self._next_dispute() if is_dispute else self._next_case()
        if case_id is None:
            time.sleep(0.5)
            return
        place = f"/{'disputes' if is_dispute else 'cases'}/{case_id}/open"
        case = self._ask(place, taken=(400, 403, 423))
        if case is None or case["is_approved"]:
            return
        keep = self._compared(case_id, case["layer"]["keep"])
        if keep is not None:
            self._settle(case_id, case, keep) if is_dispute else self._review(case_id, case, keep)

    def _next_case(self) -> int | None:
        _, address, _ = self._send("GET", "/next")
        return int(address.rsplit("/", 1)[1]) if address.startswith("/cases/") else None

    def _next_dispute(self) -> int | None:
        found = _DISPUTE.findall(self._send("GET", "/?state=disagreed")[2])
        return int(self._random.choice(found)) if found else None

    def _review(self, case_id: int, case: dict[str, Any], keep: str) -> None:
        """Make some decisions, undo one of them, and approve."""
        revision = case["revision"]
        for _ in range(self._random.randint(2, 6)):
            first = self._random.randrange(len(keep))
            stop = min(len(keep), first + self._random.randint(1, 3))
            kind = self._random.choice(["mask", "unmask"])
            found = self._change(case_id, "act", revision, keep, {"kind": kind, "ranges": [[first, stop]]})
            if found is None:
                return
            keep, revision = found
            if self._random.random() < 0.2:
                found = self._change(case_id, "undo", revision, keep, {})
                if found is None:
                    return
                keep, revision = found
            if self._random.random() < 0.1 and revision > 0:
                self._try_stale(case_id, revision - 1)
            time.sleep(self._random.uniform(0.15, 1.85) * self._work.pause)
        self._approve(case_id, revision, keep)

    def _settle(self, case_id: int, case: dict[str, Any], keep: str) -> None:
        """Decide all disputes as an adjudicator."""
        ranges = [[i, i + 1] for i, sign in enumerate(case["disputed"]) if sign == "1"]
        payload = {"kind": "mask", "ranges": ranges}
        found = self._change(case_id, "act", case["revision"], keep, payload)
        if found is not None:
            self._approve(case_id, found[1], found[0], is_dispute=True)

    def _change(
        self, case_id: int, what: str, revision: int, keep: str, payload: dict[str, Any]
    ) -> tuple[str, int] | None:
        """Make one decision; return the layer and its revision, None if the case must be reopened."""
        asked = time.perf_counter()
        try:
            body = self._ask(f"/cases/{case_id}/{what}", revision=revision, **payload)
        except ServerGoneError:
            # It may be stored or not: what the store has is looked up when the case is opened anew.
            self.stored.pop(case_id, None)
            self._work.count(self._work.done, "unknown after a kill")
            return None
        if body is None:
            return None
        self._work.decisions.append(time.perf_counter() - asked)
        signs = list(keep)
        for first, stop, is_kept, _ in body["changed"]:
            signs[first:stop] = [str(int(is_kept))] * (stop - first)
        self.stored[case_id] = ("".join(signs), False)
        self._work.count(self._work.done, what)
        return "".join(signs), body["revision"]

    def _try_stale(self, case_id: int, revision: int) -> None:
        """Check that the same case in an older window is refused."""
        payload = {"revision": revision, "kind": "mask", "ranges": [[0, 1]]}
        body = self._ask(f"/cases/{case_id}/act", taken=(409,), **payload)
        if body is not None:
            self._work.count(self._work.wrong, "an old revision was accepted")
        self._work.count(self._work.done, "old revision")

    def _approve(self, case_id: int, revision: int, keep: str, *, is_dispute: bool = False) -> None:
        try:
            seen = [[0, len(keep)]]
            body = self._ask(f"/cases/{case_id}/approve", revision=revision, is_dispute=is_dispute, seen=seen)
        except ServerGoneError:
            self.stored.pop(case_id, None)
            return
        if body is not None:
            self.stored[case_id] = (keep, True)
            self._work.count(self._work.done, f"approved: {body['state']}")

    def _compared(self, case_id: int, keep: str) -> str | None:
        """Return the opened layer, None if it differs from the acknowledged one."""
        known = self.stored.get(case_id)
        if known is not None and known[0] != keep:
            self._work.count(self._work.wrong, "a lost decision, seen on opening")
            return None
        return keep

    def _ask(self, address: str, *, taken: tuple[int, ...] = (), **payload: object) -> dict[str, Any] | None:
        """Send a request as the page's script; None if it was refused, an error except as in `taken`."""
        status, _, page = self._send("POST", address, json.dumps(payload), "application/json")
        if status == 200:
            found: dict[str, Any] = json.loads(page)
            return found
        if status == _ASK_FIRST and "anyway" not in payload:
            self._work.count(self._work.done, "answered a question")
            told = json.loads(page)
            answer = {"anyway": told["n_unseen"], "uncovered": told["n_uncovered"]}
            return self._ask(address, taken=taken, **payload, **answer)
        if status not in taken:
            self._work.count(self._work.wrong, f"{address.rsplit('/', 1)[1]}: status {status}")
        return None

    def _send(self, method: str, address: str, body: str = "", kind: str = "") -> tuple[int, str, str]:
        """Return status, location and page; wait for a stopped server, but post only once."""
        while True:
            try:
                return self._sent(method, address, body, kind)
            except (OSError, http.client.HTTPException):
                self._connection = None
                if time.monotonic() > self._work.until + 60:
                    raise
                time.sleep(0.1)
                if method == "POST" and self._token:
                    raise ServerGoneError from None

    def _sent(self, method: str, address: str, body: str, kind: str) -> tuple[int, str, str]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._work.port, timeout=30)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        if kind:
            headers |= {"Content-Type": kind, "X-CSRF-Token": self._token}
        asked = time.perf_counter()
        self._connection.request(method, address, body or None, headers)
        answer = self._connection.getresponse()
        page = answer.read().decode()
        self._work.latencies.append(time.perf_counter() - asked)
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.partition(";")[0].partition("=")
            self._cookies[name] = value
        return answer.status, answer.headers.get("Location", ""), page


class Uploader(Reviewer):
    """One more adjudicator, who adds files meanwhile.

    Args:
        work: Shared by all.
        user: The account.
        files: In turn.
    """

    def __init__(self, work: Work, user: User, files: list[Path]) -> None:
        super().__init__(work, user, seed=0)
        self._files = files

    def run(self) -> None:
        self._log_in()
        self._work.begin.wait(120)
        while time.monotonic() < self._work.until:
            for path in self._files:
                if time.monotonic() < self._work.until:
                    self._count(path)

    def _count(self, path: Path) -> None:
        try:
            said = self._post("/add/file", path.read_bytes(), "application/octet-stream", path.name)
            if said.get("state") == "ready":
                self._post(f"/add/{said['id']}", b'{"what": "remove"}', "application/json", "")
            self._work.count(self._work.done, f"file: {said.get('state', 'refused')}")
        except (OSError, http.client.HTTPException):
            self._work.count(self._work.done, "file: cut by a stop")
            time.sleep(0.5)

    def _post(self, address: str, body: bytes, kind: str, name: str) -> dict[str, Any]:
        # A connection of its own: what hostile files take is no latency of the reviewers.
        connection = http.client.HTTPConnection("127.0.0.1", self._work.port, timeout=300)
        with closing(connection):
            cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
            headers = {"Cookie": cookies, "Content-Type": kind, "X-CSRF-Token": self._token}
            connection.request("POST", address, body, headers | ({"X-File-Name": name} if name else {}))
            answer = connection.getresponse()
            page = answer.read()
        was_told = answer.status == HTTPStatus.SERVICE_UNAVAILABLE and answer.getheader("Retry-After")
        if was_told or (answer.status >= 500 and self._work.is_stopping):
            raise http.client.HTTPException  # a stop waits for no file
        if answer.status >= 500:
            self._work.count(self._work.wrong, f"{address.split('/')[1]}: status {answer.status}")
        found: dict[str, Any] = json.loads(page) if answer.status == 200 else {}
        return found


def _found(pattern: re.Pattern[str], page: str) -> str:
    match = pattern.search(page)
    return match.group(1) if match else ""


class Server:
    """`inverse-deid review serve`, started and killed."""

    def __init__(self, store: str, key_file: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._command = command("serve", "--store", store, "--key", str(key_file), "--port", str(self.port))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Start it; return the seconds until it responds."""
        started = time.monotonic()
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        while time.monotonic() - started < 60:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return time.monotonic() - started
        raise TimeoutError("the server does not respond")

    def memory_mb(self) -> tuple[int, int]:
        """Return the most memory that it had, and what it and its children have; 0 = unknown (not Linux)."""
        if self._process is None:
            return 0, 0
        own = _status_of(self._process.pid)
        children = Path(f"/proc/{self._process.pid}/task").glob("*/children")
        numbers = {int(word) for path in children for word in path.read_text("utf-8").split()}
        now = [own, *map(_status_of, numbers)]
        return own.get("VmHWM", 0) >> 10, sum(status.get("VmRSS", 0) for status in now) >> 10

    def stop(self, with_signal: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(with_signal)
            self._process.wait(60)


def _status_of(pid: int) -> dict[str, int]:
    """Return the numbers of a process's status by their names, sizes in KiB; {} if there is no such file."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
        words = (line.split() for line in lines)
        return {one[0].rstrip(":"): int(one[1]) for one in words if len(one) > 1 and one[1].isdecimal()}
    return {}


def command(*args: str) -> list[str]:
    """Return a review command of this installation."""
    return [sys.executable, "-m", "inverse_deid.cli.main", "review", *args]


def invented_cases(path: Path, n_cases: int) -> None:
    """Write cases of eight sentences."""
    rng = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for i in range(n_cases):
            said = (
                rng.choice(SENTENCES).format(name=rng.choice(NAMES), n=rng.randint(1, 9)) for _ in range(8)
            )
            file.write(json.dumps({"id": f"case-{i}", "text": " ".join(said)}) + "\n")


def differences(address: str, key: ReviewKey, reviewers: list[Reviewer]) -> Counter[str]:
    """Count differences between the store and the acknowledged decisions."""
    wrong: Counter[str] = Counter()
    with open_store(address, key) as store:
        for reviewer in reviewers:
            for case_id, (keep, is_approved) in reviewer.stored.items():
                view = view_case(store, reviewer.user, case_id)
                if "".join("1" if kept else "0" for kept in view.layer.keep) != keep:
                    wrong["a lost decision"] += 1
                if is_approved and not view.is_approved:
                    wrong["a lost approval"] += 1
        if not verify_store(store).is_intact:
            wrong["the trail is broken"] += 1
    return wrong


def measure(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Make the store, let everybody work, kill the server, compare."""
    address, key_file = given.store or str(folder / "review.db"), folder / "store.key"
    key = make_key_file(key_file)
    invented_cases(folder / "cases.jsonl", given.cases)
    made = command("init", str(folder / "cases.jsonl"), "--store", address, "--key", str(key_file))
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    with open_store(address, key) as store:
        roles = [UserRole.ADJUDICATOR if i % 10 == 9 else UserRole.REVIEWER for i in range(given.reviewers)]
        users = [add_user(store, f"reviewer{i}", PASSWORD, role) for i, role in enumerate(roles)]
        files = sorted(given.uploads.iterdir()) if given.uploads else []
        eve = add_user(store, "eve", PASSWORD, UserRole.ADJUDICATOR) if files else None
    server = Server(address, key_file)
    server.start()
    work = Work(server.port, threading.Barrier(given.reviewers + 1 + bool(eve)), given.pause)
    reviewers = [Reviewer(work, user, seed) for seed, user in enumerate(users)]
    uploaders = [Uploader(work, eve, files)] if eve else []
    for one in reviewers + uploaders:
        one.start()
    work.begin.wait(120)
    work.until = time.monotonic() + given.seconds
    signals = [signal.SIGKILL] * given.kills + [signal.SIGTERM] * given.stops
    back, most_mb, with_children = 0.0, 0, 0
    with strangers("127.0.0.1", server.port, given.idle, given.hostile):
        for one_signal in [*signals, None]:
            until = time.monotonic() + given.seconds / (len(signals) + 1)
            while time.monotonic() < until:
                time.sleep(0.2)
                most, now = server.memory_mb()
                most_mb, with_children = max(most_mb, most), max(with_children, now)
            if one_signal:
                work.is_stopping = True
                server.stop(one_signal)
                back = max(back, server.start())
                work.is_stopping = False
    for reviewer in reviewers:
        reviewer.join(given.seconds + 120)
        if reviewer.is_alive():
            work.wrong["a reviewer hangs"] += 1
    server.stop(signal.SIGTERM)
    wrong = work.wrong + differences(address, key, reviewers)
    ordered = sorted(work.latencies)
    return {
        "reviewers": given.reviewers,
        "seconds": given.seconds,
        "pause": given.pause,
        "requests": len(ordered),
        "done": dict(work.done),
        "wrong": dict(wrong),
        "seconds_until_back": round(back, 2),
        "most_mb": most_mb,
        "most_mb_with_children": with_children,
        "median_ms_of_decisions": quantile(sorted(work.decisions), 0.5),
        "median_ms": quantile(ordered, 0.5),
        "p99_ms": quantile(ordered, 0.99),
        "max_ms": quantile(ordered, 1.0),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reviewers", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--stops", type=int, default=0)
    parser.add_argument("--uploads", type=Path, help="folder of files to add meanwhile")
    parser.add_argument("--pause", type=float, default=0.135, help="mean seconds between two decisions")
    parser.add_argument("--idle", type=int, default=0)
    parser.add_argument("--hostile", type=int, default=0)
    parser.add_argument("--store", help="address of an empty database, such as postgresql+psycopg://...")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = measure(given, Path(folder))
        except InverseDeidError as error:
            parser.error(str(error))
    print(json.dumps(found, indent=1))
    sys.exit(bool(found["wrong"]))


if __name__ == "__main__":
    main()
