"""Somebody swaps, damages or removes sealed values of a store, in SQLite and in PostgreSQL: `verify` opens them all."""

from contextlib import contextmanager
from datetime import date

import pytest
from fake_maskers import mask_capitals
from postgres_cluster import postgres_address
from review_stores import FACTS, KEY, TEXT, json_lines, place, review, store_of, user
from sqlalchemy import create_engine

from inverse_deid.core.errors import InverseDeidError
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.files.intake import LoadSettings, add_cases, plan_cases
from inverse_deid.review.files.waiting import add_piece, begin_upload
from inverse_deid.review.flow.causality import CausalityForm, Preserved, Topic, TopicAnswer, save_form
from inverse_deid.review.flow.editing import add_note
from inverse_deid.review.flow.reading import view_case
from inverse_deid.review.people.accounts import find_user
from inverse_deid.review.store.backup import restore_backup, write_backup
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.tables import METADATA
from inverse_deid.review.store.trail import verify_store

pytestmark = pytest.mark.slow

OTHER_TEXT = "seen by Quarshie today, then okonkwo left"


def fill(store):
    """Case 1 is released; ann has two notes and a remark on it, and one note on case 2. A file waits."""
    ann, bea = user(store, "ann"), user(store, "bea")
    for case_id in (1, 2):
        for _number in range(3 - case_id):
            add_note(store, place(store, ann, case_id), f"note {_number} of Okonkwo")
    review(store, ann, 1)
    review(store, bea, 1)
    answers = dict.fromkeys(Topic, TopicAnswer(Preserved.YES))
    save_form(store, ann, CausalityForm(1, answers, "a remark on Okonkwo"))
    upload = begin_upload(store, "waiting.txt", 8, by="ann")
    add_piece(store, upload.id, 0, b"by Bako.")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def address(request, tmp_path_factory):
    """The address of a store in each of the two databases."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "sqlite":
        with store_of(folder, [TEXT, TEXT]) as store:
            fill(store)
        yield folder / "review.db"
        return
    with postgres_address() as found:
        with store_of(folder, [TEXT, TEXT], address=found) as store:
            fill(store)
        yield found


@contextmanager
def raw(address):
    """A connection of somebody who has no key, and to whom no rule of the database applies."""
    engine = create_engine(address if isinstance(address, str) else f"sqlite:///{address}")
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("set session_replication_role = replica")
        yield connection
    engine.dispose()


@contextmanager
def forged(address, *statements):
    """Run statements, and put all tables back afterwards."""
    with raw(address) as connection:
        before = {
            table: connection.execute(table.select()).mappings().all() for table in METADATA.sorted_tables
        }
        for statement in statements:
            connection.exec_driver_sql(statement)
    try:
        yield
    finally:
        with raw(address) as connection:
            for table, rows in before.items():
                connection.execute(table.delete())
                if rows:
                    connection.execute(table.insert(), [dict(row) for row in rows])


def problems(address):
    with open_store(address, KEY) as store:
        return verify_store(store).problems


def swap(table, column, one, other):
    """Exchange the values of two rows."""
    before = f"(select {column} from before where {{}})"
    return (
        f"create table before as select * from {table}",
        f"update {table} set {column} = {before.format(other)} where {one}",
        f"update {table} set {column} = {before.format(one)} where {other}",
        "drop table before",
    )


FORGERIES = {
    "texts swapped": (swap("contents", "sealed_text", "case_id = 1", "case_id = 2"), "contents 1"),
    "decisions swapped": (
        swap("contents", "sealed_tokens", "case_id = 1", "case_id = 2"),
        "contents 2",
    ),
    "text damaged": ("update contents set sealed_text = sealed_tokens where case_id = 2", "contents 2"),
    "content missing": ("delete from contents where case_id = 2", "contents 2 is missing"),
    "notes of a case swapped": (swap("notes", "sealed", "id = 1", "id = 2"), "notes 1"),
    "note on another case": ("update notes set case_id = 2 where id = 1", "notes 1"),
    "note of another user": ("update notes set user_id = 2 where id = 1", "notes 1"),
    "note on other words": ("update notes set first = 2, stop = 3 where id = 1", "notes 1"),
    "note missing": ("delete from notes where id = 2", "notes 2 is missing"),
    "file damaged": ("update sources set sealed = (select sealed from forms) where id = 1", "sources 1"),
    "remark damaged": ("update forms set sealed = (select sealed from sources)", "forms 1"),
    "facts damaged": ("update intakes set sealed_facts = (select sealed from sources)", "intakes 1"),
    "waiting piece damaged": (
        "update waiting_pieces set sealed = (select sealed from sources)",
        "waiting_pieces 1 0",
    ),
    "waiting facts damaged": ("update waiting set sealed = (select sealed from sources)", "waiting 1"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_verify_names_what_was_swapped_damaged_or_removed(address, forgery):
    statement, named = FORGERIES[forgery]
    assert problems(address) == ()
    with forged(address, *([statement] if isinstance(statement, str) else statement)):
        assert any(named in one for one in problems(address)), problems(address)
    assert problems(address) == ()


def test_a_swapped_text_is_not_shown(address):
    with forged(address, *FORGERIES["texts swapped"][0]), open_store(address, KEY) as store:
        ann = find_user(store, "ann")
        with pytest.raises(InverseDeidError, match="contents 2 of the store was altered"):
            view_case(store, ann, 2)


def test_a_swapped_note_is_not_shown(address):
    with forged(address, *FORGERIES["notes of a case swapped"][0]), open_store(address, KEY) as store:
        ann = find_user(store, "ann")
        with pytest.raises(InverseDeidError, match="notes 1 of the store was altered"):
            view_case(store, ann, 1)


def test_a_text_of_a_copy_of_the_store_is_found(address, tmp_path):
    """Both copies have the same key and numbers, and another text in case 3, which is sealed for the same place."""
    settings = LoadSettings(facts=FACTS, cases=CaseSettings(today=date(2024, 1, 1), key=KEY.secret))

    def add(store, name, text):
        return add_cases(
            store, plan_cases([json_lines(tmp_path / name, [text])])[0], mask_capitals(), settings, by="ann"
        )

    with forged(address):
        with open_store(address, KEY) as store:
            write_backup(store, KEY, tmp_path / "backup", by="dora")
            add(store, "mine.jsonl", TEXT)
        restore_backup(tmp_path / "backup", tmp_path / "copy.db", KEY, by="dora")
        with open_store(tmp_path / "copy.db", KEY) as copy:
            add(copy, "other.jsonl", OTHER_TEXT)
        assert problems(address) == problems(tmp_path / "copy.db") == ()
        with raw(tmp_path / "copy.db") as copy, raw(address) as mine:
            for table, key in ((METADATA.tables["contents"], "case_id"), (METADATA.tables["sources"], "id")):
                last = table.select().order_by(table.c[key].desc()).limit(1)
                row = dict(copy.execute(last).mappings().one())
                if key == "id":
                    row = {"sealed": row["sealed"]}
                number = mine.execute(last).mappings().one()[key]
                mine.execute(table.update().where(table.c[key] == number).values(**row))
        found = problems(address)
        assert any("contents 3" in one for one in found) and any("sources 2" in one for one in found), found
