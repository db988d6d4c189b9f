"""`inverse-deid mask --resume` in this process with a stand-in for the model."""

import errno
import json
from pathlib import Path

import pytest
from fake_maskers import FakeMasker
from masked_folders import NOTE, visible

from inverse_deid.core.files import PartialFile, output_errors


def test_no_space_left_keeps_what_is_safe_and_resumes(command, given, out, monkeypatch):
    lines = [json.dumps({"text": f"{NOTE} {'x' * 3000}"}) for _ in range(600)]
    (given / "a.jsonl").write_text("\n".join(lines))
    (given / "b.txt").write_text("all well")
    written = 0
    real_write = PartialFile.sync

    def full_disk(self: PartialFile):
        nonlocal written
        written += 1
        if written == 3:
            raise_no_space(self)
        return real_write(self)

    def raise_no_space(file: PartialFile):
        with output_errors(file.target):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(PartialFile, "sync", full_disk)
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert "no space left" in result.stderr
    assert (out / "b.txt").read_text() == "all well"
    assert not (out / "a.jsonl").exists()
    assert command("mask", given, "--out", out, "--resume").status == 0
    assert (out / "a.jsonl").read_text().count("\n") == 600
    assert visible(out) == ["a.jsonl", "b.txt"]


@pytest.fixture
def interrupted(command, given, out, monkeypatch) -> Path:
    """A JSON Lines file of which some batches are done."""
    file = given / "a.jsonl"
    file.write_text("\n".join(json.dumps({"text": f"{NOTE} {i}"}) for i in range(900)))
    calls = 0
    real = FakeMasker.mask_many

    def stop(self, docs):
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return real(self, docs)

    with monkeypatch.context() as patch:
        patch.setattr(FakeMasker, "mask_many", stop)
        result = command("mask", file, "--out", out)
    assert result.status == 130
    assert "--resume" in result.stderr
    return file


def test_resume_refuses_a_changed_input(command, interrupted, out):
    interrupted.write_text(interrupted.read_text() + '\n{"text": "more"}')
    result = command("mask", interrupted, "--out", out, "--resume")
    assert result.status == 2
    assert "has changed" in result.stderr
    assert command("mask", interrupted, "--out", out, "--resume", "--force").status == 0
    assert (out / "a.jsonl").read_text().count("\n") == 901


def test_resume_refuses_other_settings(command, interrupted, out):
    result = command("mask", interrupted, "--out", out, "--resume", "--explain")
    assert result.status == 2
    assert "other settings" in result.stderr


def test_resume_refuses_a_changed_partial_file(command, interrupted, out):
    partial = out / ".a.jsonl.partial"
    partial.write_bytes(b"x" + partial.read_bytes()[1:])
    result = command("mask", interrupted, "--out", out, "--resume")
    assert result.status == 2
    assert "was changed" in result.stderr


def test_without_resume_it_starts_anew(command, interrupted, out):
    assert command("mask", interrupted, "--out", out).status == 0
    assert (out / "a.jsonl").read_text().count("\n") == 900
    assert visible(out) == ["a.jsonl"]


def test_resume_after_a_failure_mends_only_what_failed(command, given, out):
    (given / "a.txt").write_text(NOTE)
    (given / "b.txt").write_bytes(b"\xff")
    assert command("mask", given, "--out", out).status == 1
    stamp = (out / "a.txt").stat().st_mtime_ns
    (given / "b.txt").write_text(NOTE)
    assert command("mask", given, "--out", out, "--resume").status == 0
    assert (out / "a.txt").stat().st_mtime_ns == stamp
    assert visible(out) == ["a.txt", "b.txt"]


def test_resume_refuses_other_settings_for_a_folder(command, given, out):
    (given / "a.txt").write_text(NOTE)
    (given / "b.txt").write_bytes(b"\xff")
    assert command("mask", given, "--out", out).status == 1
    result = command("mask", given, "--out", out, "--resume", "--encoding", "latin-1")
    assert result.status == 2
    assert "other settings" in result.stderr
