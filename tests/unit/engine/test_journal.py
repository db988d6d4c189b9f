import json
import os
from pathlib import Path

import pytest

from inverse_deid.core.errors import ConfigurationError, InputError
from inverse_deid.core.files import WrittenState, sha256_of
from inverse_deid.engine.jobs import Job, Output
from inverse_deid.engine.journal import (
    JOURNAL_NAME,
    Entry,
    Journal,
    check_unchanged,
    input_fingerprint,
    is_intact,
    progress_path,
    read_progress,
    remove_progress,
    write_progress,
)
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.registry import FORMATS

JOB_NAMES = ("a", "b", "c")


def job_of(name: str, folder: Path = Path("out"), given: Path = Path("in")) -> Job:
    path = given / name
    status = path.stat() if path.exists() else None
    identity = (0, 0) if status is None else (status.st_dev, status.st_ino)
    output = Output("masked", folder / name)
    return Job(path, str(path), name, FORMATS["text"], 1, identity, (output,))


A, B, C = map(job_of, JOB_NAMES)


def entry(settings: str = "s", n: int = 1, name: str = "a") -> Entry:
    tally = Tally()
    tally.fail(f"in/{name} line 2", "is broken")
    return Entry("input", settings, n, {"masked": WrittenState(4, "hash")}, tally)


def test_a_journal_is_read_back(tmp_path):
    Journal(tmp_path, "s").append({A: entry(), B: entry(n=2, name="b")})
    again = Journal(tmp_path, "s")
    assert again.entry(B) == entry(n=2, name="b")
    assert again.entry(C) is None
    assert not again.had_other_settings


def test_a_line_that_a_kill_cut_is_skipped_and_the_next_run_appends_safely(tmp_path):
    Journal(tmp_path, "s").append({A: entry(), B: entry()})
    path = tmp_path / JOURNAL_NAME
    path.write_bytes(path.read_bytes()[:-20])
    again = Journal(tmp_path, "s")
    assert (again.entry(A), again.entry(B)) == (entry(), None)
    again.append({C: entry(name="c")})
    last = Journal(tmp_path, "s")
    assert (last.entry(A), last.entry(C)) == (entry(), entry(name="c"))


def test_entries_of_other_settings_are_dropped(tmp_path):
    Journal(tmp_path, "old").append({A: entry("old")})
    journal = Journal(tmp_path, "new")
    assert journal.had_other_settings
    assert journal.entry(A) is None
    journal.append({B: entry("new")})
    assert not Journal(tmp_path, "new").had_other_settings


def test_progress_is_kept_and_forgotten(tmp_path):
    job = job_of("a", tmp_path, Path("in"))
    assert read_progress(job) is None
    write_progress(job, entry(n=7))
    assert read_progress(job) == entry(n=7)
    progress_path(job.target).write_text("{")
    assert read_progress(job) is None
    remove_progress(job.target)
    assert list(tmp_path.iterdir()) == []


def test_a_changed_input_and_other_settings_are_refused():
    entry().check("input", "s")
    with pytest.raises(InputError, match="--force"):
        entry().check("other", "s")
    with pytest.raises(ConfigurationError, match="--force"):
        entry().check("input", "other")


def test_a_fingerprint_changes_with_beginning_size_and_time(tmp_path):
    file = tmp_path / "a"
    prints = set()
    for data, time in ((b"aa", 1), (b"ab", 1), (b"aab", 1), (b"aa", 2)):
        file.write_bytes(data)
        os.utime(file, (time, time))
        prints.add(input_fingerprint(file))
    assert len(prints) == 4


def test_an_output_is_intact_if_it_is_what_was_written(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"text")
    state = WrittenState(4, sha256_of(file))
    assert is_intact(file, state)
    file.write_bytes(b"TEXT")
    assert not is_intact(file, state)
    assert not is_intact(file, None)
    assert not is_intact(tmp_path / "gone", state)


@pytest.mark.parametrize(
    "change",
    [{"files": []}, {"tally": {"tokens_by_reason": [1]}}, {"tally": 5}, {"files": {"masked": 7}}],
)
def test_a_damaged_record_counts_as_none(tmp_path, change):
    Journal(tmp_path, "s").append({A: entry()})
    stored = {**json.loads((tmp_path / JOURNAL_NAME).read_text()), **change}
    (tmp_path / JOURNAL_NAME).write_text(json.dumps(stored) + "\n[1]\n" + "[" * 100_000)
    assert Journal(tmp_path, "s").entry(A) is None
    job = job_of("a", tmp_path)
    progress_path(job.target).write_text(json.dumps(stored))
    assert read_progress(job) is None


def test_records_tell_no_file_name_and_only_their_owner_reads_them(tmp_path):
    job = job_of("Okonkwo.csv", tmp_path, Path("/patients/Okonkwo"))
    tally = Tally()
    tally.fail(f"{job.shown} row 2", "is broken")
    of_okonkwo = Entry("input", "s", 3, {"masked": WrittenState(4, "hash")}, tally)
    Journal(tmp_path, "s").append({job: of_okonkwo})
    write_progress(job, of_okonkwo)
    for path in (tmp_path / JOURNAL_NAME, progress_path(job.target)):
        assert "konkwo" not in path.read_text()
        assert path.stat().st_mode & 0o777 == 0o600
    assert Journal(tmp_path, "s").entry(job) == read_progress(job) == of_okonkwo


@pytest.fixture
def finished(tmp_path) -> tuple[Path, Path, Job]:
    """The output folder, the input and the job of a run that is complete."""
    given, out = tmp_path / "in", tmp_path / "out"
    given.mkdir()
    out.mkdir()
    (given / "a").write_text("original")
    (out / "a").write_text("masked")
    job = job_of("a", out, given)
    state = WrittenState(6, sha256_of(out / "a"))
    journal = Journal(out, "s")
    journal.append({job: Entry(input_fingerprint(job.input), "s", 1, {"masked": state}, Tally())})
    journal.finish([job])
    return out, given / "a", job


def test_a_run_that_is_complete_leaves_one_hash(finished):
    out, _, job = finished
    assert [set(json.loads(line)) for line in (out / JOURNAL_NAME).read_text().splitlines()] == [{"finished"}]
    assert Journal(out, "s").is_finished([job])
    assert Journal(out, "s").entry(job) is None
    assert not Journal(out, "other").is_finished([job])
    assert not Journal(out, "s").is_finished([job, job])
    assert not Journal(out, "s").had_other_settings


@pytest.mark.parametrize("change", ["input", "output", "no output", "linked output"])
def test_what_changed_since_is_not_finished(finished, tmp_path, change):
    out, given, job = finished
    path = given if change == "input" else out / "a"
    if change in ("no output", "linked output"):
        path.rename(tmp_path / "elsewhere")
    if change == "linked output":
        path.symlink_to(tmp_path / "elsewhere")
    if change in ("input", "output"):
        path.write_text(path.read_text().upper())
    assert not Journal(out, "s").is_finished([job])


def test_an_earlier_run_stays_finished(finished, tmp_path):
    out, _, job = finished
    (tmp_path / "in" / "b").write_text("original")
    other = job_of("b", out, tmp_path / "in")
    (out / "b").write_text("masked")
    journal = Journal(out, "other")
    state = WrittenState(6, sha256_of(out / "b"))
    journal.append({other: Entry(input_fingerprint(other.input), "other", 1, {"masked": state}, Tally())})
    journal.finish([other])
    assert Journal(out, "s").is_finished([job])
    assert Journal(out, "other").is_finished([other])


def test_an_input_that_changed_meanwhile_is_refused(tmp_path):
    path = tmp_path / "a"
    path.write_text("one")
    job, known = job_of("a", tmp_path, tmp_path), input_fingerprint(path)
    check_unchanged(job, known)
    status = path.stat()
    path.rename(tmp_path / "older")
    path.write_text("one")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(InputError, match="changed during the run"):
        check_unchanged(job, known)
