import json
import os

import pytest

from inverse_deid.core.errors import ConfigurationError, InputError
from inverse_deid.engine.journal import (
    JOURNAL_NAME,
    Entry,
    Journal,
    input_fingerprint,
    is_intact,
    progress_path,
    read_progress,
    remove_progress,
    write_progress,
)
from inverse_deid.engine.partial_file import WrittenState, sha256_of
from inverse_deid.engine.tally import Tally


def entry(settings: str = "s", n: int = 1) -> Entry:
    tally = Tally()
    tally.fail("a line 2", "is broken")
    return Entry("input", settings, n, {"masked": WrittenState(4, "hash")}, tally)


def test_a_journal_is_read_back(tmp_path):
    Journal(tmp_path, "s").append({"a": entry(), "b": entry(n=2)})
    again = Journal(tmp_path, "s")
    assert again.entry("b") == entry(n=2)
    assert again.entry("c") is None
    assert not again.had_other_settings
    again.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_line_that_a_kill_cut_is_skipped_and_the_next_run_appends_safely(tmp_path):
    Journal(tmp_path, "s").append({"a": entry(), "b": entry()})
    path = tmp_path / JOURNAL_NAME
    path.write_bytes(path.read_bytes()[:-20])
    again = Journal(tmp_path, "s")
    assert (again.entry("a"), again.entry("b")) == (entry(), None)
    again.append({"c": entry()})
    last = Journal(tmp_path, "s")
    assert (last.entry("a"), last.entry("c")) == (entry(), entry())


def test_entries_of_other_settings_are_dropped(tmp_path):
    Journal(tmp_path, "old").append({"a": entry("old")})
    journal = Journal(tmp_path, "new")
    assert journal.had_other_settings
    assert journal.entry("a") is None
    journal.append({"b": entry("new")})
    assert not Journal(tmp_path, "new").had_other_settings


def test_progress_is_kept_and_forgotten(tmp_path):
    target = tmp_path / "a.csv"
    assert read_progress(target) is None
    write_progress(target, entry(n=7))
    assert read_progress(target) == entry(n=7)
    progress_path(target).write_text("{")
    assert read_progress(target) is None
    remove_progress(target)
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
    stored = {"output": "a", **entry().as_json(), **change}
    (tmp_path / JOURNAL_NAME).write_text(json.dumps(stored) + "\n[1]\n" + "[" * 100_000)
    assert Journal(tmp_path, "s").entry("a") is None
    progress_path(tmp_path / "a").write_text(json.dumps(stored))
    assert read_progress(tmp_path / "a") is None
