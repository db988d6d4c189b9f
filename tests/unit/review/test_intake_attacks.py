"""Attacks on the pages that add files: forged choices, narratives where names are expected, traces in the trail."""

import json
import re

import pytest
from desk_visitors import desk_of
from sqlalchemy import select

from inverse_deid.review.files.waiting import UploadState, clean_name, list_uploads
from inverse_deid.review.pages import intake_pages
from inverse_deid.review.store.tables import CASES, MASKINGS, TRAIL

NARRATIVE = "the patient was seen by Okonkwo in Lagos and had a rash two hours after the first dose"
ENDED = (UploadState.DONE, UploadState.FAILED, UploadState.STOPPED)


@pytest.fixture
def desk(tmp_path):
    with desk_of(tmp_path) as desk:
        yield desk


def events(store):
    with store.reading() as transaction:
        lines = transaction.execute(select(TRAIL.c.line).order_by(TRAIL.c.number)).scalars()
        entries = list(map(json.loads, lines))
        return [(one["user"], one["event"], transaction.names.find(one["name"])) for one in entries]


def bytes_of(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_first_row_that_is_no_header_is_written_only_on_request(desk, tmp_path):
    table = f"7,{NARRATIVE}\n8,{NARRATIVE.replace('Okonkwo', 'Quill')}\n"
    upload = desk.add("cases.csv", table.encode()).json()
    assert f'name="header {upload["id"]} 0"' in desk.client.get("/choices").text
    answer = desk.choose({f"column {upload['id']} 1": "masked"})
    assert answer.status_code == 400
    assert "does not look like names of columns" in answer.text
    assert list_uploads(desk.store)[0].state is UploadState.READY
    assert b"Okonkwo" not in bytes_of(tmp_path)
    chosen = {f"column {upload['id']} 1": "masked", f"header {upload['id']} 0": "yes"}
    assert desk.choose(chosen).status_code == 303


def test_a_usual_header_needs_no_answer(desk):
    upload = desk.add("cases.csv", f"id,text\n7,{NARRATIVE}\n".encode()).json()
    assert f'name="header {upload["id"]} 0"' not in desk.client.get("/choices").text
    assert desk.choose({f"column {upload['id']} 1": "masked"}).status_code == 303


@pytest.mark.parametrize("fate", ["kept", "id"])
def test_a_narrative_is_neither_copied_nor_the_name_of_a_case(desk, tmp_path, fate):
    upload = desk.add("cases.csv", f"id,narrative,text\n7,{NARRATIVE},well\n".encode()).json()
    page = desk.client.get("/choices").text
    assert f'name="column {upload["id"]} 1" value="{fate}"' not in page
    assert f'name="column {upload["id"]} 0" value="{fate}"' in page
    answer = desk.choose({f"column {upload['id']} 1": fate, f"column {upload['id']} 2": "masked"})
    assert answer.status_code == 400
    assert "can only be masked or dropped" in answer.text
    assert list_uploads(desk.store)[0].state is UploadState.READY
    assert b"Okonkwo" not in bytes_of(tmp_path)


def test_a_column_with_free_text_does_not_name_cases(desk):
    upload = desk.add(
        "cases.csv", f"id,seen,text\n7,at home by Okonkwo after a fall,{NARRATIVE}\n".encode()
    ).json()
    answer = desk.choose({f"column {upload['id']} 1": "id", f"column {upload['id']} 2": "masked"})
    assert answer.status_code == 400
    assert "cannot be the number of the case" in answer.text


def test_columns_that_the_table_does_not_have_are_ignored(desk):
    upload = desk.add("cases.csv", f"id,text\n7,{NARRATIVE}\n".encode()).json()
    forged = {f"column {upload['id']} {number}": "kept" for number in (7, -1, "text")}
    assert desk.choose({f"column {upload['id']} 1": "masked", **forged}).status_code == 303
    desk.wait(*ENDED)
    with desk.store.reading() as transaction:
        output = json.loads(transaction.execute(select(MASKINGS.c.output)).scalar_one())
    assert output["read_options"]["keep_columns"] == []


def test_a_stale_page_does_not_answer_for_another_file_of_the_same_number(desk):
    table = f"id,text\n7,{NARRATIVE}\n".encode()
    first = desk.add("one.csv", table).json()
    page = desk.client.get("/choices").text
    desk.ask(f"/add/{first['id']}", what="remove")
    second = desk.add("other.csv", table).json()
    assert second["id"] == first["id"]
    files = re.findall(r'name="file" value="(\d+)"', page)
    answer = desk.send("/choices", file=files, **{f"column {first['id']} 1": "masked"})
    assert answer.status_code == 400 and "no file is ready" in answer.text.lower()
    assert [one.state for one in list_uploads(desk.store)] == [UploadState.READY]


def test_only_files_whose_columns_were_checked_are_queued(desk, monkeypatch):
    first = desk.add("one.csv", f"id,text\n7,{NARRATIVE}\n".encode()).json()
    submit = desk.intake.submit

    def add_late(choices, columns, ids, **more):
        late = desk.add("late.csv", f"id,text\n9,{NARRATIVE}\n".encode()).json()
        assert late["id"] == first["id"] + 1
        return submit(choices, columns, ids, **more)

    monkeypatch.setattr(desk.intake, "submit", add_late)
    (key,) = [str(one.name_key) for one in list_uploads(desk.store)]
    form = {f"column {first['id']} 1": "masked", "file": [key, str(first["id"] + 1)]}
    assert desk.send("/choices", **form).status_code == 303
    states = {one.facts.name: one.state for one in list_uploads(desk.store)}
    assert states["late.csv"] is UploadState.READY


def test_the_trail_says_who_added_chose_stopped_and_removed(desk):
    table = f"id,text,country\n7,{NARRATIVE},norway\n".encode()
    upload = desk.add("cases.csv", table).json()
    desk.add("note.txt", b"seen by Okonkwo")
    desk.ask("/add/2", what="remove")
    desk.choose({f"column {upload['id']} 1": "masked", f"column {upload['id']} 2": "kept"}, dates="year")
    desk.wait(*ENDED)
    said = [(event, name) for user, event, name in events(desk.store) if event.startswith("file ")]
    assert said[:3] == [
        (f"file received: {len(table)} bytes", "cases.csv"),
        ("file received: 15 bytes", ""),  # its name is gone with it
        ("file removed before it was masked", ""),
    ]
    chosen, name = said[3]
    assert name == "cases.csv"
    assert chosen.startswith("file queued for masking: ")
    assert "dates=year" in chosen
    assert "1 masked, 1 kept, 1 dropped" in chosen
    assert "country" not in chosen
    assert said[4][0] == "file 1 added: 1 cases"
    desk.add("late.txt", b"seen by Okonkwo again")
    desk.send("/files/delete", sure="yes")
    assert any(event == "files removed before they were masked: 1" for _, event, _ in events(desk.store))


@pytest.mark.parametrize(
    ("given", "clean"),
    [
        ("a/.. ./b.txt", "a/b.txt"),
        ("a/.. /b.txt", "a/b.txt"),
        ("a/. ./b.txt", "a/b.txt"),
        ("../\u202etxt.exe\x00\n\"'.csv", "txt.exe'.csv"),
        ("/abs/con.txt ", "abs/con.txt"),
    ],
)
def test_no_name_leads_elsewhere_where_blanks_and_dots_at_the_end_do_not_count(given, clean):
    assert clean_name(given) == clean


def test_more_than_was_stated_is_not_stored(desk, monkeypatch):
    stored = []
    monkeypatch.setattr(intake_pages, "add_piece", lambda *given: stored.append(given))
    answer = desk.add("case.txt", b"Okonkwo " * 400_000, **{"Content-Length": "20"})
    assert answer.status_code == 400
    assert not stored
    assert not list_uploads(desk.store)


def test_no_case_is_left_with_text_in_its_name(desk):
    upload = desk.add("cases.csv", f"id,text\n7,{NARRATIVE}\n".encode()).json()
    desk.choose({f"column {upload['id']} 0": "id", f"column {upload['id']} 1": "masked"})
    desk.wait(*ENDED)
    with desk.store.reading() as transaction:
        (name,) = transaction.execute(select(CASES.c.name)).scalars()
        assert transaction.names.open(name) == "7"
