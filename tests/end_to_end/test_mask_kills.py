"""`inverse-deid mask` killed before every single step that changes files, and resumed."""

import json
import os
import shutil
from pathlib import Path

import pytest
from fake_maskers import CANARY
from kill_points import kill_at
from masked_folders import NOTE

from inverse_deid.engine.jobs.journal import JOURNAL_NAME

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
MAX_STEPS = 200


def killed(call, point: str) -> bool:
    """Whether a child process that was to be killed at a step came so far."""
    child = os.fork()
    if not child:
        kill_at(point)
        call()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != JOURNAL_NAME)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def write_texts(given: Path) -> None:
    for name in ("a.txt", "sub/b.txt"):
        (given / name).parent.mkdir(exist_ok=True)
        (given / name).write_text(NOTE)


def write_lines(given: Path) -> None:
    lines = [json.dumps({"text": f"{NOTE} {i}"}) for i in range(300)]
    (given / "a.jsonl").write_text("\n".join(lines))


@pytest.mark.parametrize(("write", "stride"), [(write_texts, 1), (write_lines, 3)])
def test_a_kill_at_a_step_is_resumed_to_the_same_output(command, given, out, tmp_path, write, stride):
    write(given)
    whole = tmp_path / "whole"
    assert command("mask", given, "--out", whole, "--explain").status == 0
    for n_steps in range(1, MAX_STEPS, stride):
        options = ("mask", given, "--out", out, "--explain", "--run-report", tmp_path / "report.json")
        was_killed = killed(lambda options=options: command(*options), str(n_steps))
        assert not any(CANARY.encode() in data for data in contents(out).values()), n_steps
        result = command(*options, "--resume")
        assert result.status == 0, (n_steps, result.stderr)
        assert contents(out) == contents(whole), n_steps
        assert command(*options, "--resume").stderr.startswith("Nothing is left to do"), n_steps
        if not was_killed:
            break
        shutil.rmtree(out)
        (tmp_path / "report.json").unlink()
    assert 20 < n_steps < MAX_STEPS - stride
