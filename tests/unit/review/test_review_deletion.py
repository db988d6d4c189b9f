"""Deletion: everything of a file goes, other files and the trail stay, and no sealed byte is left on the disk."""

import json
import sqlite3
from dataclasses import replace
from datetime import date

import pytest
from changed_reading import change_another_case
from fake_maskers import mask_capitals
from review_stores import FACTS, KEY, TEXT, change, json_lines, place, review, store_of, user
from sqlalchemy import func, select

from inverse_deid.core.errors import ReviewError
from inverse_deid.formats.registry import FORMATS
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.files.intake import LoadSettings, add_cases, plan_cases
from inverse_deid.review.files.waiting import UploadState, begin_upload, change_upload
from inverse_deid.review.flow.approval import withdraw
from inverse_deid.review.flow.causality import CausalityForm, Preserved, Topic, TopicAnswer, save_form
from inverse_deid.review.flow.editing import add_note
from inverse_deid.review.flow.quality import draw_sample, read_sample
from inverse_deid.review.flow.reading import open_case, view_case
from inverse_deid.review.flow.work_list import count_cases
from inverse_deid.review.people.accounts import find_user
from inverse_deid.review.store import deletion
from inverse_deid.review.store.deletion import delete_case, delete_everything, delete_source, erase, purge
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import Transaction, open_store
from inverse_deid.review.store.sources import list_sources
from inverse_deid.review.store.tables import CONTENTS, FORMS, LAYERS, METADATA, NOTES, SOURCES
from inverse_deid.review.store.trail import TrailFilter, export_trail, list_entries, verify_store
from inverse_deid.review.store.values import ActionKind, CaseState, UserRole

TESTED = 32
"""Bytes: every piece of a sealed value of this size is searched for."""


@pytest.fixture
def store(tmp_path):
    """Two files with work on both: `a.jsonl` has cases 1 and 2, `b.jsonl` cases 3 and 4."""
    texts = [TEXT + " again" * 300, "by Bo " * 300]
    paths = [json_lines(tmp_path / name, texts) for name in ("a.jsonl", "b.jsonl")]
    with store_of(tmp_path, inputs=paths, approvals=1) as store:
        ann = user(store, "ann")
        for case_id in (1, 3):
            at, _ = change(store, place(store, ann, case_id), ActionKind.MASK, 5)
            add_note(store, at, "is this a name? " * 20)
            at, _ = change(store, at, ActionKind.MASK, 6)
            review(store, ann, case_id)
            answers = {topic: TopicAnswer(Preserved.YES) for topic in Topic}
            save_form(store, ann, CausalityForm(case_id, answers, "a remark " * 20))
            place(store, ann, case_id + 1)
        yield store


def sealed_values(store, case_ids, source_ids):
    """Return the sealed values of some cases and files."""
    wanted = [
        (CONTENTS.c.sealed_text, CONTENTS.c.case_id.in_(case_ids)),
        (CONTENTS.c.sealed_tokens, CONTENTS.c.case_id.in_(case_ids)),
        (NOTES.c.sealed, NOTES.c.case_id.in_(case_ids)),
        (FORMS.c.sealed, FORMS.c.case_id.in_(case_ids)),
        (SOURCES.c.sealed, SOURCES.c.id.in_(source_ids)),
    ]
    with store.reading() as transaction:
        found = [
            value
            for column, mine in wanted
            for value in transaction.execute(select(column).where(mine)).scalars()
        ]
    assert len(found) >= 5 and min(map(len, found)) > TESTED
    return [bytes(value) for value in found]


def count_left(folder, values):
    """Count the values of which any piece is in the files of the store, whatever is in between."""
    stored = b"".join(path.read_bytes() for path in folder.glob("review.db*"))
    return sum(
        any(value[i : i + TESTED] in stored for i in range(0, len(value) - TESTED + 1, TESTED))
        for value in values
    )


def last_event(store, folder):
    export_trail(store, folder / "trail.jsonl", force=True)
    return json.loads((folder / "trail.jsonl").read_text().splitlines()[-2])["entry"]


def test_a_file_is_deleted_with_all_work_on_it(store, tmp_path):
    deleted = delete_source(store, 1, by="dora")
    assert (deleted.n_files, deleted.n_cases, deleted.n_decisions) == (1, 2, 2)
    assert (deleted.n_notes, deleted.n_forms, deleted.is_erased) == (1, 1, True)
    assert [one.name for one in list_sources(store)] == ["b.jsonl"]
    with store.reading() as transaction:
        for table in (LAYERS, NOTES, FORMS, CONTENTS):
            found = transaction.execute(select(table.c.case_id).distinct()).scalars().all()
            assert set(found) <= {3, 4} and found, table.name
    entry = last_event(store, tmp_path)
    ann = user(store, "another")
    with pytest.raises(ReviewError, match="the store has no case 1"):
        open_case(store, ann, 1)
    assert entry["user"] == "dora" and entry["event"] == (
        "file 1 deleted: 1 files, 2 cases, 2 decisions, 1 notes, 1 causality forms"
    )
    assert verify_store(store).is_intact


def test_no_sealed_byte_is_left_of_it_and_all_of_the_others(store, tmp_path):
    gone = sealed_values(store, (1, 2), (1,))
    kept = sealed_values(store, (3, 4), (2,))
    assert count_left(tmp_path, gone) == len(gone)
    delete_source(store, 1, by="dora")
    assert count_left(tmp_path, gone) == 0
    assert count_left(tmp_path, kept) == len(kept)
    assert (tmp_path / "review.db-wal").stat().st_size == 0


def test_everything_is_deleted_and_accounts_and_trail_stay(store, tmp_path):
    values = sealed_values(store, (1, 2, 3, 4), (1, 2))
    size = (tmp_path / "review.db").stat().st_size + (tmp_path / "review.db-wal").stat().st_size
    n_before = verify_store(store).n_entries
    deleted = delete_everything(store, "dora")
    assert (deleted.n_files, deleted.n_cases, deleted.n_decisions, deleted.n_notes) == (2, 4, 4, 2)
    assert count_left(tmp_path, values) == 0
    assert (tmp_path / "review.db").stat().st_size < size
    with store.reading() as transaction:
        left = {
            table.name: transaction.execute(select(func.count()).select_from(table)).scalar_one()
            for table in METADATA.sorted_tables
        }
    assert {name for name, n in left.items() if n} == {"meta", "users", "trail", "trail_head"}
    assert left["trail"] == n_before + 1
    assert last_event(store, tmp_path)["event"].startswith("everything deleted: 2 files, 4 cases")
    assert verify_store(store).is_intact
    again = delete_everything(store, "dora")
    assert (again.n_files, again.n_cases) == (0, 0)


def test_numbers_of_deleted_cases_are_not_given_again(store, tmp_path):
    delete_everything(store, "dora")
    settings = LoadSettings(facts=FACTS, cases=CaseSettings(today=date(2024, 1, 1), key=KEY.secret))
    jobs, _ = plan_cases([tmp_path / "a.jsonl"])
    assert add_cases(store, jobs, mask_capitals(), settings, by="eve").n_documents == 2
    (source,) = list_sources(store)
    assert (source.id, source.name) == (3, "a.jsonl")
    assert open_case(store, user(store, "bob"), 5).text.startswith("seen by Okonkwo")
    assert last_event(store, tmp_path)["case"] == 5


def test_a_file_that_does_not_exist_is_told(store):
    n_before = verify_store(store).n_entries
    with pytest.raises(ReviewError, match="the store has no file 9"):
        delete_source(store, 9, by="dora")
    assert verify_store(store).n_entries == n_before and sum(count_cases(store).values()) == 4


def test_a_sample_that_lost_a_case_is_deleted(store):
    review(store, find_user(store, "ann"), 4)
    draw_sample(store, 3, seed=1)
    delete_source(store, 1, by="dora")
    with pytest.raises(ReviewError, match="no sample has been drawn"):
        read_sample(store)
    draw_sample(store, 2)
    assert read_sample(store).case_ids == (3, 4)


def test_others_go_on_with_their_work(store):
    ann = find_user(store, "ann")
    at = view_case(store, ann, 4)
    delete_source(store, 1, by="dora")
    assert view_case(store, ann, 4).revision == at.revision
    assert review(store, ann, 4, mask=[0]) is CaseState.RELEASED


def test_a_fault_deletes_nothing(store, monkeypatch):
    def fail(*_):
        raise ReviewError("a fault")

    monkeypatch.setattr(Transaction, "record", fail)
    with pytest.raises(ReviewError, match="a fault"):
        delete_everything(store, "dora")
    assert len(list_sources(store)) == 2 and sum(count_cases(store).values()) == 4


def test_old_pages_that_somebody_reads_are_erased_later(store, tmp_path, monkeypatch):
    values = sealed_values(store, (1, 2, 3, 4), (1, 2))
    raw = sqlite3.connect(tmp_path / "review.db", isolation_level=None)
    raw.execute("begin")
    raw.execute("select count(*) from cases").fetchone()
    monkeypatch.setattr("inverse_deid.review.store.database.BUSY_SECONDS", 0.2)

    with open_store(tmp_path / "review.db", KEY) as impatient:
        assert not delete_everything(impatient, "dora").is_erased
        raw.close()
        assert erase(impatient)
    assert count_left(tmp_path, values) == 0


def test_one_case_is_deleted_from_its_file_and_the_others_keep_their_place(store, tmp_path):
    gone, kept = sealed_values(store, (1,), (1,)), sealed_values(store, (3,), (2,))
    n_before = verify_store(store).n_entries
    deleted = delete_case(store, 1, by="dora")
    assert (deleted.n_files, deleted.n_cases, deleted.n_decisions) == (0, 1, 2)
    assert (deleted.n_notes, deleted.n_forms, deleted.is_erased) == (1, 1, True)
    assert count_left(tmp_path, gone) == 0 and count_left(tmp_path, kept) == len(kept)
    with store.reading() as transaction:
        sealed = transaction.execute(select(SOURCES.c.sealed).where(SOURCES.c.id == 1)).scalar_one()
    data = store.sealer.open(sealed, "file 1")
    assert data.startswith(b'\n{"id": "c2"') and b"Okonkwo" not in data
    entry = last_event(store, tmp_path)
    assert (entry["user"], entry["event"], entry["case"]) == ("dora", "case deleted", 1)
    with store.reading() as transaction:  # the other case keeps the key of their file
        assert transaction.names.open(entry["name"]) == "c1"
    assert verify_store(store).is_intact and verify_store(store).n_entries == n_before + 1
    assert review(store, find_user(store, "ann"), 2) is CaseState.RELEASED
    assert export_released(store, tmp_path / "out").problems == ()
    assert json.loads((tmp_path / "out" / "a.jsonl").read_text())["id"] == "c2"


def test_the_name_of_a_file_that_was_refused_goes_with_the_note_on_it(store):
    upload = begin_upload(store, "Okonkwo.csv", 4, by="dora")
    event = TrailEvent(user="dora", event="file received: 4 bytes")
    change_upload(store, upload.id, UploadState.FAILED, events=[event])
    assert list_entries(store, TrailFilter())[0][0].event.name == "Okonkwo.csv"
    delete_case(store, 1, by="dora")
    received = next(one for one in list_entries(store, TrailFilter())[0] if one.event.event == event.event)
    assert received.event.name == ""
    assert verify_store(store).is_intact


def test_the_last_case_of_a_file_takes_the_file_with_it(store):
    delete_case(store, 1, by="dora")
    assert delete_case(store, 2, by="dora").n_files == 1
    assert [one.name for one in list_sources(store)] == ["b.jsonl"]


def test_a_row_of_a_table_is_deleted_with_all_its_lines(tmp_path):
    table = tmp_path / "cases.csv"
    table.write_bytes(
        'text;land\r\n"Bo was\r\nwell";SE\r\nAnn was ill;NO\r\nsie hieß Änne;DE\r\n'.encode("cp1252")
    )
    with store_of(tmp_path, inputs=[table], approvals=1) as store:
        delete_case(store, 1, by="dora")
        review(store, user(store, "ann"), 3)
        export_released(store, tmp_path / "out")
        with store.reading() as transaction:
            sealed = transaction.execute(select(SOURCES.c.sealed)).scalar_one()
        assert store.sealer.open(sealed, "file 1").startswith(b"text;land\r\n\r\nAnn was ill;NO\r\n")
    assert (tmp_path / "out" / "cases.csv").read_text("cp1252").splitlines()[-1] == "sie hieß PHI"


def test_a_case_of_a_file_that_cannot_be_written_without_it_stays(tmp_path):
    file = tmp_path / "cases.json"
    file.write_text(json.dumps([{"id": "c1", "text": TEXT}, {"id": "c2", "text": "by Bo"}]))
    with store_of(tmp_path, inputs=[file]) as store:
        n_before = verify_store(store).n_entries
        with pytest.raises(ReviewError, match="a json file cannot be written without one of its cases"):
            delete_case(store, 1, by="dora")
        assert sum(count_cases(store).values()) == 2 and verify_store(store).n_entries == n_before


def test_a_file_that_would_be_read_in_another_way_stays(store, monkeypatch):
    damaged = replace(FORMATS["jsonl"], blank=change_another_case)
    monkeypatch.setattr(deletion, "FORMATS", {"jsonl": damaged})
    with pytest.raises(ReviewError, match="file 1 would be read in another way without the case"):
        delete_case(store, 1, by="dora")
    assert sum(count_cases(store).values()) == 4


def test_cases_are_purged_some_days_after_their_release(store, tmp_path):
    released = store.now()
    store.now.seconds += 29 * 86_400
    review(store, find_user(store, "ann"), 2)
    assert purge(store, 30, by="dora") == ()
    store.now.seconds = released + 31 * 86_400
    n_before = verify_store(store).n_entries
    found = purge(store, 30, dry_run=True, by="dora")
    assert [(one.name, one.case_ids, one.is_whole_file) for one in found] == [
        ("a.jsonl", (1,), False),
        ("b.jsonl", (3,), False),
    ]
    assert sum(count_cases(store).values()) == 4 and verify_store(store).n_entries == n_before
    assert purge(store, 30, by="dora") == found
    assert sum(count_cases(store).values()) == 2
    assert last_event(store, tmp_path)["event"] == (
        "retention: 2 cases deleted, 0 kept, released over 30 days ago"
    )
    store.now.seconds += 30 * 86_400
    assert [one.is_whole_file for one in purge(store, 30, by="dora")] == [True]
    assert [one.name for one in list_sources(store)] == ["b.jsonl"] and verify_store(store).is_intact


def test_a_purge_says_that_old_pages_are_left(store, monkeypatch):
    monkeypatch.setattr(deletion, "erase", lambda _: False)
    store.now.seconds += 31 * 86_400
    assert not any(one.is_erased for one in purge(store, 30, by="dora"))


def test_a_withdrawn_case_is_not_old(store):
    carl = user(store, "carl", UserRole.ADJUDICATOR)
    withdraw(store, carl, 1)
    store.now.seconds += 99 * 86_400
    assert [one.case_ids for one in purge(store, 30, dry_run=True, by="dora")] == [(3,)]
    assert [one.case_ids for one in purge(store, 30, all_cases=True, dry_run=True, by="dora")] == [
        (1, 2),
        (3, 4),
    ]
