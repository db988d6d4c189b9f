"""Names of files and cases are in no byte of a store: not while a file waits, not in the trail, not afterwards."""

import io
import time
from datetime import date

import pytest
from fake_maskers import mask_capitals
from postgres_cluster import postgres_address
from review_stores import KEY, review, store_of, user
from sqlalchemy import create_engine, inspect

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.review.files.choices import MaskingChoices
from inverse_deid.review.files.exporting import released_zip
from inverse_deid.review.files.service import IntakeService
from inverse_deid.review.files.waiting import (
    UploadState,
    add_piece,
    begin_upload,
    list_uploads,
    remove_upload,
)
from inverse_deid.review.flow.work_list import list_cases
from inverse_deid.review.store.deletion import delete_everything
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.tables import CASES, TRAIL
from inverse_deid.review.store.trail import TrailFilter, list_entries, verify_store
from inverse_deid.review.store.values import WorkFilter, WorkOrder

pytestmark = pytest.mark.slow

NAME = "Nwachukwu_Ifeoma_1961.txt"
REMOVED = "Zebulonova_Anna_1950.txt"
PARTS = ("Nwachukwu", "Zebulonova")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Make an empty store in a database; return its address and what reads all of its bytes."""
    if request.param == "sqlite":
        store_of(tmp_path).close()
        yield tmp_path / "review.db", lambda: read_file(tmp_path)
        return
    with postgres_address() as address:
        store_of(tmp_path, address=address).close()
        yield address, lambda: read_tables(address)


def read_file(folder):
    return b"".join(file.read_bytes() for file in folder.glob("review.db*"))


def read_tables(address):
    engine = create_engine(address)
    with engine.connect() as connection:
        tables = inspect(connection).get_table_names()
        rows = [connection.exec_driver_sql(f"select * from {table}").all() for table in tables]
    engine.dispose()
    return repr(rows).encode()


def find_names(stored):
    """Return which names are in bytes, also as base64 or hexadecimal would show them."""
    return [
        one
        for one in PARTS
        for shown in (one.encode(), one.lower().encode(), one.encode().hex().encode())
        if shown in stored
    ]


def receive(store, service, name, text):
    upload = begin_upload(store, name, len(text), by="eve")
    add_piece(store, upload.id, 0, text)
    return service.inspect(upload.id)


def wait_for_masking(store):
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        (upload,) = list_uploads(store)
        if upload.state in (UploadState.DONE, UploadState.FAILED):
            return upload
        time.sleep(0.05)
    raise AssertionError("nothing was masked")


def names_in_trail(store):
    entries, _ = list_entries(store, TrailFilter())
    return {one.event.name for one in entries if one.event.name}


def test_no_name_is_in_the_clear_and_a_deleted_one_is_gone_for_good(place, tmp_path):
    address, read = place
    with open_store(address, KEY) as store:
        service = IntakeService(store, lambda _: mask_capitals(), today=lambda: date(2024, 1, 1))
        service.start()
        try:
            removed = receive(store, service, REMOVED, b"seen by Bako.")
            assert find_names(read()) == []
            assert remove_upload(store, removed.id, by="eve")
            upload = receive(store, service, NAME, b"seen by Okonkwo today.")
            assert find_names(read()) == []
            service.submit(MaskingChoices(), {}, [upload.id], by="eve", needs_second=False)
            done = wait_for_masking(store)
            assert done.state is UploadState.DONE, done.facts.problem
        finally:
            service.close()
        (row,) = list_cases(store, WorkFilter(search="NWACHUKWU"), order=WorkOrder.NAME).rows
        assert row.name == NAME and row.source == NAME
        ann, bea = user(store, "ann"), user(store, "bea")
        review(store, ann, row.case_id, mask=[0])
        review(store, bea, row.case_id, mask=[0])
        packed = io.BytesIO()
        assert released_zip(store, packed, by="ann").files[0].name == NAME
        assert NAME in names_in_trail(store) and REMOVED not in names_in_trail(store)
        found, _ = list_entries(store, TrailFilter(case="nwachu"))
        assert found and all(NAME in (one.event.name or "") for one in found)
        assert find_names(read()) == []
        with store.reading() as transaction:
            (token,) = transaction.execute(CASES.select().where(CASES.c.id == row.case_id)).all()
            lines = transaction.execute(TRAIL.select()).all()
        assert any(token.name in one.line for one in lines)
        delete_everything(store, "eve")
        assert verify_store(store).is_intact
        assert find_names(read()) == []
        assert not any(name.endswith(".txt") for name in names_in_trail(store))
        # What is left of it in the trail opens with no key that is left.
        with store.reading() as transaction, pytest.raises(UnreadableInputError):
            transaction.names.open(token.name)
        assert any(token.name in one.line for one in lines)
