"""Progress of `inverse-deid mask` on a real terminal, and none of it in a pipe."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CANARY = "Zebulonova"
N_RECORDS = 1300  # more than a batch of each of two workers
HERE = Path(__file__).parent


@pytest.fixture
def cases(given):
    text = f"{CANARY} was seen by the nurse and all is well. " * 8
    file = given / f"{CANARY}.jsonl"
    file.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i in range(N_RECORDS)))
    return file


def start(*args, **streams):
    path = os.pathsep.join([str(HERE.parent), str(HERE.parent.parent)])
    environment = {**os.environ, "PYTHONPATH": path, "SECONDS_A_BATCH": "0.2"}
    return subprocess.Popen(
        [sys.executable, HERE / "slow_command.py", "mask", *args], env=environment, **streams
    )


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_terminal_shows_percent_and_time_left_within_one_file(cases, out, workers):
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    shown = b""
    streams = dict.fromkeys(("stdout", "stderr", "stdin"), theirs)
    with start(cases, "--out", out, "--workers", str(workers), **streams) as process:
        os.close(theirs)
        try:
            while piece := os.read(ours, 65_536):
                shown += piece
        except OSError:
            pass  # as Linux says that the other side is closed
        os.close(ours)
    assert process.returncode == 0
    said = shown.decode().replace("\r", "\n")
    percents = [int(n) for n in re.findall(r"^ *(\d+) %\|.*\| [\d,]+ documents, about .* left", said, re.M)]
    assert len(percents) > 1
    assert percents == sorted(percents)
    assert any(0 < percent < 100 for percent in percents)
    assert f"Masked {N_RECORDS:,} documents." in said
    assert CANARY not in said.replace(str(cases), "")


def test_a_pipe_shows_only_the_result(cases, out):
    with start(cases, "--out", out, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        stdout, stderr = process.communicate()
    assert process.returncode == 0
    assert "%" not in stderr
    assert stderr.splitlines()[0] == f"Masked {N_RECORDS:,} documents. The masked file is in: {out}"
    assert stdout == ""
