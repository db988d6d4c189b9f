"""Somebody who can write to the database and has no key: what they forge is refused and found."""

import io
import re
import sqlite3
from contextlib import suppress

import pytest
from review_stores import KEY, PASSWORD, TEXT, change, place, review, user

from inverse_deid.core.errors import (
    InverseDeidError,
    NotAllowedError,
    ReviewError,
    StageError,
    UnreadableInputError,
)
from inverse_deid.review.files.exporting import export_released, iterate_annotated, released_zip
from inverse_deid.review.files.waiting import begin_upload, list_uploads
from inverse_deid.review.flow.approval import withdraw
from inverse_deid.review.flow.oversight import list_activity
from inverse_deid.review.flow.reading import open_case, view_case
from inverse_deid.review.flow.work_list import list_cases
from inverse_deid.review.people.accounts import (
    add_user,
    begin_session,
    find_session,
    find_user,
    list_users,
    log_in,
    log_out,
    set_active,
    set_role,
)
from inverse_deid.review.store.anchors import write_anchor
from inverse_deid.review.store.deletion import purge
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.rows import SEALED
from inverse_deid.review.store.tables import LAYERS, USERS
from inverse_deid.review.store.trail import (
    TrailFilter,
    export_trail,
    list_entries,
    verify_export,
    verify_store,
)
from inverse_deid.review.store.values import ActionKind, UserRole, WorkFilter

STORE = {"texts": [TEXT, TEXT]}


@pytest.fixture
def store(store):
    """Case 1 is released by ann and bea, and ann is at work on case 2."""
    ann, bea = user(store, "ann"), user(store, "bea")
    review(store, ann, 1)
    review(store, bea, 1)
    change(store, place(store, ann, 2), ActionKind.MASK, 5)
    return store


def forge(store, tmp_path, *statements):
    """Run statements as an administrator of the database can."""
    raw = sqlite3.connect(tmp_path / "review.db")
    for statement in statements:
        raw.execute(statement)
    raw.commit()
    raw.close()


def test_every_table_that_steers_a_decision_is_sealed():
    names = "cases contents forms intakes layers listed_words maskings meta notes sample_cases samples sessions sources users"
    assert sorted(table.name for table in SEALED) == names.split()


def test_a_column_with_a_default_of_the_server_has_one_here():
    """Otherwise a new row would get a value that its seal does not cover."""
    columns = [column for table in SEALED for column in table.c if column.server_default is not None]
    assert columns and all(column.default is not None for column in columns)


def test_what_was_done_with_an_earlier_role_is_found_when_the_newer_one_is_back(store, tmp_path):
    dora = user(store, "dora", UserRole.ADJUDICATOR)
    forge(store, tmp_path, "create table earlier as select * from users")
    set_role(store, "dora", UserRole.REVIEWER)
    forge(store, tmp_path, "create table later as select * from users")
    put = "update users set (role, seal) = (select role, seal from {0} where id = users.id)"
    forge(store, tmp_path, put.format("earlier"))
    withdraw(store, dora, 1)
    forge(store, tmp_path, put.format("later"))
    (problem,) = verify_store(store).problems
    assert re.fullmatch(r"entry \d+ was made while users 3 was not as entry \d+ left it", problem)


def test_a_change_of_the_own_account_is_no_problem(store):
    set_active(store, "ann", is_active=False, by="bea")
    set_active(store, "ann", is_active=True, by="ann")
    assert verify_store(store).is_intact


PLACES = (
    *("trail_head seal", "trail line", "users name", "cases state", "contents sealed_text"),
    *("trail_head n_entries", "trail_head hash", "trail hash", "layers n_done", "layers actions_hash"),
    *("actions steps", "meta value", "intakes export_name", "maskings facts", "sources sealed"),
)


@pytest.mark.parametrize(
    "place", [*PLACES[:5], *(pytest.param(one, marks=pytest.mark.slow) for one in PLACES[5:])]
)
def test_a_value_that_is_missing_is_a_clean_refusal(store, tmp_path, place):
    table, column = place.split()
    copied = f"create table copied as select * from {table}"
    renamed = f"alter table copied rename to {table}"
    forge(store, tmp_path, copied, f"drop table {table}", renamed, f"update {table} set {column} = null")
    assert not verify_store(store).is_intact
    for use in (
        lambda: export_released(store, tmp_path / "out"),
        lambda: export_trail(store, tmp_path / "trail.jsonl"),
        lambda: verify_export(tmp_path / "trail.jsonl", KEY),
        lambda: list_entries(store, TrailFilter()),
        lambda: write_anchor(store, [str(tmp_path / "anchors")]),
        lambda: add_user(store, "dora", PASSWORD, UserRole.REVIEWER),
        lambda: list_activity(store),
    ):
        with suppress(InverseDeidError):
            use()


@pytest.mark.parametrize("value", ["null", "'x'", "5"])
@pytest.mark.parametrize(
    ("place", "use"),
    [
        ("maskings facts", lambda store: view_case(store, find_user(store, "ann"), 2)),
        ("maskings facts", lambda store: withdraw(store, user(store, "eve", UserRole.ADJUDICATOR), 1)),
        ("cases state", lambda store: list_cases(store, WorkFilter())),
        ("waiting state", list_uploads),
        ("trail line", lambda store: purge(store, 1, dry_run=True, by="command")),
    ],
)
def test_a_strange_value_is_refused_where_it_is_read(store, tmp_path, place, use, value):
    begin_upload(store, "a.jsonl", 10, by="ann")
    table, column = place.split()
    copied = f"create table copied as select * from {table}"
    renamed = f"alter table copied rename to {table}"
    if table == "trail":
        value = """'{"event":"state"'"""
    forge(store, tmp_path, copied, f"drop table {table}", renamed, f"update {table} set {column} = {value}")
    with pytest.raises(UnreadableInputError, match="altered"):
        use(store)


def test_an_inserted_admin_cannot_log_in(store, tmp_path):
    add_user(store, "dora", PASSWORD, UserRole.REVIEWER)
    forge(
        store,
        tmp_path,
        "insert into users (id, name, password, role, is_active, must_change_password, seal) "
        "select 99, 'eve', password, 'admin', 1, 0, seal from users where name = 'dora'",
    )
    with pytest.raises(UnreadableInputError, match="users 99 of the store was altered"):
        log_in(store, "eve", PASSWORD)
    assert log_in(store, "dora", PASSWORD).user.name == "dora"


@pytest.mark.parametrize("change", ["role = 'admin'", "is_active = 1", "name = 'z' || id"])
def test_a_changed_account_ends_its_session(store, tmp_path, change):
    session = begin_session(store, user(store, "dora"))
    set_active(store, "ann", is_active=False)
    forge(store, tmp_path, f"update users set {change} where id in (1, 3)")
    if change == "is_active = 1":
        with pytest.raises(UnreadableInputError, match="users 1 of the store was altered"):
            list_users(store)
    else:
        with pytest.raises(UnreadableInputError, match="users 3 of the store was altered"):
            find_session(store, session.id)


def test_a_session_row_of_another_user_is_refused(store, tmp_path):
    user(store, "dora", UserRole.ADMIN)
    user(store, "emil")
    session = begin_session(store, find_user(store, "emil"))
    forge(store, tmp_path, "update sessions set user_id = 3")
    with pytest.raises(UnreadableInputError, match="sessions "):
        find_session(store, session.id)


@pytest.mark.parametrize(
    "forgery",
    [
        "update layers set n_done = 0 where case_id = 2",
        "update layers set approval = 1 where case_id = 2",
        "insert into actions values (3, 1, '[[2, 3, true, null]]')",
        "update actions set steps = '[[5, 6, true, null]]'",
        "update actions set layer_id = 1",
        "update actions set position = 1",
        "delete from actions",
    ],
)
def test_a_layer_with_forged_actions_is_refused(store, tmp_path, forgery):
    ann = find_user(store, "ann")
    forge(store, tmp_path, forgery)
    with pytest.raises(UnreadableInputError, match="layers 3 of the store"):
        view_case(store, ann, 2)


@pytest.mark.parametrize(
    "forgery",
    [
        "update cases set state = 'released', n_approvals = 2 where id = 2",
        "update cases set assignee_id = 2 where id = 2",
        "update cases set n_approvals = 1 where id = 2",
    ],
)
def test_a_forged_case_is_refused(store, tmp_path, forgery):
    ann = find_user(store, "ann")
    forge(store, tmp_path, forgery)
    with pytest.raises(UnreadableInputError, match="cases 2 of the store was altered"):
        open_case(store, ann, 2)
    exported = export_released(store, tmp_path / "out")
    assert exported.n_cases == 1


def test_two_invented_layers_export_nothing(store, tmp_path):
    copied = (
        "select {}, 2, {}, kind, is_blind, revision, n_done, approval, actions_hash, seconds, seen_at, seal"
    )
    columns = "id, case_id, user_id, kind, is_blind, revision, n_done, approval, actions_hash, seconds, seen_at, seal"
    forge(
        store,
        tmp_path,
        "delete from actions where layer_id = 3",
        "delete from layers where id = 3",
        *(
            f"insert into layers ({columns}) {copied.format(50 + i, i)} from layers where id = {i}"
            for i in (1, 2)
        ),
        "update cases set (state, n_approvals, seal) = (select state, n_approvals, seal from cases where id = 1)",
    )
    exported = export_released(store, tmp_path / "out")
    assert exported.n_cases == 1 and "cases 2 was altered" in exported.problems[0]


def test_a_changed_policy_does_not_open(store, tmp_path):
    forge(
        store,
        tmp_path,
        "update meta set value = replace(value, '\"approvals\": 2', '\"approvals\": 1') where name = 'settings'",
    )
    with pytest.raises(UnreadableInputError, match="meta settings of the store was altered"):
        open_store(tmp_path / "review.db", KEY)


def test_nothing_is_appended_to_a_trail_that_was_cut(store, tmp_path):
    forge(store, tmp_path, "delete from trail where number = 9", "update trail_head set n_entries = 8")
    with pytest.raises(UnreadableInputError, match="the head of the trail was altered"):
        add_user(store, "dora", PASSWORD, UserRole.REVIEWER)


def test_rows_do_not_change_without_an_entry_of_the_trail(store):
    with (
        pytest.raises(StageError, match="without an entry of the trail: users 1"),
        store.writing() as transaction,
    ):
        transaction.update(USERS, USERS.c.id == 1, role="admin")


def test_a_row_without_a_value_has_another_seal_than_one_with_an_empty_value(store):
    values = {"id": 1, "case_id": 1, "user_id": 1, "kind": "", "is_blind": False, "revision": 0, "n_done": 0}
    found = {
        store.seals.seal(LAYERS, {**values, "approval": approval, "actions_hash": actions, "seal": None})
        for approval, actions in ((None, None), (None, ""), (0, None), (0, ""))
    }
    assert len(found) == 4


class TestReplay:
    """Rows with valid seals: what was true once is put back, or a row is deleted."""

    def problems(self, store):
        return list(verify_store(store).problems)

    def test_an_untouched_store_has_none(self, store):
        assert self.problems(store) == []

    @pytest.mark.parametrize("change", ["is_active = 0", "role = 'admin'"])
    def test_a_forged_account_is_found_and_nothing_is_exported(self, store, tmp_path, change):
        forge(store, tmp_path, f"update users set {change} where id = 2")
        assert self.problems(store) == ["users 2 was altered outside the program"]
        with pytest.raises(NotAllowedError, match=r"users 2 was altered .* Nothing is exported"):
            export_released(store, tmp_path / "out")

    def test_an_older_row_of_an_account_is_found(self, store, tmp_path):
        before = dump(tmp_path, "users", "id = 1")
        set_role(store, "ann", UserRole.ADJUDICATOR)
        restore(tmp_path, "users", before)
        assert find_user(store, "ann").role is UserRole.REVIEWER  # its seal is intact
        assert self.problems(store) == ["users 1 is not as entry 17 left it"]

    def test_an_older_state_of_a_case_with_its_layers_is_found(self, store, tmp_path):
        before = [dump(tmp_path, table, "1") for table in ("cases", "layers")]
        carl = user(store, "carl", UserRole.ADJUDICATOR)
        withdraw(store, carl, 1)
        for table, rows in zip(("cases", "layers"), before, strict=True):
            restore(tmp_path, table, rows)
        assert self.problems(store) == [
            "cases 1 is not as entry 18 left it",
            "layers 1 is not as entry 18 left it",
            "layers 2 is not as entry 18 left it",
        ]
        with pytest.raises(ReviewError, match="is not as entry 18 left it"):
            released_zip(store, io.BytesIO())

    def test_older_actions_of_a_layer_are_found(self, store, tmp_path):
        before = [dump(tmp_path, table, "1") for table in ("layers", "actions")]
        change(store, place(store, find_user(store, "ann"), 2), ActionKind.MASK, 0)
        for table, rows in zip(("layers", "actions"), before, strict=True):
            restore(tmp_path, table, rows)
        assert self.problems(store) == ["layers 3 is not as entry 17 left it"]

    @pytest.mark.parametrize(
        ("table", "problem"),
        [
            ("layers", "layers 2 is missing, and entry 12 recorded it"),
            ("users", "users 2 is missing, and entry 3 recorded it"),
            ("cases", "cases 2 is missing, and entry 15 recorded it"),
        ],
    )
    def test_a_deleted_row_is_found(self, store, tmp_path, table, problem):
        forge(store, tmp_path, f"delete from {table} where id = 2")
        assert problem in self.problems(store)

    def test_a_case_without_one_of_its_layers_is_held_back(self, store, tmp_path):
        forge(store, tmp_path, "delete from layers where id = 2")
        exported = export_released(store, tmp_path / "out")
        assert exported.n_cases == 0
        assert exported.problems[0] == "layers 2 is missing, and entry 12 recorded it"

    def test_a_session_that_was_ended_and_put_back_is_found(self, store, tmp_path):
        session = begin_session(store, find_user(store, "ann"))
        before = dump(tmp_path, "sessions", "1")
        log_out(store, session)
        restore(tmp_path, "sessions", before)
        assert self.problems(store)[0].endswith("was put back after entry 18 deleted it")

    @pytest.mark.parametrize(
        "forgery",
        [
            "update actions set layer_id = 1",
            "update layers set n_done = 0 where id = 3",
            "insert into actions values (1, 0, '[[2, 3, true, null]]')",
        ],
    )
    def test_forged_actions_are_found(self, store, tmp_path, forgery):
        forge(store, tmp_path, forgery)
        assert self.problems(store) and all("layers " in one for one in self.problems(store))

    def test_a_broken_trail_exports_nothing(self, store, tmp_path):
        forge(store, tmp_path, "update trail set line = replace(line, 'ann', 'eve') where number = 4")
        with pytest.raises(NotAllowedError, match=r"entry 4 was changed .* Nothing is exported"):
            released_zip(store, io.BytesIO())
        with pytest.raises(NotAllowedError, match="entry 4 was changed"):
            list(iterate_annotated(store, "export"))


def dump(tmp_path, table, condition):
    """Return rows of a table as an administrator of the database sees them."""
    raw = sqlite3.connect(tmp_path / "review.db")
    found = raw.execute(f"select * from {table} where {condition}").fetchall()
    raw.close()
    return found


def restore(tmp_path, table, rows):
    """Put older rows back."""
    raw = sqlite3.connect(tmp_path / "review.db")
    raw.execute(f"delete from {table} where {'id = ' + str(rows[0][0]) if table == 'users' else '1'}")
    raw.executemany(f"insert into {table} values ({', '.join('?' * len(rows[0]))})", rows)
    raw.commit()
    raw.close()
