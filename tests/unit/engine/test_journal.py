import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from refusals import refuses

from inverse_deid.core.errors import ConfigurationError, InputError
from inverse_deid.core.files import WrittenState, sha256_of
from inverse_deid.engine.jobs.journal import (
    JOURNAL_NAME,
    Entry,
    InputSeal,
    Journal,
    check_unchanged,
    input_fingerprint,
    is_intact,
    progress_path,
    read_progress,
    remove_progress,
    write_progress,
)
from inverse_deid.engine.jobs.planning import Job, Output
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.registry import FORMATS

JOB_NAMES = ("a", "b", "c")


def job_of(name: str, folder: Path = Path("out"), given: Path = Path("in")) -> Job:
    path = given / name
    status = path.stat() if path.exists() else None
    identity = (0, 0) if status is None else (status.st_dev, status.st_ino)
    output = Output("masked", folder / name)
    return Job(path, str(path), name, FORMATS["text"], 1, identity, (output,))


@pytest.fixture
def jobs(tmp_path) -> list[Job]:
    """Three inputs, and an output folder that is not there yet."""
    (tmp_path / "in").mkdir()
    for name in JOB_NAMES:
        (tmp_path / "in" / name).write_text(f"original {name}")
    return [job_of(name, tmp_path / "out", tmp_path / "in") for name in JOB_NAMES]


def entry(job: Job, n: int = 1) -> Entry:
    tally = Tally()
    tally.fail(f"{job.shown} line 2", "is broken")
    return Entry("input", n, {"masked": WrittenState(4, "hash")}, tally)


def test_a_journal_is_read_back(jobs, tmp_path):
    a, b, c = jobs
    Journal(tmp_path, "s").append({a: entry(a), b: entry(b, n=2)})
    again = Journal(tmp_path, "s")
    assert again.entry(b) == entry(b, n=2)
    assert again.entry(c) is None
    assert not again.has_other_settings(jobs)


def test_a_line_that_a_kill_cut_is_skipped_and_the_next_run_appends_safely(jobs, tmp_path):
    a, b, c = jobs
    Journal(tmp_path, "s").append({a: entry(a), b: entry(b)})
    path = tmp_path / JOURNAL_NAME
    path.write_bytes(path.read_bytes()[:-20])
    again = Journal(tmp_path, "s")
    assert (again.entry(a), again.entry(b)) == (entry(a), None)
    again.append({c: entry(c)})
    last = Journal(tmp_path, "s")
    assert (last.entry(a), last.entry(c)) == (entry(a), entry(c))


def test_entries_of_other_settings_are_not_used(jobs, tmp_path):
    a, b, _ = jobs
    Journal(tmp_path, "old").append({a: entry(a)})
    journal = Journal(tmp_path, "new")
    assert journal.has_other_settings(jobs)
    assert not journal.has_other_settings([b])
    assert journal.entry(a) is None
    journal.append({a: entry(a), b: entry(b)})
    assert not Journal(tmp_path, "new").has_other_settings(jobs)


@pytest.mark.parametrize("keys", [(b"one key", b"another key"), (b"", b"a key"), (b"a key", b"")])
def test_entries_of_another_key_are_not_used(jobs, tmp_path, keys):
    Journal(tmp_path, "s", keys[0]).append({jobs[0]: entry(jobs[0])})
    assert Journal(tmp_path, "s", keys[0]).entry(jobs[0]) == entry(jobs[0])
    assert Journal(tmp_path, "s", keys[1]).entry(jobs[0]) is None


def test_an_entry_of_an_input_that_changed_is_not_used(jobs, tmp_path):
    Journal(tmp_path, "s").append({jobs[0]: entry(jobs[0])})
    status = jobs[0].input.stat()
    jobs[0].input.write_text("ORIGINAL a")
    os.utime(jobs[0].input, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert Journal(tmp_path, "s").entry(jobs[0]) is None


def test_progress_is_kept_and_forgotten(jobs, tmp_path):
    job = job_of("a", tmp_path / "out", tmp_path / "in")
    (tmp_path / "out").mkdir()
    seal = InputSeal.of(job, "s", b"key")
    assert read_progress(job, seal) is None
    write_progress(job, entry(job, n=7), seal)
    assert read_progress(job, seal) == entry(job, n=7)
    for damaged in ("{", json.dumps({**seal.close({}), "sealed": "00"}), json.dumps(seal.close({"n": 1}))):
        progress_path(job.target).write_text(damaged)
        assert read_progress(job, seal) is None
    remove_progress(job.target)
    assert list((tmp_path / "out").iterdir()) == []


def test_progress_of_a_changed_input_or_of_other_settings_is_refused(jobs, tmp_path):
    job = jobs[0]
    (tmp_path / "out").mkdir()
    write_progress(job, entry(job), InputSeal.of(job, "s", b"key"))
    for settings, key in (("other", b"key"), ("s", b"other key"), ("other", b"other key")):
        with suppress(ConfigurationError):
            assert read_progress(job, InputSeal.of(job, settings, key)) is None
    with refuses(ConfigurationError, match="--force"):
        read_progress(job, InputSeal.of(job, "other", b"key"))
    with refuses(InputError, match="--force"):
        read_progress(job, InputSeal.of(job, "s", b""))
    job.input.write_text("another")
    with refuses(InputError, match="--force"):
        read_progress(job, InputSeal.of(job, "s", b"key"))


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
def test_a_damaged_record_counts_as_none(jobs, tmp_path, change):
    job, seal = jobs[0], InputSeal.of(jobs[0], "s", b"")
    stored = json.dumps(seal.close({**entry(job).as_json(job.shown), **change}))
    (tmp_path / JOURNAL_NAME).write_text(stored + "\n[1]\n" + "[" * 100_000)
    assert Journal(tmp_path, "s").entry(job) is None
    (tmp_path / "out").mkdir()
    progress_path(job.target).write_text(stored)
    assert read_progress(job, seal) is None


@pytest.mark.parametrize("key", [b"", b"sixteen bytes or"])
def test_records_tell_no_word_and_only_their_owner_reads_them(tmp_path, key):
    (tmp_path / "Okonkwo.csv").write_text("text\nwell\n")
    job = job_of("Okonkwo.csv", tmp_path, tmp_path)
    tally = Tally(columns={"Okonkwo": "dropped"}, other_language=["Okonkwo"])
    tally.fail(f"{job.shown} file 2 (Okonkwo.csv) row 2", "has no column 'Okonkwo'")
    of_okonkwo = Entry("input", 3, {"masked": WrittenState(4, "hash")}, tally, {"Okonkwo.xml": {}})
    Journal(tmp_path, "s", key).append({job: of_okonkwo})
    seal = InputSeal.of(job, "s", key)
    write_progress(job, of_okonkwo, seal)
    for path in (tmp_path / JOURNAL_NAME, progress_path(job.target)):
        stored = path.read_text()
        for shown in (stored.encode(), *map(bytes.fromhex, json.loads(stored).values())):
            assert b"konkwo" not in shown
        for guess in ("Okonkwo.csv", "Okonkwo", "s"):
            assert hashlib.sha256(guess.encode()).hexdigest() not in stored
        assert path.stat().st_mode & 0o777 == 0o600
    assert Journal(tmp_path, "s", key).entry(job) == read_progress(job, seal) == of_okonkwo
    assert "secret" not in repr(seal)


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
    journal.append({job: Entry(input_fingerprint(job.input), 1, {"masked": state}, Tally())})
    journal.finish([job])
    return out, given / "a", job


def test_a_run_that_is_complete_leaves_one_hash(finished):
    out, _, job = finished
    assert [set(json.loads(line)) for line in (out / JOURNAL_NAME).read_text().splitlines()] == [{"finished"}]
    assert Journal(out, "s").is_finished([job])
    assert Journal(out, "s").entry(job) is None
    assert not Journal(out, "other").is_finished([job])
    assert not Journal(out, "s").is_finished([job, job])
    assert not Journal(out, "s").has_other_settings([job])


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
    journal.append({other: Entry(input_fingerprint(other.input), 1, {"masked": state}, Tally())})
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
