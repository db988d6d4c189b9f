"""Servers as processes that are told to stop: the trail is anchored, and the database is complete."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from review_servers import log_in, started
from review_stores import KEY, store_of
from review_visitors import account

pytestmark = pytest.mark.slow

SERVICE = Path(__file__).with_name("serve_command.py")
MAIN = ("-m", "inverse_deid.cli.main")
STOPS = pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])


def make_store(folder):
    with store_of(folder, clock=time.time) as store:
        account(store, "ann")
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
    return process.wait(60)


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


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGHUP])
def test_a_stop_of_the_desk_leaves_no_address_and_no_log_of_the_database(tmp_path, monkeypatch, stop):
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    folder = tmp_path / "desk"
    with started(*MAIN, "desk", "--folder", folder, "--no-browser") as (_, process):
        until = time.monotonic() + 60
        while not (folder / "desk.running").exists():  # it listens before it serves
            assert time.monotonic() < until
            time.sleep(0.1)
        time.sleep(1)
        (folder / "open.html").write_text("an address", "utf-8")
        assert end(process, stop, stop) == 0
    assert {one.name for one in folder.iterdir()} <= {"desk.db", "desk.lock"}


def test_a_stop_of_the_service_is_not_an_error():
    with started(SERVICE, "serve") as (port, process):
        assert httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200
        assert end(process, signal.SIGTERM, signal.SIGHUP) == 0
