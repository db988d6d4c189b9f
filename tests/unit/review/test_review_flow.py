"""A case from new to released: layers, states, locks, two reviewers, adjudication."""

import pytest
from fake_maskers import masks_in_doubt
from review_stores import TEXT, change, place, read_entries, review, store_of, user
from sqlalchemy import literal, select

from inverse_deid.core.errors import (
    CaseLockedError,
    NotAllowedError,
    ReviewError,
    StaleRevisionError,
)
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Reason
from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.flow.approval import (
    Uncovered,
    approve,
    can_undo_approval,
    count_uncovered,
    release,
    undo_approval,
    withdraw,
)
from inverse_deid.review.flow.causality import read_masked
from inverse_deid.review.flow.editing import act, add_note, redo, undo
from inverse_deid.review.flow.oversight import set_limits
from inverse_deid.review.flow.reading import (
    close_case,
    keep_lock,
    open_case,
    open_dispute,
    view_case,
    view_masked,
)
from inverse_deid.review.flow.work_list import assign, count_cases, list_cases, next_case
from inverse_deid.review.store.tables import CASES
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import (
    CATEGORIES,
    NO_CATEGORY,
    ActionKind,
    CaseState,
    LayerKind,
    LayerRevision,
    ReviewAction,
    ReviewLimits,
    TokenRange,
    UserRole,
    WorkFilter,
)

MASK, UNMASK, CATEGORY = ActionKind.MASK, ActionKind.UNMASK, ActionKind.CATEGORY


def kept(view):
    return view.layer.keep.tolist()


def only_masked(*tokens):
    return [i not in tokens for i in range(7)]


def test_a_reviewer_begins_with_the_decisions_of_the_model(store):
    ann = user(store, "ann")
    view = open_case(store, ann, 1)
    _, masked = view_masked(store, ann, 1)
    assert view.text == TEXT
    assert kept(view) == only_masked(2)
    assert masked.text == "seen by PHI today, then okonkwo left"
    assert masked.masks == ((8, 15),) and masked.replaced == ((8, 11),)
    assert view.model.decisions.reasons[2] == Reason.BELOW_THRESHOLD
    assert view.state is CaseState.IN_REVIEW and view.revision == 0 and not view.can_undo


def test_masking_returns_the_changes_and_the_view_shows_them(store):
    ann = user(store, "ann")
    at, edited = change(store, place(store, ann), MASK, 3, 5, category=PhiType.DATE)
    assert edited.changed == ((3, 5, False, CATEGORIES.index(PhiType.DATE)),)
    view, masked = view_masked(store, ann, 1)
    assert kept(view) == only_masked(2, 3, 4) and view.revision == at.revision == 1
    assert "okonkwo left" in masked.text and "today" not in masked.text


def test_all_mentions_are_found_ignoring_case(store):
    ann = user(store, "ann")
    _, edited = change(store, place(store, ann), MASK, 2, all_mentions=True, category=PhiType.DOCTOR)
    assert [one[:2] for one in edited.changed] == [(2, 3), (5, 6)]
    assert kept(view_case(store, ann, 1)) == only_masked(2, 5)


def test_undo_and_redo_walk_through_the_actions(store):
    ann = user(store, "ann")
    at, _ = change(store, place(store, ann), MASK, 0)
    at, _ = change(store, at, UNMASK, 2)
    back = undo(store, at)
    assert kept(view_case(store, ann, 1)) == only_masked(0, 2)
    assert (back.can_undo, back.can_redo) == (True, True) and [one[2] for one in back.changed] == [False]
    back = undo(store, LayerRevision(ann.id, 1, back.revision))
    assert kept(view_case(store, ann, 1)) == only_masked(2) and not back.can_undo
    forth = redo(store, LayerRevision(ann.id, 1, back.revision))
    assert kept(view_case(store, ann, 1)) == only_masked(0, 2) and forth.can_redo


def test_undone_actions_cannot_be_redone_after_a_new_action(store):
    ann = user(store, "ann")
    at, _ = change(store, place(store, ann), MASK, 0)
    at, _ = change(store, LayerRevision(ann.id, 1, undo(store, at).revision), MASK, 6)
    with pytest.raises(ReviewError, match="nothing to redo"):
        redo(store, at)
    assert kept(view_case(store, ann, 1)) == only_masked(2, 6)


def test_undo_fails_if_there_is_nothing_to_undo(store):
    with pytest.raises(ReviewError, match="nothing to undo"):
        undo(store, place(store, user(store, "ann")))


def test_a_change_of_an_older_revision_is_refused(store):
    ann = user(store, "ann")
    first = second = place(store, ann)
    change(store, first, MASK, 0)
    with pytest.raises(StaleRevisionError):
        change(store, second, MASK, 6)
    assert kept(view_case(store, ann, 1)) == only_masked(0, 2)


@pytest.mark.parametrize("ranges", [(TokenRange(6, 8),), (TokenRange(0, 1), TokenRange(99, 100))])
def test_tokens_outside_the_case_are_refused(store, ranges):
    with pytest.raises(ReviewError, match="out of range"):
        act(store, place(store, user(store, "ann")), ReviewAction(MASK, ranges))


def test_a_kept_token_has_no_category(store):
    with pytest.raises(ReviewError, match="Mask it first"):
        change(store, place(store, user(store, "ann")), CATEGORY, 0, category=PhiType.DATE)


def test_a_category_is_changed_on_masked_mentions_only(store):
    ann = user(store, "ann")
    _, edited = change(store, place(store, ann), CATEGORY, 2, category=PhiType.DOCTOR, all_mentions=True)
    assert [one[:2] for one in edited.changed] == [(2, 3)]
    assert kept(view_case(store, ann, 1)) == only_masked(2)


def test_notes_are_for_their_author_and_the_adjudicator(store):
    ann, bob = user(store, "ann"), user(store, "bob")
    at = place(store, ann)
    add_note(store, at, "is this a name?", TokenRange(2, 3))
    assert [note.text for note in view_case(store, ann, 1).notes] == ["is this a name?"]
    approve(store, at)
    assert open_case(store, bob, 1).notes == ()
    with pytest.raises(ReviewError, match="1 to 4,000"):
        add_note(store, LayerRevision(bob.id, 1, 0), "x" * 4_001)


def test_one_approval_releases_under_such_a_policy(alone):
    ann = user(alone, "ann")
    assert review(alone, ann, mask=[5]) is CaseState.RELEASED
    assert read_masked(alone, ann, 1, "finished case") == "seen by PHI today, then PHI left"


def approvals_in_trail(store):
    return [one["new"] for one in read_entries(store, 1) if one["event"] in ("approve", "settle")]


def test_an_approval_counts_the_words_that_were_unmasked_from_the_layer(alone):
    ann = user(alone, "ann")
    at = place(alone, ann)
    assert count_uncovered(alone, ann.id, 1) == Uncovered(0, 0)
    at, _ = change(alone, at, MASK, 5)
    at, _ = change(alone, at, UNMASK, 5)  # the tool kept it
    at, _ = change(alone, at, UNMASK, 2)
    assert count_uncovered(alone, ann.id, 1) == Uncovered(1, 1)
    approve(alone, at)
    assert approvals_in_trail(alone) == ["words unmasked: 1, of which the tool was sure: 1"]


def test_of_doubtful_words_that_were_unmasked_the_tool_was_not_sure(tmp_path):
    with store_of(tmp_path, masker=masks_in_doubt(), approvals=1) as store:
        ann = user(store, "ann")
        review(store, ann, keep=[2])
        assert approvals_in_trail(store) == ["words unmasked: 1, of which the tool was sure: 0"]


def test_a_blind_reviewer_does_not_learn_what_the_model_masked(tmp_path):
    with store_of(tmp_path, blind_to_model=True) as store:
        review(store, user(store, "ann"))
        bob = user(store, "bob")
        open_case(store, bob, 1)
        assert count_uncovered(store, bob.id, 1) == Uncovered(0, 0)


def test_an_adjudicator_uncovers_words_in_dispute_and_others(store):
    review(store, user(store, "ann"))
    review(store, user(store, "bob"), keep=[2], mask=[0])
    eve = user(store, "eve", UserRole.ADJUDICATOR)
    at = LayerRevision(eve.id, 1, open_dispute(store, eve, 1).case.revision)
    for token in (0, 2):
        at, _ = change(store, at, UNMASK, token)
    assert count_uncovered(store, eve.id, 1) == Uncovered(2, 0)
    approve(store, at)
    assert approvals_in_trail(store)[-1] == "words unmasked: 2, of which the tool was sure: 0"


def test_an_approval_is_undone_with_all_decisions_until_text_leaves(alone, tmp_path):
    ann = user(alone, "ann")
    review(alone, ann, mask=[5])
    assert can_undo_approval(alone, ann, 1)
    undo_approval(alone, ann, 1)
    view = view_case(alone, ann, 1)
    assert (view.state, view.is_approved, kept(view)) == (CaseState.IN_REVIEW, False, only_masked(2, 5))
    assert read_entries(alone, 1)[-1]["event"] == "approval undone"
    assert verify_store(alone).is_intact
    approve(alone, LayerRevision(ann.id, 1, view.revision))
    export_released(alone, tmp_path / "out")
    assert not can_undo_approval(alone, ann, 1)
    with pytest.raises(NotAllowedError, match="downloaded since"):
        undo_approval(alone, ann, 1)
    withdraw(alone, user(alone, "eve", UserRole.ADJUDICATOR), 1)
    review(alone, ann)  # approved again after the export
    assert can_undo_approval(alone, ann, 1)


def test_nobody_undoes_the_approval_of_another_or_none(alone):
    ann, bob = user(alone, "ann"), user(alone, "bob")
    place(alone, bob)
    with pytest.raises(NotAllowedError, match="you have not approved"):
        undo_approval(alone, bob, 1)
    close_case(alone, bob, 1)
    review(alone, ann)
    with pytest.raises(NotAllowedError, match="you have not approved"):
        undo_approval(alone, bob, 1)
    assert count_cases(alone)[CaseState.RELEASED] == 1


def test_the_first_approval_is_undone_only_before_the_second_reader_works(store):
    ann, bob = user(store, "ann"), user(store, "bob")
    review(store, ann)
    place(store, bob)
    with pytest.raises(NotAllowedError, match="another reader works"):
        undo_approval(store, ann, 1)  # he holds the case
    close_case(store, bob, 1)
    undo_approval(store, ann, 1)
    approve(store, LayerRevision(ann.id, 1, view_case(store, ann, 1).revision))
    change(store, LayerRevision(bob.id, 1, open_case(store, bob, 1).revision), MASK, 0)
    close_case(store, bob, 1)
    assert not can_undo_approval(store, ann, 1)  # he decided on a word
    approve(store, place(store, bob))
    assert not can_undo_approval(store, ann, 1) and not can_undo_approval(store, bob, 1)


def test_an_undone_approval_is_assigned_where_only_assigned_cases_are_read(alone):
    ann = user(alone, "ann")
    assign(alone, user(alone, "dora", UserRole.ADMIN), (1,), ann.id)
    set_limits(alone, ReviewLimits(only_assigned=True), by="dora")
    review(alone, ann)
    undo_approval(alone, ann, 1)
    assert not open_case(alone, ann, 1).is_approved


def test_an_approved_layer_cannot_change(alone):
    ann = user(alone, "ann")
    at = place(alone, ann)
    approve(alone, at)
    with pytest.raises(ReviewError, match="you have approved"):
        change(alone, LayerRevision(ann.id, 1, 1), MASK, 0)


def test_two_agreeing_reviewers_release_a_case(store):
    assert review(store, user(store, "ann"), mask=[5]) is CaseState.IN_REVIEW
    assert review(store, user(store, "bob"), mask=[5]) is CaseState.RELEASED


def test_an_adjudicator_releases_agreed_cases_by_hand(tmp_path):
    with store_of(tmp_path, approvals=1, automatic_release=False) as store:
        ann, eve = user(store, "ann"), user(store, "eve", UserRole.ADJUDICATOR)
        assert review(store, ann) is CaseState.AGREED
        with pytest.raises(NotAllowedError):
            release(store, ann, 1)
        release(store, eve, 1)
        with pytest.raises(ReviewError, match="is released and cannot become released"):
            release(store, eve, 1)
        assert count_cases(store)[CaseState.RELEASED] == 1


def test_the_second_reviewer_sees_nothing_of_the_first(store):
    ann, bob = user(store, "ann"), user(store, "bob")
    review(store, ann, mask=[0, 1])
    view = open_case(store, bob, 1)
    assert kept(view) == only_masked(2) and not view.can_redo
    with pytest.raises(NotAllowedError):
        view_case(store, user(store, "cem"), 1)


def test_a_blind_second_reviewer_begins_with_the_bare_text(tmp_path):
    with store_of(tmp_path, blind_to_model=True) as store:
        ann, bob = user(store, "ann"), user(store, "bob")
        assert open_case(store, ann, 1).model is not None
        close_case(store, ann, 1)
        review(store, user(store, "cem"))
        view = open_case(store, bob, 1)
        assert view.model is None and all(kept(view)) and set(view.layer.categories) == {NO_CATEGORY}
        close_case(store, bob, 1)
        # Ann saw the model before and becomes the second: she begins anew, blind.
        view = open_case(store, ann, 1)
        assert view.model is None and all(kept(view))


def test_a_reviewer_cannot_approve_twice(store):
    ann = user(store, "ann")
    review(store, ann)
    assert open_case(store, ann, 1).is_approved
    with pytest.raises(ReviewError):
        approve(store, LayerRevision(ann.id, 1, 1))
    assert count_cases(store)[CaseState.IN_REVIEW] == 1


def test_a_third_reviewer_is_refused(store):
    for name in ("ann", "bob"):
        review(store, user(store, name))
    with pytest.raises(NotAllowedError, match="all its approvals"):
        open_case(store, user(store, "cem"), 1)


def _copy_of_case(case_id, *, as_case):
    """Return columns and a query for a new case that is like another, but new."""
    fresh = {"id": as_case, "number": as_case, "state": "new", "n_approvals": 0}
    names = [one.name for one in CASES.columns if not one.name.startswith("lock_")]
    values = [literal(fresh[name]) if name in fresh else CASES.c[name] for name in names]
    return names, select(*values).where(CASES.c.id == case_id)


class TestDispute:
    @pytest.fixture
    def disputed(self, store):
        self.ann, self.bob = user(store, "ann"), user(store, "bob", UserRole.ADJUDICATOR)
        self.eve = user(store, "eve", UserRole.ADJUDICATOR)
        assert review(store, self.ann, mask=[5], keep=[2]) is CaseState.IN_REVIEW
        assert review(store, self.bob, mask=[5]) is CaseState.DISAGREED
        return store

    def test_it_is_the_next_case_of_an_adjudicator_who_may_settle_it(self, disputed, clock):
        with disputed.writing() as transaction:
            transaction.execute(CASES.insert().from_select(*_copy_of_case(1, as_case=2)))
        fay = user(disputed, "fay", UserRole.ADJUDICATOR)
        root = user(disputed, "root", UserRole.ADMIN)
        assert [next_case(disputed, one) for one in (self.eve, fay)] == [1, 1]
        # Bob reviewed it, and Ann is no adjudicator: both get a case to review.
        assert [next_case(disputed, one) for one in (self.ann, self.bob)] == [2, 2]
        open_dispute(disputed, self.eve, 1)
        assert [next_case(disputed, one) for one in (self.eve, fay)] == [1, 2]
        clock.seconds += 31 * 60
        assert next_case(disputed, fay) == 1
        assign(disputed, root, (1,), fay.id)
        assert [next_case(disputed, one) for one in (self.eve, fay)] == [2, 1]
        view = open_dispute(disputed, fay, 1)
        at, _ = change(disputed, LayerRevision(fay.id, 1, view.case.revision), MASK, 2)
        assert approve(disputed, at) is CaseState.RELEASED
        assert next_case(disputed, fay) == 2

    def test_both_sides_are_shown_and_disputes_are_undecided(self, disputed):
        view = open_dispute(disputed, self.eve, 1)
        assert view.disputed.tolist() == [i == 2 for i in range(7)]
        assert [layer.keep[2] for layer in view.reviewers] == [True, False]
        assert view.case.kind is LayerKind.ADJUDICATION
        assert not view.case.layer.decided[2] and not view.case.layer.keep[2]
        assert "Okonkwo" not in view_masked(disputed, self.eve, 1)[1].text

    def test_every_token_must_be_decided_first(self, disputed):
        view = open_dispute(disputed, self.eve, 1)
        with pytest.raises(ReviewError, match="decide 1 words in dispute"):
            approve(disputed, LayerRevision(self.eve.id, 1, view.case.revision))
        with pytest.raises(ReviewError, match="disagreed"):
            read_masked(disputed, self.eve, 1, "finished case")

    @pytest.mark.parametrize(("kind", "shown"), [(MASK, "PHI"), (UNMASK, "Okonkwo")])
    def test_the_adjudicator_has_the_last_word(self, disputed, kind, shown):
        view = open_dispute(disputed, self.eve, 1)
        at, edited = change(disputed, LayerRevision(self.eve.id, 1, view.case.revision), kind, 2)
        assert edited.n_undecided == 0
        assert approve(disputed, at) is CaseState.RELEASED
        text = read_masked(disputed, self.eve, 1, "finished case")
        assert text == f"seen by {shown} today, then PHI left"

    def test_only_another_adjudicator_can_settle_it(self, disputed):
        with pytest.raises(NotAllowedError, match="you changed or approved case 1"):
            open_dispute(disputed, self.bob, 1)
        with pytest.raises(NotAllowedError, match="only an adjudicator can"):
            open_dispute(disputed, self.ann, 1)

    def test_a_withdrawn_case_is_reviewed_and_settled_again(self, disputed):
        view = open_dispute(disputed, self.eve, 1)
        at, _ = change(disputed, LayerRevision(self.eve.id, 1, view.case.revision), UNMASK, 2)
        approve(disputed, at)
        withdraw(disputed, self.eve, 1)
        with pytest.raises(ReviewError):
            read_masked(disputed, self.eve, 1, "finished case")
        assert kept(open_case(disputed, self.ann, 1)) == only_masked(5)
        close_case(disputed, self.ann, 1)
        assert review(disputed, self.ann) is CaseState.IN_REVIEW
        assert review(disputed, self.bob) is CaseState.DISAGREED
        assert not open_dispute(disputed, self.eve, 1).case.layer.decided[2]


class TestLock:
    def test_others_cannot_open_a_locked_case(self, store):
        ann, bob = user(store, "ann"), user(store, "bob")
        place(store, ann)
        with pytest.raises(CaseLockedError):
            open_case(store, bob, 1)
        assert list_cases(store, WorkFilter()).rows[0].locked_by == "ann"
        assert next_case(store, bob) is None and next_case(store, ann) == 1

    def test_an_ended_lock_can_be_taken_over_and_its_holder_gets_an_error(self, store, clock):
        ann, bob = user(store, "ann"), user(store, "bob")
        at = place(store, ann)
        clock.seconds += 30 * 60
        assert next_case(store, bob) == 1
        place(store, bob)
        with pytest.raises(CaseLockedError, match="Open it again"):
            change(store, at, MASK, 0)
        with pytest.raises(CaseLockedError):
            keep_lock(store, ann, 1)

    def test_an_ended_lock_is_valid_until_someone_takes_it(self, store, clock):
        at = place(store, user(store, "ann"))
        clock.seconds += 3600
        after, _ = change(store, at, MASK, 0)
        assert after.revision == at.revision + 1

    def test_work_prolongs_it(self, store, clock):
        ann, bob = user(store, "ann"), user(store, "bob")
        at = place(store, ann)
        clock.seconds += 29 * 60
        at, _ = change(store, at, MASK, 0)
        clock.seconds += 29 * 60
        with pytest.raises(CaseLockedError):
            open_case(store, bob, 1)
        assert keep_lock(store, ann, 1) == clock.seconds + 30 * 60

    def test_closing_returns_the_lock_and_keeps_changes(self, store):
        ann, bob = user(store, "ann"), user(store, "bob")
        change(store, place(store, ann), MASK, 0)
        close_case(store, ann, 1)
        place(store, bob)
        close_case(store, bob, 1)
        assert kept(open_case(store, ann, 1)) == only_masked(0, 2)


def test_only_the_assignee_can_open_an_assigned_case(store):
    ann, bob, root = user(store, "ann"), user(store, "bob"), user(store, "root", UserRole.ADMIN)
    assign(store, root, (1,), bob.id)
    with pytest.raises(CaseLockedError, match="assigned"):
        open_case(store, ann, 1)
    with pytest.raises(NotAllowedError):
        assign(store, ann, (1,), ann.id)
    with pytest.raises(ReviewError, match="does not exist, is closed or sees no texts"):
        assign(store, root, (1,), 99)
    assert next_case(store, ann) is None and next_case(store, bob) == 1


def test_a_missing_case_is_named(store):
    with pytest.raises(ReviewError, match="no case 7"):
        open_case(store, user(store, "ann"), 7)
