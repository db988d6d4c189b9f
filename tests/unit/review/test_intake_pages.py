"""Files from the page into the store and out again: choices, progress, stops, crashes, download, deletion."""

import io
import json
import re
import threading
import zipfile
from html import unescape
from importlib.util import find_spec

import pytest
from desk_visitors import desk_of
from excel_files import workbook_of
from fake_maskers import CANARY, mask_capitals
from review_stores import store_of
from review_visitors import account
from starlette.testclient import TestClient

from inverse_deid.core.child_process import LimitedProcess
from inverse_deid.core.errors import ModelError, Remedy, UnreadableInputError
from inverse_deid.review.files.choices import MaskingChoices
from inverse_deid.review.files.service import IntakeService, explain_problem
from inverse_deid.review.files.waiting import (
    MAX_FILE_BYTES,
    UploadState,
    change_upload,
    list_uploads,
    open_waiting_area,
)
from inverse_deid.review.flow.approval import approve
from inverse_deid.review.flow.reading import open_case
from inverse_deid.review.flow.work_list import list_cases
from inverse_deid.review.pages.application import _list_intake_routes, make_application
from inverse_deid.review.people.accounts import begin_session, find_user
from inverse_deid.review.store.deletion import delete_case
from inverse_deid.review.store.sources import read_file_facts
from inverse_deid.review.store.tables import WAITING_PIECES
from inverse_deid.review.store.trail import TrailFilter, list_entries, verify_store
from inverse_deid.review.store.values import LayerRevision, UserRole, WorkFilter

TABLE = b"id,text,country,reporter_name\n7,seen by Okonkwo,norway,Ann Li\n8,well,spain,Bob\n"
LONG = "the patient had a rash two hours after the first dose and was seen by Okonkwo with relief"
READY = (UploadState.READY, UploadState.FAILED)
ENDED = (UploadState.DONE, UploadState.FAILED, UploadState.STOPPED)


@pytest.fixture
def desk(tmp_path):
    with desk_of(tmp_path) as desk:
        yield desk


def approve_all(desk):
    for row in list_cases(desk.store, WorkFilter()).rows:
        revision = open_case(desk.store, desk.user, row.case_id).revision
        approve(desk.store, LayerRevision(desk.user.id, row.case_id, revision))


def test_a_text_is_added_masked_read_and_downloaded(desk):
    added = desk.add("folder/case.txt", b"seen by Okonkwo today").json()
    assert (added["state"], added["name"], added["n_expected"]) == ("ready", "folder/case.txt", 1)
    page = desk.client.get("/choices").text
    assert "How should this file be masked?" in page
    answer = desk.choose(dates="shift", replace="category")
    assert (answer.status_code, answer.headers["location"]) == (303, "/masking")
    (done,) = desk.wait(*ENDED)
    assert (done["state"], done["n_done"], done["problem"]) == ("done", 1, "")
    assert "folder/case.txt" in desk.client.get("/").text
    approve_all(desk)
    packed = zipfile.ZipFile(io.BytesIO(desk.send("/files/download").content))
    names = packed.namelist()
    assert "folder/case.txt" in names
    assert len(names) == 3
    assert packed.read("folder/case.txt") == b"seen by [NAME] today"
    assert b"Okonkwo" not in b"".join(packed.read(name) for name in names)
    single = desk.send("/files/download", source="1")
    assert single.content == b"seen by [NAME] today"
    assert single.headers["content-disposition"] == "attachment; filename*=UTF-8''case.txt"
    assert verify_store(desk.store).is_intact


def test_a_tick_replaces_names_by_numbers_and_the_list_comes_apart(desk):
    desk.add("Okonkwo.txt", b"seen by Okonkwo today")
    desk.choose()
    desk.wait(*ENDED)
    approve_all(desk)
    assert 'name="renames"' in desk.client.get("/files").text
    packed = zipfile.ZipFile(io.BytesIO(desk.send("/files/download", renames="yes").content))
    assert packed.namelist() == ["document-0001.txt", "run-report.json", "release-report.html"]
    assert b"Okonkwo" not in packed.read("run-report.json")
    single = desk.send("/files/download", source="1", renames="yes")
    assert single.headers["content-disposition"].endswith("''document-0001.txt")
    listed = desk.send("/files/names")
    assert listed.headers["content-disposition"].endswith("confidential-old-names.csv")
    assert listed.text == "kind,old,new\nfile,Okonkwo.txt,document-0001\n"


def test_a_column_that_looks_like_numbers_of_cases_is_offered_as_such(desk):
    offer = "It seems to have the numbers of the cases"
    desk.add("cases.csv", TABLE.replace(b"id,", b"case_id,"))
    page = desk.client.get("/choices").text
    assert page.count(offer) == 1
    assert page.index(offer) < page.index("<legend>text</legend>")
    assert 'value="dropped" checked' in page[: page.index(offer)]  # it is offered, not chosen


@pytest.mark.parametrize("name", [b"patient_id", b"mrn", b"reporter_no"])
def test_numbers_of_people_are_not_offered_as_numbers_of_cases(desk, name):
    desk.add("cases.csv", TABLE.replace(b"id,", name + b",", 1))
    assert "It seems to have the numbers" not in desk.client.get("/choices").text


def test_after_the_last_case_the_button_is_download(desk):
    desk.add("case.txt", b"seen by Okonkwo today")
    desk.choose()
    desk.wait(*ENDED)
    assert "Next case" in desk.client.get("/").text
    approve_all(desk)
    page = desk.client.get("/").text
    assert "Next case" not in page
    assert '<a class="button main" href="/files">Download</a>' in page


def test_columns_are_dropped_unless_they_are_narratives_or_chosen(desk):
    upload = desk.add("cases.csv", TABLE.replace(b"seen by Okonkwo", LONG.encode())).json()
    page = desk.client.get("/choices").text
    assert page.count(" checked") == 4 + 6
    assert f'name="column {upload["id"]} 1" value="masked" checked' in page
    for number in (0, 2, 3):
        assert f'name="column {upload["id"]} {number}" value="dropped" checked' in page
    assert "may identify a person" in page
    assert LONG[:30] in page
    desk.choose({f"column {upload['id']} 1": "masked", f"column {upload['id']} 2": "kept"})
    (done,) = desk.wait(*ENDED)
    assert (done["state"], done["n_done"]) == ("done", 2)
    approve_all(desk)
    written = desk.send("/files/download", source="1").text
    assert written == f"text,country\n{LONG.replace('Okonkwo', 'PHI')},norway\nwell,spain\n"


def test_a_sheet_without_the_chosen_ids_is_masked_and_noticed(desk):
    data = workbook_of(["case no", "text"], [7, LONG], Okonkwo=(["text"], ["seen by Okonkwo"]))
    upload = desk.add("cases.xlsx", data).json()
    desk.choose({f"column {upload['id']} 0": "id", f"column {upload['id']} 1": "masked"})
    (done,) = desk.wait(*ENDED)
    assert (done["state"], done["n_done"]) == ("done", 2)
    why = "cases.xlsx sheet 2: has no column 'case no'. The numbers of its rows are the ids."
    assert {"text": why, "is_warning": True} in done["facts"]


def names_in_list(desk):
    return re.findall(r'class="name"><a [^>]*>([^<]+)', desk.client.get("/").text)


@pytest.mark.parametrize(
    ("name", "data", "shown"),
    [
        ("cases.csv", b"text,id\nseen by Okonkwo,\nwell,\n", ["cases.csv row 2", "cases.csv row 3"]),
        ("a/cases.jsonl", b'{"text": "by Li"}\n', ["a/cases.jsonl line 1"]),
        (
            "cases.json",
            b'[{"text": "by Li"}, {"text": "well"}]',
            ["cases.json object 1", "cases.json object 2"],
        ),
    ],
)
def test_cases_without_an_id_are_named_after_their_place(desk, name, data, shown):
    for given, n_cases in ((data, len(shown)), (data.replace(b"well", b"better") + b"\n", 2 * len(shown))):
        added = desk.add(name, given).json()["id"]
        desk.choose({f"column {added} 0": "masked", f"column {added} 1": "dropped"})
        assert {one["state"] for one in desk.wait(*ENDED)} == {"done"}
        assert len(names_in_list(desk)) == n_cases
    second = [one.replace("cases.", "cases (2).") for one in shown]
    assert sorted(names_in_list(desk)) == sorted(shown + second)


def test_a_table_without_a_column_to_mask_comes_back_with_its_choices(desk):
    upload = desk.add("cases.csv", TABLE).json()
    answer = desk.choose({f"column {upload['id']} 2": "kept"}, operating_point="strict")
    assert answer.status_code == 400
    assert "Cases.csv: choose at least one column with text to be masked." in answer.text
    assert f'name="column {upload["id"]} 2" value="kept" checked' in answer.text
    assert 'name="operating_point" value="strict" checked' in answer.text
    assert list_uploads(desk.store)[0].state is UploadState.READY


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        pytest.param(
            *("image.png", b"\x89PNG", "Is not a PNG, JPEG or TIFF picture, or is damaged"),
            marks=pytest.mark.skipif(find_spec("rapidocr") is None, reason="needs the extra scans"),
        ),
        ("video.mp4", b"\x00", "file type that is not known"),
        ("text.txt", b"\xfa\x00" + CANARY.encode(), "Is not utf-8 text"),
        ("broken.docx", b"PK" + CANARY.encode(), "."),
        ("broken.jsonl", b"{" + CANARY.encode(), "."),
        ("rows.csv", b"text\n", "no rows"),
        ("empty.xml", b"<x>" + CANARY.encode(), "."),
        ("case.txt.gz", CANARY.encode(), "gzip"),
    ],
)
def test_what_cannot_be_masked_says_why_and_shows_no_text(desk, caplog, name, data, told):
    added = desk.add(name, data).json()
    assert added["state"] == "failed", added
    assert told in added["problem"]
    assert "--" not in added["problem"]
    assert CANARY not in added["problem"] + caplog.text
    assert desk.client.get("/choices").headers["location"] == "/add"
    desk.ask(f"/add/{added['id']}", what="remove")
    assert not list_uploads(desk.store)


@pytest.mark.parametrize(
    ("name", "value"),
    [("onset", "2019-10-12"), ("onset", "10/12/2019"), ("age", "43"), ("mrn", "4471922")],
)
def test_a_kept_column_that_must_not_leave_comes_back_with_its_choices(desk, name, value):
    added = desk.add("cases.csv", f"text,{name}\n{LONG},{value}\n".encode()).json()["id"]
    answer = desk.choose({f"column {added} 0": "masked", f"column {added} 1": "kept"})
    assert answer.status_code == 400
    assert f"row 2, column &#39;{name}&#39;" in answer.text
    assert "or choose Keep unchecked" in answer.text
    assert f'name="column {added} 1" value="kept" checked' in answer.text
    unchecked = {f"column {added} 0": "masked", f"column {added} 1": "kept unchecked"}
    assert desk.choose(unchecked).status_code == 400
    desk.choose({**unchecked, f"copies {added} 1": "kept unchecked"})
    (done,) = desk.wait(*ENDED)
    assert done["state"] == "done"


LATE_NAME = f"text,setting\n{LONG},at home\n" + "well,at work\n" * 6 + "well,with Okafor\n"


def test_a_kept_column_in_which_a_name_is_found_can_be_chosen_again(desk):
    added = desk.add("cases.csv", LATE_NAME.encode()).json()["id"]
    kept = {f"column {added} 0": "masked", f"column {added} 1": "kept"}
    assert desk.choose(kept, dates="year").status_code == 303
    (back,) = desk.wait(*ENDED, UploadState.READY)
    assert back["state"] == "ready"
    assert "Row 9, column 'setting': a kept column must not contain a name." in back["problem"]
    page = unescape(desk.client.get("/choices").text)
    assert f"Cases.csv: row 9{back['problem'].removeprefix('Row 9')}" in page
    assert f'name="column {added} 1" value="masked" checked' in page
    assert f'name="column {added} 1" value="kept"' not in page
    assert "something that may identify a person was found in it" in page
    assert 'name="dates" value="year" checked' in page
    # Masking would find the name again.
    answer = desk.choose(kept)
    assert answer.status_code == 400
    assert "Cases.csv: column 2 must not be kept" in answer.text
    unchecked = {**kept, f"column {added} 1": "kept unchecked"}
    assert "Please confirm." in desk.choose(unchecked).text
    assert list_uploads(desk.store)[0].state is UploadState.READY
    desk.choose({**unchecked, f"copies {added} 1": "kept unchecked"})
    (done,) = desk.wait(*ENDED)
    assert (done["state"], done["problem"]) == ("done", "")
    entries = [one.event for one in list_entries(desk.store, TrailFilter())[0]]
    (confirmed,) = [one.new for one in entries if one.event == "kept column confirmed"]
    assert confirmed == (
        "column setting kept unchecked. "
        "When it was checked, something that may identify a person was found in it."
    )


def test_a_file_that_choices_cannot_mend_stays_failed(desk, monkeypatch):
    added = desk.add("cases.csv", LATE_NAME.encode()).json()["id"]
    monkeypatch.setattr(
        "inverse_deid.review.files.service.add_cases",
        lambda *_args, **_kwargs: (_ for _ in ()).throw(UnreadableInputError("cannot be read")),
    )
    desk.choose({f"column {added} 0": "masked", f"column {added} 1": "kept"})
    (failed,) = desk.wait(*ENDED, UploadState.READY)
    assert (failed["state"], failed["problem"]) == ("failed", "Cannot be read.")


@pytest.mark.parametrize(
    ("column", "value", "fate", "found"),
    [
        ("setting", "at home with the family nurse", "kept", "It contains free text, which can name people."),
        ("reporter_name", "Ann", "kept unchecked", "Its name says that it may identify a person."),
        ("country", "norway", "kept unchecked", "Nothing in it is checked, whatever it contains."),
    ],
)
def test_a_column_that_may_name_people_is_kept_only_after_a_second_yes(desk, column, value, fate, found):
    added = desk.add("cases.csv", f"text,{column}\n{LONG},{value}\n".encode()).json()["id"]
    given = {f"column {added} 0": "masked", f"column {added} 1": fate}
    answer = desk.choose(given)
    assert answer.status_code == 400
    assert f"Column “{column}” would be copied unmasked, in every case. {found}" in answer.text
    assert list_uploads(desk.store)[0].state is UploadState.READY
    other = "kept" if fate == "kept unchecked" else "kept unchecked"
    for said in ("yes", other):
        assert desk.choose({**given, f"copies {added} 1": said}).status_code == 400
    assert desk.choose({**given, f"copies {added} 1": fate}).status_code == 303
    entries = [one.event for one in list_entries(desk.store, TrailFilter())[0]]
    (entry,) = [one for one in entries if one.event == "kept column confirmed"]
    assert (entry.name, entry.new) == ("cases.csv", f"column {column} {fate}. {found}")


def test_a_column_of_dates_that_follow_the_text_needs_no_second_yes(desk):
    added = desk.add("cases.csv", f"text,onset\n{LONG},2019-10-12\n".encode()).json()["id"]
    given = {f"column {added} 0": "masked", f"column {added} 1": "kept"}
    assert desk.choose(given, dates="year").status_code == 303


def test_a_packed_table_is_unpacked(desk):
    import gzip

    added = desk.add("cases.csv.gz", gzip.compress(TABLE)).json()
    assert (added["state"], added["n_expected"]) == ("ready", 2)
    desk.choose({f"column {added['id']} 1": "masked"})
    (done,) = desk.wait(*ENDED)
    assert (done["state"], done["n_done"]) == ("done", 2)
    approve_all(desk)
    assert desk.send("/files/download", source="1").text.startswith("text\nseen by PHI\n")


def test_the_same_file_is_not_added_twice(desk):
    desk.add("case.txt", b"seen by Okonkwo")
    desk.choose()
    desk.wait(*ENDED)
    again = desk.add("case.txt", b"seen by Okonkwo").json()
    assert (again["state"], again["problem"][:16]) == ("failed", "Was added before")
    assert desk.add("case.txt", b"seen by somebody").json()["state"] == "ready"


def test_of_two_equal_files_that_wait_together_one_is_masked_and_the_other_says_so(desk):
    for _ in range(2):
        assert desk.add("case.txt", b"seen by Okonkwo").json()["state"] == "ready"
    desk.choose()
    first, second = desk.wait(*ENDED)
    assert (first["state"], second["state"]) == ("done", "failed")
    assert second["problem"] == "Was added before, with the same contents. Nothing is left to do."
    assert len(list_cases(desk.store, WorkFilter()).rows) == 1


def test_uploads_need_session_token_size_and_a_whole_body(desk):
    assert desk.add("a.txt", b"well", **{"X-CSRF-Token": "0" * 64}).status_code == 403
    length = {"Content-Length": str(MAX_FILE_BYTES + 1)}
    large = desk.add("a.txt", b"well", **length)
    assert (large.status_code, large.json()["error"]) == (
        400,
        "Is larger than 256 MB. Split it into smaller files.",
    )
    short = desk.add("a.txt", b"well", **{"Content-Length": "9"})
    assert short.json()["error"] == "The file was not sent to its end. Add it again."
    desk.client.cookies.clear()
    assert desk.add("a.txt", b"well").status_code == 401
    assert not list_uploads(desk.store)


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.docx", "a.zip", "a.png"])
def test_an_empty_file_stays_among_those_that_could_not_be_read(desk, name):
    refused = desk.add(name, b"").json()
    assert refused["state"] == "failed" and refused["problem"]
    assert "1 file could not be read" in desk.client.get("/").text
    assert desk.client.get("/add/list").json()["files"] == [refused]


def test_names_of_files_lead_nowhere(desk):
    assert desk.add("../../../etc/cron.d/x.txt", b"seen by Okonkwo").json()["name"] == "etc/cron.d/x.txt"
    desk.choose()
    desk.wait(*ENDED)
    approve_all(desk)
    packed = zipfile.ZipFile(io.BytesIO(desk.send("/files/download").content))
    assert "etc/cron.d/x.txt" in packed.namelist()


class Gate:
    """A masker that waits until a test lets it go on."""

    fingerprint = "gate"

    def __init__(self):
        self.is_busy, self.goes_on = threading.Event(), threading.Event()
        self._masker = mask_capitals()

    def mask_many(self, docs):
        if docs[0].id != "example":
            self.is_busy.set()
            assert self.goes_on.wait(120)
        return self._masker.mask_many(docs)


def many_lines():
    lines = [json.dumps({"id": str(n), "text": f"seen by Okonkwo {'well ' * 300}"}) for n in range(40)]
    return "\n".join(lines).encode()


def test_a_file_is_stopped_and_goes_on_and_nothing_of_it_is_left_meanwhile(tmp_path):
    gate = Gate()
    with desk_of(tmp_path, lambda _settings: gate) as desk:
        first = desk.add("a.jsonl", many_lines()).json()["id"]
        second = desk.add("b.txt", b"well").json()["id"]
        desk.choose({f"column {first} 1": "masked"})
        assert gate.is_busy.wait(120)
        states = [one["state"] for one in desk.client.get("/add/list").json()["files"]]
        assert states == ["masking", "queued"]
        assert desk.ask(f"/add/{first}", what="remove").status_code == 400
        for upload_id in (second, first):
            desk.ask(f"/add/{upload_id}", what="stop")
        gate.goes_on.set()
        assert [one["state"] for one in desk.wait(*ENDED)] == ["stopped", "stopped"]
        assert not list_cases(desk.store, WorkFilter()).rows
        for upload_id in (first, second):
            desk.ask(f"/add/{upload_id}", what="resume")
        assert [(one["state"], one["n_done"]) for one in desk.wait(*ENDED)] == [("done", 40), ("done", 1)]


def test_after_a_crash_the_work_is_resumed_and_never_done_twice(tmp_path):
    with desk_of(tmp_path, starts=False) as desk:
        desk.intake.load()
        open_waiting_area(desk.store)
        upload_id = desk.add("case.txt", b"seen by Okonkwo").json()["id"]
        desk.choose()
        # Masked and stored, but killed before that was noted.
        (upload,) = list_uploads(desk.store)
        desk.intake._mask(upload)
        with desk.store.writing() as transaction:
            sealed = desk.store.sealer.seal(b"seen by Okonkwo", f"waiting {upload_id} piece 0")
            transaction.execute(WAITING_PIECES.insert().values(waiting_id=upload_id, number=0, sealed=sealed))
        change_upload(desk.store, upload_id, UploadState.MASKING)
    with desk_of(tmp_path) as desk:
        assert [one["state"] for one in desk.client.get("/add/list").json()["files"]] == ["stopped"]
        desk.ask(f"/add/{upload_id}", what="resume")
        (done,) = desk.wait(UploadState.DONE)
        assert done["n_done"] == 1
        assert len(list_cases(desk.store, WorkFilter()).rows) == 1


def test_an_error_of_the_masker_is_shown_without_its_message_and_the_file_can_be_resumed(tmp_path, caplog):
    class Breaks(Gate):
        def mask_many(self, docs):
            if docs[0].id != "example":
                raise RuntimeError(CANARY)
            return self._masker.mask_many(docs)

    with desk_of(tmp_path, lambda _settings: Breaks()) as desk:
        desk.add("case.txt", b"seen by Okonkwo")
        desk.choose()
        (file,) = desk.wait(*ENDED)
        assert (file["state"], file["problem"]) == (
            "stopped",
            "An unforeseen error stopped this file. Nothing of it was stored.",
        )
        assert CANARY not in caplog.text
        assert not list_cases(desk.store, WorkFilter()).rows


def test_a_model_that_cannot_be_loaded_is_named(tmp_path):
    def build(_settings):
        raise ModelError("the model folder is damaged")

    with desk_of(tmp_path, build) as desk:
        until = threading.Event()
        for _ in range(1200):
            told = desk.client.get("/add/list").json()
            if told["fault"]:
                break
            until.wait(0.05)
        assert (told["is_ready"], told["fault"]) == (False, "The model folder is damaged.")


def test_a_file_that_nothing_masks_any_more_can_be_stopped_and_resumed(desk):
    upload_id = desk.add("case.txt", b"seen by Okonkwo").json()["id"]
    change_upload(desk.store, upload_id, UploadState.MASKING, choices=MaskingChoices())
    desk.ask(f"/add/{upload_id}", what="stop")
    assert list_uploads(desk.store)[0].state is UploadState.STOPPED
    desk.ask(f"/add/{upload_id}", what="resume")
    assert desk.wait(*ENDED)[0]["state"] == "done"


def test_a_file_is_seen_only_when_it_was_looked_into(desk, monkeypatch):
    seen = []

    def look(_process, work, *given, **_limits):
        seen.extend(list_uploads(desk.store))
        return work(*given)

    monkeypatch.setattr(LimitedProcess, "call", look)
    assert desk.add("case.txt", b"seen by Okonkwo").json()["state"] == "ready"
    assert seen == []


def test_the_example_follows_the_answers(desk):
    parts = desk.ask("/choices/example", dates="year").json()["parts"]
    assert "".join(text for text, _ in parts).startswith("PHI-year-old PHI woman")
    assert next(text for text, is_replaced in parts if is_replaced) == "PHI"
    assert desk.ask("/choices/example", dates=CANARY).status_code == 400
    assert CANARY not in desk.ask("/choices/example", dates=CANARY).text


def test_deleting_asks_names_what_goes_and_says_what_went(desk, tmp_path):
    desk.add("case.txt", f"seen by {CANARY}".encode())
    desk.add("other.txt", b"well")
    desk.choose()
    desk.wait(*ENDED)
    approve_all(desk)
    desk.add("waits.txt", f"{CANARY} waits".encode())
    asked = desk.client.get("/files/delete").text
    assert "2 files with 2 documents, of which 2 are approved" in asked
    assert "1 file not masked yet" in asked
    assert desk.send("/files/delete").status_code == 400
    one = desk.send("/files/delete", source="2", sure="yes").text
    assert "other.txt" in one
    assert "1 document" in one
    gone = desk.send("/files/delete", sure="yes").text
    assert "1 file" in gone
    assert "1 file not masked yet" in gone
    assert not list_cases(desk.store, WorkFilter()).rows
    assert not list_uploads(desk.store)
    assert desk.client.get("/files/delete?source=1").status_code == 400
    assert verify_store(desk.store).is_intact


def test_nothing_is_deleted_while_a_file_is_masked(tmp_path):
    gate = Gate()
    with desk_of(tmp_path, lambda _settings: gate) as desk:
        desk.add("a.txt", b"seen by Okonkwo")
        desk.choose()
        assert gate.is_busy.wait(120)
        assert "Stop it first" in desk.send("/files/delete", sure="yes").text
        gate.goes_on.set()
        desk.wait(*ENDED)


@pytest.mark.parametrize(
    ("role", "adds", "deletes"),
    [("reviewer", False, False), ("adjudicator", True, False), ("admin", False, True)],
)
def test_in_a_team_adjudicators_add_and_admins_delete(tmp_path, role, adds, deletes):
    with store_of(tmp_path) as store:
        account(store, "ann", UserRole(role))
        intake = IntakeService(store, lambda _settings: mask_capitals())
        intake.start()
        client = TestClient(
            make_application(store, intake=intake), base_url="http://localhost", follow_redirects=False
        )
        session = begin_session(store, find_user(store, "ann"))
        client.cookies.set("session", session.id)
        headers = {"X-CSRF-Token": session.csrf_token, "X-File-Name": "a.txt"}
        found = list(_list_intake_routes())
        assert found
        for route in found:
            path = route.path.replace("{upload_id:int}", "1")
            if "POST" in route.methods:
                status = client.post(path, headers=headers, content=b"").status_code
            else:
                status = client.get(path).status_code
            assert (status == 403) is not adds, path
        assert client.post("/add/file", headers=headers, content=b"well").status_code == (
            200 if adds else 403
        )
        asked = client.get("/files/delete").status_code
        sent = client.post("/files/delete", headers=headers, data={"sure": "yes"}).status_code
        assert (asked, sent) == ((200, 200) if deletes else (403, 403))
        assert ("Add files" in client.get("/").text) is adds
        intake.close()


def test_a_page_offers_what_mends_an_error_if_it_has_a_field_for_it():
    assert explain_problem("is not UTF-8", [Remedy("encoding", "cp1252")]) == "is not UTF-8"
    found = [Remedy(step="leave it out"), Remedy("keep_unchecked", step="name it with {}")]
    assert explain_problem("has a name", found) == "has a name. Leave it out, or choose Keep unchecked"


def test_values_of_columns_go_with_their_file(desk):
    """What the choices page shows of a table is original text: nothing of it outlives the bytes."""
    data = f"id,text,name\n7,{LONG},{CANARY}\n8,well,{CANARY}\n".encode()
    added = desk.add("cases.csv", data).json()["id"]
    assert CANARY in repr([one.facts.survey.columns[2].values for one in list_uploads(desk.store)])
    desk.choose({f"column {added} {n}": fate for n, fate in enumerate(("id", "masked", "dropped"))})
    (done,) = desk.wait(*ENDED)
    assert done["state"] == "done"
    (upload,) = list_uploads(desk.store)
    assert upload.facts.survey.columns == ()
    delete_case(desk.store, 1, by="you")
    assert list_uploads(desk.store) == ()
    facts = read_file_facts(desk.store, [1])[1]
    assert (facts.n_documents, facts.columns["name"]) == (1, "dropped")


def test_cases_and_files_say_which_files_are_not_among_them_also_after_a_restart(tmp_path):
    with desk_of(tmp_path) as desk:
        desk.add("picture.mp4", b"\x00")
        desk.add("empty.csv", b"text\n")
        stopped = desk.add("stopped.txt", LONG.encode()).json()["id"]
        change_upload(desk.store, stopped, UploadState.MASKING)
        desk.add("waits.csv", LATE_NAME.encode())
    with desk_of(tmp_path) as desk:
        for address in ("/", "/files"):
            page = desk.client.get(address).text
            told = re.findall(r'<p class="unmasked.*?href="(.*?)".*?</a> (.*?)</p>', page)
            assert told == [
                ("/masking", "2 files could not be read, and are not in the list."),
                ("/masking", "1 file stopped before it was masked, and is not in the list."),
                ("/choices", "1 file waits for your choices."),
            ]
        for upload in list_uploads(desk.store):
            desk.ask(f"/add/{upload.id}", what="remove")
        assert "unmasked" not in desk.client.get("/").text


@pytest.mark.parametrize("address", ["/add", "/choices", "/masking", "/", "/files"])
def test_pages_with_steps_have_the_menu_and_mark_their_own_entry(desk, address):
    desk.add("waits.csv", LATE_NAME.encode())
    page = desk.client.get(address).text
    menu = page[page.index('<nav aria-label="Pages">') : page.index("</nav>")]
    assert re.findall(r'href="(.*?)"', menu) == ["/add", "/", "/lists", "/files"]
    (here,) = re.findall(r'href="(\S*?)" aria-current="page"', menu)
    assert here == {"/choices": "/add", "/masking": "/add"}.get(address, address)
    assert len(re.findall(r'aria-current="step"', page)) == 1


def test_every_table_can_be_opened_from_the_list_of_cases_and_rows_are_counted(desk):
    for number in range(7):
        upload = desk.add(f"cases-{number}.csv", b"text\na rash\n" + b"and fever\n" * (number > 0)).json()
        desk.wait(UploadState.READY, *ENDED)
        n_rows = "1 row. Choose" if number == 0 else "2 rows. Choose"
        assert n_rows in desk.client.get("/choices").text
        assert desk.choose({f"column {upload['id']} 0": "masked"}).status_code == 303
        desk.wait(*ENDED)
    page = desk.client.get("/").text
    assert page.count("Read as a table") == 6  # the file with one case has none
    assert "1 more table<" in page
