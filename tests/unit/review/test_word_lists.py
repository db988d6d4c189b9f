"""Word lists: what an entry changes, what its removal takes back, and who may do either."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from fake_maskers import BROKEN_STAGE, masks_in_doubt
from review_stores import KEY, change, json_lines, place, read_entries, store_of, user, write_key
from review_stores import review as approve_alone
from sqlalchemy import select

from inverse_deid.cli.main import main
from inverse_deid.core.errors import NotAllowedError, ReviewError, UnreadableInputError
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.review.flow.approval import approve, undo_approval
from inverse_deid.review.flow.editing import undo
from inverse_deid.review.flow.oversight import set_limits
from inverse_deid.review.flow.reading import close_case, open_case, view_case
from inverse_deid.review.flow.word_lists import (
    MAX_ENTRIES,
    Asked,
    Done,
    Places,
    Sort,
    Unfinished,
    add_entry,
    count_places,
    follow_lists,
    go_on,
    list_entries,
    list_unfinished,
    remove_entry,
    use_for_new_files,
)
from inverse_deid.review.store.deletion import delete_case, delete_everything, delete_source
from inverse_deid.review.store.keys import ReviewKey
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.rotation import rotate_key
from inverse_deid.review.store.tables import LISTED_WORDS, TRAIL
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import ActionKind, LayerRevision, ReviewLimits, UserRole

TEXTS = [
    "a rash after Zelvoran and ZELVORAN",
    "no drug, mrn 7",
    "zelvoran again, MRN too",
    "Zelvoran",
]
"""The masker hides what begins with a capital or is a number: Zelvoran, MRN, 7."""
ZELVORAN, MRN = Asked(("zelvoran",)), Asked(("MRN",), 3)


@pytest.fixture
def alone(tmp_path):
    with store_of(tmp_path, TEXTS, approvals=1) as store:
        yield store


@pytest.fixture
def carl(alone):
    return user(alone, "carl", UserRole.ADJUDICATOR)


def enter(store, who, asked, sort, **more):
    """Add an entry as the page does: with the places that were counted."""
    done = add_entry(store, who, asked, sort, count_places(store, who, asked)[sort], **more)
    found = [one for one in list_entries(store, who) if one.is_own and one.asked.folded == asked.folded]
    return found[0], done


def kept(store, who, case_id):
    """Return the words that a reader keeps in a case."""
    view = view_case(store, who, open_case(store, who, case_id).case_id)
    close_case(store, who, case_id)
    return " ".join(word for word, keep in zip(view.tokens.words, view.layer.keep, strict=True) if keep)


def test_places_are_counted_before_anything_is_changed(alone, carl):
    found = count_places(alone, carl, ZELVORAN)
    assert found[Sort.NEVER] == Places((1, 4), 3, 3)
    assert found[Sort.ALWAYS] == Places((3,), 1, 0)
    assert read_entries(alone, 1) == []


def test_words_that_are_never_masked_are_kept_in_all_open_cases(alone, carl):
    entry, done = enter(alone, carl, ZELVORAN, Sort.NEVER)
    assert done == Done(2)
    assert kept(alone, carl, 1) == "a rash after Zelvoran and ZELVORAN"
    assert (entry.sort, entry.by, entry.is_own, entry.for_new_files) == (Sort.NEVER, "carl", True, False)
    assert verify_store(alone).is_intact


def test_words_that_are_always_masked_are_hidden_in_all_open_cases(alone, carl):
    _entry, done = enter(alone, carl, MRN, Sort.ALWAYS)
    assert done == Done(1)
    assert kept(alone, carl, 2) == "no drug"
    assert kept(alone, carl, 3) == "zelvoran again too"


def test_removal_takes_an_entry_out_of_open_cases_and_leaves_approved_ones(alone, carl):
    entry, _done = enter(alone, carl, ZELVORAN, Sort.NEVER)
    approve_alone(alone, carl, 4)
    assert remove_entry(alone, carl, entry.id) == Done(1, 0, 1)
    assert kept(alone, carl, 1) == "a rash after and"
    assert kept(alone, carl, 4) == "Zelvoran"
    assert list_entries(alone, carl) == ()
    assert verify_store(alone).is_intact


def test_what_the_reader_decided_themselves_holds_after_a_removal(alone, carl):
    at, _edited = change(alone, place(alone, carl, 1), ActionKind.UNMASK, 3)
    entry, _done = enter(alone, carl, ZELVORAN, Sort.NEVER)
    at = LayerRevision(carl.id, 1, open_case(alone, carl, 1).revision)
    at, _edited = change(alone, at, ActionKind.MASK, 1)
    remove_entry(alone, carl, entry.id)
    assert kept(alone, carl, 1) == "a after Zelvoran and"
    at = LayerRevision(carl.id, 1, open_case(alone, carl, 1).revision)
    assert undo(alone, at).can_undo
    assert kept(alone, carl, 1) == "a rash after Zelvoran and"
    assert verify_store(alone).is_intact


@pytest.mark.parametrize("words", [("drug mrn", "drug"), ("drug", "drug mrn")])
def test_a_word_that_two_entries_mask_stays_masked_when_one_is_removed(tmp_path, words):
    with store_of(tmp_path, ["no drug mrn"], approvals=1) as store:
        carl = user(store, "carl", UserRole.ADJUDICATOR)
        first, second = (enter(store, carl, Asked.read(one), Sort.ALWAYS)[0] for one in words)
        remove_entry(store, carl, first.id)
        assert "drug" not in kept(store, carl, 1)
        remove_entry(store, carl, second.id)
        assert kept(store, carl, 1) == "no drug mrn"


def test_words_to_keep_do_not_uncover_what_another_entry_masks(tmp_path):
    with store_of(tmp_path, ["no drug mrn, no drug"], approvals=1) as store:
        carl = user(store, "carl", UserRole.ADJUDICATOR)
        phrase, _done = enter(store, carl, Asked(("drug", "mrn")), Sort.ALWAYS)
        assert count_places(store, carl, Asked(("drug",)))[Sort.NEVER] == Places()
        enter(store, carl, Asked(("drug",)), Sort.NEVER)
        assert kept(store, carl, 1) == "no no drug"
        remove_entry(store, carl, phrase.id)
        assert kept(store, carl, 1) == "no drug mrn no drug"


def test_an_entry_that_is_added_again_finds_nothing_left_to_do(alone, carl):
    enter(alone, carl, MRN, Sort.ALWAYS)
    assert enter(alone, carl, Asked(("mrn", "7")), Sort.ALWAYS)[1] == Done(1)
    assert count_places(alone, carl, MRN)[Sort.ALWAYS] == Places((2,), 0, 0)


def test_an_entry_that_was_undone_in_a_case_is_taken_out_of_what_can_be_redone(alone, carl):
    entry, _done = enter(alone, carl, ZELVORAN, Sort.NEVER)
    at = LayerRevision(carl.id, 4, open_case(alone, carl, 4).revision)
    assert undo(alone, at).can_redo
    remove_entry(alone, carl, entry.id)
    view = open_case(alone, carl, 4)
    assert (view.can_undo, view.can_redo) == (False, False)


def test_a_doubtful_word_is_in_doubt_again_after_the_removal(tmp_path):
    with store_of(tmp_path, ["seen by Okonkwo"], masker=masks_in_doubt(), approvals=1) as store:
        carl = user(store, "carl", UserRole.ADJUDICATOR)
        asked = Asked(("okonkwo",))
        assert count_places(store, carl, asked)[Sort.NEVER] == Places((1,), 1, 0)
        entry, done = enter(store, carl, asked, Sort.ALWAYS)  # it is masked, and now decided
        assert done == Done(1)
        assert count_places(store, carl, asked)[Sort.ALWAYS] == Places()
        remove_entry(store, carl, entry.id)
        assert count_places(store, carl, asked)[Sort.ALWAYS] == Places((1,), 0, 0, 1)


def test_an_entry_that_was_interrupted_is_completed_when_it_is_added_again(alone, carl):
    places = count_places(alone, carl, ZELVORAN)[Sort.NEVER]
    add_entry(alone, carl, ZELVORAN, Sort.NEVER, Places(places.case_ids[:1], 2, 2))
    entry, done = enter(alone, carl, Asked(("ZELVORAN",)), Sort.NEVER)
    assert done == Done(1)
    assert len(list_entries(alone, carl)) == 1
    assert remove_entry(alone, carl, entry.id) == Done(2)


def test_the_same_words_are_not_on_both_lists_of_a_person(alone, carl):
    enter(alone, carl, MRN, Sort.ALWAYS)
    with pytest.raises(ReviewError, match="on another list"):
        enter(alone, carl, Asked(("mrn",)), Sort.NEVER)


def test_phrases_are_listed_as_they_follow_each_other(alone, carl):
    _entry, done = enter(alone, carl, Asked.read("zelvoran - again"), Sort.ALWAYS)
    assert done == Done(1)
    assert kept(alone, carl, 3) == "too"
    assert kept(alone, carl, 2) == "no drug mrn"


@pytest.mark.parametrize("words", ["", " - ", "one " * 21, "x" * 2_000])
def test_no_words_and_too_many_are_refused(words):
    with pytest.raises(ReviewError, match="give 1 to 20 words"):
        Asked.read(words)


def test_a_failed_case_and_one_that_another_reader_holds_are_left_out(tmp_path):
    texts = [f"Zelvoran {BROKEN_STAGE}", "Zelvoran", "Zelvoran"]
    with store_of(tmp_path, texts, approvals=1) as store:
        carl, ann = user(store, "carl", UserRole.ADJUDICATOR), user(store, "ann")
        places = count_places(store, carl, ZELVORAN)[Sort.NEVER]
        assert places.case_ids == (2, 3)
        open_case(store, ann, 2)
        assert add_entry(store, carl, ZELVORAN, Sort.NEVER, places) == Done(1, 1)
        assert count_places(store, carl, ZELVORAN)[Sort.NEVER] == Places()


def test_a_case_with_too_many_places_does_not_keep_an_entry_from_the_others(alone, carl, monkeypatch):
    monkeypatch.setattr("inverse_deid.review.flow.editing.MAX_CHANGES", 1)
    entry, done = enter(alone, carl, ZELVORAN, Sort.NEVER)
    assert done == Done(1, 1)
    assert kept(alone, carl, 1) == "a rash after and"
    assert kept(alone, carl, 4) == "Zelvoran"
    assert remove_entry(alone, carl, entry.id) == Done(1)
    assert list_entries(alone, carl) == ()


def test_an_entry_stays_while_somebody_works_on_a_case_that_it_is_in(tmp_path):
    with store_of(tmp_path, ["no drug mrn"]) as store:
        ann, carl = user(store, "ann"), user(store, "carl", UserRole.ADJUDICATOR)
        entry, done = enter(store, carl, Asked(("drug",)), Sort.ALWAYS)
        assert done == Done(1)
        close_case(store, carl, 1)
        open_case(store, ann, 1)
        assert remove_entry(store, carl, entry.id) == Done(0, n_left=1)
        assert [one.id for one in list_entries(store, carl)] == [entry.id]
        close_case(store, ann, 1)
        assert remove_entry(store, carl, entry.id) == Done(1)
        assert kept(store, carl, 1) == "no drug mrn"
        assert list_entries(store, carl) == ()


def test_a_case_that_its_reader_has_open_stays_theirs(alone, carl):
    at = place(alone, carl, 4)
    enter(alone, carl, ZELVORAN, Sort.NEVER)
    with pytest.raises(ReviewError, match="another window"):
        change(alone, at, ActionKind.MASK, 0)
    change(alone, LayerRevision(carl.id, 4, at.revision + 1), ActionKind.MASK, 0)


def test_the_second_reader_neither_sees_an_entry_nor_finds_their_reading_changed(tmp_path):
    with store_of(tmp_path, TEXTS) as store:
        carl, dan = (user(store, name, UserRole.ADJUDICATOR) for name in ("carl", "dan"))
        entry, _done = enter(store, carl, ZELVORAN, Sort.NEVER)
        assert list_entries(store, dan) == ()
        assert kept(store, dan, 1) == "a rash after and"
        with pytest.raises(ReviewError, match="not on your word lists"):
            remove_entry(store, dan, entry.id)
        with pytest.raises(ReviewError, match="not on your word lists"):
            use_for_new_files(store, dan, entry.id, is_used=True)


@pytest.mark.parametrize("role", [UserRole.REVIEWER, UserRole.ADMIN])
def test_only_adjudicators_keep_lists(alone, role):
    who = user(alone, "ann", role)
    for does in (
        lambda: count_places(alone, who, MRN),
        lambda: add_entry(alone, who, MRN, Sort.ALWAYS, Places()),
        lambda: list_entries(alone, who),
        lambda: remove_entry(alone, who, 1),
        lambda: use_for_new_files(alone, who, 1, is_used=False),
    ):
        with pytest.raises(NotAllowedError, match="only adjudicators"):
            does()


def words_of(store):
    masking = follow_lists(store, MaskingSettings())
    return sorted(masking.deny), sorted(masking.allow)


def test_new_files_follow_only_entries_that_are_meant_for_them(alone, carl):
    enter(alone, carl, MRN, Sort.ALWAYS, for_new_files=True)
    entry, _done = enter(alone, carl, ZELVORAN, Sort.NEVER)
    assert words_of(alone) == (["MRN"], [])
    use_for_new_files(alone, carl, entry.id, is_used=True)
    assert words_of(alone) == (["MRN"], ["zelvoran"])
    use_for_new_files(alone, carl, entry.id, is_used=False)
    assert words_of(alone) == (["MRN"], [])
    assert verify_store(alone).is_intact


def test_every_adjudicator_sees_and_can_end_what_new_files_follow_and_masking_wins(tmp_path):
    with store_of(tmp_path, TEXTS) as store:
        carl, dan = (user(store, name, UserRole.ADJUDICATOR) for name in ("carl", "dan"))
        enter(store, carl, Asked(("Zelvoran",), 1), Sort.NEVER, for_new_files=True)
        (seen,) = list_entries(store, dan)
        assert (seen.by, seen.is_own) == ("carl", False)
        assert read_entries(store, 1)[-1]["new"] == "word lists"
        enter(store, dan, ZELVORAN, Sort.ALWAYS, for_new_files=True)
        assert words_of(store) == (["zelvoran"], [])
        use_for_new_files(store, dan, seen.id, is_used=False)
        assert [one.by for one in list_entries(store, dan)] == ["dan"]


@pytest.mark.parametrize("words", ["Zelvoran Plus", "K7", "12"])
def test_new_files_cannot_keep_phrases_and_digits(alone, carl, words):
    asked = Asked.read(words)
    with pytest.raises(ReviewError, match="single words without digits"):
        enter(alone, carl, asked, Sort.NEVER, for_new_files=True)
    entry, _done = enter(alone, carl, asked, Sort.NEVER)
    with pytest.raises(ReviewError, match="single words without digits"):
        use_for_new_files(alone, carl, entry.id, is_used=True)


def test_an_admin_can_forbid_lists_of_words_that_are_never_masked(alone, carl):
    enter(alone, carl, ZELVORAN, Sort.NEVER, for_new_files=True)
    set_limits(alone, ReviewLimits(no_allow_lists=True), by="dora")
    assert words_of(alone) == ([], [])
    with pytest.raises(NotAllowedError, match="not used here"):
        enter(alone, carl, Asked(("Rose",)), Sort.NEVER)
    enter(alone, carl, MRN, Sort.ALWAYS)


def test_a_certificate_is_followed_by_no_words_to_keep(alone, carl, tmp_path):
    enter(alone, carl, ZELVORAN, Sort.NEVER, for_new_files=True)
    enter(alone, carl, MRN, Sort.ALWAYS, for_new_files=True)
    masking = follow_lists(alone, MaskingSettings(certificate=tmp_path / "certificate.json"))
    assert (masking.deny, masking.allow) == (frozenset({"MRN"}), frozenset())


@pytest.fixture
def slow(monkeypatch):
    """Let each step change one case, and pause."""
    monkeypatch.setattr("inverse_deid.review.flow.word_lists.ROWS_AT_ONCE", 1)
    monkeypatch.setattr("inverse_deid.review.flow.word_lists.MOST_SECONDS", 3)
    # Two seconds pass between two looks: only the first case of a step is in time.
    clock = SimpleNamespace(monotonic=count(step=2).__next__)
    monkeypatch.setattr("inverse_deid.review.flow.word_lists.time", clock)


def forget(store):
    """Forget what the process alone knows, as after `kill -9`."""
    store.word_work.clear()
    store.case_words.clear()


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_long_change_is_one_act_that_goes_on_and_is_undone_as_one(alone, carl, slow, is_killed):
    entry, done = enter(alone, carl, ZELVORAN, Sort.NEVER)
    assert (done, done.is_paused) == (Done(1, n_left=1), True)
    assert entry.unfinished is Unfinished.ADDING
    if is_killed:
        forget(alone)
    assert go_on(alone, carl, entry.id) == Done(1 if is_killed else 2)
    assert list_unfinished(alone, carl) == ()
    assert go_on(alone, carl, entry.id) == Done(0)
    assert kept(alone, carl, 1) == "a rash after Zelvoran and ZELVORAN"
    assert kept(alone, carl, 4) == "Zelvoran"
    assert remove_entry(alone, carl, entry.id) == Done(1, n_left=1)
    assert [one.unfinished for one in list_unfinished(alone, carl)] == [Unfinished.REMOVING]
    if is_killed:
        forget(alone)
    assert go_on(alone, carl, entry.id) == Done(1 if is_killed else 2)
    assert list_entries(alone, carl) == ()
    assert kept(alone, carl, 1) == "a rash after and"
    assert verify_store(alone).is_intact


def test_a_long_change_is_undone_before_it_is_done(alone, carl, slow):
    entry, _done = enter(alone, carl, ZELVORAN, Sort.NEVER)
    assert remove_entry(alone, carl, entry.id) == Done(1)
    assert list_entries(alone, carl) == ()
    assert [kept(alone, carl, one) for one in (1, 4)] == ["a rash after and", ""]
    with pytest.raises(ReviewError, match="not on your word lists"):
        go_on(alone, carl, entry.id)
    assert verify_store(alone).is_intact


def test_after_a_stop_a_change_leaves_what_the_reader_decided_since(alone, carl, slow):
    entry, _done = enter(alone, carl, ZELVORAN, Sort.NEVER)
    at = LayerRevision(carl.id, 1, open_case(alone, carl, 1).revision)
    change(alone, at, ActionKind.MASK, 3)
    close_case(alone, carl, 1)
    forget(alone)
    assert go_on(alone, carl, entry.id) == Done(1)
    assert kept(alone, carl, 1) == "a rash after and ZELVORAN"


def test_another_user_cannot_go_on_with_an_entry(alone, carl, slow):
    entry, _done = enter(alone, carl, ZELVORAN, Sort.NEVER)
    dan = user(alone, "dan", UserRole.ADJUDICATOR)
    with pytest.raises(ReviewError, match="not on your word lists"):
        go_on(alone, dan, entry.id)
    assert list_unfinished(alone, dan) == ()


def test_two_windows_that_go_on_at_once_change_each_case_once(alone, carl, slow):
    entry, _done = enter(alone, carl, ZELVORAN, Sort.NEVER)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _number: go_on(alone, carl, entry.id), range(4)))
    assert list_unfinished(alone, carl) == ()
    assert remove_entry(alone, carl, entry.id).n_all == 2
    go_on(alone, carl, entry.id)
    assert kept(alone, carl, 1) == "a rash after and"


def test_words_are_listed_from_a_case_only_if_it_has_them_and_the_adjudicator_can_read_it(alone, carl):
    ann = user(alone, "ann", UserRole.ADJUDICATOR)
    open_case(alone, ann, 1)
    for asked in (Asked(("zelvoran",), 2), Asked(("zelvoran",), 1), Asked(("zelvoran",), 77)):
        with pytest.raises(ReviewError, match=r"no case 77|not in case"):
            enter(alone, carl, asked, Sort.ALWAYS)
    assert list_entries(alone, carl) == ()
    approve_alone(alone, carl, 4)
    enter(alone, carl, Asked(("zelvoran",), 4), Sort.ALWAYS)  # they have read it


def test_lists_have_an_end(alone, carl, monkeypatch):
    assert MAX_ENTRIES == 1_000
    monkeypatch.setattr("inverse_deid.review.flow.word_lists.MAX_ENTRIES", 1)
    enter(alone, carl, MRN, Sort.ALWAYS)
    with pytest.raises(ReviewError, match="have 1 entries"):
        enter(alone, carl, ZELVORAN, Sort.ALWAYS)


def test_the_database_and_the_trail_have_no_word_in_the_clear(alone, carl, tmp_path):
    entry, _done = enter(alone, carl, Asked(("Zelvoran",), 1), Sort.NEVER, for_new_files=True)
    remove_entry(alone, carl, entry.id)
    enter(alone, carl, Asked(("Zelvoran",), 1), Sort.NEVER, for_new_files=True)
    data = b"".join(file.read_bytes() for file in tmp_path.glob("review.db*"))
    assert b"zelvoran" not in data.lower()
    assert "elvoran" not in repr(entry)
    with alone.reading() as transaction:
        lines = transaction.execute(select(TRAIL.c.line)).scalars().all()
    assert sum('"event":"word listed"' in line for line in lines) == 2
    said = next(line for line in lines if '"event":"word listed"' in line)
    assert (
        "never masked, 3 places in 2 cases, of which the tool was sure: 3, doubtful ones confirmed: 0, also in new files"
        in said
    )


def test_a_forged_entry_is_refused_and_named_by_verify(alone, carl):
    entry, _done = enter(alone, carl, MRN, Sort.ALWAYS)
    with alone.writing() as transaction:
        changed = LISTED_WORDS.update().where(LISTED_WORDS.c.id == entry.id)
        transaction.execute(changed.values(sort=Sort.NEVER.value, for_new_files=True))
    with pytest.raises(UnreadableInputError, match="listed_words"):
        follow_lists(alone, MaskingSettings())
    assert any("listed_words" in one for one in verify_store(alone).problems)


def test_another_key_opens_the_words_and_the_old_one_nothing(tmp_path):
    with store_of(tmp_path, TEXTS, approvals=1) as store:
        carl = user(store, "carl", UserRole.ADJUDICATOR)
        entry, _done = enter(store, carl, ZELVORAN, Sort.NEVER)
        path = tmp_path / "review.db"
    newer = ReviewKey(bytes(range(32)))
    assert rotate_key(path, KEY, newer, by="command").n_damaged == 0
    with open_store(path, newer) as store:
        assert [one.asked.words for one in list_entries(store, carl)] == [("zelvoran",)]
        assert remove_entry(store, carl, entry.id) == Done(2)
        assert verify_store(store).is_intact


@pytest.mark.parametrize(
    ("delete", "left"),
    [
        (lambda store: delete_case(store, 3, by="dora"), ["zelvoran"]),
        (lambda store: delete_source(store, 1, by="dora"), ["zelvoran"]),
        (lambda store: delete_everything(store, "dora"), []),
    ],
)
def test_an_entry_goes_with_the_case_that_it_was_made_in(alone, carl, delete, left):
    enter(alone, carl, MRN, Sort.ALWAYS)
    enter(alone, carl, ZELVORAN, Sort.NEVER)
    done = delete(alone)
    assert done.n_listed == 2 - len(left)
    assert [one.asked.text for one in list_entries(alone, carl)] == left
    assert verify_store(alone).is_intact


def test_a_case_that_is_withdrawn_after_a_removal_is_as_it_was_approved(alone, carl):
    entry, _done = enter(alone, carl, ZELVORAN, Sort.NEVER)
    approve(alone, place(alone, carl, 4))
    remove_entry(alone, carl, entry.id)
    undo_approval(alone, carl, 4)
    assert kept(alone, carl, 4) == "Zelvoran"


def test_the_words_of_a_case_that_was_deleted_meanwhile_are_left_out(alone, carl):
    places = count_places(alone, carl, ZELVORAN)[Sort.NEVER]
    delete_case(alone, 4, by="dora")
    assert add_entry(alone, carl, ZELVORAN, Sort.NEVER, places) == Done(1)


def test_two_who_add_the_same_words_at_once_make_one_entry(alone, carl):
    places = count_places(alone, carl, ZELVORAN)[Sort.NEVER]
    with ThreadPoolExecutor(4) as threads:
        adding = [threads.submit(add_entry, alone, carl, ZELVORAN, Sort.NEVER, places) for _ in range(4)]
        done = [one.result() for one in adding]
    assert sum(one.n_cases for one in done) == 2
    (entry,) = list_entries(alone, carl)
    assert remove_entry(alone, carl, entry.id) == Done(2)
    assert kept(alone, carl, 1) == "a rash after and"
    assert verify_store(alone).is_intact


def test_files_that_a_command_adds_follow_the_lists(tmp_path):
    write_key(tmp_path)
    with store_of(tmp_path, approvals=1) as store:
        carl = user(store, "carl", UserRole.ADJUDICATOR)
        enter(store, carl, Asked(("rash",)), Sort.ALWAYS, for_new_files=True)
        enter(store, carl, Asked(("Okonkwo",)), Sort.NEVER, for_new_files=True)
    more = json_lines(tmp_path / "more.jsonl", ["a rash seen by Dr Okonkwo and Dr Lindqvist"])
    given = ["review", "add", str(more), "--store", str(tmp_path / "review.db"), "--rules-only"]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 0, result.output
    with open_store(tmp_path / "review.db", KEY) as store:
        assert kept(store, carl, 2) == "a seen by Okonkwo and"
        facts = view_case(store, carl, open_case(store, carl, 2).case_id).facts
        assert (facts.n_deny, facts.n_allow) == (1, 1)
        assert verify_store(store).is_intact


def test_no_word_of_a_list_given_at_the_beginning_can_be_guessed_by_the_fingerprint(tmp_path):
    masking = MaskingSettings(rules_only=True, deny=frozenset({"Okonkwo"}))
    cases = json_lines(tmp_path / "cases.jsonl", ["a rash"])
    (tmp_path / "words.txt").write_text("Okonkwo\n", encoding="utf-8")
    given = ["review", "init", str(cases), "--store", str(tmp_path / "review.db"), "--rules-only"]
    result = CliRunner().invoke(main, [*given, "--deny", str(tmp_path / "words.txt")])
    assert result.exit_code == 0, result.output
    assert build_deidentifier(masking).fingerprint.encode() not in (tmp_path / "review.db").read_bytes()
