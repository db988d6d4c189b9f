"""Progress of `inverse-deid mask` on a real terminal, and none of it in a pipe."""

import json
import os
import re
import subprocess
import sys

import pytest

CANARY = "Zebulonova"
N_RECORDS = 5200  # enough for several frames of the bar, also where batches come in bursts


@pytest.fixture
def cases(given):
    text = f"{CANARY} was seen by the nurse and all is well. " * 4
    file = given / f"{CANARY}.jsonl"
    file.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i in range(N_RECORDS)))
    return file


def command(*args):
    return [sys.executable, "-m", "inverse_deid.cli.main", "mask", *map(str, args), "--rules-only"]


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_terminal_shows_percent_and_time_left_within_one_file(cases, out, workers):
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    shown = b""
    with subprocess.Popen(
        command(cases, "--out", out, "--workers", workers), stdout=theirs, stderr=theirs, stdin=theirs
    ) as process:
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
    done = subprocess.run(command(cases, "--out", out), capture_output=True, text=True, check=True)
    assert "%" not in done.stderr
    assert done.stderr.splitlines()[0] == f"Masked {N_RECORDS:,} documents. The masked file is in: {out}"
    assert done.stdout == ""
