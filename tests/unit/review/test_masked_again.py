"""A file of the store is masked again with other choices: what of the work on it stays, and what is said."""

import io
import json
import re
import threading
import time
import zipfile
from collections import Counter

import pytest
from desk_visitors import desk_of
from fake_maskers import mask_capitals
from review_stores import change_rows, review, store_of, user
from sqlalchemy import event, select

from inverse_deid.core.errors import CaseLockedError, NotAllowedError, ReviewError
from inverse_deid.review.files.choices import MaskingChoices
from inverse_deid.review.files.service import IntakeService
from inverse_deid.review.files.waiting import (
    UploadState,
    add_piece,
    begin_upload,
    list_uploads,
    remove_upload,
)
from inverse_deid.review.flow import word_lists
from inverse_deid.review.flow.approval import approve
from inverse_deid.review.flow.editing import act, add_note
from inverse_deid.review.flow.oversight import set_limits
from inverse_deid.review.flow.reading import close_case, open_case, open_dispute
from inverse_deid.review.flow.table import InFile, RowAct
from inverse_deid.review.flow.word_lists import (
    Asked,
    Done,
    Sort,
    add_entry,
    count_places,
    go_on,
    list_entries,
    remove_entry,
)
from inverse_deid.review.flow.work_list import assign, list_cases
from inverse_deid.review.people.accounts import set_active
from inverse_deid.review.store.deletion import delete_case, delete_source
from inverse_deid.review.store.sources import list_sources
from inverse_deid.review.store.tables import NAME_KEYS, TRAIL, USERS, WAITING_PIECES
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import (
    ActionKind,
    CaseState,
    LayerRevision,
    ReviewAction,
    ReviewLimits,
    TokenRange,
    UserRole,
    WorkFilter,
)

TABLE = b"text,other\nseen by Okonkwo with rash,told Bob of it\nwell since then,told Ann of it\n"
ENDED = (UploadState.DONE, UploadState.FAILED, UploadState.STOPPED)


@pytest.fixture
def desk(tmp_path):
    with desk_of(tmp_path) as desk:
        yield desk


def add_table(desk, data=TABLE, fates=("masked", "dropped")):
    upload = desk.add("cases.csv", data).json()
    choose(desk, upload["id"], fates)


def choose(desk, upload_id, fates, **answers):
    answer = desk.choose({f"column {upload_id} {i}": fate for i, fate in enumerate(fates)}, **answers)
    assert (answer.status_code, answer.headers["location"]) == (303, "/masking")
    return desk.wait(*ENDED)


def cases(desk):
    return list_cases(desk.store, WorkFilter()).rows


def change(desk, case_id, kind, first, stop=None, *, by=None):
    by = by or desk.user
    view = open_case(desk.store, by, case_id)
    at = LayerRevision(by.id, case_id, view.revision)
    edited = act(desk.store, at, ReviewAction(kind, (TokenRange(first, stop or first + 1),)))
    return LayerRevision(by.id, case_id, edited.revision)


def mask_again(desk, source_id, fates, **answers):
    answer = desk.send("/files/again", source=source_id)
    assert (answer.status_code, answer.headers["location"]) == (303, "/choices")
    (upload,) = [one for one in list_uploads(desk.store) if one.state is UploadState.READY]
    return choose(desk, upload.id, fates, **answers)


def stop_once_after_adding(monkeypatch):
    """Let the first file that is added stop right afterwards, before it is noted that it is done."""
    real, is_stopped = IntakeService._add, threading.Event()

    def add(self, *given):
        done = real(self, *given)
        if not is_stopped.is_set():
            is_stopped.set()
            raise RuntimeError
        return done

    monkeypatch.setattr(IntakeService, "_add", add)


def read_trail(store):
    with store.reading() as transaction:
        found = select(TRAIL.c.line).order_by(TRAIL.c.number)
        return [json.loads(line) for line in transaction.execute(found).scalars()]


def told(files):
    return [one["text"] for one in files[-1]["facts"]]


def shown_words(desk, case_id):
    view = open_case(desk.store, desk.user, case_id)
    return [word for word, keep in zip(view.tokens.words, view.layer.keep, strict=True) if keep]


def test_decisions_notes_and_list_entries_follow_and_approvals_end(desk):
    add_table(desk)
    first, second = (one.case_id for one in sorted(cases(desk), key=lambda one: one.case_id))
    at = change(desk, first, ActionKind.MASK, 4)  # rash
    add_note(desk.store, at, "ask again", TokenRange(2, 3))
    approve(desk.store, change(desk, first, ActionKind.UNMASK, 2))
    asked = Asked(("then",), first)
    with pytest.raises(ReviewError):  # not in this case
        add_entry(
            desk.store, desk.user, asked, Sort.ALWAYS, count_places(desk.store, desk.user, asked)[Sort.ALWAYS]
        )
    close_case(desk.store, desk.user, second)
    asked = Asked(("since",), second)
    add_entry(
        desk.store, desk.user, asked, Sort.ALWAYS, count_places(desk.store, desk.user, asked)[Sort.ALWAYS]
    )
    page = desk.client.get("/files/again?source=1").text
    assert "Every approval ends (1 document is approved now)" in page
    files = mask_again(desk, 1, ("masked", "dropped"), replace="category")
    assert [one["state"] for one in files] == ["done"]  # the note on the first masking is gone
    assert told(files)[:2] == [
        "Decisions and notes on 2 documents were carried over.",
        "1 document was approved and must be approved again.",
    ]
    (source,) = list_sources(desk.store)
    assert (source.id, source.name, source.n_cases, source.n_released) == (2, "cases.csv", 2, 0)
    new_first, new_second = (one.case_id for one in sorted(cases(desk), key=lambda one: one.case_id))
    assert {new_first, new_second}.isdisjoint({first, second})
    assert {one.state for one in cases(desk)} == {CaseState.IN_REVIEW}
    assert shown_words(desk, new_first) == ["seen", "by", "Okonkwo", "with"]
    assert shown_words(desk, new_second) == ["well", "then"]
    view = open_case(desk.store, desk.user, new_first)
    assert [(one.text, one.tokens) for one in view.notes] == [("ask again", TokenRange(2, 3))]
    assert view.facts.category_markers
    assert view.can_undo
    (entry,) = list_entries(desk.store, desk.user)
    assert (entry.asked.words, entry.asked.case_id) == (("since",), new_second)
    carried = [one for one in read_trail(desk.store) if one["event"] == "decisions carried over"]
    assert [(one["case"], one["old"]) for one in carried] == [
        (new_first, f"case {first}"),
        (new_second, f"case {second}"),
    ]
    (added,) = [one["event"] for one in read_trail(desk.store) if "masked again" in one["event"]]
    assert added.endswith(
        "instead of file 1: decisions on 2 cases carried over, on 0 not, approvals of 1 ended"
    )
    assert verify_store(desk.store).is_intact


def test_cases_whose_texts_are_others_are_named_and_lose_their_decisions(desk):
    add_table(desk)
    first = min(one.case_id for one in cases(desk))
    change(desk, first, ActionKind.UNMASK, 2)
    close_case(desk.store, desk.user, first)
    files = mask_again(desk, 1, ("dropped", "masked"))
    (line,) = [one for one in told(files) if "do not fit" in one]
    assert re.fullmatch(r"Decisions and notes on 1 document do not fit its new text: .*cases\.csv.*\.", line)
    assert next(one for one in files[-1]["facts"] if one["text"] == line)["is_warning"]
    assert [one.state for one in cases(desk)] == [CaseState.NEW, CaseState.NEW]
    assert [shown_words(desk, one.case_id)[0] for one in cases(desk)] == ["told", "told"]
    assert verify_store(desk.store).is_intact


def test_what_was_chosen_before_is_offered_again(desk):
    add_table(
        desk,
        fates=("masked", "kept"),
        data=TABLE.replace(b"told Bob of it", b"spain").replace(b"told Ann of it", b"norway"),
    )
    desk.send("/files/again", source=1)
    (upload,) = [one for one in list_uploads(desk.store) if one.state is UploadState.READY]
    page = desk.client.get("/choices").text
    assert f'name="column {upload.id} 1" value="kept" checked' in page


def test_a_page_that_was_open_before_changes_and_approves_nothing(desk):
    add_table(desk)
    first = min(one.case_id for one in cases(desk))
    at = change(desk, first, ActionKind.UNMASK, 2)
    mask_again(desk, 1, ("masked", "dropped"))
    with pytest.raises(ReviewError):
        approve(desk.store, at)
    new = min(one.case_id for one in cases(desk))
    with pytest.raises(ReviewError):
        approve(desk.store, LayerRevision(at.user_id, new, at.revision))
    rows = desk.ask("/table/2/approve", rows=[(new, at.revision, 0)]).json()
    assert rows["done"] == []


def test_a_case_that_another_reader_holds_stops_the_masking_and_nothing_is_lost(desk):
    add_table(desk)
    first = min(one.case_id for one in cases(desk))
    other = user(desk.store, "ben", UserRole.REVIEWER)
    change(desk, first, ActionKind.UNMASK, 2, by=other)
    files = mask_again(desk, 1, ("masked", "dropped"))
    assert files[-1]["state"] == "stopped"
    assert files[-1]["problem"].startswith("Somebody is reading a document of this file now")
    assert [one.id for one in list_sources(desk.store)] == [1]
    assert min(one.case_id for one in cases(desk)) == first
    close_case(desk.store, other, first)
    desk.ask(f"/add/{files[-1]['id']}", what="resume")
    files = desk.wait(UploadState.DONE)
    assert told(files)[0] == "Decisions and notes on 1 document were carried over."
    new = min(one.case_id for one in cases(desk))
    assert open_case(desk.store, other, new).layer.keep[2]


def test_a_file_waits_for_other_choices_once_and_can_be_left_as_it_is(desk):
    add_table(desk)
    desk.send("/files/again", source=1)
    again = desk.send("/files/again", source=1)
    assert "waits for other choices already" in again.text
    (upload,) = [one for one in list_uploads(desk.store) if one.state is UploadState.READY]
    assert remove_upload(desk.store, upload.id)
    assert [one.id for one in list_sources(desk.store)] == [1]
    assert len(cases(desk)) == 2
    assert cases(desk)[0].name  # its key is still there
    assert "does not exist" in desk.send("/files/again", source=7).text
    assert verify_store(desk.store).is_intact


def test_what_was_deleted_while_the_file_waited_does_not_come_back(desk):
    add_table(desk)
    desk.send("/files/again", source=1)
    delete_case(desk.store, min(one.case_id for one in cases(desk)), by="me")
    assert list_uploads(desk.store) == ()
    desk.send("/files/again", source=1)
    delete_source(desk.store, 1, by="me")
    assert list_uploads(desk.store) == ()
    with desk.store.reading() as transaction:
        assert not transaction.execute(select(WAITING_PIECES)).all()
        assert not transaction.execute(select(NAME_KEYS)).all()


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("when", ["has_name_key", "carry_over"])
def test_what_was_deleted_while_the_file_was_masked_does_not_come_back(desk, monkeypatch, when, is_whole):
    from inverse_deid.review.files import intake, service

    add_table(desk)
    first = min(one.case_id for one in cases(desk))
    module = service if when == "has_name_key" else intake
    real = getattr(module, when)
    is_done = threading.Event()

    def delete_before(*given, **named):
        # The transaction of `carry_over` has not begun yet: it writes after its masker.
        if not is_done.is_set():
            is_done.set()
            if is_whole:
                delete_source(desk.store, 1, by="me")
            else:
                delete_case(desk.store, first, by="me")
        return real(*given, **named)

    if when == "carry_over":  # one step before its transaction
        real = intake._Intake._write
        monkeypatch.setattr(intake._Intake, "_write", delete_before)
    else:
        monkeypatch.setattr(module, when, delete_before)
    desk.send("/files/again", source=1)
    (upload,) = [one for one in list_uploads(desk.store) if one.state is UploadState.READY]
    desk.choose({f"column {upload.id} 0": "masked", f"column {upload.id} 1": "dropped"})
    until = time.monotonic() + 60
    while list_uploads(desk.store) or desk.intake._running is not None:
        assert time.monotonic() < until
        time.sleep(0.02)
    assert [one.id for one in list_sources(desk.store)] == ([] if is_whole else [1])
    assert first not in {one.case_id for one in cases(desk)}
    assert len(cases(desk)) == (0 if is_whole else 1)
    assert verify_store(desk.store).is_intact


def test_of_two_who_let_a_file_wait_at_once_only_one_does(desk, monkeypatch):
    # The second one would be said to be done, and its choices would hold nowhere.
    from inverse_deid.review.files import service

    add_table(desk)
    real, ready = service.begin_upload, threading.Barrier(2, timeout=30)

    def begin(*given, **named):
        ready.wait()
        return real(*given, **named)

    monkeypatch.setattr(service, "begin_upload", begin)
    problems = []

    def again():
        try:
            desk.intake.mask_again(1, by="me")
        except ReviewError as error:
            problems.append(str(error))

    threads = [threading.Thread(target=again) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert problems == ["this file waits for other choices already"]
    assert len([one for one in list_uploads(desk.store) if one.facts.replaces]) == 1


def test_a_stop_after_the_file_was_replaced_is_resumed_without_doing_it_twice(desk, monkeypatch):
    add_table(desk)
    first = min(one.case_id for one in cases(desk))
    change(desk, first, ActionKind.UNMASK, 2)
    close_case(desk.store, desk.user, first)
    stop_once_after_adding(monkeypatch)
    files = mask_again(desk, 1, ("masked", "dropped"))
    assert files[-1]["state"] == "stopped"
    assert [one.id for one in list_sources(desk.store)] == [2]
    # Its choices would be said to hold, and would not.
    assert "waits for other choices already" in desk.send("/files/again", source=2).text
    assert "its copy that waits for other choices" in desk.client.get("/files/delete?source=2").text
    desk.ask(f"/add/{files[-1]['id']}", what="resume")
    assert desk.wait(UploadState.DONE)
    assert [one.id for one in list_sources(desk.store)] == [2]
    assert "Okonkwo" in shown_words(desk, min(one.case_id for one in cases(desk)))


def test_a_fault_while_work_is_carried_over_leaves_all_as_it_was(desk, monkeypatch):
    from inverse_deid.review.files import carrying

    add_table(desk)
    first = min(one.case_id for one in cases(desk))
    change(desk, first, ActionKind.UNMASK, 2)
    close_case(desk.store, desk.user, first)
    monkeypatch.setattr(carrying, "delete_replaced", lambda *_: 1 / 0)
    files = mask_again(desk, 1, ("masked", "dropped"))
    assert files[-1]["state"] == "stopped"
    assert [one.id for one in list_sources(desk.store)] == [1]
    assert "Okonkwo" in shown_words(desk, first)
    assert verify_store(desk.store).is_intact


def test_in_a_team_both_reviewers_begin_where_they_were_and_a_settlement_is_gone(tmp_path):
    with store_of(tmp_path) as store:
        eve, fay = (user(store, name, UserRole.ADJUDICATOR) for name in ("eve", "fay"))
        ann, bob = user(store, "ann"), user(store, "bob")
        service = IntakeService(store, lambda _settings: mask_capitals())
        service.start()
        data = b"seen by Okonkwo today, then okonkwo left"
        upload = begin_upload(store, "a.txt", len(data), by="eve")
        add_piece(store, upload.id, 0, data)
        mask_one(service, upload.id)
        (first,) = [one.case_id for one in list_cases(store, WorkFilter()).rows if one.case_id != 1]
        review(store, ann, first, mask=[5])
        assert review(store, bob, first, mask=[5], keep=[2]) is CaseState.DISAGREED
        view = open_dispute(store, fay, first)
        edited = act(
            store,
            LayerRevision(fay.id, first, view.case.revision),
            ReviewAction(ActionKind.MASK, (TokenRange(2, 3),)),
        )
        approve(store, LayerRevision(fay.id, first, edited.revision))
        upload = service.mask_again(2, by="eve")
        mask_one(service, upload.id)
        (new,) = [one.case_id for one in list_cases(store, WorkFilter()).rows if one.case_id != 1]
        assert new != first
        view = open_case(store, ann, new)
        assert [i for i, keep in enumerate(view.layer.keep) if not keep] == [2, 5]
        assert not view.is_approved
        approve(store, LayerRevision(ann.id, new, view.revision))
        view = open_case(store, bob, new)
        assert [i for i, keep in enumerate(view.layer.keep) if not keep] == [5]
        assert approve(store, LayerRevision(bob.id, new, view.revision)) is CaseState.DISAGREED
        assert not open_dispute(store, eve, new).case.can_undo
        (_, source) = list_sources(store)
        assert (source.added_by, source.n_cases) == ("eve", 1)
        with pytest.raises(ReviewError, match="added by the command"):
            service.mask_again(1, by="eve")
        set_limits(store, ReviewLimits(adders_stay_out=True), by="command")
        with pytest.raises(NotAllowedError, match="only the person who added"):
            service.mask_again(source.id, by="fay")
        assert service.mask_again(source.id, by="eve").facts.replaces == source.id
        service.close()
        assert verify_store(store).is_intact


def mask_one(service, upload_id):
    service.inspect(upload_id)
    service.submit(MaskingChoices(), {}, [upload_id], by="eve", needs_second=True)
    until = time.monotonic() + 180
    while next(one.state for one in list_uploads(service.store) if one.id == upload_id) not in ENDED:
        assert time.monotonic() < until
        time.sleep(0.02)


SAID = "seen by Okonkwo with rash two hours after the first dose and then with relief"
ROWS = f"what,no\n{SAID},{{}}1\n{SAID},{{}}2\n{SAID},{{}}3\n"


def add_two_tables(desk, first="A-", second="B-", fates=("masked", "id", "masked", "id"), letter=""):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        made.writestr("a.csv", ROWS.format(first, first, first))
        made.writestr("b.csv", ROWS.format(second, second, second).replace("what,no", "told,case"))
        if letter:
            made.writestr("letter.txt", letter)
    upload = desk.add("all.zip", packed.getvalue()).json()
    choose(desk, upload["id"], fates)


def test_notes_stay_with_their_rows_if_a_table_before_them_is_left_out(desk):
    add_two_tables(desk)
    ids = {one.name: one.case_id for one in cases(desk)}
    assert sorted(ids) == ["A-1", "A-2", "A-3", "B-1", "B-2", "B-3"]
    for name, case_id in ids.items():
        at = change(desk, case_id, ActionKind.MASK, 4)
        add_note(desk.store, at, f"of {name}", None)
        close_case(desk.store, desk.user, case_id)
    files = mask_again(desk, 1, ("dropped", "dropped", "masked", "id"))
    assert told(files)[0] == "Decisions and notes on 3 documents were carried over."
    assert any("do not fit their new texts: A-1, A-2, A-3." in one for one in told(files))
    found = {one.name: open_case(desk.store, desk.user, one.case_id).notes for one in cases(desk)}
    assert {name: notes[0].text for name, notes in found.items()} == {
        f"B-{i}": f"of B-{i}" for i in range(1, 4)
    }


def test_notes_on_one_table_do_not_go_to_the_same_ids_of_another(desk):
    add_two_tables(desk, "C-", "C-", ("masked", "id", "dropped", "dropped"), letter=SAID)
    ids = {one.name: one.case_id for one in cases(desk)}
    (letter,) = ids.keys() - {"C-1", "C-2", "C-3"}
    for name in ("C-1", letter):
        add_note(desk.store, change(desk, ids[name], ActionKind.MASK, 4), f"on {name}", None)
        close_case(desk.store, desk.user, ids[name])
    files = mask_again(desk, 1, ("dropped", "dropped", "masked", "id"))
    assert told(files)[0] == "Decisions and notes on 1 document were carried over."
    assert any("do not fit its new text: C-1." in one for one in told(files))
    (noted,) = [one for one in cases(desk) if one.state is CaseState.IN_REVIEW]
    assert noted.name == letter


def test_notes_stay_with_rows_without_ids_though_the_file_gets_another_name(desk):
    fates = ("masked", "dropped", "masked", "dropped")
    add_two_tables(desk, "A-", "A-", fates)
    add_two_tables(desk, "B-", "B-", fates)
    delete_source(desk.store, 1, by="me")
    for one in cases(desk):
        add_note(desk.store, change(desk, one.case_id, ActionKind.MASK, 4), one.name, None)
        close_case(desk.store, desk.user, one.case_id)
    mask_again(desk, 2, ("dropped", "dropped", "masked", "dropped"))
    notes = {one.name: open_case(desk.store, desk.user, one.case_id).notes[0].text for one in cases(desk)}
    assert len(notes) == 3
    assert all(text == name.replace("all.zip", "all (2).zip") for name, text in notes.items())


def test_a_listed_word_is_not_lost_with_the_case_that_it_was_made_in(desk):
    add_two_tables(desk)
    first = next(one.case_id for one in cases(desk) if one.name == "A-1")
    asked = Asked(("relief",), first)
    places = count_places(desk.store, desk.user, asked)[Sort.ALWAYS]
    add_entry(desk.store, desk.user, asked, Sort.ALWAYS, places, for_new_files=True)
    mask_again(desk, 1, ("dropped", "dropped", "masked", "id"))
    (entry,) = list_entries(desk.store, desk.user)
    assert (entry.asked.words, entry.for_new_files) == (("relief",), True)
    assert entry.asked.case_id in {one.case_id for one in cases(desk)}
    delete_source(desk.store, 2, by="me")
    assert list_entries(desk.store, desk.user) == ()


def test_a_decision_for_all_rows_that_is_not_in_all_rows_stops_the_masking(desk):
    add_table(desk)
    asked = InFile(RowAct.MASK, ("told",))
    shown = desk.client.app.state.rows_shown
    shown.note_swept(desk.user.id, 1, asked, 2)
    files = mask_again(desk, 1, ("masked", "dropped"))
    assert files[-1]["state"] == "stopped"
    assert "not in all rows yet" in files[-1]["problem"]
    shown.note_swept(desk.user.id, 1, asked, None)
    desk.ask(f"/add/{files[-1]['id']}", what="resume")
    assert desk.wait(*ENDED)[-1]["state"] == "done"


def test_a_decision_for_all_rows_of_a_closed_account_stops_nothing(desk):
    # Nobody else can go on with it.
    add_table(desk)
    eve, _ada = (
        user(desk.store, name, role) for name, role in (("eve", UserRole.REVIEWER), ("ada", UserRole.ADMIN))
    )
    desk.client.app.state.rows_shown.note_swept(eve.id, 1, InFile(RowAct.MASK, ("told",)), 2)
    set_active(desk.store, "eve", is_active=False, by="ada")
    assert mask_again(desk, 1, ("masked", "dropped"))[-1]["state"] == "done"


def test_cases_that_nobody_has_begun_stay_assigned(desk):
    add_table(desk)
    admin, ben = (
        user(desk.store, name, role) for name, role in (("ada", UserRole.ADMIN), ("ben", UserRole.REVIEWER))
    )
    assign(desk.store, admin, tuple(one.case_id for one in cases(desk)), ben.id)
    mask_again(desk, 1, ("masked", "dropped"))
    for one in cases(desk):
        with pytest.raises(CaseLockedError, match="assigned"):
            open_case(desk.store, desk.user, one.case_id)
        assert open_case(desk.store, ben, one.case_id)
    assert verify_store(desk.store).is_intact


def test_a_stop_right_after_the_file_was_replaced_loses_no_name_of_what_does_not_fit(desk, monkeypatch):
    add_two_tables(desk)
    for case_id in [one.case_id for one in cases(desk) if one.name in ("A-1", "B-1")]:
        change(desk, case_id, ActionKind.MASK, 4)
        close_case(desk.store, desk.user, case_id)
    stop_once_after_adding(monkeypatch)
    files = mask_again(desk, 1, ("dropped", "dropped", "masked", "id"))
    assert files[-1]["state"] == "stopped"
    assert [one.id for one in list_sources(desk.store)] == [2]
    desk.ask(f"/add/{files[-1]['id']}", what="resume")
    said = told(desk.wait(UploadState.DONE))
    assert said[0] == "Decisions and notes on 1 document were carried over."
    assert any("do not fit its new text: A-1." in one for one in said)


@pytest.mark.parametrize(
    "is_active, role", [(True, "adjudicator"), (False, "adjudicator"), (True, "reviewer")]
)
def test_an_unfinished_entry_stops_the_masking_only_if_somebody_can_go_on_with_it(
    desk, monkeypatch, is_active, role
):
    add_table(desk)
    eve, _ada = (
        user(desk.store, name, role)
        for name, role in (("eve", UserRole.ADJUDICATOR), ("ada", UserRole.ADMIN))
    )
    monkeypatch.setattr(word_lists, "MOST_SECONDS", -1)
    asked = Asked(("since",))
    add_entry(desk.store, eve, asked, Sort.ALWAYS, count_places(desk.store, eve, asked)[Sort.ALWAYS])
    assert [one.unfinished for one in list_entries(desk.store, eve)] == [word_lists.Unfinished.ADDING]
    set_active(desk.store, "eve", is_active=is_active, by="ada")
    change_rows(desk.store, USERS, USERS.c.id == eve.id, role=role)
    files = mask_again(desk, 1, ("masked", "dropped"))
    can_go_on = is_active and role == "adjudicator"
    assert files[-1]["state"] == ("stopped" if can_go_on else "done")
    assert ("not in all cases yet" in files[-1].get("problem", "")) is can_go_on


@pytest.mark.parametrize("is_removed", [False, True])
def test_an_entry_of_an_account_that_opens_again_goes_on_in_the_new_cases(desk, monkeypatch, is_removed):
    add_table(desk)
    eve, _ada = (
        user(desk.store, name, role)
        for name, role in (("eve", UserRole.ADJUDICATOR), ("ada", UserRole.ADMIN))
    )
    asked = Asked(("since",))
    monkeypatch.setattr(word_lists, "MOST_SECONDS", 60 if is_removed else -1)
    add_entry(desk.store, eve, asked, Sort.ALWAYS, count_places(desk.store, eve, asked)[Sort.ALWAYS])
    (entry,) = list_entries(desk.store, eve)
    monkeypatch.setattr(word_lists, "MOST_SECONDS", -1)
    if is_removed:
        remove_entry(desk.store, eve, entry.id)
    set_active(desk.store, "eve", is_active=False, by="ada")
    mask_again(desk, 1, ("masked", "dropped"))
    set_active(desk.store, "eve", is_active=True, by="ada")
    monkeypatch.setattr(word_lists, "MOST_SECONDS", 60)
    assert go_on(desk.store, eve, entry.id) == Done(1)
    new = max(one.case_id for one in cases(desk))
    assert open_case(desk.store, eve, new).layer.keep.tolist() == [True, is_removed, True]
    assert verify_store(desk.store).is_intact


def test_the_work_on_many_cases_is_carried_over_in_few_statements(desk):
    # Other writers wait meanwhile.
    add_table(desk, b"text,other\n" + b"seen by Okonkwo with rash,x\n" * 40)
    for one in cases(desk):
        add_note(desk.store, change(desk, one.case_id, ActionKind.UNMASK, 2), "ask again", None)
        close_case(desk.store, desk.user, one.case_id)
    statements = Counter()

    def note(_connection, _cursor, statement, *_others):
        statements[" ".join(statement.split()[:2])] += 1

    event.listen(desk.store._engine, "before_cursor_execute", note)
    files = mask_again(desk, 1, ("masked", "dropped"))
    assert told(files)[0] == "Decisions and notes on 40 documents were carried over."
    assert statements["UPDATE layers"] == 1
    assert statements["UPDATE cases"] <= 2
    assert statements["SELECT contents.case_id,"] <= 2


def test_the_page_of_deleting_names_the_copy_that_waits(desk):
    add_table(desk)
    first = min(one.case_id for one in cases(desk))
    pages = ("/files/delete?source=1", f"/files/delete?case={first}")
    said = "its copy that waits for other choices"
    assert [said in desk.client.get(page).text for page in pages] == [False, False]
    desk.send("/files/again", source=1)
    assert [said in desk.client.get(page).text for page in pages] == [True, True]
