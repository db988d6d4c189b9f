"""Backups, changes of the key and forged values in SQLite and in PostgreSQL: both do the same."""

import shutil

import pytest
from postgres_cluster import postgres_address
from review_stores import KEY, TEXT, place, review, store_of, user
from sqlalchemy import create_engine, inspect

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.masking.assemble import MaskingSettings
from inverse_deid.review.files.waiting import add_piece, begin_upload, list_uploads, read_bytes
from inverse_deid.review.flow.editing import add_note
from inverse_deid.review.flow.word_lists import (
    Asked,
    Done,
    Sort,
    add_entry,
    count_places,
    follow_lists,
    list_entries,
    remove_entry,
)
from inverse_deid.review.flow.work_list import list_cases
from inverse_deid.review.store import rotation
from inverse_deid.review.store.backup import restore_backup, write_backup
from inverse_deid.review.store.deletion import delete_source
from inverse_deid.review.store.keys import ReviewKey
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.rotation import rotate_key
from inverse_deid.review.store.tables import ENCRYPTED, META
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import UserRole, WorkFilter

pytestmark = pytest.mark.slow

NEW_KEY = ReviewKey(b"fedcba9876543210fedcba9876543210")


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """The address of an empty database of a kind."""
    if request.param == "sqlite":
        yield tmp_path / "target.db"
        return
    with postgres_address() as found:
        yield found


def fill(address, tmp_path):
    """Make a store in a database with a released case, notes and a file that waits."""
    with store_of(tmp_path, [TEXT, TEXT], address=str(address)) as store:
        ann, bea = user(store, "ann"), user(store, "bea")
        add_note(store, place(store, ann, 2), "a note")
        review(store, ann, 1)
        review(store, bea, 1)
        upload = begin_upload(store, "waiting.txt", 8, by="ann")
        add_piece(store, upload.id, 0, b"by Bako.")


def run(address, *statements):
    """Run statements as somebody who has no key can."""
    engine = create_engine(address if isinstance(address, str) else f"sqlite:///{address}")
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def tables_of(address):
    engine = create_engine(address if isinstance(address, str) else f"sqlite:///{address}")
    names = inspect(engine).get_table_names() if isinstance(address, str) or address.exists() else []
    engine.dispose()
    return names


def check(address, key):
    with open_store(address, key) as store:
        assert verify_store(store).is_intact
        assert {row.name for row in list_cases(store, WorkFilter()).rows} == {"c1", "c2"}
        (upload,) = list_uploads(store) or [None]
        assert upload is None or read_bytes(store, upload.id) == b"by Bako."


def test_word_lists_are_stored_changed_and_deleted(address, tmp_path):
    with store_of(tmp_path, [TEXT, TEXT], address=str(address)) as store:
        carl = user(store, "carl", UserRole.ADJUDICATOR)
        asked = [Asked(("Okonkwo",), 1), Asked(("today",))]
        for one, sort in zip(asked, (Sort.NEVER, Sort.ALWAYS), strict=True):
            found = count_places(store, carl, one)[sort]
            assert add_entry(store, carl, one, sort, found, for_new_files=True) == Done(2)
    rotate_key(address, KEY, NEW_KEY, by="dora")
    with open_store(address, NEW_KEY) as store:
        assert follow_lists(store, MaskingSettings()).allow == {"Okonkwo"}
        entries = {one.asked.text: one for one in list_entries(store, carl)}
        assert remove_entry(store, carl, entries["today"].id) == Done(2)
        assert delete_source(store, 1, by="dora").n_listed == 1
        assert list_entries(store, carl) == ()
        assert verify_store(store).is_intact


class TestBackup:
    @pytest.fixture
    def backup(self, tmp_path):
        folder = tmp_path / "first"
        folder.mkdir()
        fill(folder / "review.db", folder)
        with open_store(folder / "review.db", KEY) as store:
            write_backup(store, KEY, tmp_path / "backup", by="dora")
        return tmp_path / "backup"

    @pytest.mark.parametrize(
        "damage",
        [
            lambda data: data[:-1],
            lambda data: data[: len(data) // 2],
            lambda data: (
                data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
            ),
            lambda data: data[:-20] + bytes(20),
            lambda data: data + data[-64:],
            lambda data: data[:40],
        ],
        ids=["one byte short", "half", "a bit flipped", "end zeroed", "more at the end", "a head alone"],
    )
    def test_a_damaged_backup_restores_nothing_and_the_whole_one_does(self, backup, address, damage):
        broken = backup.with_name("broken")
        broken.write_bytes(damage(backup.read_bytes()))
        with pytest.raises(UnreadableInputError, match="Nothing was restored"):
            restore_backup(broken, address, KEY, by="dora")
        assert tables_of(address) == []
        with pytest.raises(UnreadableInputError, match="Nothing was restored"):
            restore_backup(backup, address, NEW_KEY, by="dora")
        assert tables_of(address) == []
        assert restore_backup(backup, address, KEY, by="dora").n_cases == 2
        check(address, KEY)

    def test_a_backup_moves_from_one_database_to_the_other_and_back(self, backup, address, tmp_path):
        restore_backup(backup, address, KEY, by="dora")
        with open_store(address, KEY) as store:
            write_backup(store, KEY, tmp_path / "again", by="dora")
        restore_backup(tmp_path / "again", tmp_path / "back.db", KEY, by="dora")
        check(tmp_path / "back.db", KEY)


class TestRotation:
    @pytest.fixture
    def filled(self, address, tmp_path):
        fill(address, tmp_path)
        return address

    def test_everything_is_encrypted_again_and_the_old_key_opens_nothing(self, filled):
        with open_store(filled, KEY) as store:
            old = store.sealer
        done = rotate_key(filled, KEY, NEW_KEY, by="dora")
        assert done.n_damaged == 0
        with pytest.raises(ConfigurationError):
            open_store(filled, KEY)
        check(filled, NEW_KEY)
        n_values = 0
        with open_store(filled, NEW_KEY) as store, store.reading() as transaction:
            for column in ENCRYPTED:
                for row in transaction.execute(column.table.select()).mappings():
                    if row[column.name] is not None:
                        n_values += 1
                        with pytest.raises(UnreadableInputError):
                            old.open(row[column.name], column.info["place"].format_map(row))
        assert n_values > 6

    def test_an_interrupted_change_is_resumed(self, filled, monkeypatch):
        def stop(*_, **__):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(rotation, "_finish", stop)
            with pytest.raises(KeyboardInterrupt):
                rotate_key(filled, KEY, NEW_KEY, by="dora")
        with open_store(filled, NEW_KEY) as store:
            assert len(store.keys.data) == 2 and verify_store(store).is_intact
        rotate_key(filled, KEY, NEW_KEY, by="dora")
        check(filled, NEW_KEY)
        with open_store(filled, NEW_KEY) as store:
            assert len(store.keys.data) == 1

    @pytest.mark.parametrize(
        ("forgery", "named"),
        [
            ("update contents set sealed_text = sealed_tokens where case_id = 2", "contents 2"),
            ("update waiting_pieces set sealed = (select sealed from sources)", "waiting_pieces 1 0"),
            ("update sources set sealed = (select sealed_text from contents where case_id = 1)", "sources 1"),
        ],
    )
    def test_a_change_of_the_key_hides_no_forged_value(self, filled, forgery, named):
        run(filled, forgery)
        assert rotate_key(filled, KEY, NEW_KEY, by="dora").n_damaged
        with open_store(filled, NEW_KEY) as store:
            assert any(one.startswith(named) for one in verify_store(store).problems)

    def test_a_file_of_an_older_copy_stays_found(self, tmp_path):
        """The bytes fit their place: only their hash says that they are others."""
        fill(tmp_path / "review.db", tmp_path)
        shutil.copy(tmp_path / "review.db", tmp_path / "copy.db")
        with open_store(tmp_path / "copy.db", KEY) as copy:
            sealed = copy.sealer.seal(b"another file", "file 1")
        engine = create_engine(f"sqlite:///{tmp_path / 'review.db'}")
        with engine.begin() as connection:
            connection.exec_driver_sql("update sources set sealed = ?", (sealed,))
        engine.dispose()
        assert rotate_key(tmp_path / "review.db", KEY, NEW_KEY, by="dora").n_damaged == 1
        with open_store(tmp_path / "review.db", NEW_KEY) as store:
            assert any("sources 1" in one for one in verify_store(store).problems)


def test_a_forged_row_of_the_settings_stops_the_store(address, tmp_path):
    fill(address, tmp_path)
    run(address, "update meta set value = '[]' where name = 'last case'")
    with pytest.raises(UnreadableInputError, match="meta last case of the store was altered"):
        open_store(address, KEY)
    assert META.info["sealed"]
