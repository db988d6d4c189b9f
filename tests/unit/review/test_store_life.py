"""Keys, rotation of the key, backups and what they restore."""

import hashlib
import json
import sqlite3
import stat
from contextlib import suppress

import pytest
from postgres_cluster import postgres_address
from refusals import refuses
from review_stores import KEY, TEXT, Clock, place, review, store_of, user
from sqlalchemy import LargeBinary, delete, select

from inverse_deid.core.errors import (
    ConfigurationError,
    OutputError,
    OutputExistsError,
    ReviewError,
    UnreadableInputError,
)
from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.files.intake import find_source
from inverse_deid.review.files.waiting import (
    UploadState,
    add_piece,
    begin_upload,
    change_upload,
    list_uploads,
    read_bytes,
)
from inverse_deid.review.flow.causality import CausalityForm, Preserved, Topic, TopicAnswer, save_form
from inverse_deid.review.flow.editing import add_note
from inverse_deid.review.flow.reading import view_case
from inverse_deid.review.people.accounts import find_user
from inverse_deid.review.store import rotation
from inverse_deid.review.store.backup import restore_backup, write_backup
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.keys import ReviewKey
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.rotation import rotate_key
from inverse_deid.review.store.tables import (
    ENCRYPTED,
    FORMS,
    METADATA,
    SESSIONS,
    SOURCES,
    USERS,
    WAITING_PIECES,
)
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import CaseState

NEW_KEY = ReviewKey(b"fedcba9876543210fedcba9876543210")


def fill(folder, **options):
    """Make a store that has every kind of encrypted value, and close it."""
    with store_of(folder, [TEXT, "by Bo"], approvals=1, **options) as store:
        ann = user(store, "ann")
        add_note(store, place(store, ann), "is Okonkwo a name?")
        review(store, ann, mask=[5])
        answers = {topic: TopicAnswer(Preserved.YES) for topic in Topic}
        save_form(store, ann, CausalityForm(1, answers, "Okonkwo was well"))
        upload = begin_upload(store, "next.txt", 7, by="ann")
        add_piece(store, upload.id, 0, b"Okonkwo")
        change_upload(store, upload.id, UploadState.READY)
        with store.writing() as transaction:
            row = {"id_hash": "ab", "user_id": ann.id, "expires_at": 2e9, "seen_at": 1e9}
            transaction.insert(SESSIONS, row)
            transaction.record(TrailEvent(user="ann", event="log in"))
    return folder / "review.db"


@pytest.fixture
def path(tmp_path):
    return fill(tmp_path)


def check_everything(store, folder):
    """Check that all of a store from `fill` can be read and used, and that nobody is logged in."""
    ann = find_user(store, "ann")
    assert [note.text for note in view_case(store, ann, 1).notes] == ["is Okonkwo a name?"]
    assert read_bytes(store, list_uploads(store)[0].id) == b"Okonkwo"
    assert list_uploads(store)[0].facts.name == "next.txt"
    with store.reading() as transaction:
        assert not transaction.execute(select(SESSIONS)).all()
    assert review(store, ann, 2) is CaseState.RELEASED
    exported = export_released(store, folder / "out", force=True)
    assert (exported.n_cases, exported.problems) == (2, ())
    assert "then PHI left" in (folder / "out" / "cases.jsonl").read_text()
    assert verify_store(store).is_intact


def events(store):
    with store.reading() as transaction:
        lines = (
            transaction.connection.exec_driver_sql("select line from trail order by number").scalars().all()
        )
    return [json.loads(line)["event"] for line in lines]


def test_keys_of_a_new_store_are_not_derived_from_its_key(path):
    with open_store(path, KEY) as store:
        assert KEY.secret not in (store.case_key, store.keys.data[0].secret)
        assert len({store.case_key, store.trail_key, store.session_key, store.file_key}) == 4


def test_every_encrypted_column_is_encrypted_again():
    columns = [column for table in METADATA.sorted_tables for column in table.c]
    assert {one for one in columns if isinstance(one.type, LargeBinary)} == set(ENCRYPTED)


def test_a_waiting_file_that_lost_a_piece_is_not_masked(path):
    with open_store(path, KEY) as store:
        upload = begin_upload(store, "long.txt", 6, by="ann")
        for number, data in enumerate((b"not", b"Bo.")):
            add_piece(store, upload.id, number, data)
        assert read_bytes(store, upload.id) == b"notBo."
        with store.writing() as transaction:
            transaction.execute(delete(WAITING_PIECES).where(WAITING_PIECES.c.number == 1))
        with pytest.raises(UnreadableInputError, match="has lost a part"):
            read_bytes(store, upload.id)


class TestRotation:
    def test_the_new_key_opens_everything_and_the_old_key_nothing(self, path, tmp_path):
        with open_store(path, KEY) as store:
            case_key = store.case_key
        done = rotate_key(path, KEY, NEW_KEY, by="dora", clock=Clock())
        assert (done.n_values, done.n_damaged, done.is_erased) == (6, 0, True)
        with pytest.raises(ConfigurationError, match="the key does not belong to"):
            open_store(path, KEY)
        with open_store(path, NEW_KEY) as store:
            assert store.case_key == case_key and len(store.keys.data) == 1
            data = (tmp_path / "cases.jsonl").read_bytes()
            assert find_source(store, "cases.jsonl", hashlib.sha256(data).digest()) == (1, 2)
            check_everything(store, tmp_path)
            told = [one for one in events(store) if "key" in one]
        assert told == [
            "key changed: all sessions ended",
            "cases 1 to 2 encrypted with the new key",
            "file 1 encrypted with the new key",
            "key changed: everything is encrypted with it",
        ]

    def test_no_byte_that_the_old_key_opens_is_left(self, path, tmp_path):
        raw = sqlite3.connect(path)
        old = [bytes.fromhex(raw.execute("select value from meta where name = 'keys'").fetchone()[0][2:])]
        for query in ("select sealed_text from contents", "select sealed from sources"):
            old += [value for (value,) in raw.execute(query)]
        raw.close()
        rotate_key(path, KEY, NEW_KEY, by="dora")
        stored = b"".join(file.read_bytes() for file in tmp_path.glob("review.db*"))
        assert not [value for value in old if value[:32] in stored or value[:16].hex().encode() in stored]

    @pytest.mark.parametrize("at", ["delete on sessions", "update on trail_head", "update on meta"])
    @pytest.mark.parametrize("forgery", ["update users set role = 'admin'", "delete from forms"])
    def test_a_trigger_that_forges_rows_meanwhile_gets_no_seals_for_them(self, path, at, forgery):
        raw = sqlite3.connect(path)
        raw.execute(f"create trigger forge after {at} begin {forgery}; end")
        raw.close()
        with suppress(UnreadableInputError, ReviewError):
            rotate_key(path, KEY, NEW_KEY, by="dora")
        for key in (KEY, NEW_KEY):
            with suppress(ConfigurationError), open_store(path, key) as store:
                with store.reading() as transaction:
                    roles = transaction.execute(select(USERS.c.role)).scalars().all()
                    is_as_before = set(roles) == {"reviewer"} and transaction.execute(select(FORMS)).all()
                assert is_as_before or not verify_store(store).is_intact

    def test_the_slower_of_two_changes_of_the_key_is_refused(self, path):
        third = ReviewKey(b"a third key of more than 16 bytes")
        with open_store(path, KEY) as slower:
            rotate_key(path, KEY, NEW_KEY, by="dora")
            with pytest.raises(OutputError, match="another key"):
                rotation._begin(slower, third, by="dora")
        with open_store(path, NEW_KEY) as store:
            assert verify_store(store).is_intact

    def test_a_program_that_has_the_store_open_writes_nothing_any_more(self, path):
        with open_store(path, KEY) as running:
            ann = find_user(running, "ann")
            rotate_key(path, KEY, NEW_KEY, by="dora")
            with pytest.raises(
                OutputError, match="another program gave the store other tables or another key"
            ):
                review(running, ann, 2)

    def test_it_resumes_where_it_was_interrupted(self, path, tmp_path, monkeypatch):
        real, steps = rotation._renew, []

        def fail(transaction, table, row):
            steps.append(table.name)
            if table is SOURCES:
                raise OutputError("a power cut")
            return real(transaction, table, row)

        monkeypatch.setattr(rotation, "_renew", fail)
        with pytest.raises(OutputError, match="a power cut"):
            rotate_key(path, KEY, NEW_KEY, by="dora")
        monkeypatch.undo()
        with pytest.raises(ConfigurationError):
            open_store(path, KEY)
        with open_store(path, NEW_KEY) as store:  # people can work meanwhile
            assert view_case(store, find_user(store, "ann"), 1).notes and verify_store(store).is_intact
        assert rotate_key(path, KEY, NEW_KEY, by="dora").n_values == 2
        assert rotate_key(path, KEY, NEW_KEY, by="dora").n_values == 0
        with open_store(path, NEW_KEY) as store:
            check_everything(store, tmp_path)

    @pytest.mark.parametrize(
        "forgery",
        [
            "update users set role = 'admin'",
            "update trail set line = replace(line, 'ann', 'eve') where number = 2",
        ],
    )
    def test_a_forged_row_or_entry_gets_no_new_seal(self, path, forgery):
        raw = sqlite3.connect(path)
        raw.execute(forgery)
        raw.commit()
        raw.close()
        with pytest.raises(ReviewError, match="the trail or a row was altered"):
            rotate_key(path, KEY, NEW_KEY, by="dora")
        open_store(path, KEY).close()

    def test_a_damaged_value_is_counted_and_stops_nothing(self, path):
        raw = sqlite3.connect(path)
        raw.execute("update contents set sealed_text = x'00' where case_id = 2")
        raw.commit()
        raw.close()
        assert rotate_key(path, KEY, NEW_KEY, by="dora").n_damaged == 2  # neither value of the case
        open_store(path, NEW_KEY).close()

    def test_a_third_key_changes_nothing(self, path):
        with pytest.raises(ConfigurationError, match="the key does not belong to"):
            rotate_key(path, ReviewKey(b"a third key of many bytes"), NEW_KEY, by="dora")
        with pytest.raises(ConfigurationError, match="the new key is the old one"):
            rotate_key(path, KEY, KEY, by="dora")
        open_store(path, KEY).close()


class TestBackup:
    @pytest.fixture
    def backup(self, path, tmp_path):
        with open_store(path, KEY, clock=Clock()) as store:
            assert write_backup(store, KEY, tmp_path / "backup", by="dora") == 2
        return tmp_path / "backup"

    def test_it_overwrites_an_older_backup_and_nothing_else(self, backup, path, tmp_path):
        (tmp_path / "key").write_bytes(KEY.secret)
        with open_store(path, KEY) as store:
            write_backup(store, KEY, backup, by="dora", force=True)
            for kept in (path, tmp_path / "key"):
                before = kept.read_bytes()
                with pytest.raises(OutputExistsError, match="is not a backup and is kept"):
                    write_backup(store, KEY, kept, by="dora", force=True)
                assert kept.read_bytes() == before

    def test_it_is_restored_and_nobody_is_logged_in(self, backup, tmp_path):
        restored = restore_backup(backup, tmp_path / "again.db", KEY, by="dora", clock=Clock())
        assert (restored.n_cases, restored.made_at) == (2, Clock()())
        assert stat.S_IMODE((tmp_path / "again.db").stat().st_mode) == 0o600
        with open_store(tmp_path / "again.db", KEY, clock=Clock()) as store:
            assert events(store)[-1] == "restored from a backup of 2023-11-14T22:13:20Z"
            check_everything(store, tmp_path)

    def test_only_its_owner_can_read_it_and_it_is_sealed(self, backup, path):
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
        data = backup.read_bytes()
        for word in (b"account of ann", b"sealed_text"):
            assert word not in data and word in path.read_bytes()
        with open_store(path, KEY) as store:
            assert events(store)[-1] == "backup written: 2 cases"

    def test_one_that_was_cut_restores_nothing(self, backup, tmp_path):
        data = backup.read_bytes()
        for n in (0, 10, 40, 61, len(data) // 2, len(data) - 1):
            self.refuse(backup, tmp_path, data[:n])
        self.refuse(backup, tmp_path, data + b"x")

    def test_one_that_was_changed_restores_nothing(self, backup, tmp_path):
        data = bytearray(backup.read_bytes())
        for place_of_byte in range(0, len(data), len(data) // 40):
            changed = bytearray(data)
            changed[place_of_byte] ^= 1
            self.refuse(backup, tmp_path, bytes(changed))

    def refuse(self, backup, folder, data):
        backup.write_bytes(data)
        with pytest.raises(UnreadableInputError, match=r"backup .*\. Nothing was restored"):
            restore_backup(backup, folder / "again.db", KEY, by="dora")
        assert not list(folder.glob("*again.db*"))

    def test_another_key_opens_nothing(self, backup, tmp_path):
        with pytest.raises(UnreadableInputError, match="cannot be opened with this key"):
            restore_backup(backup, tmp_path / "again.db", NEW_KEY, by="dora")

    def test_nothing_is_overwritten(self, backup, path):
        with pytest.raises(OutputExistsError, match="already exists"):
            restore_backup(backup, path, KEY, by="dora")
        with open_store(path, KEY) as store, refuses(OutputExistsError, match="Use --force"):
            write_backup(store, KEY, backup, by="dora")


@pytest.mark.slow
def test_a_backup_moves_a_store_from_sqlite_to_postgresql_and_back(path, tmp_path):
    with open_store(path, KEY) as store:
        write_backup(store, KEY, tmp_path / "one", by="dora")
    with postgres_address() as address:
        restore_backup(tmp_path / "one", address, KEY, by="dora")
        with pytest.raises(OutputExistsError):
            restore_backup(tmp_path / "one", address, KEY, by="dora")
        with open_store(address, KEY) as store:
            user(store, "bea")
            write_backup(store, KEY, tmp_path / "two", by="dora")
        assert rotate_key(address, KEY, NEW_KEY, by="dora").is_erased
        with pytest.raises(ConfigurationError):
            open_store(address, KEY)
        with open_store(address, NEW_KEY) as store:
            check_everything(store, tmp_path)
    restore_backup(tmp_path / "two", tmp_path / "again.db", KEY, by="dora")
    with open_store(tmp_path / "again.db", KEY) as store:
        assert find_user(store, "bea").id == 2
        check_everything(store, tmp_path)
