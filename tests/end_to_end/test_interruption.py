"""Killed, stopped and resumed: the output is the same, and never holds unmasked text."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fake_maskers import CANARY

HERE = Path(__file__).parent
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def start(*args, seconds_a_batch: float = 0.0) -> subprocess.Popen:
    path = os.pathsep.join([str(HERE.parent), str(HERE.parent.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "SECONDS_A_BATCH": str(seconds_a_batch)}
    command = [sys.executable, str(HERE / "slow_command.py"), "mask", *map(str, args)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen) -> tuple[int, str]:
    _, stderr = process.communicate(timeout=600)
    return process.returncode, stderr.decode()


def wait_for(condition, process: subprocess.Popen) -> None:
    until = time.monotonic() + 180
    while not condition():
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < until, "nothing happened for 3 minutes"
        time.sleep(0.01)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def write_cases(folder: Path) -> list[Path]:
    texts = [f"case {i}: Ms. {CANARY} had a rash; é 𝔘 \u200b after the dose. " * 8 for i in range(900)]
    lines = [json.dumps({"id": i % 3, "text": text}) for i, text in enumerate(texts)]
    lines[700] = f"{CANARY}"
    folder.mkdir()
    jsonl = folder / "a.jsonl.gz"
    jsonl.write_bytes(gzip.compress("\n".join(lines).encode(), 1))
    table = folder / "b.csv"
    rows = "".join(f'{i},"{text}\r\n{i}"\r\n' for i, text in enumerate(texts))
    table.write_bytes(f"\ufeffn,text\r\n{rows}".encode())
    return [jsonl, table]


def without_time(summary, out):
    """Return the lines of a summary, but for the time and the folder."""
    lines = summary.replace(str(out), "OUT").splitlines()
    return [line for line in lines if not line.startswith("time")]


@pytest.mark.parametrize(
    ("name", "stop"),
    [("a.jsonl", signal.SIGINT), pytest.param("b.csv", signal.SIGKILL, marks=pytest.mark.slow)],
)
def test_a_stopped_file_is_continued_to_the_same_output(tmp_path, name, stop):
    given = next(p for p in write_cases(tmp_path / "in") if p.name.startswith(name))
    options = (given, "--explain", "--verbose")
    whole_status, whole_summary = finish(start(*options, "--out", tmp_path / "whole"))
    out = tmp_path / "out"
    process = start(*options, "--out", out, seconds_a_batch=0.8)
    progress = out / f".{name}.progress.json"
    wait_for(
        lambda: progress.exists() and (out / f".{name}.partial").read_bytes().count(b"\n") > 300, process
    )
    process.send_signal(stop)
    status, message = finish(process)
    assert status == (130 if stop == signal.SIGINT else -signal.SIGKILL)
    assert ("--resume" in message) == (stop == signal.SIGINT)
    assert sorted(contents(out)) == sorted(
        [f".{name}.explain.jsonl.partial", f".{name}.partial", f".{name}.progress.json"]
    )
    assert not any(CANARY.encode() in data for data in contents(out).values())

    resumed_status, resumed_summary = finish(start(*options, "--out", out, "--resume"))
    assert resumed_status == whole_status == (1 if name == "a.jsonl" else 0)
    assert {k: v for k, v in contents(out).items() if not k.startswith(".")} == {
        k: v for k, v in contents(tmp_path / "whole").items() if not k.startswith(".")
    }
    assert without_time(resumed_summary, out) == without_time(whole_summary, tmp_path / "whole")
    assert CANARY not in resumed_summary


@pytest.mark.slow
def test_a_killed_folder_of_files_is_continued(tmp_path):
    given = tmp_path / "in"
    for i in range(40):
        file = given / f"sub{i % 3}" / f"note{i:02}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"Ms. {CANARY} had a rash on day {i}. " * 300)
    assert finish(start(given, "--out", tmp_path / "whole"))[0] == 0
    out = tmp_path / "out"
    process = start(given, "--out", out, seconds_a_batch=0.8)
    wait_for(lambda: len(list(out.rglob("*.txt"))) > 3, process)
    process.kill()
    finish(process)
    n_done = len(list(out.rglob("*.txt")))
    assert n_done < 40
    done_before = {path: path.stat().st_mtime_ns for path in out.rglob("*.txt")}
    assert not any(CANARY.encode() in data for data in contents(out).values())

    status, summary = finish(start(given, "--out", out, "--resume"))
    assert status == 0
    assert "40" in summary.splitlines()[0]
    assert contents(out) == contents(tmp_path / "whole")
    assert all(path.stat().st_mtime_ns == mtime for path, mtime in done_before.items())


def test_first_output_comes_from_a_small_batch(tmp_path):
    given = write_cases(tmp_path / "in")[0]
    process = start(given, "--out", tmp_path / "out", seconds_a_batch=2)
    partial = tmp_path / "out" / ".a.jsonl.partial"
    wait_for(lambda: partial.exists() and partial.stat().st_size > 0, process)
    n_lines = partial.read_bytes().count(b"\n")
    process.kill()
    finish(process)
    assert 0 < n_lines < 20


def buffered() -> dict[str, str]:
    """The environment of who has not asked Python to write at once: what failed is left for its end."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def start_pipe(stdin, stdout, **variables: str) -> subprocess.Popen:
    path = os.pathsep.join([str(HERE.parent), str(HERE.parent.parent)])
    command = [sys.executable, str(HERE / "slow_command.py"), "mask", "-", "--format", "csv"]
    environment = {**buffered(), "PYTHONPATH": path, "SECONDS_A_BATCH": "0.05", **variables}
    return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env=environment)


def assert_one_line(process: subprocess.Popen) -> None:
    stderr = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(180) == 2
    assert len(stderr.splitlines()) == 1
    assert "standard output cannot be written" in stderr
    assert CANARY not in stderr


def test_a_closed_pipe_ends_with_one_line(tmp_path):
    with write_cases(tmp_path / "in")[1].open("rb") as stdin:
        process = start_pipe(stdin, subprocess.PIPE)
        process.stdout.read(10)
        process.stdout.close()
        assert_one_line(process)


@needs_full
def test_a_full_disk_behind_standard_output_is_one_line(tmp_path):
    with write_cases(tmp_path / "in")[1].open("rb") as stdin, Path("/dev/full").open("wb") as full:
        assert_one_line(start_pipe(stdin, full))


@needs_full
@pytest.mark.parametrize("before", ["", "click.Group.main = lambda *_, **__: print('left in the buffer')"])
def test_no_command_succeeds_if_standard_output_takes_nothing(before):
    call = f"import click; {before or 'pass'}; from inverse_deid.cli.main import main; main(['--version'])"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", call], check=False, stdout=full, stderr=subprocess.PIPE, env=buffered()
        )
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_disk_that_gets_full_within_the_last_write_is_no_success(tmp_path, unbuffered):
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "prlimit"):
        pytest.skip("needs prlimit")
    with (tmp_path / "out.csv").open("wb") as stdout:
        process = start_pipe(
            subprocess.PIPE, stdout, PYTHONUNBUFFERED=unbuffered, PYTHONDONTWRITEBYTECODE="1"
        )
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (300, 300))
        with process.stdin as stdin:
            stdin.write(b"n,text\r\n1," + b"a rash after the dose " * 20 + b"\r\n")
        assert_one_line(process)
