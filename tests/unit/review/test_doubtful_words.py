"""Doubtful words of all open cases: how they are grouped, what is remembered of them, and who sees them."""

import re

import pytest
from fake_maskers import BROKEN_STAGE, FakeMasker, masks_in_doubt, near_the_threshold
from review_stores import change, json_lines, place, read_entries, store_of, user
from review_stores import review as approve_alone
from review_visitors import visitor
from sqlalchemy import select

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.review.flow import doubts
from inverse_deid.review.flow.doubts import CONTEXT_CHARS, Grouped, group_doubts
from inverse_deid.review.flow.oversight import set_limits
from inverse_deid.review.flow.reading import close_case, open_case
from inverse_deid.review.flow.word_lists import (
    Asked,
    Sort,
    add_entry,
    count_places,
    list_entries,
    remove_entry,
)
from inverse_deid.review.flow.work_list import assign
from inverse_deid.review.people.accounts import find_user
from inverse_deid.review.store.deletion import delete_case
from inverse_deid.review.store.tables import TRAIL
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import ActionKind, ReviewLimits, UserRole

FIRST, SECOND = ["seen at ward", "the Ward and WARD"], ["ward round", "by Okonkwo"]


@pytest.fixture
def store(tmp_path):
    """Two files; the masker is in doubt about every word that it keeps, those in small letters."""
    inputs = [json_lines(tmp_path / f"{name}.jsonl", texts) for name, texts in (("a", FIRST), ("b", SECOND))]
    with store_of(tmp_path, inputs=inputs, masker=near_the_threshold(), approvals=1) as store:
        yield store


@pytest.fixture
def carl(store):
    return user(store, "carl", UserRole.ADJUDICATOR)


def words_of(store, who, **more):
    return [one.word for one in group_doubts(store, who, **more).words]


def events_of(store):
    with store.reading() as transaction:
        return "\n".join(transaction.execute(select(TRAIL.c.line)).scalars())


def enter(store, who, word, sort):
    asked = Asked.read(word)
    return add_entry(store, who, asked, sort, count_places(store, who, asked)[sort])


def test_words_of_all_files_are_grouped_the_most_frequent_first(store, carl):
    found = group_doubts(store, carl)
    assert [one.word for one in found.words] == ["ward", "seen", "at", "the", "and", "round", "by"]
    ward = found.words[0]
    assert (ward.n_kept, ward.n_masked, ward.n_cases) == (2, 0, 2)
    assert (ward.before, ward.after, ward.case_id) == ("seen at ", "", 1)
    assert (found.n_words, found.n_read, found.n_unread) == (7, 4, 0)
    assert words_of(store, carl, first=5, n_words=1) == ["round"]
    assert words_of(store, carl, source_id=2) == ["ward", "round", "by"]
    assert "ward" not in repr(found)


def test_of_words_as_frequent_the_more_doubtful_ones_come_first(tmp_path):
    class Unsure(FakeMasker):
        def _mask(self, doc):
            masked = super()._mask(doc)
            masked.decisions.p_safe[:] = [
                {"rash": 0.95, "ward": 0.91}.get(w, 0.93) for w in masked.tokens.words
            ]
            return masked

    with store_of(tmp_path, ["rash then ward", "ward fever rash"], masker=Unsure(str.islower)) as store:
        assert words_of(store, user(store, "carl")) == ["ward", "rash", "then", "fever"]


def test_a_word_is_quoted_where_the_tool_is_most_in_doubt(tmp_path):
    class Unsure(FakeMasker):
        def _mask(self, doc):
            masked = super()._mask(doc)
            masked.decisions.p_safe[:] = 0.91 if "fever" in doc.text else 0.95
            return masked

    with store_of(tmp_path, ["a rash", "fever, rash now"], masker=Unsure(str.islower)) as store:
        rash = group_doubts(store, user(store, "carl")).words[0]
        assert (rash.word, rash.before, rash.after, rash.case_id) == ("rash", "fever, ", " now", 2)


@pytest.mark.parametrize("sort", Sort)
def test_a_word_is_decided_once_in_all_cases_and_in_doubt_again_after_the_removal(store, carl, sort):
    done = enter(store, carl, "WARD", sort)
    assert done.n_cases == (3 if sort is Sort.NEVER else 2)
    assert "ward" not in words_of(store, carl)
    remove_entry(store, carl, done.entry_id)
    assert words_of(store, carl)[0] == "ward"
    assert verify_store(store).is_intact


def test_words_that_are_left_stay_as_they_are_and_the_trail_says_that_they_were_confirmed(store, carl):
    enter(store, carl, "ward", Sort.LEFT)
    (entry,) = list_entries(store, carl)
    assert entry.sort is Sort.LEFT
    assert [one["event"] for one in read_entries(store, 1)].count("confirm") == 1
    assert (
        "left as it is, 0 places in 2 cases, of which the tool was sure: 0, doubtful ones confirmed: 2"
        in (events_of(store))
    )
    with pytest.raises(ReviewError, match="cannot be used for new files"):
        add_entry(
            store,
            carl,
            Asked.read("rash"),
            Sort.LEFT,
            count_places(store, carl, Asked.read("rash"))[Sort.LEFT],
            for_new_files=True,
        )


def test_doubtful_masks_that_an_entry_leaves_masked_are_counted_as_confirmed(tmp_path):
    with store_of(tmp_path, ["by Okonkwo", "OKONKWO and okonkwo"], masker=masks_in_doubt()) as store:
        carl = user(store, "carl", UserRole.ADJUDICATOR)
        found = count_places(store, carl, Asked.read("okonkwo"))
        assert (found[Sort.ALWAYS].n_places, found[Sort.ALWAYS].n_confirmed) == (1, 2)
        assert (found[Sort.NEVER].n_places, found[Sort.NEVER].n_confirmed) == (2, 0)
        assert found[Sort.LEFT].n_confirmed == 2


def test_a_case_is_read_again_only_after_its_reader_changed_it(store, carl, monkeypatch):
    read = []
    monkeypatch.setattr(
        doubts, "_read_some", lambda *given, real=doubts._read_some: read.extend(given[2]) or real(*given)
    )
    words_of(store, carl)
    words_of(store, carl)
    assert read == [1, 2, 3, 4]
    change(store, place(store, carl, 3), ActionKind.MASK, 0)
    assert words_of(store, carl) == ["seen", "at", "ward", "the", "and", "round", "by"]
    assert read == [1, 2, 3, 4, 3]
    close_case(store, carl, 3)
    ann = user(store, "ann", UserRole.ADJUDICATOR)
    assert group_doubts(store, ann).words[0].n_kept == 2  # what others decided is theirs


def test_what_the_process_remembers_has_no_word(store, carl):
    count_places(store, carl, Asked.read("round"))
    known = repr([(one.words.tolist(), one.words.tobytes(), one.doubts) for one in store.case_words.values()])
    assert len(store.case_words) == 4
    assert not re.search("seen|ward|Okonkwo|round", known)


def test_cases_that_are_gone_are_forgotten(store, carl):
    count_places(store, carl, Asked.read("round"))
    delete_case(store, 3, by="dora")
    assert words_of(store, carl) == ["seen", "at", "ward", "the", "and", "by"]
    count_places(store, carl, Asked.read("round"))
    assert sorted(case_id for _user, case_id in store.case_words) == [1, 2, 4]


def test_without_time_no_word_is_shown_and_what_was_read_is_kept(store, carl, monkeypatch):
    monkeypatch.setattr(doubts, "_CASES_AT_ONCE", 3)
    assert group_doubts(store, carl, seconds=-1) == Grouped(n_unread=4)
    clock = iter([0, 0, 1, 9, 9])
    monkeypatch.setattr(doubts.time, "monotonic", lambda: next(clock))
    assert group_doubts(store, carl, seconds=0.5) == Grouped(n_read=3, n_unread=1)
    assert '"new":"doubtful words"' not in events_of(store)


def test_each_case_whose_text_is_shown_is_in_the_trail(store, carl):
    words_of(store, carl, n_words=1)
    assert [one["new"] for one in read_entries(store, 1) if one["event"] == "original shown"] == [
        "doubtful words"
    ]
    assert not [one for one in read_entries(store, 3) if one["event"] == "original shown"]


def test_a_search_of_the_originals_for_listed_words_is_in_the_trail_without_the_words(store, carl):
    count_places(store, carl, Asked.read("okonkwo"))
    assert '"event":"original texts searched"' in events_of(store)
    assert "open cases: 4, with words that were looked for: 1" in events_of(store)
    assert "konkwo" not in events_of(store)


def test_cases_that_the_reader_cannot_review_are_left_out(tmp_path):
    texts = ["one word", f"{BROKEN_STAGE} alone", "two held", "three assigned", "four approved"]
    with store_of(tmp_path, texts, masker=near_the_threshold()) as store:
        carl, ann = user(store, "carl", UserRole.ADJUDICATOR), user(store, "ann", UserRole.ADJUDICATOR)
        open_case(store, ann, 3)
        assign(store, user(store, "dora", UserRole.ADMIN), (4,), ann.id)
        approve_alone(store, carl, 5)
        assert words_of(store, carl) == ["one", "word"]
        set_limits(store, ReviewLimits(only_assigned=True), by="dora")
        assert words_of(store, carl) == []


def test_a_reader_who_is_blind_to_the_tool_sees_none_of_its_doubts(tmp_path):
    with store_of(tmp_path, ["one word"], masker=near_the_threshold(), blind_to_model=True) as store:
        ann, carl = user(store, "ann"), user(store, "carl", UserRole.ADJUDICATOR)
        assert words_of(store, carl) == ["one", "word"]
        approve_alone(store, ann, 1)
        assert words_of(store, carl) == []
        assert count_places(store, carl, Asked.read("word"))[Sort.ALWAYS].case_ids == ()


def test_an_admin_sees_no_word(store):
    with pytest.raises(NotAllowedError):
        group_doubts(store, user(store, "dora", UserRole.ADMIN))


@pytest.fixture
def page(store):
    return visitor(store, "carl", UserRole.ADJUDICATOR)


def decide(who, word, sort, n_kept, n_masked, **more):
    given = {"words": word, "sort": sort, "n_kept": n_kept, "n_masked": n_masked}
    return who.send("/lists/doubts", **{"origin": "doubts", "at": "3", "case": "1", **given, **more})


def notice_of(answer, who):
    assert answer.status_code == 303
    return re.search(r'id="notice" role="status">([^<]*)<', who.get(answer.headers["location"]).text)[1]


def test_the_page_shows_the_words_with_their_places(store, page):
    text = page.get("/lists/doubts").text
    assert "7 words, the most frequent ones first." in text
    assert "places: 2 kept, 0 masked, in 2 cases" in text
    assert "seen at <mark>ward</mark>" in text
    assert text.index(">ward</b>") < text.index(">seen</b>")


def test_a_word_that_is_masked_or_left_where_it_is_in_doubt_needs_one_answer(store, page):
    answer = decide(page, "ward", "always masked", 2, 0)
    assert notice_of(answer, page) == "“ward” is now always masked. 2 cases changed."
    (entry,) = list_entries(store, find_user(store, "carl"))
    assert answer.headers["location"] == f"/lists/doubts?at=3&undo={entry.id}"
    left = decide(page, "seen", "left as it is", 1, 0)
    assert notice_of(left, page) == "“seen” is now left as it is. 1 case changed."
    text = page.get("/lists").text
    assert "Left as they are" in text and "Use for new files" in text
    undone = page.send("/lists/change", entry=entry.id, what="remove", origin="doubts", at="3")
    assert undone.headers["location"] == "/lists/doubts?at=3"
    assert notice_of(undone, page) == "Removed. 2 cases changed."


@pytest.mark.parametrize(("sort", "n_kept"), [("always masked", 1), ("never masked", 2), ("never masked", 1)])
def test_words_are_shown_or_more_places_are_changed_only_after_a_question(store, page, sort, n_kept):
    question = decide(page, "ward", sort, n_kept, 0)
    assert question.status_code == 200 and "“ward” in all cases" in question.text
    assert f'value="{sort}" class="' in question.text and question.text.count("autofocus") == 1
    assert 'href="/lists/doubts?at=3"' in question.text
    assert list_entries(store, find_user(store, "carl")) == ()


def test_the_answer_to_the_question_leads_back_to_the_words(store, page):
    fields = dict(
        re.findall(
            r'type="hidden" name="(\w+)" value="([^"]*)"',
            decide(page, "round", "never masked", 1, 0, case="3").text,
        )
    )
    fields.pop("csrf_token")
    answer = page.send("/lists/add", **fields, sort="never masked")
    assert answer.headers["location"].startswith("/lists/doubts?at=3&undo=")
    assert notice_of(answer, page) == "“round” is now never masked. 1 case changed."


def test_words_to_leave_must_be_where_the_page_said(store, page):
    answer = decide(page, "ward", "left as it is", 1, 0)
    assert notice_of(answer, page) == "The places have changed. Look at them again."
    assert list_entries(store, find_user(store, "carl")) == ()


def test_an_admin_can_forbid_words_to_keep_but_not_to_leave_or_mask_them(store, page):
    set_limits(store, ReviewLimits(no_allow_lists=True), by="dora")
    text = page.get("/lists/doubts").text
    assert "Never mask</button>" not in text and "Leave as it is</button>" in text
    decide(page, "ward", "left as it is", 2, 0)
    assert len(list_entries(store, find_user(store, "carl"))) == 1


def test_the_page_says_how_many_cases_were_read_and_is_asked_for_more(store, page, monkeypatch):
    monkeypatch.setattr("inverse_deid.review.pages.form_pages.PAGE_SECONDS", -1)
    decide(page, "ward", "always masked", 2, 0)
    store.case_words.clear()
    text = page.get("/lists/doubts").text
    assert "0 of 4 cases are read." in text and "ward" not in text
    assert page.ask("/lists/doubts/read").json() == {"n_unread": 0, "said": "4 of 4 cases are read."}
    text = page.get("/lists/doubts").text
    assert ">seen</b>" in text and "“ward” is now always masked." in text


def test_there_are_pages_of_words(store, page, monkeypatch):
    monkeypatch.setattr("inverse_deid.review.pages.form_pages.DOUBTS_ON_PAGE", 3)
    text = page.get("/lists/doubts?at=4").text
    assert re.findall(r'<b id="word-\d">(\w+)</b>', text) == ["the", "and", "round"]
    assert re.findall(r'aria-describedby="word-(\d)" autofocus', text) == ["4"]
    assert 'href="/lists/doubts?at=0" rel="prev"' in text and 'href="/lists/doubts?at=6" rel="next"' in text
    assert page.get("/lists/doubts?at=90&undo=7").headers["location"] == "/lists/doubts?at=6&undo=7"


def test_nothing_in_doubt_is_said(tmp_path):
    with store_of(tmp_path, ["one word"]) as store:
        page = visitor(store, "carl", UserRole.ADJUDICATOR)
        assert "No word of your cases is in doubt." in page.get("/lists/doubts?at=5").text


@pytest.mark.parametrize(
    "fields",
    [
        {"sort": "sometimes"},
        {"n_kept": "x"},
        {"n_masked": "-1"},
        {"words": ""},
        {"words": "w " * 5_000},
        {"case": "77"},
    ],
)
def test_hostile_answers_are_refused(store, page, fields):
    given = {
        "words": "ward",
        "sort": "always masked",
        "n_kept": "2",
        "n_masked": "0",
        "case": "1",
        "origin": "doubts",
    }
    assert page.send("/lists/doubts", **{**given, **fields}).status_code == 400
    assert list_entries(store, find_user(store, "carl")) == ()
    assert page.get("/lists/doubts?at=%3Cscript%3E&undo=9999999999999").status_code == 200
    assert verify_store(store).is_intact


@pytest.mark.parametrize("role", [UserRole.REVIEWER, UserRole.ADMIN])
def test_others_have_no_such_page(store, role):
    ann = visitor(store, "ann", role)
    assert ann.get("/lists/doubts").status_code == 403
    assert ann.ask("/lists/doubts/read").status_code == 403
    assert decide(ann, "ward", "always masked", 2, 0).status_code == 403


def test_a_word_is_quoted_between_whole_words(tmp_path):
    sides = "many words of a sentence that is longer than what is quoted of it"
    with store_of(tmp_path, [f"{sides}, rash {sides}"], masker=near_the_threshold(), approvals=1) as store:
        carl = user(store, "carl", UserRole.ADJUDICATOR)
        (rash,) = [one for one in group_doubts(store, carl).words if one.word == "rash"]
        assert rash.before == "… of a sentence that is longer than what is quoted of it, "
        assert rash.after == " many words of a sentence that is longer than what is quoted …"


@pytest.mark.parametrize("text", ["x" * 200 + " rash " + "y" * 200, "x" * 61 + "-rash-" + "y" * 61])
def test_a_word_between_endless_words_is_quoted_with_a_part_of_them(tmp_path, text):
    with store_of(tmp_path, [text], masker=near_the_threshold(), approvals=1) as store:
        carl = user(store, "carl", UserRole.ADJUDICATOR)
        (rash,) = [one for one in group_doubts(store, carl).words if one.word == "rash"]
        assert rash.before.startswith("… x") and rash.after.endswith("y …")
        assert len(rash.before + rash.after) <= 2 * CONTEXT_CHARS + 4
