"""Somebody writes to the database of a running review without its key: all of it is refused and found."""

import re
import sqlite3
import time
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from postgres_cluster import postgres_address
from review_servers import serving
from review_stores import KEY, PASSWORD, TEXT, change, place, review, store_of, user
from review_visitors import account

from inverse_deid.core.errors import InverseDeidError
from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import ActionKind, UserRole

pytestmark = pytest.mark.slow


def fill(store):
    """Case 1 is released by ann and bea, dora is an admin, fay settles, and ann is at work on case 2."""
    ann, bea = user(store, "ann"), user(store, "bea")
    account(store, "dora", UserRole.ADMIN)
    account(store, "emil")
    account(store, "fay", UserRole.ADJUDICATOR)
    review(store, ann, 1)
    review(store, bea, 1)
    change(store, place(store, ann, 2), ActionKind.MASK, 5)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The path of a store that is served, and clients in which dora, emil and fay are logged in."""
    path = tmp_path_factory.mktemp("forged") / "review.db"
    with store_of(path.parent, [TEXT, TEXT], clock=time.time) as store:
        fill(store)
    key = path.with_name("review.db.key")
    key.write_bytes(KEY.secret)
    key.chmod(0o600)
    with serving(path) as port, ExitStack() as opened:
        names = ("dora", "emil", "fay")
        base = f"http://127.0.0.1:{port}"
        clients = [opened.enter_context(httpx.Client(base_url=base, timeout=60)) for _ in names]
        assert [log_in(*one).status_code for one in zip(clients, names, strict=True)] == [303] * 3
        yield path, *clients


def log_in(client, name):
    return client.post(
        "/log-in", data={"name": name, "password": PASSWORD, "csrf_token": token(client, "/log-in")}
    )


def token(client, address):
    return re.search(r'name="csrf_token" value="([0-9a-f]+)"', client.get(address).text).group(1)


@contextmanager
def forged(path, statement):
    """Run a statement in the file of a store, and put its tables back afterwards."""
    raw = sqlite3.connect(path, timeout=30, isolation_level=None)
    tables = ("users", "sessions", "cases", "layers", "actions", "meta")
    before = {table: raw.execute(f"select * from {table}").fetchall() for table in tables}
    raw.execute(statement)
    try:
        yield
    finally:
        raw.execute("begin immediate")
        for table, rows in before.items():
            raw.execute(f"delete from {table}")
            raw.executemany(f"insert into {table} values ({', '.join('?' * len(rows[0]))})", rows)
        raw.execute("commit")
        raw.close()


COPY_OF_DORA = (
    "insert into users (id, name, password, role, is_active, must_change_password, seal) "
    "select 9, 'eve', password, role, is_active, must_change_password, seal from users where name = 'dora'"
)


def test_a_changed_role_is_refused(served):
    path, _, emil, _ = served
    assert emil.get("/accounts").status_code == 403
    with forged(path, "update users set role = 'admin' where name = 'emil'"):
        answer = emil.get("/accounts")
        assert answer.status_code == 500 and "Users 4 of the store was altered" in answer.text
    assert emil.get("/").status_code == 200


def test_a_download_leaves_out_what_was_forged(served):
    path, *_, fay = served
    with forged(path, "update cases set state = 'released', n_approvals = 2 where id = 2"):
        answer = fay.post("/files/download", data={"csrf_token": token(fay, "/files")})
        assert answer.status_code == 200 and answer.headers["content-type"] == "application/zip"
        page = fay.get("/files").text
        assert "1 case downloaded, but 1 could not be written. cases 2 was altered" in page
    with forged(path, "update users set is_active = 0 where name = 'bea'"):
        answer = fay.post("/files/download", data={"csrf_token": token(fay, "/files")})
        assert answer.status_code == 403 and "Nothing is exported" in answer.text


FORGERIES = (
    COPY_OF_DORA,
    "update users set role = 'admin' where name = 'emil'",
    "update users set is_active = false where name = 'bea'",
    "insert into actions (layer_id, position, steps) values (3, 1, '[[2, 3, true, null]]')",
    "update layers set n_done = 0 where id = 3",
    "update layers set approval = 1 where id = 3",
    "update cases set state = 'released', n_approvals = 2 where id = 2",
    "update cases set assignee_id = 4 where id = 2",
    "update actions set layer_id = 1",
    "delete from layers where id = 2",
    "update meta set value = replace(value, 'approvals\": 2', 'approvals\": 1') where name = 'settings'",
    "update maskings set facts = replace(facts, 'PHI', '')",
    "update sources set name = 'x'",
)


@pytest.fixture(scope="module")
def in_postgres(tmp_path_factory):
    with postgres_address() as address:
        store = store_of(tmp_path_factory.mktemp("pg"), [TEXT, TEXT], address=address)
        fill(store)
        yield store, address
        store.close()


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forgery_in_postgresql_is_found_and_not_exported(in_postgres, tmp_path, forgery):
    store, address = in_postgres
    assert verify_store(store).is_intact
    tables = ("users", "layers", "cases", "actions", "meta", "maskings", "sources")
    with store._engine.begin() as raw:
        for table in tables:
            raw.exec_driver_sql(f"create table kept_{table} as select * from {table}")
        raw.exec_driver_sql("set session_replication_role = replica")
        raw.exec_driver_sql(forgery.replace("%", "%%"))
        raw.exec_driver_sql("set session_replication_role = origin")
    try:
        assert not verify_store(store).is_intact
        try:
            with open_store(address, KEY) as again:
                exported = export_released(again, tmp_path / "out")
            assert exported.n_cases <= 1 and exported.problems
        except InverseDeidError as refusal:
            assert "was altered outside the program" in str(refusal)
    finally:
        with store._engine.begin() as raw:
            raw.exec_driver_sql("set session_replication_role = replica")
            for table in tables:
                raw.exec_driver_sql(f"delete from {table}")
                raw.exec_driver_sql(f"insert into {table} select * from kept_{table}")
                raw.exec_driver_sql(f"drop table kept_{table}")
            raw.exec_driver_sql("set session_replication_role = origin")
