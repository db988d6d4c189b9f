"""Work in a child process: limits of memory and time, and what happens when the child dies."""

import ctypes
import multiprocessing
import multiprocessing.context
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

from inverse_deid.core.child_process import (
    MAX_MEMORY_BYTES,
    LimitedProcess,
    answer_all,
    ask_for_time,
    ask_helper,
)
from inverse_deid.core.errors import FormatError, KeptColumnError, Remedy, StageError

SECRET = "Okonkwo"


@pytest.fixture(scope="module")
def shared():
    process = LimitedProcess()
    yield process
    process.end()


def get_pid():
    return os.getpid()


def raise_error(error):
    raise error


def allocate(n_bytes):
    return len(bytearray(n_bytes))


def try_to_allocate():
    """Continue without what could not be allocated, as PDFium does."""
    large = bytearray(MAX_MEMORY_BYTES)
    for i in range(0, len(large), 4096):
        large[i] = 1
    try:
        return len(large) + len(bytearray(2 * MAX_MEMORY_BYTES))
    except MemoryError:
        return 0


def work_in_pages(n_pages, asks):
    for _ in range(n_pages):
        if asks:
            ask_for_time()
        time.sleep(0.5)
    return n_pages


def ask_often(n_times):
    for _ in range(n_times):
        ask_for_time()
    return n_times


def ask_for_ever():
    while True:
        ask_for_time()


def crash():
    ctypes.string_at(0)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def ask_twice(number: int) -> Generator[int, int, int]:
    return (yield number) + (yield number + 1)


def lie() -> int:
    return "Okonkwo"  # another type than it says


class Trap:
    """A pickle of it would run code."""

    def __reduce__(self):
        return os._exit, (1,)


def send_trap():
    return Trap()


def is_gone(pid):
    for _ in range(100):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


def test_one_child_does_many_calls(shared):
    pids = {shared.call(get_pid) for _ in range(3)}
    assert len(pids) == 1
    assert os.getpid() not in pids


def test_the_child_can_ask(shared):
    assert answer_all(shared.talk(ask_twice, 1), lambda number: 10 * number) == 30


def test_a_result_of_another_type_is_refused_without_its_value(shared):
    with pytest.raises(StageError, match="a child process sent") as caught:
        shared.call(lie)
    assert SECRET not in str(caught.value)


def test_what_the_child_sends_is_data_and_never_runs_code(shared):
    with pytest.raises(StageError, match="TypeError"):
        shared.call(send_trap)


def test_an_error_keeps_its_kind_and_its_remedies(shared):
    error = KeptColumnError("has a name", remedies=[Remedy("keep_unchecked")])
    with pytest.raises(KeptColumnError, match=r"^has a name$") as caught:
        shared.call(raise_error, error)
    assert caught.value.remedies == error.remedies


def test_a_large_file_may_take_more_memory(shared):
    n_bytes = 64 * 1024 * 1024
    given = MAX_MEMORY_BYTES + 2 * n_bytes
    with pytest.raises(FormatError, match="could not be read within 512 MB"):
        shared.call(allocate, given)
    assert shared.call(allocate, given, n_bytes=n_bytes) == given


def test_a_file_of_very_many_pages_is_read(shared):
    n_pages = 2 * sys.getrecursionlimit()
    assert shared.call(ask_often, n_pages) == n_pages


def test_who_asks_for_time_without_end_gets_none(monkeypatch):
    """A child that was taken over could do that."""
    worker = LimitedProcess()
    try:
        worker.call(get_pid)
        monkeypatch.setattr("inverse_deid.core.child_process.MAX_MORE_TIMES", 1)
        monkeypatch.setattr("inverse_deid.core.child_process.MAX_SECONDS", 1.0)
        with pytest.raises(FormatError, match="could not be read within"):
            worker.call(ask_for_ever, max_seconds=1)
    finally:
        worker.end()


def test_an_error_of_an_answer_is_raised_and_the_next_call_has_another_child(shared):
    """What the child says next would be of the call that is over."""
    pid = shared.call(get_pid)

    def refuse(_number):
        raise FormatError("no more")

    with pytest.raises(FormatError, match=r"^no more$"):
        answer_all(shared.talk(ask_twice, 1), refuse)
    assert shared.call(get_pid) != pid
    assert is_gone(pid)


def test_a_child_that_cannot_be_started_does_not_keep_the_next_call_waiting(monkeypatch):
    process = LimitedProcess()

    def fail(_process):
        raise OSError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as patched:
        patched.setattr(multiprocessing.context.SpawnProcess, "start", fail)
        for _ in range(2):
            with pytest.raises(StageError, match="cannot be started"):
                process.call(get_pid)
    assert process.call(get_pid) != os.getpid()
    process.end()


def ask_after(n_bytes: int) -> Generator[int, int, int]:
    large = bytearray(n_bytes)
    return (yield len(large))


def test_a_large_file_that_is_given_up_does_not_count_for_the_next(shared):
    n_bytes = 128 * 1024 * 1024
    talk = shared.talk(ask_after, MAX_MEMORY_BYTES + n_bytes, n_bytes=n_bytes)
    assert next(talk) == MAX_MEMORY_BYTES + n_bytes
    talk.close()
    assert shared.call(allocate, 1) == 1


def test_an_error_is_raised_without_its_context(shared):
    with pytest.raises(FormatError, match=r"^has no text$") as caught:
        shared.call(raise_error, FormatError("has no text"))
    assert caught.value.__context__ is None


def test_an_unforeseen_error_does_not_show_its_message(shared):
    with pytest.raises(StageError, match="KeyError") as caught:
        shared.call(raise_error, KeyError(SECRET))
    assert SECRET not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize(
    ("work", "given"), [(allocate, (3 * MAX_MEMORY_BYTES,)), (try_to_allocate, ()), (crash, ()), (die, ())]
)
def test_a_child_that_needs_too_much_or_dies_fails_and_the_next_call_has_another(shared, work, given):
    pid = shared.call(get_pid)
    with pytest.raises(FormatError, match=r"^could not be read within 512 MB of memory and 60 s\."):
        shared.call(work, *given)
    assert is_gone(pid)
    assert shared.call(get_pid) != pid


def test_a_child_that_hangs_is_killed_after_its_time(shared):
    pid = shared.call(get_pid)
    with pytest.raises(FormatError, match=r"and 0\.2 s"):
        shared.call(time.sleep, 600, max_seconds=0.2)
    assert is_gone(pid)


def test_a_child_is_killed_when_nobody_waits_any_more(shared):
    pid = shared.call(get_pid)
    stopped = threading.Event()
    threading.Timer(0.2, stopped.set).start()
    with pytest.raises(StageError, match="the time of the request is over"):
        shared.call(time.sleep, 600, is_stopped=stopped.is_set)
    assert is_gone(pid)


def test_a_killed_parent_leaves_no_busy_child(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import os, threading, time\n"
        "from inverse_deid.core.child_process import LimitedProcess\n"
        "if __name__ == '__main__':\n"
        "    process = LimitedProcess()\n"
        "    print(process.call(os.getpid), flush=True)\n"
        "    process.call(time.sleep, 600)\n"
    )
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    assert is_gone(pid)


def test_work_that_asks_for_time_may_take_longer(shared):
    ask_for_time()  # outside of a child it does nothing
    shared.call(work_in_pages, 0, False)  # the child has begun
    assert shared.call(work_in_pages, 6, True, max_seconds=2) == 6
    with pytest.raises(FormatError, match="could not be read within"):
        shared.call(work_in_pages, 6, False, max_seconds=2)


def test_time_is_not_given_without_end(shared, monkeypatch):
    shared.call(work_in_pages, 0, False)
    monkeypatch.setattr("inverse_deid.core.child_process.MAX_MORE_TIMES", 1)
    monkeypatch.setattr("inverse_deid.core.child_process.MAX_SECONDS", 1)
    with pytest.raises(FormatError, match="could not be read within"):
        shared.call(work_in_pages, 8, True, max_seconds=1)


def try_what_a_taken_over_child_would(folder: str, port: int) -> dict[str, str]:
    def connect():
        with socket.create_connection(("127.0.0.1", port), 5):
            pass

    tried = {
        "write": lambda: Path(folder, "written").write_text("x"),
        "change": lambda: Path(folder, "there").write_text("x"),
        "remove": lambda: Path(folder, "there").unlink(),
        "make": lambda: Path(folder, "made").mkdir(),
        "run": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
        "connect": connect,
        "become": lambda: os.setuid(4242),
    }
    found = {}
    for name, attempt in tried.items():
        try:
            attempt()
            found[name] = "done"
        except OSError as error:
            found[name] = type(error).__name__
    found["read"] = Path(folder, "there").read_text()
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="the rights of Linux")
def test_a_child_changes_no_file_runs_no_program_and_reaches_no_port(tmp_path):
    (tmp_path / "there").write_text("as it was")
    worker = LimitedProcess()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        try:
            found = worker.call(try_what_a_taken_over_child_would, str(tmp_path), listening.getsockname()[1])
        finally:
            worker.end()
    assert found.pop("read") == "as it was"
    if not has_landlock():
        found = {"become": found["become"]}
    assert set(found.values()) == {"PermissionError"}, found


def has_landlock(version=4):
    """Whether this system can take the right to connect (the 4th version, Linux 6.7), or others."""
    return ctypes.CDLL(None).syscall(444, None, ctypes.c_ulong(0), ctypes.c_ulong(1)) >= version


def write_and_run(folder: str, data: bytes) -> bytes:
    Path(folder, "written").write_bytes(data)
    if data == b"fail":
        raise FormatError("is of no use")
    command = [sys.executable, "-c", "print('ran')"] if data != b"wait" else ["sleep", "60"]
    return subprocess.run(command, check=True, capture_output=True).stdout + str(os.getpid()).encode()


def let_help(folder: str, data: bytes) -> bytes:
    return ask_helper(write_and_run, folder, data)


def try_beside_the_helper(folder: str, port: int) -> dict[str, str]:
    ask_helper(write_and_run, folder, b"1")
    return try_what_a_taken_over_child_would(folder, port)


def read_score() -> str:
    return Path("/proc/self/oom_score_adj").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="the rights of Linux")
def test_a_child_is_ended_before_the_server_when_memory_runs_out():
    worker = LimitedProcess()
    try:
        assert int(worker.call(read_score)) == 1000 > int(read_score())
    finally:
        worker.end()


@pytest.mark.skipif(sys.platform != "linux", reason="the rights of Linux")
def test_a_helper_does_its_work_and_the_child_has_no_rights(tmp_path):
    (tmp_path / "there").write_text("as it was")
    worker = LimitedProcess(write_and_run)
    try:
        assert worker.call(let_help, str(tmp_path), b"1").startswith(b"ran")
        with pytest.raises(FormatError, match="is of no use"):
            worker.call(let_help, str(tmp_path), b"fail")
        assert worker.call(let_help, str(tmp_path), b"2").startswith(b"ran")
        found = worker.call(try_beside_the_helper, str(tmp_path), 9)
    finally:
        worker.end()
    assert (tmp_path / "written").read_bytes() == b"1"
    assert set(found.values()) - {"as it was"} == {"PermissionError"} or not has_landlock()


def write_beside(folder: str, data: bytes) -> bytes:
    """Try to change files outside of the folders for temporary files, here and in a program, and a signal."""
    found = []
    for attempt in (
        lambda: Path(folder, "written").write_bytes(data),
        lambda: Path(folder, "there").write_bytes(data),
        lambda: Path(folder, "there").unlink(),
        lambda: Path(folder, "there").rename(Path(folder, "temporary", "there")),
        lambda: subprocess.run(["rm", Path(folder, "there")], check=True, stderr=subprocess.DEVNULL),
        lambda: os.kill(os.getppid(), 0),
    ):
        try:
            attempt()
            found.append("done")
        except (PermissionError, subprocess.CalledProcessError):
            found.append("refused")
    Path(folder, "temporary", "written").write_bytes(data)
    return " ".join(found).encode()


def let_it_write_beside(folder: str, data: bytes) -> bytes:
    return ask_helper(write_beside, folder, data)


@pytest.mark.skipif(sys.platform != "linux", reason="the rights of Linux")
def test_a_helper_and_what_it_runs_change_temporary_files_alone(tmp_path, monkeypatch):
    if not has_landlock():
        pytest.skip("no Landlock")
    (tmp_path / "temporary").mkdir()
    (tmp_path / "there").write_text("as it was")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    worker = LimitedProcess(write_beside)
    try:
        found = worker.call(let_it_write_beside, str(tmp_path), b"1").split()
        assert found == [b"refused"] * 5 + [b"refused" if has_landlock(6) else b"done"]
    finally:
        worker.end()
    assert (tmp_path / "there").read_text() == "as it was"
    assert (tmp_path / "temporary" / "written").read_bytes() == b"1"


@pytest.mark.skipif(sys.platform != "linux", reason="the rights of Linux")
def test_a_helper_and_what_it_runs_end_with_the_child(tmp_path):
    worker = LimitedProcess(write_and_run)
    helper = int(worker.call(let_help, str(tmp_path), b"1").split(b"\n")[1])
    with pytest.raises(FormatError, match="could not be read within"):
        worker.call(let_help, str(tmp_path), b"wait", max_seconds=1)
    began = time.monotonic()
    while not is_gone(helper) and time.monotonic() - began < 10:
        time.sleep(0.05)
    assert is_gone(helper)


def die_or_work(_folder: str, data: bytes) -> bytes:
    if data == b"die":
        die()
    if data == b"too much":
        raise MemoryError
    return b"worked"


def let_it_die_or_work(folder: str, data: bytes) -> bytes:
    return ask_helper(die_or_work, folder, data)


@pytest.mark.skipif(sys.platform != "linux", reason="the rights of Linux")
@pytest.mark.parametrize("how", [b"die", b"too much"])
def test_a_file_that_ends_the_helper_is_refused_and_the_next_one_has_another(how):
    """Otherwise one file could make all later ones fail."""
    worker = LimitedProcess(die_or_work)
    try:
        for _ in range(2):
            with pytest.raises(FormatError, match="could not be read within"):
                worker.call(let_it_die_or_work, "", how)
            assert worker.call(let_it_die_or_work, "", b"1") == b"worked"
    finally:
        worker.end()


def work_and_clean_up(folder: str, _data: bytes) -> bytes:
    file = Path(folder, str(os.getpid()))
    file.touch()
    try:
        time.sleep(30)
    finally:
        time.sleep(0.5)
        file.unlink()
    return b""


def let_it_clean_up(folder: str) -> bytes:
    return ask_helper(work_and_clean_up, folder, b"")


@pytest.mark.skipif(sys.platform != "linux", reason="the rights of Linux")
def test_a_second_signal_does_not_cut_short_what_a_helper_cleans_up(tmp_path):
    """Linux sends one for each thread of the child that ends."""
    worker = LimitedProcess(work_and_clean_up)

    def end_it():
        while not (files := list(tmp_path.iterdir())):
            time.sleep(0.05)
        for _ in range(2):
            os.kill(int(files[0].name), signal.SIGTERM)
            time.sleep(0.2)

    ending = threading.Thread(target=end_it)
    ending.start()
    try:
        with pytest.raises(FormatError, match="could not be read within"):
            worker.call(let_it_clean_up, str(tmp_path))
    finally:
        ending.join()
        worker.end()
    assert not list(tmp_path.iterdir())


def test_outside_of_a_child_the_work_is_done_here(tmp_path):
    assert let_help(str(tmp_path), b"1").endswith(str(os.getpid()).encode())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_starts_a_child_of_its_own(shared):
    pid = shared.call(get_pid)
    forked = os.fork()
    if not forked:
        is_other = shared.call(get_pid) != pid
        shared.end()
        os._exit(0 if is_other else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 0
    assert shared.call(get_pid) == pid
