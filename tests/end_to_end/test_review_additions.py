"""Two reviewers and an adjudicator work while `review add` brings new cases in from another process."""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest
from postgres_cluster import postgres_address
from review_stores import KEY, change, json_lines, place, store_of, user
from review_visitors import visitor

from inverse_deid.core.errors import CaseLockedError, NotAllowedError
from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.flow.approval import approve
from inverse_deid.review.flow.reading import open_dispute
from inverse_deid.review.flow.work_list import count_cases, next_case, read_line
from inverse_deid.review.store.sources import list_sources
from inverse_deid.review.store.trail import export_trail, verify_store
from inverse_deid.review.store.values import ActionKind, CaseState, LayerRevision, UserRole

CANARY = "Zebulonova"
N_FILES = 2
N_CASES = 2
"""In each of the files that come later; the store begins with one file of as many."""
SECONDS = 240


def text_of(file, case):
    return f"seen by {CANARY} today with fever, file{file} case{case}"


@contextmanager
def addresses(kind, folder):
    if kind == "sqlite":
        yield str(folder / "review.db")
        return
    with postgres_address() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    with addresses(request.param, tmp_path) as address:
        yield address


@contextmanager
def additions(address, folder):
    """Run `review add` once for each file in a process of its own; yield how to wait for the last one."""
    key = folder / "key"
    key.write_bytes(KEY.secret)
    key.chmod(0o600)
    faults = []

    def bring():
        for file in range(1, N_FILES + 1):
            texts = [text_of(file, case) for case in range(N_CASES)]
            (folder / f"{file}").mkdir()
            path = json_lines(folder / f"{file}" / "cases.jsonl", texts)
            command = ["review", "add", path, "--store", address, "--key", key, "--rules-only"]
            options = ["--marker", f"M{file}", "--dates", "year"]
            done = subprocess.run(
                [sys.executable, "-m", "inverse_deid.cli.main", *map(str, [*command, *options])],
                capture_output=True,
                text=True,
                timeout=SECONDS,
                env=os.environ,
                check=False,
            )
            if done.returncode:
                faults.append(done.stderr)

    thread = threading.Thread(target=bring)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(SECONDS)
        assert not faults, faults[0]


class Work:
    """What reviewers and adjudicator do, until nothing is left and nothing more comes."""

    def __init__(self, store, arrivals):
        self.store = store
        self.arrivals = arrivals
        self.until = time.monotonic() + SECONDS
        self.faults = []

    def run(self, *tasks):
        threads = [threading.Thread(target=self._guard, args=task) for task in tasks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * SECONDS)

    def _guard(self, step, *given):
        try:
            while time.monotonic() < self.until:
                has_arrived = not self.arrivals.is_alive()
                if step(*given):
                    continue
                counts = count_cases(self.store)
                if has_arrived and sum(counts.values()) == counts[CaseState.RELEASED]:
                    return
                time.sleep(0.05)
            self.faults.append(f"{given[0]} is not ready in time: {count_cases(self.store)}")
        except BaseException as fault:  # noqa: BLE001 - told by the assertion at the end
            self.faults.append(fault)

    def review(self, who, masks_more):
        """Review the next case as the library does it; who masks more does so in every second case."""
        case_id = next_case(self.store, who)
        if case_id is None:
            return False
        try:
            at = place(self.store, who, case_id)
        except (CaseLockedError, NotAllowedError):
            return True  # the other one was faster
        if masks_more and case_id % 2:
            at, _ = change(self.store, at, ActionKind.MASK, 5)
        approve(self.store, at)
        return True

    def settle(self, who):
        """Settle the next dispute; `next` offers an adjudicator nothing else as long as there is one."""
        case_id = next_case(self.store, who)
        if case_id is None or read_line(self.store, case_id).state is not CaseState.DISAGREED:
            return False
        view = open_dispute(self.store, who, case_id)
        at = LayerRevision(who.id, case_id, view.case.revision)
        for token in view.disputed.nonzero()[0].tolist():
            at, _ = change(self.store, at, ActionKind.MASK, token)
        approve(self.store, at)
        return True

    def review_by_page(self, who, masks_more):
        """Review the next case over HTTP."""
        address = who.get("/next").headers["location"]
        if not address.startswith("/cases/"):
            return False
        case_id = int(address.rpartition("/")[2])
        seen = who.ask(f"{address}/open")
        if seen.status_code in (403, 423):
            return True
        revision = seen.json()["revision"]
        if masks_more and case_id % 2:
            revision = who.act(case_id, revision, "mask", (5, 6)).json()["revision"]
        everything = [[0, len(seen.json()["words"])]]
        approved = who.ask(f"{address}/approve", revision=revision, seen=everything)
        assert approved.status_code == 200, approved.text
        return True

    def settle_by_page(self, who):
        """Settle the next dispute over HTTP."""
        address = who.get("/next").headers["location"]
        if not address.startswith("/disputes/"):
            return False
        case_id = int(address.rpartition("/")[2])
        seen = who.ask(f"{address}/open").json()
        revision = seen["revision"]
        for token in (i for i, sign in enumerate(seen["disputed"]) if sign == "1"):
            revision = who.act(case_id, revision, "mask", (token, token + 1)).json()["revision"]
        looked = {"seen": [[0, len(seen["words"])]], "is_dispute": True}
        settled = who.ask(f"/cases/{case_id}/approve", revision=revision, **looked)
        assert settled.status_code == 200, settled.text
        return True


def check_nothing_lost(store, folder):
    """Every case of every file is released under the settings of its file, and the trail is whole."""
    n_all = (N_FILES + 1) * N_CASES
    assert count_cases(store)[CaseState.RELEASED] == n_all
    assert [one.name for one in list_sources(store)] == [
        "cases.jsonl",
        *(f"cases ({n}).jsonl" for n in range(2, N_FILES + 2)),
    ]
    exported = export_released(store, folder / "out")
    assert (exported.n_cases, exported.n_left_out, exported.problems) == (n_all, 0, ())
    for file, source in enumerate(list_sources(store)):
        data = (folder / "out" / source.name).read_text()
        assert CANARY not in data
        texts = [json.loads(line)["text"] for line in data.splitlines()]
        marker = f"M{file}" if file else "PHI"
        assert len(texts) == N_CASES
        assert all(text.startswith(f"seen by {marker} today ") for text in texts), texts
    assert verify_store(store).is_intact
    export_trail(store, folder / "trail.jsonl")
    entries = [json.loads(line)["entry"] for line in (folder / "trail.jsonl").read_text().splitlines()[:-1]]
    events = [one["event"] for one in entries]
    assert events.count("approve") == 2 * n_all
    assert events.count("settle") == sum(one["new"] == "disagreed" for one in entries) == n_all // 2
    assert sum(event.endswith(f"added: {N_CASES} cases") for event in events) == N_FILES + 1


@pytest.mark.slow
@pytest.mark.parametrize("way", ["http", "library"])
def test_nothing_is_lost_while_cases_come_in(address, tmp_path, way):
    begin = [text_of(0, case) for case in range(N_CASES)]
    with store_of(tmp_path, begin, address=address, clock=time.time) as store:
        enter = visitor if way == "http" else user
        ann, bea = enter(store, "ann"), enter(store, "bea")
        carl = enter(store, "carl", UserRole.ADJUDICATOR)
        with additions(address, tmp_path) as arrivals:
            work = Work(store, arrivals)
            review, settle = (
                (work.review_by_page, work.settle_by_page) if way == "http" else (work.review, work.settle)
            )
            work.run((review, ann, True), (review, bea, False), (settle, carl))
        assert not work.faults, work.faults
        check_nothing_lost(store, tmp_path)
