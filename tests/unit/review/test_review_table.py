"""A listing as a table: who is shown what, and what can be approved together."""

import pytest
from fake_maskers import BROKEN_STAGE, masks_in_doubt, near_the_threshold
from review_stores import Clock, read_entries, store_of, user
from review_stores import review as approve_alone
from sqlalchemy import update

from inverse_deid.core.errors import NotAllowedError, ReviewError, StaleRevisionError, UnreadableInputError
from inverse_deid.review.flow.approval import can_undo_approval, withdraw
from inverse_deid.review.flow.doubts import group_doubts
from inverse_deid.review.flow.oversight import SAME_VIEW_SECONDS
from inverse_deid.review.flow.reading import open_case, view_case
from inverse_deid.review.flow.table import (
    SHOWN_SECONDS,
    InFile,
    Planned,
    RowAct,
    RowsShown,
    act_on_row,
    approve_rows,
    count_rows,
    list_rows,
    plan_approval,
    reopen_rows,
    show_rows,
    sweep,
    undo_on_rows,
)
from inverse_deid.review.flow.work_list import count_cases
from inverse_deid.review.store.tables import CASES
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import CaseState, LayerRevision, TokenRange, UserRole

TEXTS = [
    "seen by Okonkwo today",
    "a rash after Zelvoran",
    "seen by zelvoran again",
]
"""The masker hides capitals: Okonkwo, Zelvoran."""


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def alone(tmp_path, clock):
    with store_of(tmp_path, TEXTS, clock=clock, approvals=1) as store:
        yield store


def read_all(store, who, shown, source_id=1, *, wait=True):
    """Load all rows and say that they were shown; return them and the numbers that count."""
    rows = list_rows(store, who, source_id, shown)
    if wait:
        store.now.seconds += SHOWN_SECONDS + 1
    revisions = {row.case_id: row.view.revision for row in rows if row.view is not None}
    return rows, shown.note_read(who.id, revisions, store.now())


def approve_all(store, who, shown):
    return approve_rows(store, who, 1, plan_approval(store, who, 1, shown).rows, shown)


def states(store):
    return {state: n for state, n in count_cases(store).items() if n}


def test_rows_that_were_shown_are_approved_together_and_the_trail_says_how(alone):
    ann, shown = user(alone, "ann"), RowsShown()
    rows, read = read_all(alone, ann, shown)
    assert [row.name for row in rows] == ["c1", "c2", "c3"]
    assert read == [1, 2, 3]
    assert approve_all(alone, ann, shown) == {}
    assert states(alone) == {CaseState.RELEASED: 3}
    entries = read_entries(alone, 1)
    assert [one["event"] for one in entries] == [
        "original shown",
        "begin",
        "state",
        "approve",
        "state",
        "state",
    ]
    assert entries[0]["new"] == "table"
    assert entries[3]["new"] == (
        "words unmasked: 0, of which the tool was sure: 0. Approved in the table of the file together with "
        "other rows, after this reader was shown it. Doubtful words: 0, each decided by this reader"
    )
    assert not verify_store(alone).problems


def test_rows_that_were_sent_but_not_shown_are_never_approved(alone):
    ann, shown = user(alone, "ann"), RowsShown()
    list_rows(alone, ann, 1, shown)
    alone.now.seconds += 10
    shown.note_read(ann.id, {2: 0}, alone.now())
    plan = plan_approval(alone, ann, 1, shown)
    assert ([one.case_id for one in plan.rows], plan.n_not_shown) == ([2], 2)
    forged = [Planned(one, 0, 0) for one in (1, 2, 3)]
    assert sorted(approve_rows(alone, ann, 1, forged, shown)) == [1, 3]
    assert states(alone) == {CaseState.NEW: 2, CaseState.RELEASED: 1}


def test_a_row_that_was_not_sent_or_is_said_to_be_read_at_once_counts_as_not_shown(alone):
    ann, shown = user(alone, "ann"), RowsShown()
    assert shown.note_read(ann.id, {1: 0, 2: 0}, alone.now()) == []
    assert read_all(alone, ann, shown, wait=False)[1] == []
    assert plan_approval(alone, ann, 1, shown).rows == ()


def test_another_process_or_another_reader_has_been_shown_nothing(alone):
    ann, bea, shown = user(alone, "ann"), user(alone, "bea"), RowsShown()
    read_all(alone, ann, shown)
    assert plan_approval(alone, ann, 1, RowsShown()).n_not_shown == 3
    assert plan_approval(alone, bea, 1, shown).n_not_shown == 3


def test_a_row_that_was_changed_elsewhere_must_be_shown_again(alone):
    ann, shown = user(alone, "ann"), RowsShown()
    read_all(alone, ann, shown)
    planned = plan_approval(alone, ann, 1, shown).rows
    act_on_row(alone, ann, LayerRevision(ann.id, 1, 0), RowAct.MASK, [TokenRange(0, 1)], RowsShown())
    assert approve_rows(alone, ann, 1, planned, shown) == {1: "you were not shown it as it is now"}
    assert plan_approval(alone, ann, 1, shown).n_not_shown == 1


def test_a_correction_in_the_table_keeps_the_row_shown_and_is_released(alone):
    ann, shown = user(alone, "ann"), RowsShown()
    read_all(alone, ann, shown)
    act_on_row(alone, ann, LayerRevision(ann.id, 1, 0), RowAct.MASK, [TokenRange(0, 1)], shown)
    (row,) = show_rows(alone, ann, 1, [1], shown)
    assert row.view.layer.keep.tolist() == [False, True, False, True]
    assert row.touched.tolist() == [True, False, False, False]
    assert approve_all(alone, ann, shown) == {}
    assert [one["event"] for one in read_entries(alone, 1)].count("change") == 1


def test_a_change_shows_a_row_only_if_it_was_sent_and_the_trail_says_so(alone):
    def count_shown():
        return [one["event"] for one in read_entries(alone, 1)].count("original shown")

    ann, shown = user(alone, "ann"), RowsShown()
    act_on_row(alone, ann, LayerRevision(ann.id, 1, 0), RowAct.MASK, [TokenRange(0, 1)], shown)
    (row,) = show_rows(alone, ann, 1, [1], shown)
    assert (row.view, row.revision, count_shown()) == (None, 1, 0)
    read_all(alone, ann, shown)
    assert (show_rows(alone, ann, 1, [1], shown)[0].view.revision, count_shown()) == (1, 1)
    alone.now.seconds += SAME_VIEW_SECONDS
    assert (show_rows(alone, ann, 1, [1], shown)[0].view.revision, count_shown()) == (1, 2)


@pytest.mark.parametrize("masker", [near_the_threshold, masks_in_doubt])
def test_doubtful_words_keep_a_row_back_until_each_is_decided(tmp_path, masker, clock):
    with store_of(tmp_path, TEXTS[:1], masker=masker(), clock=clock, approvals=1) as store:
        ann, shown = user(store, "ann"), RowsShown()
        (row,), _read = read_all(store, ann, shown)
        plan = plan_approval(store, ann, 1, shown)
        assert (plan.rows, plan.n_doubtful) == ((), 1)
        assert "doubtful words" in approve_rows(store, ann, 1, [Planned(1, 0, 0)], shown)[1]
        doubtful = [i for i, is_doubtful in enumerate(row.view.model.is_doubtful) if is_doubtful]
        for revision, i in enumerate(doubtful):
            assert plan_approval(store, ann, 1, shown).rows == ()
            at = LayerRevision(ann.id, 1, revision)
            act_on_row(store, ann, at, RowAct.CONFIRM, [TokenRange(i, i + 1)], shown)
        assert approve_all(store, ann, shown) == {}
        entries = read_entries(store, 1)
        assert [one["event"] for one in entries].count("confirm") == len(doubtful)
        assert f"Doubtful words: {len(doubtful)}, each" in next(
            one["new"] for one in entries if one["event"] == "approve"
        )
        assert not verify_store(store).problems


def test_uncovered_words_must_be_stated_as_they_are_now(alone):
    ann, shown = user(alone, "ann"), RowsShown()
    read_all(alone, ann, shown)
    act_on_row(alone, ann, LayerRevision(ann.id, 1, 0), RowAct.UNMASK, [TokenRange(2, 3)], shown)
    plan = plan_approval(alone, ann, 1, shown)
    assert (plan.n_uncovered, plan.rows[0]) == (1, Planned(1, 1, 1))
    assert "uncovered" in approve_rows(alone, ann, 1, [Planned(1, 1, 0)], shown)[1]
    assert approve_rows(alone, ann, 1, plan.rows, shown) == {}


def test_a_word_is_decided_in_the_whole_file_and_taken_back(alone):
    ann, shown = user(alone, "ann"), RowsShown()
    read_all(alone, ann, shown)
    done = sweep(alone, ann, 1, InFile(RowAct.MASK, ("Zelvoran",)), shown)
    assert (done.case_ids, done.after) == ((3,), None)  # in row 2 the tool masks it itself, without a doubt
    done = sweep(alone, ann, 1, InFile(RowAct.UNMASK, ("ZELVORAN",)), shown)
    assert done.case_ids == (2, 3)
    two, three = show_rows(alone, ann, 1, [2, 3], shown)
    assert (two.view.layer.keep.all(), three.view.layer.keep.all()) == (True, True)
    assert undo_on_rows(alone, ann, {2: two.view.revision, 3: three.view.revision}, shown) == (2, 3)
    assert not show_rows(alone, ann, 1, [3], shown)[0].view.layer.keep.all()
    assert len(plan_approval(alone, ann, 1, shown).rows) == 3
    assert not verify_store(alone).problems


def test_a_whole_file_is_changed_step_by_step(tmp_path, clock, monkeypatch):
    from inverse_deid.review.flow import table

    monkeypatch.setattr(table, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(table, "SEARCHED_AT_ONCE", 4)
    with store_of(tmp_path, ["a rash"] * 3 + ["seen"] * 5 + ["a rash"], clock=clock, approvals=1) as store:
        ann, shown, found, after = user(store, "ann"), RowsShown(), [], -1
        while after is not None:
            done = sweep(store, ann, 1, InFile(RowAct.MASK, ("rash",)), shown, after=after)
            found += done.case_ids
            after = done.after
        assert found == [1, 2, 3, 9]


def test_nothing_is_approved_before_a_decision_for_the_whole_file_is_in_all_rows(
    tmp_path, clock, monkeypatch
):
    from inverse_deid.review.flow import table

    with store_of(tmp_path, ["a rash"] * 3, clock=clock, approvals=1) as store:
        ann, bea, shown = user(store, "ann"), user(store, "bea"), RowsShown()
        read_all(store, ann, shown)
        asked = InFile(RowAct.MASK, ("rash",))
        with monkeypatch.context() as patch:
            patch.setattr(table, "ROWS_AT_ONCE", 2)
            done = sweep(store, ann, 1, asked, shown)  # the page is closed before it asks for the rest
        assert shown.list_unfinished(ann.id, 1) == [(asked, done.after)]
        assert (shown.list_unfinished(bea.id, 1), shown.list_unfinished(ann.id, 2)) == ([], [])
        with pytest.raises(ReviewError, match="not in all rows"):
            approve_all(store, ann, shown)
        sweep(store, ann, 1, InFile(RowAct.CONFIRM, ("a",)), shown)
        with pytest.raises(ReviewError, match="not in all rows"):
            approve_all(store, ann, shown)
        assert sweep(store, ann, 1, asked, shown, after=done.after).case_ids == (3,)
        assert shown.list_unfinished(ann.id, 1) == []
        assert approve_all(store, ann, shown) == {}
        assert states(store) == {CaseState.RELEASED: 3}


def test_a_decision_for_the_whole_file_that_fails_is_not_done(alone, monkeypatch):
    from inverse_deid.review.flow import table

    def fail(*_args, **_options):
        raise OSError

    ann, shown, asked = user(alone, "ann"), RowsShown(), InFile(RowAct.MASK, ("rash",))
    read_all(alone, ann, shown)
    monkeypatch.setattr(table, "take_steps_in", fail)
    with pytest.raises(OSError):
        sweep(alone, ann, 1, asked, shown)
    assert shown.list_unfinished(ann.id, 1) == [(asked, -1)]


def test_doubtful_words_of_a_file_are_grouped_and_decided_once(tmp_path, clock):
    texts = ["seen at ward", "the ward and WARD", "by Okonkwo"]
    with store_of(tmp_path, texts, masker=near_the_threshold(), clock=clock, approvals=1) as store:
        ann, shown = user(store, "ann"), RowsShown()
        read_all(store, ann, shown)
        found = {one.word: one for one in group_doubts(store, ann, source_id=1).words}
        assert list(found) == ["ward", "seen", "at", "the", "and", "by"]
        ward = found["ward"]
        assert (ward.n_kept, ward.n_masked, ward.before, ward.after) == (2, 0, "seen at ", "")
        assert "ward" not in repr(ward) and "seen" not in repr(ward)
        sweep(store, ann, 1, InFile(RowAct.CONFIRM, ("ward",)), shown)
        for word in ("and", "at", "by", "seen", "the"):
            sweep(store, ann, 1, InFile(RowAct.MASK, (word,)), shown)
        assert group_doubts(store, ann, source_id=1).words == ()
        assert approve_all(store, ann, shown) == {}
        assert states(store) == {CaseState.RELEASED: 3}
        assert [one["new"] for one in read_entries(store, 1) if one["event"] == "original shown"] == [
            "table",
            "doubtful words",
        ]


def test_a_row_whose_word_is_quoted_in_the_list_was_not_read(tmp_path, clock):
    with store_of(tmp_path, TEXTS, masker=near_the_threshold(), clock=clock, approvals=1) as store:
        ann, shown = user(store, "ann"), RowsShown()
        group_doubts(store, ann, source_id=1)
        clock.seconds += 60
        assert shown.note_read(ann.id, {1: 0, 2: 0, 3: 0}, clock()) == []
        assert plan_approval(store, ann, 1, shown).n_not_shown == 3


def test_an_old_revision_changes_nothing(alone):
    ann, shown = user(alone, "ann"), RowsShown()
    read_all(alone, ann, shown)
    act_on_row(alone, ann, LayerRevision(ann.id, 1, 0), RowAct.MASK, [TokenRange(0, 1)], shown)
    with pytest.raises(StaleRevisionError):
        act_on_row(alone, ann, LayerRevision(ann.id, 1, 0), RowAct.MASK, [TokenRange(1, 2)], shown)
    with pytest.raises(StaleRevisionError):
        undo_on_rows(alone, ann, {1: 0}, shown)
    with pytest.raises(ReviewError, match="out of range"):
        act_on_row(alone, ann, LayerRevision(ann.id, 1, 1), RowAct.MASK, [TokenRange(1, 9)], shown)


def test_a_row_of_another_file_or_of_a_reader_elsewhere_is_left(alone):
    ann, bea, shown = user(alone, "ann"), user(alone, "bea"), RowsShown()
    read_all(alone, ann, shown)
    planned = plan_approval(alone, ann, 1, shown).rows
    open_case(alone, bea, 2)
    assert list(approve_rows(alone, ann, 1, planned, shown)) == [2]
    with pytest.raises(ReviewError, match="not of this file"):
        approve_rows(alone, ann, 7, planned, shown)


def test_a_failed_row_and_a_long_text_are_read_on_their_own_pages(tmp_path, clock):
    texts = [f"{BROKEN_STAGE} by Okonkwo", "word " * 1_501, "seen"]
    with store_of(tmp_path, texts, clock=clock, approvals=1) as store:
        ann, shown = user(store, "ann"), RowsShown()
        rows, read = read_all(store, ann, shown)
        assert [bool(row.obstacle) for row in rows] == [True, True, False]
        assert read == [3]
        plan = plan_approval(store, ann, 1, shown)
        assert ([one.case_id for one in plan.rows], plan.n_elsewhere) == ([3], 2)
        left = approve_rows(store, ann, 1, [Planned(2, 0, 0)], shown)
        assert list(left) == [2]


def test_in_a_team_it_is_one_reading_and_the_second_reader_reads_alone(tmp_path, clock):
    with store_of(tmp_path, TEXTS, clock=clock) as store:
        ann, bea, shown = user(store, "ann"), user(store, "bea"), RowsShown()
        read_all(store, ann, shown)
        approve_all(store, ann, shown)
        assert states(store) == {CaseState.IN_REVIEW: 3}
        assert count_rows(store, ann, 1) == 0
        read_all(store, ann, shown)
        assert plan_approval(store, ann, 1, shown).rows == ()
        assert plan_approval(store, bea, 1, shown).n_not_shown == 3
        read_all(store, bea, shown)
        act_on_row(store, bea, LayerRevision(bea.id, 1, 0), RowAct.MASK, [TokenRange(0, 1)], shown)
        approve_all(store, bea, shown)
        assert states(store) == {CaseState.DISAGREED: 1, CaseState.RELEASED: 2}


def test_a_reader_who_is_blind_to_the_tool_cannot_use_the_table(tmp_path, clock):
    with store_of(tmp_path, TEXTS[:1], clock=clock, blind_to_model=True) as store:
        ann, bea, shown = user(store, "ann"), user(store, "bea"), RowsShown()
        read_all(store, bea, shown)  # as the first reader, who may see the masks
        planned = plan_approval(store, bea, 1, shown).rows
        approve_alone(store, ann)
        assert list_rows(store, bea, 1, shown)[0].obstacle
        assert list(approve_rows(store, bea, 1, planned, shown)) == [1]
        with pytest.raises(NotAllowedError):
            act_on_row(store, bea, LayerRevision(bea.id, 1, 0), RowAct.MASK, [TokenRange(0, 1)], shown)


def test_what_a_reader_did_without_the_masks_of_the_tool_stays_apart_after_a_withdrawal(tmp_path, clock):
    with store_of(tmp_path, TEXTS[:2], clock=clock, blind_to_model=True) as store:
        ann, bea, shown = user(store, "ann"), user(store, "bea"), RowsShown()
        approve_alone(store, ann)
        approve_alone(store, bea, mask=[2])
        withdraw(store, user(store, "carl", UserRole.ADJUDICATOR), 1)
        assert [row.obstacle == "" for row in list_rows(store, bea, 1, shown)] == [False, True]
        done = sweep(store, bea, 1, InFile(RowAct.MASK, ("by",)), shown)
        assert done.case_ids == ()
        before = view_case(store, bea, open_case(store, bea, 1).case_id)
        with pytest.raises(NotAllowedError, match="without the masks"):
            act_on_row(
                store, bea, LayerRevision(bea.id, 1, before.revision), RowAct.MASK, [TokenRange(1, 2)], shown
            )
        after = view_case(store, bea, 1)
        assert (after.revision, after.layer.keep.tolist()) == (before.revision, [True, True, False, True])


def test_approvals_are_undone_and_the_rows_must_be_shown_again(alone):
    ann, shown = user(alone, "ann"), RowsShown()
    read_all(alone, ann, shown)
    approve_all(alone, ann, shown)
    assert can_undo_approval(alone, ann, 1)
    assert reopen_rows(alone, ann, [3, 2, 1]) == {}
    assert states(alone) == {CaseState.IN_REVIEW: 3}
    assert plan_approval(alone, ann, 1, shown).n_not_shown == 3


def test_a_row_that_was_altered_outside_the_program_is_not_shown(alone):
    ann = user(alone, "ann")
    with alone.writing() as transaction:
        transaction.execute(update(CASES).where(CASES.c.id == 2).values(n_doubtful=9))
    with pytest.raises(UnreadableInputError):
        list_rows(alone, ann, 1, RowsShown())
