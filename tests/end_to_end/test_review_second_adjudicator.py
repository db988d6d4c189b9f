"""A column that may name people leaves a team's store only after a second adjudicator confirmed it."""

import re
import time
from contextlib import ExitStack
from datetime import date
from html import unescape
from urllib.parse import quote

import pytest
from fake_maskers import mask_capitals
from review_stores import store_of
from review_visitors import account, visitor
from served_apps import served_app
from sqlalchemy import update

from inverse_deid.review.files.service import IntakeService
from inverse_deid.review.files.waiting import UploadState, list_uploads
from inverse_deid.review.flow.work_list import list_cases
from inverse_deid.review.pages.application import make_application
from inverse_deid.review.people.accounts import set_active
from inverse_deid.review.store.tables import WAITING
from inverse_deid.review.store.trail import TrailFilter, list_entries, verify_store
from inverse_deid.review.store.values import UserRole, WorkFilter

LONG = "the patient had a rash two hours after the first dose and was seen by Okonkwo with relief"
TABLE = f"text,seen_by,country\n{LONG},Ann Li,norway\nwell,Bob Okafor,spain\nwell,none,spain\n".encode()
KEPT = {"column {id} 0": "masked", "column {id} 1": "kept unchecked", "column {id} 2": "kept"}
ENDED = {UploadState.DONE, UploadState.FAILED, UploadState.STOPPED}


class Team:
    """A store that is served, with two reviewers and some adjudicators, each in a browser of their own."""

    def __init__(self, opened, folder, *adjudicators):
        self.store = opened.enter_context(store_of(folder, ["well"], clock=time.time, approvals=2))
        self.intake = IntakeService(self.store, lambda _settings: mask_capitals(), lambda: date(2024, 1, 1))
        self.intake.start()
        opened.callback(self.intake.close)
        application = make_application(self.store, intake=self.intake)
        self._address = opened.enter_context(served_app(application, "localhost"))
        roles = dict.fromkeys(("ann", "bea"), UserRole.REVIEWER)
        roles |= dict.fromkeys(adjudicators, UserRole.ADJUDICATOR)
        self.people = {
            name: visitor(self.store, name, role, address=self._address) for name, role in roles.items()
        }

    def __getattr__(self, name):
        return self.people[name]

    def add(self, name, data=TABLE, file="cases.csv"):
        who = self.people[name]
        headers = {"X-CSRF-Token": who.token, "X-File-Name": quote(file)}
        return who.client.post("/add/file", content=data, headers=headers).json()["id"]

    def choose(self, name, upload_id, columns=None, *, is_sure=True, **answers):
        given = {key.format(id=upload_id): fate for key, fate in (columns or KEPT).items()}
        sure = {
            key.replace("column", "copies"): fate
            for key, fate in given.items()
            if is_sure and fate not in ("masked", "dropped")
        }
        (key,) = [one.name_key for one in list_uploads(self.store) if one.id == upload_id]
        return self.people[name].send("/choices", file=str(key), **given, **sure, **answers)

    def wait(self, *states):
        until = time.monotonic() + 180
        while time.monotonic() < until:
            files = list_uploads(self.store)
            if files and all(one.state in (states or ENDED) for one in files):
                return files
            time.sleep(0.02)
        raise AssertionError([one.state for one in list_uploads(self.store)])

    def answer(self, name, upload_id, answer="kept unchecked", column=1, file=None):
        key = str(list_uploads(self.store)[0].name_key) if file is None else file
        fields = {"file": key, "column": str(column), "answer": answer}
        return self.people[name].send(f"/confirm/{upload_id}", **fields)

    def events(self, begin):
        found = [one.event for one in list_entries(self.store, TrailFilter())[0]]
        return [(one.user, one.event, one.new) for one in found[::-1] if one.event.startswith(begin)]

    def cases(self):
        return [row.name for row in list_cases(self.store, WorkFilter()).rows if row.name != "c1"]


@pytest.fixture
def team(tmp_path):
    with ExitStack() as opened:
        yield Team(opened, tmp_path, "carl", "cleo")


@pytest.fixture
def waiting(team):
    """The team, and the number of a file of Carl's whose column waits."""
    upload_id = team.add("carl")
    assert team.choose("carl", upload_id).status_code == 303
    team.wait(UploadState.CONFIRMING)
    return team, upload_id


CONCERN = "column seen_by kept unchecked. Its values look like dates, numbers, names or addresses of people."


def test_two_reviewers_and_an_adjudicator_release_the_file_only_after_the_second_yes(waiting):
    team, upload_id = waiting
    assert team.cases() == []
    (listed,) = team.carl.get("/add/list").json()["files"]
    assert listed["waits"] == "waits for the confirmation of column seen_by by a second adjudicator"
    assert "1 file waits for a second adjudicator." in team.cleo.get("/").text
    assert "Columns to confirm" not in team.ann.get("/").text
    page = unescape(team.cleo.get("/confirm").text)
    assert "Added by carl, columns chosen by carl." in page
    assert "2 of 3 values look like names, and 0 may identify a person in another way." in page
    assert re.findall(r"<li>(.*?)</li>", page) == ["Ann Li", "Bob Okafor", "none"]
    assert team.answer("cleo", upload_id).status_code == 303
    (done,) = team.wait(UploadState.DONE)
    assert (done.facts.unconfirmed, done.facts.chosen_by) == ((), "carl")
    assert len(team.cases()) == 3
    assert team.events("kept column") == [
        ("carl", "kept column chosen", CONCERN),
        ("cleo", "kept column confirmed", CONCERN),
    ]
    assert ("cleo", "original of a file shown", "columns to confirm") in team.events("original of a file")
    for name in ("ann", "bea"):
        for case_id in (2, 3, 4):
            who = team.people[name]
            revision = who.ask(f"/cases/{case_id}/open").json()["revision"]
            assert who.ask(f"/cases/{case_id}/approve", revision=revision).status_code == 200
    written = team.cleo.send("/files/download", source="2").text
    assert written.splitlines()[1] == f"{LONG.replace('Okonkwo', 'PHI')},Ann Li,norway"
    assert verify_store(team.store).is_intact


def test_a_refused_column_sends_the_file_back_with_its_choices_and_loses_nothing(team):
    upload_id = team.add("carl")
    team.choose("carl", upload_id, dates="year")
    team.wait(UploadState.CONFIRMING)
    assert team.answer("cleo", upload_id, "masked").status_code == 303
    team.wait(UploadState.READY)
    assert team.events("kept column refused") == [("cleo", "kept column refused", CONCERN)]
    page = unescape(team.carl.get("/choices").text)
    assert "Cases.csv: cleo refused to copy column seen_by. It is set to Mask." in page
    assert f'name="column {upload_id} 1" value="masked" checked' in page
    assert f'name="column {upload_id} 2" value="kept" checked' in page
    assert 'name="dates" value="year" checked' in page
    columns = KEPT | {"column {id} 1": "masked"}
    assert team.choose("carl", upload_id, columns).status_code == 303
    (done,) = team.wait(UploadState.DONE)
    assert (done.facts.columns[1], done.facts.problem) == ("masked", "")


@pytest.mark.parametrize("name", ["ann", "bea", "carl"])
def test_reviewers_and_who_chose_the_column_cannot_confirm_it(waiting, name):
    team, upload_id = waiting
    refused = team.answer(name, upload_id)
    assert refused.status_code == 403
    page = team.people[name].get("/confirm")
    assert page.status_code == (200 if name == "carl" else 403)
    assert 'name="answer"' not in page.text
    assert "Ann Li" not in page.text or name == "carl"
    assert team.wait(UploadState.CONFIRMING)[0].facts.unconfirmed
    assert team.events("kept column confirmed") == []


def test_neither_who_added_the_file_nor_who_chose_its_columns_confirms_them(tmp_path):
    with ExitStack() as opened:
        team = Team(opened, tmp_path, "carl", "cleo", "cora")
        upload_id = team.add("carl")
        team.choose("cleo", upload_id)
        team.wait(UploadState.CONFIRMING)
        assert [team.answer(name, upload_id).status_code for name in ("carl", "cleo")] == [403, 403]
        assert team.answer("cora", upload_id).status_code == 303
        assert team.wait(UploadState.DONE)


@pytest.mark.parametrize(
    "forged",
    [
        {"answer": "kept"},
        {"answer": "dropped"},
        {"answer": ""},
        {"column": 0},
        {"column": 2},
        {"column": "x"},
        {"file": "1"},
        {"file": ""},
    ],
)
def test_an_answer_to_something_else_confirms_nothing(waiting, forged):
    team, upload_id = waiting
    assert team.answer("cleo", upload_id, **forged).status_code == 400
    assert team.wait(UploadState.CONFIRMING)
    assert team.events("kept column confirmed") == []


def test_an_answer_needs_the_token_of_the_session(waiting):
    team, upload_id = waiting
    team.cleo.token = team.carl.token
    assert team.answer("cleo", upload_id).status_code == 403
    assert team.wait(UploadState.CONFIRMING)


def test_a_replayed_answer_confirms_nothing_more(waiting):
    team, upload_id = waiting
    key = str(list_uploads(team.store)[0].name_key)
    assert team.answer("cleo", upload_id, file=key).status_code == 303
    team.wait(UploadState.DONE)
    assert team.answer("cleo", upload_id, file=key).status_code == 400
    # The number of a file is used again. An answer to the first file is none to the second.
    team.carl.ask(f"/add/{upload_id}", what="remove")
    again = team.add("carl", TABLE + b"well,Cy Ng,spain\n")
    assert again == upload_id
    team.choose("carl", again)
    team.wait(UploadState.CONFIRMING)
    assert team.answer("cleo", again, file=key).status_code == 400
    assert team.wait(UploadState.CONFIRMING)
    assert len(team.events("kept column confirmed")) == 1


def test_a_state_that_was_forged_in_the_database_masks_nothing(waiting):
    team, upload_id = waiting
    with team.store.writing() as transaction:
        transaction.execute(update(WAITING).values(state=UploadState.QUEUED.value))
    team.intake.wake()
    team.wait(UploadState.CONFIRMING)
    for what in ("resume", "stop"):
        team.carl.ask(f"/add/{upload_id}", what=what)
    assert team.wait(UploadState.CONFIRMING)
    assert team.cases() == []


def test_a_team_with_one_adjudicator_is_told_so_before_anything_is_masked(tmp_path):
    with ExitStack() as opened:
        team = Team(opened, tmp_path, "carl")
        account(team.store, "dora", UserRole.ADMIN)
        upload_id = team.add("carl")
        answer = team.choose("carl", upload_id)
        assert answer.status_code == 400
        assert "another adjudicator must confirm column seen_by, and there is none" in answer.text
        assert list_uploads(team.store)[0].state is UploadState.READY
        columns = {"column {id} 0": "masked", "column {id} 1": "masked", "column {id} 2": "kept"}
        assert team.choose("carl", upload_id, columns).status_code == 303
        assert team.wait(UploadState.DONE)


def test_whoever_waits_in_vain_chooses_again(waiting):
    team, upload_id = waiting
    set_active(team.store, "cleo", is_active=False)
    assert "No other adjudicator can confirm it" in team.carl.get("/confirm").text
    team.carl.ask(f"/add/{upload_id}", what="rechoose")
    (back,) = team.wait(UploadState.READY)
    assert back.facts.unconfirmed == ()
    assert team.events("file back") == [("carl", "file back to its choices", None)]
    columns = {"column {id} 0": "masked", "column {id} 1": "dropped", "column {id} 2": "kept"}
    team.choose("carl", upload_id, columns)
    assert team.wait(UploadState.DONE)


def test_a_column_of_names_is_not_the_number_of_the_case_without_a_second_yes(team):
    upload_id = team.add("carl")
    columns = {"column {id} 0": "masked", "column {id} 1": "id"}
    assert team.choose("carl", upload_id, columns, is_sure=False).status_code == 400
    assert team.choose("carl", upload_id, columns).status_code == 303
    team.wait(UploadState.CONFIRMING)
    assert team.cases() == []


def test_a_kept_column_with_names_that_the_check_would_refuse_comes_back_to_its_choices(team):
    upload_id = team.add("carl")
    columns = {"column {id} 0": "masked", "column {id} 1": "kept"}
    assert team.choose("carl", upload_id, columns).status_code == 303
    team.wait(UploadState.READY)
    page = unescape(team.carl.get("/choices").text)
    assert "column seen_by is to be kept, but 2 of 3 values look like names" in page
    assert "Choose Mask, leave it out, or choose Keep unchecked" in page
    assert team.choose("carl", upload_id, columns).status_code == 400
    assert team.choose("carl", upload_id).status_code == 303
    team.wait(UploadState.CONFIRMING)
    found = "When it was checked, something that may identify a person was found in it."
    assert found in unescape(team.cleo.get("/confirm").text)
    assert team.answer("cleo", upload_id).status_code == 303
    assert team.wait(UploadState.DONE)


def test_a_file_that_waits_is_kept_when_the_program_starts_again(waiting, tmp_path):
    team, _upload_id = waiting
    team.intake.close()
    again = IntakeService(team.store, lambda _settings: mask_capitals(), lambda: date(2024, 1, 1))
    again.start()
    try:
        (still,) = team.wait(UploadState.CONFIRMING)
        again.answer(still, 1, "kept unchecked", by="cleo")
        assert team.wait(UploadState.DONE)
    finally:
        again.close()


def test_several_columns_are_answered_one_by_one(team):
    data = TABLE.replace(b",country", b",reporter").replace(b"norway", b"Zoe Ek")
    upload_id = team.add("carl", data)
    columns = {
        "column {id} 0": "masked",
        "column {id} 1": "kept unchecked",
        "column {id} 2": "kept unchecked",
    }
    team.choose("carl", upload_id, columns)
    team.wait(UploadState.CONFIRMING)
    assert team.answer("cleo", upload_id, column=1).status_code == 303
    assert [one.concern.shown for one in team.wait(UploadState.CONFIRMING)[0].facts.unconfirmed] == [
        "reporter"
    ]
    assert team.answer("cleo", upload_id, column=1).status_code == 400
    assert team.answer("cleo", upload_id, column=2).status_code == 303
    assert team.wait(UploadState.DONE)
