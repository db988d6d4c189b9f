"""Servers as processes that are told to stop: the trail is anchored, and the database is complete."""

import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from hostile_uploads import many_parts
from review_servers import log_in, started
from review_stores import KEY, store_of
from review_visitors import account

from inverse_deid.review.store.values import UserRole

pytestmark = pytest.mark.slow

SERVICE = Path(__file__).with_name("serve_command.py")
MAIN = ("-m", "inverse_deid.cli.main")
STOPS = pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])


def make_store(folder, role=UserRole.REVIEWER):
    with store_of(folder, clock=time.time) as store:
        account(store, "ann", role)
    key = folder / "review.db.key"
    key.write_bytes(KEY.secret)
    key.chmod(0o600)
    return folder / "review.db"


def verify(store, anchors):
    command = [sys.executable, *MAIN, "review", "verify", "--store", str(store), "--against", str(anchors)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def end(process, *signals):
    """Send signals to a process, which may have ended before the last; return its status."""
    for number in signals:
        process.send_signal(number)
        time.sleep(0.05)
    return process.wait(120)


@STOPS
def test_a_stop_of_the_review_anchors_the_trail_and_empties_the_log_of_the_database(tmp_path, stop):
    store, earlier, anchors = make_store(tmp_path), tmp_path / "earlier.db", tmp_path / "anchors"
    shutil.copy(store, earlier)
    with started(*MAIN, "review", "serve", "--store", store, "--anchor", anchors) as (port, process):
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as ann:
            assert log_in(ann).status_code == 303
        assert not anchors.exists()
        # A stop that is asked for again, or a terminal that closes, does not cut the end short.
        assert end(process, stop, stop, signal.SIGHUP) == 0
    assert not store.with_name("review.db-wal").exists()
    assert verify(store, anchors).returncode == 0
    shutil.copy(earlier, store)
    found = verify(store, anchors)
    assert found.returncode == 1, found.stdout + found.stderr


def count_rows(store):
    with closing(sqlite3.connect(store)) as opened:
        return [
            opened.execute(f"SELECT count(*) FROM {one}").fetchone()[0]
            for one in ("waiting", "waiting_pieces")
        ]


def test_an_upload_that_a_stop_cuts_is_told_to_try_again_and_leaves_nothing(tmp_path):
    store = make_store(tmp_path, UserRole.ADJUDICATOR)
    files = [("mail.eml", many_parts())] * 12
    with (
        started(*MAIN, "review", "serve", "--store", store) as (port, process),
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as ann,
        ThreadPoolExecutor(len(files)) as pool,
        socket.create_connection(("127.0.0.1", port)) as half,
    ):
        assert log_in(ann).status_code == 303
        token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', ann.get("/").text).group(1)
        headers = {"x-csrf-token": token, "content-type": "application/octet-stream"}

        def send(name, data):
            return ann.post("/add/file", content=data, headers={**headers, "x-file-name": name})

        answers = [pool.submit(send, *one) for one in files]
        cookie = "; ".join(f"{one.name}={one.value}" for one in ann.cookies.jar)
        told = {**headers, "host": f"127.0.0.1:{port}", "cookie": cookie, "x-file-name": "half.txt"}
        lines = [f"{name}: {value}\r\n" for name, value in {**told, "content-length": "9"}.items()]
        half.sendall(f"POST /add/file HTTP/1.1\r\n{''.join(lines)}\r\nhalf".encode())
        until = time.monotonic() + 120
        while count_rows(store)[0] <= len(files):
            assert time.monotonic() < until
            time.sleep(0.05)
        stopped = time.monotonic()
        assert end(process, signal.SIGTERM) == 0
        assert time.monotonic() - stopped < 30
        half.settimeout(30)
        said = half.recv(65536).decode()
    assert said.startswith("HTTP/1.1 503 ")
    assert "retry-after: " in said
    ended = [one.result() for one in answers]
    assert {one.status_code for one in ended} <= {200, 503}
    refused = [one for one in ended if one.status_code == 503]
    assert refused
    for one in refused:
        assert one.headers["retry-after"]
        assert one.json()["error"] == "The server is stopping. Try again in a moment."
    n_read = sum(one.status_code == 200 for one in ended)
    assert count_rows(store)[0] == n_read
    assert not store.with_name("review.db-wal").exists()


def test_a_review_that_starts_has_loaded_before_it_is_asked(tmp_path):
    store = make_store(tmp_path, UserRole.ADJUDICATOR)
    with (
        started(*MAIN, "review", "serve", "--store", store) as (port, _),
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as ann,
    ):
        assert log_in(ann).status_code == 303
        assert ann.get("/add/list").json()["is_ready"]


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGHUP])
def test_a_stop_of_the_desk_leaves_no_address_and_no_log_of_the_database(tmp_path, monkeypatch, stop):
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    folder = tmp_path / "desk"
    with started(*MAIN, "desk", "--folder", folder, "--no-browser") as (port, process):
        until = time.monotonic() + 120
        while not (folder / "desk.running").exists():  # it listens before it serves
            assert time.monotonic() < until
            time.sleep(0.1)
        # It takes signals as soon as it answers.
        assert httpx.get(f"http://127.0.0.1:{port}/log-in", timeout=120).status_code == 401
        (folder / "open.html").write_text("an address", "utf-8")
        assert end(process, stop, stop) == 0
    assert {one.name for one in folder.iterdir()} <= {"desk.db", "desk.lock"}


def test_a_stop_of_the_service_is_not_an_error():
    with started(SERVICE, "serve") as (port, process):
        assert httpx.get(f"http://127.0.0.1:{port}/health", timeout=120).status_code == 200
        assert end(process, signal.SIGTERM, signal.SIGHUP) == 0
