"""The life of a store with real processes: a change of the key that is killed, and a backup under load."""

import signal
import subprocess
import sys
import threading
import time

import pytest
from review_servers import log_in, serving
from review_stores import KEY, PASSWORD, TEXT, review, store_of, user

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.flow.reading import view_case
from inverse_deid.review.people.accounts import add_user, find_user
from inverse_deid.review.store.backup import write_backup
from inverse_deid.review.store.keys import ReviewKey
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import CaseState, UserRole

pytestmark = pytest.mark.slow

NEW_KEY = b"fedcba9876543210fedcba9876543210"
N_CASES = 400


@pytest.fixture
def keys(tmp_path):
    """The files of the old and the new key."""
    for name, secret in (("old.key", KEY.secret), ("new.key", NEW_KEY)):
        (tmp_path / name).write_bytes(secret)
        (tmp_path / name).chmod(0o600)
    return tmp_path / "old.key", tmp_path / "new.key"


def command(*words):
    return [sys.executable, "-m", "inverse_deid.cli.main", "review", *map(str, words)]


def rotate(path, keys):
    return command("rotate-key", "--store", path, "--key", keys[0], "--new-key", keys[1])


def opens(path, secret):
    try:
        open_store(path, ReviewKey(secret)).close()
    except ConfigurationError:
        return False
    return True


KILLED = """
import os, signal, sys
from inverse_deid.cli.main import main
from inverse_deid.review.store import rotation

def kill_at(name, n):
    real = getattr(rotation, name)
    def step(*given, **options):
        nonlocal n
        n -= 1
        if n == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **options)
    setattr(rotation, name, step)

kill_at(sys.argv.pop(1), int(sys.argv.pop(1)))
main()
"""
"""The command of the tests, killed (kill -9) at the n-th call of a function."""


def test_a_change_of_the_key_that_is_killed_again_and_again_is_finished(tmp_path, keys):
    with store_of(tmp_path, [TEXT] * N_CASES, approvals=1) as store:
        ann = user(store, "ann")
        for case_id in (1, N_CASES):
            review(store, ann, case_id, mask=[5])
    path = tmp_path / "review.db"
    points = [("reseal", 1), ("lock_head", 1), ("_renew", 150), ("_renew", 250), ("_hash_again", 1)]
    for name, n in [*points, ("_finish", 1), ("erase", 1)]:
        words = [sys.executable, "-c", KILLED, name, str(n), *rotate(path, keys)[3:]]
        assert subprocess.run(words, check=False).returncode == -signal.SIGKILL, name
        is_begun = name not in ("reseal", "lock_head")
        assert (opens(path, KEY.secret), opens(path, NEW_KEY)) == (not is_begun, is_begun)
        with open_store(path, ReviewKey(NEW_KEY if is_begun else KEY.secret)) as store:
            assert verify_store(store).is_intact
            for case_id in (1, N_CASES):
                assert view_case(store, find_user(store, "ann"), case_id).text == TEXT
    subprocess.run(rotate(path, keys), check=True, capture_output=True)
    assert not opens(path, KEY.secret)
    with open_store(path, ReviewKey(NEW_KEY)) as store:
        assert len(store.keys.data) == 1 and verify_store(store).is_intact
        assert export_released(store, tmp_path / "out").n_cases == 2


def test_a_server_with_the_old_key_stores_nothing_after_a_change(tmp_path, keys):
    httpx = pytest.importorskip("httpx")
    with store_of(tmp_path) as store:
        add_user(store, "ann", PASSWORD, UserRole.REVIEWER)
    path = tmp_path / "review.db"
    with (
        serving(path, "--key", keys[0]) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        assert log_in(client).status_code == 303
        subprocess.run(rotate(path, keys), check=True, capture_output=True)
        assert client.get("/").status_code != 200
        assert log_in(client).status_code != 303
    with (
        serving(path, "--key", keys[1]) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        assert log_in(client).status_code == 303
        assert client.get("/").status_code == 200


def test_a_backup_under_load_is_consistent(tmp_path, keys):
    copy, again = tmp_path / "backup", tmp_path / "again.db"
    n_released, has_copy = [], threading.Event()
    with store_of(tmp_path, [TEXT] * N_CASES, approvals=1) as store:
        ann = user(store, "ann")

        def work():
            for case_id in range(1, N_CASES):
                n_released.append(review(store, ann, case_id, mask=[5]))
                if has_copy.is_set():
                    return

        working = threading.Thread(target=work)
        working.start()
        while len(n_released) < 5:
            time.sleep(0.01)
        with open_store(tmp_path / "review.db", KEY) as other:
            write_backup(other, KEY, copy, by="dora")
        has_copy.set()
        working.join()
    restored = subprocess.run(
        command("restore", copy, "--store", again, "--key", keys[0]), check=True, capture_output=True
    )
    assert b"400 cases restored" in restored.stdout and b"NOT intact" not in restored.stdout
    with open_store(again, KEY) as store:
        exported = export_released(store, tmp_path / "out")
        assert 5 <= exported.n_cases <= len(n_released) < N_CASES and not exported.problems
        assert review(store, find_user(store, "ann"), N_CASES) is CaseState.RELEASED


def test_cases_are_deleted_by_commands(tmp_path, keys):
    store_of(tmp_path, [TEXT, "by Bo", "by Ann"]).close()  # by the clock of the tests, years ago
    given = ("--store", tmp_path / "review.db", "--key", keys[0])

    def run(*words):
        return subprocess.run(command(*words, *given), capture_output=True, text=True, check=False)

    assert run("delete", "--case", 2).stdout == "1 cases and 0 files deleted\n"
    assert "use one of --case N or --file N" in run("delete").stderr
    assert run("purge", "--older-than", 30).stdout == "0 cases were deleted, 0 stay\n"
    dry = run("purge", "--older-than", 30, "--all", "--dry-run")
    assert dry.stdout == "file 1 cases.jsonl: the whole file\n2 cases would be deleted, 0 stay\n"
    assert run("purge", "--older-than", 30, "--all").returncode == 0
    assert run("delete", "--file", 1).returncode == 2
