"""Search, order and pages of the list of cases, and of the trail."""

import json
import sqlite3

import pytest
from review_stores import change_rows, json_lines, place, review, store_of, user
from sqlalchemy import select, update

from inverse_deid.core.errors import ReviewError
from inverse_deid.review.flow.work_list import count_matches, list_cases, read_line
from inverse_deid.review.store.deletion import _forget_uploads
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.keys import FileNames
from inverse_deid.review.store.tables import CASES, SOURCES, TRAIL
from inverse_deid.review.store.trail import (
    UNREADABLE,
    TrailFilter,
    count_entries,
    encode_export,
    export_trail,
    list_entries,
    verify_export,
    verify_store,
)
from inverse_deid.review.store.values import CaseState, WorkFilter, WorkOrder

NAMES = ["delta", "Alpha", "alpha", "50%_off", "Öland", "beta", "echo", "golf", "hotel", "beta"]


@pytest.fixture
def store(tmp_path):
    files = []
    for file, names in (("one.jsonl", NAMES[:5]), ("a_two.jsonl", NAMES[5:9]), ("zulu.jsonl", NAMES[9:])):
        path = tmp_path / file
        path.write_text("".join(json.dumps({"id": name, "text": "a b"}) + "\n" for name in names))
        files.append(path)
    with store_of(tmp_path, inputs=files, approvals=1) as store:
        for case_id, doubt in ((2, 7.5), (9, 30.25), (4, 7.5)):
            change_rows(store, CASES, CASES.c.id == case_id, doubt=doubt)
        yield store


ALL = WorkFilter()


def walk(store, order, chosen=ALL, n_rows=3):
    """Return the numbers of all cases, page by page, and the keys of the pages."""
    key, found, keys = None, [], []
    while True:
        page = list_cases(store, chosen, after=key, n_rows=n_rows, order=order)
        found += [row.case_id for row in page.rows]
        key = page.next_key
        if key is None:
            return found, keys
        keys.append(key)


def test_names_that_are_dropped_while_they_are_read_are_read_again(store, monkeypatch):
    """Somebody else deletes a case meanwhile."""
    find = FileNames.find

    def find_while_a_case_is_deleted(self, sealed):
        found = find(self, sealed)
        if found == "beta":
            with store.writing() as transaction:
                _forget_uploads(transaction)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(FileNames, "find", find_while_a_case_is_deleted)
        count_matches(store, WorkFilter(search="a"))
    assert {row.name for row in list_cases(store, WorkFilter(search="delta")).rows} == {"delta"}


class TestOrder:
    def test_by_name_file_and_newest(self, store):
        lines = [read_line(store, case_id) for case_id in range(1, 11)]
        by_name = sorted(lines, key=lambda one: (one.name, one.case_id))
        assert walk(store, WorkOrder.NAME)[0] == [one.case_id for one in by_name]
        by_file = sorted(lines, key=lambda one: (one.source, one.case_id))
        assert [one.source for one in by_file][::4] == ["a_two.jsonl", "one.jsonl", "one.jsonl"]
        assert walk(store, WorkOrder.FILE)[0] == [one.case_id for one in by_file]
        assert walk(store, WorkOrder.NEWEST)[0] == list(range(10, 0, -1))
        assert walk(store, WorkOrder.DOUBT)[0] == [9, 2, 4, 1, 3, 5, 6, 7, 8, 10]

    def test_by_state_in_the_order_of_the_work(self, store):
        ann = user(store, "ann")
        for case_id in (2, 5):
            review(store, ann, case_id)
        place(store, ann, 9)
        assert walk(store, WorkOrder.STATE)[0] == [4, 1, 3, 6, 7, 8, 10, 9, 2, 5]
        assert walk(store, WorkOrder.STATE, n_rows=1)[0] == [4, 1, 3, 6, 7, 8, 10, 9, 2, 5]
        released = WorkFilter(states=frozenset({CaseState.RELEASED, CaseState.IN_REVIEW}))
        assert walk(store, WorkOrder.STATE, released, 1)[0] == [9, 2, 5]

    @pytest.mark.parametrize("order", list(WorkOrder))
    def test_pages_contain_every_match_once_and_keys_no_name(self, store, order):
        ann = user(store, "ann")
        review(store, ann, 3)
        place(store, ann, 1)
        for chosen in (
            WorkFilter(),
            WorkFilter(search="a"),
            WorkFilter(claimable_by=ann.id),
            WorkFilter(work_of=ann.id),
            WorkFilter(approved_by=ann.id),
        ):
            found, keys = walk(store, order, chosen, 1)
            assert len(found) == len(set(found)) == count_matches(store, chosen)
            assert not any(name.lower() in key.lower() for name in (*NAMES, "jsonl") for key in keys)

    @pytest.mark.parametrize("order", list(WorkOrder))
    @pytest.mark.parametrize(
        "key", ["", "x", "1_2_3", "_", "new_1", "0x1p0_" + "9" * 30, "9" * 30, "-", "1.5"]
    )
    def test_malformed_keys_are_refused(self, store, order, key):
        with pytest.raises(ReviewError, match="first page"):
            list_cases(store, WorkFilter(), after=key, order=order)

    @pytest.mark.parametrize("order", [WorkOrder.NAME, WorkOrder.FILE])
    def test_the_key_of_a_deleted_case_is_refused(self, store, order):
        with pytest.raises(ReviewError, match="first page"):
            list_cases(store, WorkFilter(), after="999", order=order)

    def test_first_and_later_pages_come_from_an_index(self, store, tmp_path):
        raw = sqlite3.connect(tmp_path / "review.db")
        for condition in ("1", "doubt <= 7"):
            plan = raw.execute(
                f"explain query plan select id from cases where {condition} order by doubt desc, id limit 51"
            ).fetchall()
            assert "INDEX cases_by_" in plan[0][3]
            assert not any("TEMP B-TREE" in step[3] for step in plan)
        raw.close()


class TestSearch:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("ALPHA", {2, 3}),
            ("two", {6, 7, 8, 9}),
            ("%", {4}),
            ("_", {4, 6, 7, 8, 9}),
            ("0%_o", {4}),
            ("Öland", {5}),
            ("nowhere", set()),
            ("'; drop table cases; --", set()),
        ],
    )
    def test_part_of_the_name_of_a_case_or_file(self, store, text, found):
        chosen = WorkFilter(search=text)
        assert set(walk(store, WorkOrder.DOUBT, chosen)[0]) == found
        assert count_matches(store, chosen) == len(found)

    def test_cases_of_a_user(self, store):
        ann, bea = user(store, "ann"), user(store, "bea")
        review(store, ann, 3)
        place(store, ann, 1)
        change_rows(store, CASES, CASES.c.id == 6, assignee_id=ann.id)
        assert set(walk(store, WorkOrder.NAME, WorkFilter(work_of=ann.id))[0]) == {1, 6}
        assert walk(store, WorkOrder.NAME, WorkFilter(approved_by=ann.id))[0] == [3]
        assert walk(store, WorkOrder.NAME, WorkFilter(work_of=bea.id))[0] == []


class TestTrail:
    @pytest.fixture
    def filled(self, tmp_path):
        cases = json_lines(tmp_path / "cases.jsonl", ["a b"] * 2)
        with store_of(tmp_path, inputs=[cases]) as store:
            with store.writing() as transaction:
                key_id = transaction.execute(select(SOURCES.c.name_key)).scalar_one()
                names = [transaction.names.seal(key_id, one) for one in ("c1", "c2", 'od"d', "Öl", "c1")]
                events = [
                    TrailEvent(user=who, event=event, name=name)
                    for who, event in (("ann", "approve"), ("a_n", "note"), ("bea", "account of ann added"))
                    for name in names
                ]
                transaction.record(*events)
            yield store

    @pytest.mark.parametrize(
        ("chosen", "n"),
        [
            (TrailFilter(), 15),
            (TrailFilter(user="ann"), 5),
            (TrailFilter(user="a_n"), 5),
            (TrailFilter(user="an"), 0),
            (TrailFilter(case="C1"), 6),
            (TrailFilter(case='"D'), 3),
            (TrailFilter(case="öl"), 3),
            (TrailFilter(case="%"), 0),
            (TrailFilter(events=("app", "note")), 10),
            (TrailFilter(events=("account of ",), case="c2"), 1),
            (TrailFilter(events=("pprove",)), 0),
        ],
    )
    def test_filters_and_pages(self, filled, chosen, n):
        n_older = count_entries(filled) - 15
        everything, before = [], None
        while True:
            page, has_more = list_entries(filled, chosen, before=before, n_rows=4)
            everything += [one.number for one in page]
            if not has_more:
                break
            before = everything[-1]
        mine = [number for number in everything if number > n_older]
        assert len(mine) == len(set(mine)) == n
        assert everything == sorted(everything, reverse=True)

    @pytest.mark.parametrize("line", ["no json", "[]", '{"user": 5, "event": []}', "{}"])
    def test_an_altered_entry_is_shown_as_such(self, filled, line):
        last = count_entries(filled)
        with filled.writing() as transaction:
            transaction.execute(update(TRAIL).where(TRAIL.c.number == last).values(line=line))
        entries, _ = list_entries(filled, TrailFilter())
        assert (entries[0].number, entries[0].event.event) == (last, UNREADABLE)
        assert entries[1].event.user == "bea"
        assert not verify_store(filled).is_intact

    def test_an_export_in_pieces_is_the_export_of_the_command(self, filled, tmp_path):
        n = export_trail(filled, tmp_path / "trail.jsonl")
        assert b"".join(encode_export(filled)) == (tmp_path / "trail.jsonl").read_bytes()
        (tmp_path / "again.jsonl").write_bytes(b"".join(encode_export(filled)))
        assert verify_export(tmp_path / "again.jsonl", None).is_intact
        assert n == count_entries(filled)
