"""Stores of an older version: a program of a made-up next version opens those of this one.

`store_version_1.sql` has the tables of version 1. Once that version is released, the file never changes: a
change of the tables is a new version with a migration, and a dump of a full store of version 1 is added here.
"""

import sqlite3
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from next_version import NEXT, describe_schema, use_next_version
from review_stores import KEY, TEXT, review, store_of, user
from review_stores import place as open_for

from inverse_deid.cli.main import main
from inverse_deid.core.errors import ConfigurationError, OutputError, UnreadableInputError
from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.flow.work_list import count_cases
from inverse_deid.review.people.accounts import find_user
from inverse_deid.review.store.keys import ReviewKey
from inverse_deid.review.store.migrations import migrate_store
from inverse_deid.review.store.opening import Transaction, open_store
from inverse_deid.review.store.tables import SCHEMA_VERSION
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import CaseState, UserRole

NOW = str(SCHEMA_VERSION)


@pytest.fixture
def older(tmp_path, monkeypatch):
    """The path of a store of this version, with a released case; the program is of the next version."""
    with store_of(tmp_path, [TEXT, "by Bo"], approvals=1) as store:
        review(store, user(store, "ann"), mask=[5])
    use_next_version(monkeypatch, tmp_path)
    return tmp_path / "review.db"


def alter(path, *changes):
    """Change a store as somebody without the program can."""
    raw = sqlite3.connect(path)
    for change in changes:
        raw.execute(change)
    raw.commit()
    raw.close()


def version_of(path):
    raw = sqlite3.connect(path)
    (found,) = raw.execute("select value from meta where name = 'schema version'").fetchone()
    raw.close()
    return found


def test_the_tables_of_a_version_stay_as_they_are(tmp_path):
    """If this fails, add a version and a migration to it, and see above."""
    assert NOW == "1"
    raw = sqlite3.connect(tmp_path / "version_1.db")
    raw.executescript((Path(__file__).parent / "store_version_1.sql").read_text())
    raw.close()
    store_of(tmp_path).close()
    assert describe_schema(tmp_path / "version_1.db") == describe_schema(tmp_path / "review.db")


def test_a_migrated_store_has_the_new_tables_and_everything_that_was_in_it(older, tmp_path):
    assert version_of(older) == NOW
    assert migrate_store(older, KEY, by="dora")
    assert version_of(older) == NEXT
    alter(older, "update cases set colour = 'red'", "insert into shelves values (1)")
    with open_store(older, KEY) as store:
        assert verify_store(store).is_intact
        assert find_user(store, "ann").role is UserRole.ADJUDICATOR
        assert export_released(store, tmp_path / "out").n_cases == 1
        assert review(store, user(store, "bea"), 2) is CaseState.RELEASED
        assert count_cases(store)[CaseState.RELEASED] == 2
        assert verify_store(store).is_intact
    assert not migrate_store(older, KEY, by="dora")


def test_another_key_does_not_migrate_it(older):
    with pytest.raises(ConfigurationError, match="key does not belong to"):
        migrate_store(older, ReviewKey(b"another key of more than 16 bytes"), by="dora")
    assert version_of(older) == NOW


def test_processes_that_migrate_it_at_once_do_so_once(older):
    said = []

    def work():
        try:
            said.append(migrate_store(older, KEY, by="dora"))
        except BaseException as fault:  # noqa: BLE001 - told by the assertion below
            said.append(fault)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert set(said) <= {True, False} and len(said) == 6 and version_of(older) == NEXT
    raw = sqlite3.connect(older)
    migrated = "select count(*) from trail where line like '%store migrated from version%'"
    assert raw.execute(migrated).fetchone() == (1,)
    raw.close()


def test_a_fault_leaves_it_as_it_was(older, monkeypatch):
    def fail(*_):
        raise UnreadableInputError("the disk broke")

    monkeypatch.setattr(Transaction, "record", fail)
    with pytest.raises(UnreadableInputError, match="the disk broke"):
        migrate_store(older, KEY, by="dora")
    raw = sqlite3.connect(older)
    tables = {name for (name,) in raw.execute("select name from sqlite_master where type = 'table'")}
    raw.close()
    assert version_of(older) == NOW and "shelves" not in tables


def test_an_older_store_is_migrated_only_by_the_command_for_it(older):
    given = ["--store", str(older), "--key", str(older.with_name("key"))]
    older.with_name("key").write_bytes(KEY.secret)
    older.with_name("key").chmod(0o600)
    said = CliRunner().invoke(main, ["review", "user", "list", *given])
    assert said.exit_code == 2 and "Run inverse-deid review migrate" in said.output
    assert version_of(older) == NOW
    said = CliRunner().invoke(main, ["review", "migrate", *given])
    assert said.exit_code == 0 and version_of(older) == NEXT
    said = CliRunner().invoke(main, ["review", "migrate", *given])
    assert "is not of an older version" in said.output and said.exit_code == 2


def test_a_store_does_not_pass_for_an_older_one(older):
    """Otherwise a migration could be made to seal what somebody forged."""
    migrate_store(older, KEY, by="dora")
    alter(older, f"update meta set value = '{NOW}' where name = 'schema version'")
    with pytest.raises(UnreadableInputError, match="meta schema version of the store was altered outside"):
        migrate_store(older, KEY, by="dora")


def test_a_forged_row_gets_no_seal_from_a_migration(older):
    alter(
        older, "insert into users values (9, 'eve', 'none', 'admin', 1, 0, null, null, null, null, null, 'x')"
    )
    migrate_store(older, KEY, by="dora")
    with open_store(older, KEY) as store:
        assert verify_store(store).problems == ("users 9 was altered outside the program",)


@pytest.mark.parametrize("version", ["0", "9", "older"])
def test_a_store_of_an_unknown_version_is_refused(older, version):
    alter(older, f"update meta set value = '{version}' where name = 'schema version'")
    with pytest.raises(UnreadableInputError, match=rf"has version {version}, .* Install a newer program"):
        open_store(older, KEY)
    with pytest.raises(UnreadableInputError, match=rf"has version {version}, .* Install a newer program"):
        migrate_store(older, KEY, by="dora")


def test_a_running_program_does_not_write_into_a_store_that_was_migrated_meanwhile(tmp_path):
    with store_of(tmp_path) as running:
        ann = user(running, "ann")
        alter(tmp_path / "review.db", "update meta set value = '2' where name = 'schema version'")
        with pytest.raises(OutputError, match="another program gave the store other tables"):
            open_for(running, ann)
