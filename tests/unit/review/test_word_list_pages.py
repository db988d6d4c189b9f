"""The pages of word lists without a browser: what they ask before words are listed, and new files."""

import re

import pytest
from desk_visitors import desk_of
from fake_maskers import FakeMasker
from review_stores import read_entries, store_of
from review_visitors import visitor

from inverse_deid.review.files.waiting import UploadState
from inverse_deid.review.flow.reading import open_case, view_case
from inverse_deid.review.flow.word_lists import list_entries
from inverse_deid.review.people.accounts import find_user
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import UserRole

TEXTS = ["a rash after Zelvoran and ZELVORAN", "no drug, mrn", "zelvoran again, MRN too"]


@pytest.fixture
def store(tmp_path):
    with store_of(tmp_path, TEXTS, approvals=1) as store:
        yield store


@pytest.fixture
def carl(store):
    return visitor(store, "carl", UserRole.ADJUDICATOR)


def fields_of(page):
    """Return the hidden fields of a form."""
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page.text)
    return {name: value for name, value in found if name != "csrf_token"}


def notice_of(answer, who):
    """Follow a redirect, and return what the next page says."""
    assert answer.status_code == 303
    page = who.get(answer.headers["location"])
    return re.search(r'id="notice" role="status">([^<]*)<', page.text)[1]


def list_word(who, sort, words="Zelvoran", **more):
    """Ask for a word, and choose a list; the answer is the next question, or a redirect."""
    question = who.send("/lists/ask", words=words)
    return who.send("/lists/add", **{**fields_of(question), "sort": sort, **more})


def test_the_page_says_how_many_places_would_change_and_changes_nothing(store, carl):
    page = carl.send("/lists/ask", words="zelvoran", case="1", origin="case").text
    assert "Kept now in 1 place." in page
    assert "Masked now in 2 places." in page and "In 2 of them the tool was sure." in page
    assert fields_of(carl.send("/lists/ask", words="zelvoran", case="1", origin="case")) == {
        "words": "zelvoran",
        "case": "1",
        "origin": "case",
        "told": "2 2 0",
    }
    assert read_entries(store, 1) == []


def test_a_word_that_is_always_masked_needs_one_answer(store, carl):
    assert notice_of(list_word(carl, "always masked", "mrn"), carl) == (
        "“mrn” is now always masked. 1 case changed."
    )
    page = carl.get("/lists").text
    assert "typed" in page and ">mrn<" in page


def test_a_word_that_the_tool_was_sure_of_is_asked_for_again(store, carl):
    question = list_word(carl, "never masked", for_new_files="yes")
    assert question.status_code == 200
    assert "In 2 places the tool was sure that this must be masked." in question.text
    assert list_entries(store, find_user(store, "carl")) == ()
    again = fields_of(question)
    assert carl.send("/lists/add", **again).status_code == 200  # without the tick
    assert list_entries(store, find_user(store, "carl")) == ()
    done = carl.send("/lists/add", **again, sure="yes")
    assert notice_of(done, carl) == "“Zelvoran” is now never masked. 1 case changed."
    (entry,) = list_entries(store, find_user(store, "carl"))
    assert entry.for_new_files
    assert verify_store(store).is_intact


def test_an_answer_to_another_number_of_places_lists_nothing(store, carl):
    question = fields_of(carl.send("/lists/ask", words="Zelvoran"))
    answer = carl.send("/lists/add", **{**question, "told": "1 1 0"}, sort="never masked", sure="yes")
    assert answer.status_code == 400 and "The places have changed" in answer.text
    assert list_entries(store, find_user(store, "carl")) == ()


@pytest.mark.parametrize(
    "origin", [("case", "/cases/1"), ("table", "/table/1"), ("", "/lists"), ("//x", "/lists")]
)
def test_after_the_answer_the_user_is_back_where_they_were(carl, origin):
    answer = list_word(carl, "always masked", "rash", case="1", origin=origin[0])
    assert answer.headers["location"] == origin[1]


def test_an_entry_is_used_for_new_files_ended_and_removed_on_the_page(store, carl):
    list_word(carl, "always masked", "mrn", case="3")
    (entry,) = list_entries(store, find_user(store, "carl"))
    assert "from c3" in carl.get("/lists").text
    used = carl.send("/lists/change", entry=entry.id, what="use")
    assert notice_of(used, carl) == "New files follow this entry."
    ended = carl.send("/lists/change", entry=entry.id, what="end")
    assert notice_of(ended, carl) == "New files do not follow this entry any more."
    removed = carl.send("/lists/change", entry=entry.id, what="remove")
    assert notice_of(removed, carl) == "Removed. 1 case changed."
    assert list_entries(store, find_user(store, "carl")) == ()


def test_a_long_change_has_a_page_that_goes_on_until_it_is_done(store, carl, monkeypatch):
    monkeypatch.setattr("inverse_deid.review.flow.word_lists.MOST_SECONDS", -1)
    answer = list_word(carl, "always masked", "mrn", origin="doubts", at="3")
    entry = list_entries(store, find_user(store, "carl"))[0].id
    address = f"/lists/work?entry={entry}&origin=doubts&at=3"
    assert answer.headers["location"] == address
    page = carl.get(address).text
    assert "“mrn” in all cases" in page and "It is masked in all cases" in page
    assert "It is not changed in all cases yet." in carl.get("/lists").text
    assert "“mrn” is not changed in all cases yet." in carl.get("/lists/doubts").text
    said = carl.ask("/lists/work", entry=str(entry), origin="doubts", at="3").json()
    assert said == {"next": "", "said": "0 of 1 cases are done.", "n_done": 0, "n_all": 1}
    assert carl.send("/lists/work", entry=entry, origin="doubts", at="3").headers["location"] == address
    monkeypatch.setattr("inverse_deid.review.flow.word_lists.MOST_SECONDS", 60)
    done = carl.ask("/lists/work", entry=str(entry), origin="doubts", at="3")
    assert done.json() == {"next": f"/lists/doubts?at=3&undo={entry}"}
    page = carl.get(done.json()["next"]).text
    assert "“mrn” is now always masked. 1 case changed." in page
    assert "cases yet" not in carl.get("/lists").text
    assert carl.get(address).headers["location"] == "/lists"
    monkeypatch.setattr("inverse_deid.review.flow.word_lists.MOST_SECONDS", -1)
    undone = carl.send("/lists/change", entry=entry, what="remove", origin="doubts", at="3")
    assert undone.headers["location"] == address
    assert "It is taken out of your cases." in carl.get(address).text
    monkeypatch.setattr("inverse_deid.review.flow.word_lists.MOST_SECONDS", 60)
    undone = carl.send("/lists/work", entry=entry, origin="doubts", at="3")
    assert undone.headers["location"] == "/lists/doubts?at=3"
    assert notice_of(undone, carl) == "Removed. 1 case changed."


@pytest.mark.parametrize("entry", ["", "x", "1", "9" * 30, "-1"])
def test_work_on_another_entry_changes_nothing(store, carl, entry):
    assert carl.get(f"/lists/work?entry={entry}").headers["location"] == "/lists"
    assert carl.send("/lists/work", entry=entry).status_code == 400
    assert carl.ask("/lists/work", entry=entry).status_code == 400
    assert verify_store(store).is_intact


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        ("/lists/ask", {"words": ""}),
        ("/lists/ask", {"words": "w " * 5_000}),
        ("/lists/add", {"words": "x", "sort": "sometimes"}),
        ("/lists/add", {"words": "x", "sort": "always masked", "case": "77"}),
        ("/lists/change", {"entry": "1", "what": "remove"}),
        ("/lists/change", {"entry": "x", "what": "use"}),
        ("/lists/change", {"entry": "9" * 30, "what": "use"}),
        ("/lists/change", {"entry": "1", "what": "burn"}),
    ],
)
def test_hostile_forms_are_refused(store, carl, address, fields):
    answer = carl.send(address, **fields)
    assert answer.status_code == 400
    assert list_entries(store, find_user(store, "carl")) == ()
    assert verify_store(store).is_intact


@pytest.mark.parametrize("role", [UserRole.REVIEWER, UserRole.ADMIN])
def test_others_have_no_lists(store, role):
    ann = visitor(store, "ann", role)
    assert ann.get("/lists").status_code == 403
    for address in ("ask", "add", "change"):
        assert ann.send(f"/lists/{address}", words="x", sort="always masked").status_code == 403
    assert "/lists" not in ann.get("/").text


def test_no_address_and_no_form_of_another_session_lists_words(store, carl):
    assert carl.get("/lists/ask?words=Zelvoran").status_code in (404, 405)
    carl.token = "0" * 64
    assert carl.send("/lists/ask", words="Zelvoran").status_code == 403


def test_words_of_markup_are_shown_as_words(carl):
    page = carl.send("/lists/ask", words="<script>alert(1)</script>").text
    assert "<script>alert" not in page and "script alert 1 script" in page


def test_an_admin_forbids_words_to_keep_under_activity(store, carl):
    dora = visitor(store, "dora", UserRole.ADMIN)
    dora.send("/activity", max_locks="20", cases_per_hour="60", no_allow_lists="yes")
    answer = list_word(carl, "never masked", "Unknown")
    assert answer.status_code == 403 and "not used here" in answer.text


class Obedient(FakeMasker):
    """Masks capitals, and follows the lists of its settings, as the real masker does."""

    def __init__(self, settings):
        deny, allow = ({word.lower() for word in words} for words in (settings.deny, settings.allow))
        super().__init__(lambda word: word.lower() in allow or (word.islower() and word.lower() not in deny))


def test_new_files_of_a_desk_follow_the_lists_if_the_user_wants_it(tmp_path):
    with desk_of(tmp_path, Obedient) as desk:
        list_word(desk, "always masked", "rash", for_new_files="yes")
        list_word(desk, "never masked", "Zelvoran", for_new_files="yes")
        list_word(desk, "never masked", "Quvenal")
        desk.add("letter.txt", b"A rash after Zelvoran and Quvenal")
        page = desk.client.get("/choices").text
        assert "mask 1 words or phrases in these files. They keep 1, unless" in page
        desk.choose()
        desk.wait(UploadState.DONE)
        open_case(desk.store, desk.user, 1)
        view = view_case(desk.store, desk.user, 1)
        words = zip(view.tokens.words, view.layer.keep, strict=True)
        assert [word for word, keep in words if keep] == ["after", "Zelvoran", "and"]
        assert (view.facts.n_deny, view.facts.n_allow) == (1, 1)
        assert view.facts.fingerprint != "fake"
        assert verify_store(desk.store).is_intact
