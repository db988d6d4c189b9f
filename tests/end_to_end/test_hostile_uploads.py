"""Hostile files at a real server of the review: children with limits read them, and reviewers do not wait."""

import re
import threading
import time
from pathlib import Path

import httpx
import pytest
from hostile_uploads import HOSTILE, many_parts, nested_archive, packed_zeros
from review_servers import started
from review_stores import KEY, PASSWORD, TEXT, store_of
from review_visitors import account

from inverse_deid.review.store.values import UserRole

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc"),
]

N_CLIENTS = 48
"""More than a server has threads for all pages."""
MAX_SERVER_BYTES = 900 * 1024 * 1024
MAX_CHILDREN = 2


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The port of a server, and the number of its process."""
    folder = tmp_path_factory.mktemp("hostile")
    with store_of(folder, [TEXT] * 3, clock=time.time) as store:
        account(store, "ann")
        account(store, "eve", UserRole.ADJUDICATOR)
    key = folder / "review.db.key"
    key.write_bytes(KEY.secret)
    key.chmod(0o600)
    words = ("-m", "inverse_deid.cli.main", "review", "serve", "--store", folder / "review.db")
    with started(*words) as (port, process):
        yield port, process.pid


class Person:
    """Somebody who is logged in."""

    def __init__(self, port, name):
        limits = httpx.Limits(max_connections=N_CLIENTS + 8, max_keepalive_connections=0)
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300, limits=limits)
        form = {"name": name, "password": PASSWORD, "csrf_token": self._token("/log-in")}
        assert self.client.post("/log-in", data=form).status_code == 303
        self.token = self._token("/")

    def _token(self, address):
        page = self.client.get(address).text
        return re.search(r'name="csrf_token" value="([0-9a-f]+)"', page).group(1)

    def add(self, name, data):
        headers = {
            "x-file-name": name,
            "x-csrf-token": self.token,
            "content-type": "application/octet-stream",
        }
        return self.client.post("/add/file", content=data, headers=headers)


@pytest.fixture
def eve(server):
    made = Person(server[0], "eve")
    yield made
    made.client.close()


@pytest.fixture
def ann(server):
    made = Person(server[0], "ann")
    yield made
    made.client.close()


def children_of(pid):
    """Return the numbers of the processes that read files for a server, and their peaks of memory in bytes."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
            words = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if f"PPid:\t{pid}\n" in text and b"multiprocessing" in words and b"resource_tracker" not in words:
            found[int(status.parent.name)] = _peak(text)
    return found


def _peak(text):
    found = re.search(r"VmHWM:\s+(\d+) kB", text)
    return 1024 * int(found.group(1)) if found else 0


@pytest.mark.parametrize("name", HOSTILE)
def test_each_hostile_file_is_read_or_refused_within_its_limits(server, eve, name):
    data = HOSTILE[name]()
    began = time.monotonic()
    answer = eve.add(name, data)
    assert answer.status_code == 200, answer.text
    said = answer.json()
    assert said["state"] in ("ready", "failed")
    assert (said["state"] == "ready") is (name == "declared.xlsx"), said
    assert time.monotonic() - began < 100
    assert _peak(Path(f"/proc/{server[1]}/status").read_text()) < MAX_SERVER_BYTES


def test_a_mail_of_many_parts_is_refused_before_they_are_all_there(eve):
    assert "10,000 parts" in eve.add("parts.eml", many_parts()).json()["problem"]


def test_a_packed_file_is_refused_for_its_ratio(eve):
    assert "far more than its size" in eve.add("zeros.csv.gz", packed_zeros()).json()["problem"]


def test_reviewers_do_not_wait_for_uploads_and_two_are_read_at_a_time(server, ann, eve):
    data = nested_archive(3, 11, 1)
    began = time.monotonic()
    assert eve.add("first.zip", data).status_code == 200
    seconds_for_one = time.monotonic() - began
    done, most, watching = [], [0], [True]

    def watch():
        while watching:
            most[0] = max(most[0], len(children_of(server[1])))
            time.sleep(0.1)

    threads = [
        threading.Thread(target=lambda number=number: done.append(eve.add(f"{number}.zip", data).status_code))
        for number in range(N_CLIENTS)
    ]
    threads.append(threading.Thread(target=watch))
    for thread in threads:
        thread.start()
    try:
        time.sleep(2)
        answered = []
        for _ in range(10):
            began = time.monotonic()
            assert ann.client.get("/").status_code == 200
            answered.append(time.monotonic() - began)
        n_left = N_CLIENTS - len(done)
    finally:
        for thread in threads[:-1]:
            thread.join(280)
        watching.clear()
        threads[-1].join(10)
    assert n_left > N_CLIENTS // 2
    assert max(answered) < seconds_for_one, (seconds_for_one, answered)
    assert done == [200] * N_CLIENTS
    assert most[0] <= MAX_CHILDREN
    assert _peak(Path(f"/proc/{server[1]}/status").read_text()) < MAX_SERVER_BYTES
