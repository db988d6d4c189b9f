"""The command with the packaged dictionaries and, where it is packaged, the model."""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from fake_maskers import CANARY

ROOT = Path(__file__).parent.parent.parent
PIPELINES = [("--rules-only",), ()]


def start(*args) -> subprocess.Popen:
    command = [sys.executable, "-m", "inverse_deid.cli.main", "mask", *map(str, args)]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen) -> tuple[int, str]:
    _, stderr = process.communicate(timeout=900)
    return process.returncode, stderr.decode()


def finish_within(process: subprocess.Popen, mib: int) -> None:
    """Wait until a run has succeeded, which never took more memory."""
    most_bytes = 0
    watched = psutil.Process(process.pid)
    while process.poll() is None:
        with suppress(psutil.Error):
            most_bytes = max(most_bytes, watched.memory_info().rss)
        time.sleep(0.05)
    status, said = finish(process)
    assert status == 0, said
    assert 0 < most_bytes < mib << 20


def write_cases(file: Path, n: int) -> Path:
    sentence = "Mrs. {name} took aspirin on 3 May {year} and had a rash. Dr. Okonkwo saw her in Velmo. "
    lines = [
        json.dumps({"id": i, "text": sentence.format(name=CANARY, year=1990 + i % 40) * (1 + i % 9)})
        for i in range(n)
    ]
    file.write_text("\n".join(lines))
    return file


@pytest.mark.parametrize("options", [pytest.param(PIPELINES[0], marks=pytest.mark.slow), PIPELINES[1]])
def test_names_and_dates_are_masked_and_the_rash_is_kept(tmp_path, options):
    given = write_cases(tmp_path / "a.jsonl", 20)
    status, summary = finish(start(given, "--out", tmp_path / "out", *options))
    assert status == 0, summary
    masked = (tmp_path / "out" / "a.jsonl").read_text()
    assert CANARY not in masked
    assert "1995" not in masked
    assert "rash" in masked
    assert CANARY not in summary


@pytest.mark.slow
@pytest.mark.parametrize("options", PIPELINES)
def test_a_killed_run_is_resumed_to_the_same_bytes(tmp_path, options):
    given = write_cases(tmp_path / "a.jsonl", 3000)
    assert finish(start(given, "--out", tmp_path / "whole", *options))[0] == 0
    out = tmp_path / "out"
    progress = out / ".a.jsonl.progress.json"
    process = start(given, "--out", out, *options)
    while not progress.exists() and process.poll() is None:
        time.sleep(0.005)
    process.kill()
    finish(process)
    assert not (out / "a.jsonl").exists()
    assert CANARY.encode() not in (out / ".a.jsonl.partial").read_bytes()
    assert finish(start(given, "--out", out, "--resume", *options))[0] == 0
    assert (out / "a.jsonl").read_bytes() == (tmp_path / "whole" / "a.jsonl").read_bytes()
