"""Files that wait: sealed, bounded, and what is left of them after a crash."""

import pytest
from fake_maskers import CANARY

from inverse_deid.core.errors import ReviewError, UnreadableInputError
from inverse_deid.review.files import waiting
from inverse_deid.review.files.waiting import (
    UploadState,
    add_piece,
    begin_upload,
    change_upload,
    clean_name,
    count_waiting,
    list_uploads,
    open_waiting_area,
    read_bytes,
    remove_all_uploads,
    remove_upload,
)
from inverse_deid.review.store.tables import WAITING, WAITING_PIECES


@pytest.fixture
def store(store):
    open_waiting_area(store)
    return store


def given(store, name="case.txt", data=b"seen by Ann", state=UploadState.READY):
    upload = begin_upload(store, name, len(data), by="ann")
    for number in range(0, len(data), 4):
        add_piece(store, upload.id, number, data[number : number + 4])
    change_upload(store, upload.id, state)
    return upload.id


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("a/b.txt", "a/b.txt"),
        ("../../etc/passwd", "etc/passwd"),
        ("/etc/passwd", "etc/passwd"),
        ("..\\..\\x.txt", "x.txt"),
        ("C:\\Users\\ann\\x.txt", "C/Users/ann/x.txt"),
        ("a\x00b\n<script>.txt", "abscript.txt"),
        ("", "file"),
        ("./.", "file"),
        (f"{'x' * 500}.docx", f"{'x' * 115}.docx"),
        ("/".join("abcdefghijklmnop"), "/".join("efghijklmnop")),
    ],
)
def test_names_of_the_client_lead_nowhere(name, clean):
    found = clean_name(name)
    assert not found.startswith("/")
    assert ".." not in found.split("/")
    assert found == clean


def test_bytes_come_back_and_nothing_is_in_the_clear(store, tmp_path):
    data = f"{CANARY} was seen".encode() * 99
    upload_id = given(store, f"{CANARY}.txt", data)
    assert read_bytes(store, upload_id) == data
    assert list_uploads(store)[0].facts.name == f"{CANARY}.txt"
    assert CANARY not in repr(list_uploads(store))
    found = list(tmp_path.iterdir())
    assert found
    for file in found:
        assert CANARY.encode() not in file.read_bytes() or file.name == "cases.jsonl"


def test_a_piece_cannot_be_moved_to_another_place(store):
    first, second = given(store), given(store)
    with store.writing() as transaction:
        sealed = WAITING_PIECES.c.sealed
        piece = transaction.execute(
            WAITING_PIECES.select().where(WAITING_PIECES.c.waiting_id == first)
        ).first()
        changed = WAITING_PIECES.update().where(WAITING_PIECES.c.waiting_id == second)
        transaction.execute(changed.where(WAITING_PIECES.c.number == 0).values({sealed: piece.sealed}))
    with pytest.raises(UnreadableInputError):
        read_bytes(store, second)


def test_large_and_too_many_files_are_refused(store, monkeypatch):
    with pytest.raises(ReviewError, match="larger than 256 MB"):
        begin_upload(store, "a.txt", waiting.MAX_FILE_BYTES + 1, by="ann")
    given(store)
    monkeypatch.setattr(waiting, "MAX_TOTAL_BYTES", 12)
    with pytest.raises(ReviewError, match="too many files"):
        begin_upload(store, "a.txt", 2, by="ann")
    monkeypatch.setattr(waiting, "MAX_TOTAL_BYTES", 1000)
    monkeypatch.setattr(waiting, "MAX_FILES", 1)
    with pytest.raises(ReviewError, match="too many files"):
        begin_upload(store, "a.txt", 2, by="ann")


def test_after_a_crash_half_files_are_gone_and_begun_ones_can_be_resumed(store):
    states = {state: given(store, f"{state}.txt", state=state) for state in UploadState}
    open_waiting_area(store)
    after = {one.id: one.state for one in list_uploads(store)}
    assert states[UploadState.RECEIVING] not in after
    assert after[states[UploadState.MASKING]] is UploadState.STOPPED
    assert after[states[UploadState.QUEUED]] is UploadState.STOPPED
    assert after[states[UploadState.READY]] is UploadState.READY
    assert read_bytes(store, states[UploadState.MASKING]) == b"seen by Ann"
    assert after[states[UploadState.CONFIRMING]] is UploadState.CONFIRMING
    assert count_waiting(store) == 5


def test_what_is_done_or_failed_or_removed_has_no_bytes(store):
    done, failed, removed, masking = (given(store) for _ in range(4))
    change_upload(store, done, UploadState.DONE)
    change_upload(store, failed, UploadState.FAILED)
    change_upload(store, masking, UploadState.MASKING)
    assert remove_upload(store, removed)
    assert not remove_upload(store, removed)
    assert not remove_upload(store, masking)
    with store.reading() as transaction:
        left = set(transaction.execute(WAITING_PIECES.select()).scalars())
    assert left == {masking}
    assert remove_all_uploads(store, by="ann") == 1
    with store.reading() as transaction:
        assert not transaction.execute(WAITING.select()).all()


def test_a_state_changes_only_from_the_states_that_are_named(store):
    upload_id = given(store)
    assert change_upload(store, upload_id, UploadState.MASKING, only_from=(UploadState.QUEUED,)) is None
    assert list_uploads(store)[0].state is UploadState.READY
    assert change_upload(store, 99, UploadState.QUEUED) is None
