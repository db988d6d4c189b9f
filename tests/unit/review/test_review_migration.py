"""Stores that older versions of the program made."""

import json
import sqlite3
import threading

import pytest
from click.testing import CliRunner
from older_stores import VERSIONS, describe_schema, make_older_store
from review_stores import KEY, read_entries, review, store_of, user
from review_stores import place as open_for

from inverse_deid.cli.main import main
from inverse_deid.core.errors import ConfigurationError, OutputError, UnreadableInputError
from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.files.waiting import list_uploads, read_bytes
from inverse_deid.review.flow.causality import read_form
from inverse_deid.review.flow.quality import read_sample
from inverse_deid.review.flow.reading import view_case
from inverse_deid.review.flow.work_list import count_cases, list_cases
from inverse_deid.review.people.accounts import find_user
from inverse_deid.review.store import migrations
from inverse_deid.review.store.opening import ReviewKey, open_store
from inverse_deid.review.store.rotation import rotate_key
from inverse_deid.review.store.sources import list_sources
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import CaseState, WorkFilter


@pytest.fixture
def older(tmp_path):
    """The path of a store of version 1."""
    return make_older_store(tmp_path / "review.db", "1")


def version_of(path):
    raw = sqlite3.connect(path)
    (found,) = raw.execute("select value from meta where name = 'schema version'").fetchone()
    raw.close()
    return found


def test_an_older_store_opens_with_everything_in_it(older, tmp_path):
    assert version_of(older) == "1"
    with open_store(older, KEY, migrates=True) as store:
        assert version_of(older) == "3"
        assert [(one.name, one.n_cases, one.n_released) for one in list_sources(store)] == [
            ("cases.jsonl", 2, 1),
            ("table.csv", 2, 1),
            ("a.txt", 1, 0),
        ]
        assert {row.name: row.source for row in list_cases(store, WorkFilter()).rows} == {
            "c1": "cases.jsonl",
            "c2": "cases.jsonl",
            "7": "table.csv",
            "8": "table.csv",
            "a.txt": "a.txt",
        }
        view = view_case(store, find_user(store, "ann"), 2)
        assert [note.text for note in view.notes] == ["Lindqvist is a name"]
        assert view.facts.marker == "XXX" and view.revision == 1
        assert not find_user(store, "ann").must_change_password
        assert verify_store(store).is_intact
        exported = export_released(store, tmp_path / "out")
        assert (exported.n_cases, exported.n_left_out, exported.problems) == (2, 3, ())
    line = json.loads((tmp_path / "out" / "cases.jsonl").read_text())
    assert line == {"id": "c1", "text": "seen by XXX today, then XXX left", "country": "FI"}
    assert (tmp_path / "out" / "table.csv").read_bytes() == b"id,text,country\n7,XXX by XXX,FI\n"


def test_work_goes_on_in_an_older_store(older):
    with open_store(older, KEY, migrates=True) as store:
        bea = find_user(store, "bea")
        assert review(store, bea, 5) is CaseState.RELEASED
        assert read_entries(store, 5)[-1]["new"] == "released"
        assert read_entries(store, 5)[-1]["model"] == "ab" * 32
    with open_store(older, KEY, migrates=True) as store:
        assert count_cases(store)[CaseState.RELEASED] == 3
        assert verify_store(store).is_intact
        open_for(store, user(store, "cem"), 4)


def test_another_key_does_not_migrate_it(older):
    with pytest.raises(ConfigurationError, match="key does not belong to"):
        open_store(older, ReviewKey(b"another key of more than 16 bytes"))
    assert version_of(older) == "1"


def test_processes_that_open_it_at_once_migrate_it_once(older):
    faults = []

    def work():
        try:
            with open_store(older, KEY, migrates=True) as store:
                assert len(list_sources(store)) == 3
        except BaseException as fault:  # noqa: BLE001 - told by the assertion below
            faults.append(fault)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not faults and version_of(older) == "3"
    raw = sqlite3.connect(older)
    assert raw.execute("select count(*) from intakes").fetchone() == (3,)
    raw.close()


def test_a_fault_leaves_it_as_it_was(older, monkeypatch):
    def fail(*_):
        raise UnreadableInputError("the disk broke")

    monkeypatch.setattr(migrations, "seal_all", fail)
    with pytest.raises(UnreadableInputError, match="the disk broke"):
        open_store(older, KEY, migrates=True)
    raw = sqlite3.connect(older)
    tables = {name for (name,) in raw.execute("select name from sqlite_master where type = 'table'")}
    raw.close()
    assert version_of(older) == "1" and "intakes" not in tables


def test_an_older_store_is_migrated_only_by_the_command_for_it(older):
    """Otherwise an older copy with a forged account, put in the place of the store, would get new seals."""
    given = ["--store", str(older), "--key", str(older.with_name("key"))]
    older.with_name("key").write_bytes(KEY.secret)
    older.with_name("key").chmod(0o600)
    said = CliRunner().invoke(main, ["review", "user", "list", *given])
    assert said.exit_code == 2 and "Run inverse-deid review migrate" in said.output
    assert version_of(older) == "1"
    said = CliRunner().invoke(main, ["review", "migrate", *given])
    assert said.exit_code == 0 and version_of(older) == "3"
    said = CliRunner().invoke(main, ["review", "migrate", *given])
    assert "is not of an older version" in said.output and said.exit_code == 2


def test_a_head_of_this_version_does_not_pass_for_an_older_one(tmp_path):
    """The number of entries is moved into the hash, so that the seal would be that of an older head."""
    path = make_older_store(tmp_path / "review.db", "2")
    raw = sqlite3.connect(path)
    (check,) = raw.execute("select value from meta where name = 'key check'").fetchone()
    raw.close()
    with open_store(path, KEY, migrates=True) as store:
        user(store, "cem")
    raw = sqlite3.connect(path)
    raw.execute("update meta set value = '2' where name = 'schema version'")
    raw.execute("update meta set name = 'key check', value = ? where name = 'keys'", (check,))
    raw.execute("update users set role = 'admin'")
    raw.execute("update trail_head set hash = n_entries || ' ' || hash, n_entries = 3")
    raw.execute("delete from trail where number > 3")
    raw.commit()
    raw.close()
    with pytest.raises(UnreadableInputError, match="the head of the trail was altered"):
        open_store(path, KEY, migrates=True)


def test_a_damaged_file_does_not_keep_it_from_opening(older, tmp_path):
    raw = sqlite3.connect(older)
    raw.execute("update sources set sealed = x'00' where id = 2")
    raw.commit()
    raw.close()
    with open_store(older, KEY, migrates=True) as store:
        assert version_of(older) == "3"
        exported = export_released(store, tmp_path / "out")
        assert [path.name for path in exported.files] == ["cases.jsonl"]
        assert exported.problems[0].startswith("table.csv: file 2 of the store cannot be decrypted")


def test_a_store_of_a_newer_version_is_refused(older):
    raw = sqlite3.connect(older)
    raw.execute("update meta set value = '9' where name = 'schema version'")
    raw.commit()
    raw.close()
    with pytest.raises(UnreadableInputError, match=r"has version 9, .* Install a newer program"):
        open_store(older, KEY, migrates=True)


def test_a_store_of_version_2_opens_with_everything_in_it(tmp_path):
    path = make_older_store(tmp_path / "review.db", "2")
    with open_store(path, KEY, migrates=True) as store:
        assert [(one.name, one.n_cases, one.n_released) for one in list_sources(store)][2:] == [
            ("a.txt", 1, 0),
            ("more.jsonl", 2, 1),
        ]
        bea = find_user(store, "bea")
        assert read_form(store, bea, 6).remark == "Bergstrom was well"
        assert read_bytes(store, list_uploads(store)[0].id) == b"Bergstrom"
        assert read_sample(store).case_ids == (1, 6)
        assert verify_store(store).is_intact
        assert review(store, user(store, "cem"), 7) is CaseState.RELEASED
        assert export_released(store, tmp_path / "out").problems == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_migrated_store_has_the_tables_of_a_new_one(version, tmp_path):
    path = make_older_store(tmp_path / "older.db", version)
    open_store(path, KEY, migrates=True).close()
    store_of(tmp_path).close()
    assert describe_schema(path) == describe_schema(tmp_path / "review.db")


@pytest.mark.parametrize("version", VERSIONS)
def test_pseudonyms_of_an_older_store_stay_and_its_key_can_be_changed(version, tmp_path):
    path = make_older_store(tmp_path / "review.db", version)
    new_key = ReviewKey(b"another key of more than 16 bytes")
    open_store(path, KEY, migrates=True).close()
    rotate_key(path, KEY, new_key, by="dora")
    with pytest.raises(ConfigurationError):
        open_store(path, KEY)
    with open_store(path, new_key) as store:
        assert store.case_key == KEY.secret
        assert export_released(store, tmp_path / "out").problems == ()
        assert verify_store(store).is_intact


def test_a_running_program_does_not_write_into_a_store_that_was_migrated_meanwhile(older):
    with open_store(older, KEY, migrates=True) as running:
        ann = user(running, "cem")
        raw = sqlite3.connect(older)
        raw.execute("update meta set value = '4' where name = 'schema version'")
        raw.commit()
        raw.close()
        with pytest.raises(OutputError, match="another program gave the store other tables"):
            open_for(running, ann, 4)
