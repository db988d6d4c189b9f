import dataclasses

import numpy as np
import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Reason, RuleVerdicts
from inverse_deid.masking.combine import (
    REFERENCE_DENSITY,
    combine,
    decide_without_network,
    log_density,
    shift_threshold,
)

SAFE, UNSAFE, NEVER, VETO, NAME, MAYBE = "safe", "unsafe", "never", "veto", "name", "maybe_name"
CERTAIN = "certain"


def decide(verdict, p_safe, low=0.8, high=0.95):
    flags = {} if verdict == UNSAFE else {verdict: np.array([True])}
    verdicts = dataclasses.replace(RuleVerdicts.silent(1), **flags)
    p_safe = np.array([p_safe], np.float32)
    return combine(verdicts, p_safe, np.zeros(1, np.uint8), Thresholds(low, high))


@pytest.mark.parametrize(
    ("verdict", "p_safe", "keep", "reason"),
    [
        (SAFE, 0.8, True, Reason.KEPT_SAFE_WORD),
        (SAFE, 0.79, False, Reason.BELOW_THRESHOLD),
        (UNSAFE, 0.94, False, Reason.BELOW_THRESHOLD),
        (UNSAFE, 0.95, True, Reason.KEPT_BY_NETWORK),
        (NEVER, 1.0, False, Reason.NEVER_SAFE_WORD),
        (VETO, 1.0, False, Reason.VETO_PATTERN),
        (NEVER, np.inf, False, Reason.NEVER_SAFE_WORD),
        (VETO, np.inf, False, Reason.VETO_PATTERN),
        (NAME, 1.0, False, Reason.NAME_ONLY_WORD),
        (MAYBE, 0.98, False, Reason.BELOW_THRESHOLD),
        (MAYBE, 0.986, True, Reason.KEPT_BY_NETWORK),
        (CERTAIN, 0.001, True, Reason.KEPT_CLINICAL_FACT),
        (CERTAIN, 1e-6, False, Reason.BELOW_THRESHOLD),
        (CERTAIN, 0.0, False, Reason.BELOW_THRESHOLD),
        (CERTAIN, np.nan, False, Reason.BELOW_THRESHOLD),
        (CERTAIN, 2.0, False, Reason.BELOW_THRESHOLD),
        (SAFE, 2.0, False, Reason.BELOW_THRESHOLD),
        (SAFE, np.nan, False, Reason.BELOW_THRESHOLD),
        (UNSAFE, np.nan, False, Reason.BELOW_THRESHOLD),
    ],
)
def test_adaptive_threshold(verdict, p_safe, keep, reason):
    decisions = decide(verdict, p_safe)
    assert (bool(decisions.keep[0]), Reason(int(decisions.reasons[0]))) == (keep, reason)


@pytest.mark.parametrize("stronger", [NEVER, VETO, NAME])
def test_what_always_masks_wins_over_a_closed_clinical_expression(stronger):
    yes = np.array([True])
    verdicts = dataclasses.replace(RuleVerdicts.silent(1), certain=yes, **{stronger: yes})
    decisions = combine(verdicts, np.ones(1, np.float32), np.zeros(1, np.uint8), Thresholds(0.8, 0.95))
    assert not decisions.keep[0]


def test_thresholds_of_one_mask_a_closed_clinical_expression():
    assert not decide(CERTAIN, 0.999, low=1.0, high=1.0).keep[0]


def test_a_crowded_document_does_not_move_the_threshold_of_a_closed_clinical_expression():
    crowded = limits([0.999, 0.001] * 150, 0.8, certain=np.ones(300, bool))
    assert (crowded == limits([0.9] * 300, 0.0, certain=np.ones(300, bool))).all()


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.5), (0.9, 0.8), (0.5, 1.1), (np.nan, 0.9)])
def test_thresholds_out_of_order_are_refused(low, high):
    with pytest.raises(ConfigurationError):
        Thresholds(low, high)


@pytest.mark.parametrize("slope", [-0.1, 2.1, np.nan])
def test_a_slope_out_of_range_is_refused(slope):
    with pytest.raises(ConfigurationError, match="slope"):
        Thresholds(0.5, 0.9, slope)


def limits(p_safe, slope, densities=None, **flags):
    n = len(p_safe)
    none = np.zeros(n, bool)
    verdicts = dataclasses.replace(RuleVerdicts.silent(n), **flags)
    thresholds = Thresholds(0.5, 0.9, slope)
    return combine(
        verdicts, np.array(p_safe, np.float32), none.astype(np.uint8), thresholds, densities
    ).thresholds


def test_thresholds_rise_in_crowded_documents_and_fall_in_sparse_ones():
    sparse, usual, crowded = [0.999] * 300, [0.9] * 300, [0.999, 0.001] * 150
    assert (limits(sparse, 0.8) < 0.9).all()
    assert limits(usual, 0.8) == pytest.approx(0.9, abs=1e-6)
    assert (limits(crowded, 0.8) > 0.9).all()
    assert (limits(crowded, 0.0) == np.float32(0.9)).all()


def test_a_low_density_lowers_no_threshold_of_a_word_that_is_not_safe():
    word = np.arange(300) % 2 == 0
    found = limits([0.999] * 300, 0.8, word=word)
    assert found[word] == pytest.approx(0.9)
    assert (found[~word] < 0.9).all()
    assert (limits([0.999, 0.001] * 150, 0.8, word=word) > 0.9).all()


def test_a_safe_word_that_may_open_with_a_name_is_judged_as_a_word_that_may_be_a_name():
    sparse, crowded = [0.999] * 300, [0.999, 0.001] * 150
    opening, safe = np.arange(300) % 2 == 0, np.ones(300, bool)
    found = limits(sparse, 0.8, safe=safe, opening=opening)
    assert found[opening] == pytest.approx(float(shift_threshold(0.9, 1.25)))
    assert (found[~opening] < 0.5).all()
    assert (limits(crowded, 0.8, safe=safe, opening=opening)[opening] > shift_threshold(0.9, 1.25)).all()


def test_no_document_moves_a_threshold_farther_than_two_steps():
    assert log_density(np.zeros(10_000, np.float32)) == 2
    assert log_density(np.ones(10_000, np.float32)) == -2
    assert limits([1.0] * 1000, 1.0)[0] == pytest.approx(9 / (9 + np.exp(2)), abs=1e-6)


def test_a_short_document_says_little():
    assert abs(log_density(np.ones(1, np.float32))) < 0.1


@pytest.mark.parametrize("odd", [np.nan, -0.5, 1.5, np.inf])
def test_what_is_no_probability_counts_as_phi(odd):
    assert log_density(np.array([odd] * 50, np.float32)) == log_density(np.zeros(50, np.float32))


def test_the_reference_density_moves_nothing():
    p_safe = np.full(500, 1 - REFERENCE_DENSITY, np.float64)
    assert log_density(p_safe) == pytest.approx(0, abs=1e-9)


def test_a_threshold_of_nought_or_one_stays():
    assert shift_threshold(0.0, [-2.0, 2.0]).tolist() == [0, 0]
    assert shift_threshold(1.0, [-2.0, 2.0]).tolist() == [1, 1]


def test_given_densities_go_before_those_of_the_tokens():
    assert limits([0.9, 0.9], 1.0, np.array([0.0, 1.0])).tolist() == pytest.approx(
        [0.9, 9 / (9 + np.exp(-1))], abs=1e-6
    )


def test_rules_alone_keep_what_is_safe_and_not_vetoed():
    flags = {"safe": [1, 0, 1], "never": [0, 1, 0], "veto": [0, 0, 1]}
    arrays = {name: np.array(bits, bool) for name, bits in flags.items()}
    verdicts = dataclasses.replace(RuleVerdicts.silent(3), **arrays)
    assert decide_without_network(verdicts).keep.tolist() == [True, False, False]


def decide_kept(p_safe, p_kept, low=0.8, high=0.9, **flags):
    arrays = {name: np.array([value]) for name, value in flags.items()}
    verdicts = dataclasses.replace(RuleVerdicts.silent(1), **arrays)
    p_safe, p_kept = np.array([p_safe], np.float32), np.array([p_kept], np.float32)
    decisions = combine(verdicts, p_safe, np.full(1, 7, np.uint8), Thresholds(low, high), p_kept=p_kept)
    return bool(decisions.keep[0]), Reason(int(decisions.reasons[0]))


@pytest.mark.parametrize(
    ("p_safe", "p_kept", "flags", "keep", "reason"),
    [
        (0.3, 0.68, {}, True, Reason.KEPT_CATEGORY),
        (0.3, 0.62, {}, False, Reason.BELOW_THRESHOLD),  # above `high`, but not far enough
        (0.3, 0.62, {"safe": True}, False, Reason.BELOW_THRESHOLD),  # `low` is for safe words alone
        (0.95, 0.0, {}, True, Reason.KEPT_BY_NETWORK),
        (0.95, np.nan, {}, True, Reason.KEPT_BY_NETWORK),
        (0.3, np.nan, {}, False, Reason.BELOW_THRESHOLD),
        (np.nan, 1.0, {}, False, Reason.BELOW_THRESHOLD),
        (1.5, 0.5, {}, False, Reason.BELOW_THRESHOLD),
        (-0.5, 1.5, {}, False, Reason.BELOW_THRESHOLD),
        (0.7, 0.7, {}, False, Reason.BELOW_THRESHOLD),  # no scorer of classes says so
        (0.0, 1.0, {"veto": True}, False, Reason.VETO_PATTERN),
        (0.0, 1.0, {"name": True}, False, Reason.NAME_ONLY_WORD),
        (0.0, 1.0, {"never": True}, False, Reason.NEVER_SAFE_WORD),
        (0.0, 1.0, {"veto": True, "lifted": True}, True, Reason.KEPT_CATEGORY),
        (0.6, 0.39, {"veto": True, "lifted": True}, True, Reason.KEPT_CATEGORY),
        (1.0, 0.0, {"never": True, "lifted": True}, True, Reason.KEPT_CATEGORY),
        (0.6, 0.36, {"never": True, "lifted": True}, False, Reason.NEVER_SAFE_WORD),  # may be of another
        (1.0, 0.0, {"never": True}, False, Reason.NEVER_SAFE_WORD),
        (1.0, np.nan, {"never": True, "lifted": True}, False, Reason.NEVER_SAFE_WORD),
        # A capitalised word may be a name that the network takes for a word: sure of the category.
        (0.99, 0.009, {"never": True, "lifted": True, "maybe_name": True}, False, Reason.NEVER_SAFE_WORD),
        (0.3, 0.699, {"never": True, "lifted": True, "maybe_name": True}, True, Reason.KEPT_CATEGORY),
        (0.0, 0.98, {"maybe_name": True}, False, Reason.BELOW_THRESHOLD),
    ],
)
def test_a_kept_category_counts_as_safe(p_safe, p_kept, flags, keep, reason):
    assert decide_kept(p_safe, p_kept, **flags) == (keep, reason)


def test_thresholds_of_one_mask_what_only_a_sum_makes_certain():
    assert decide_kept(0.5, 0.5, 1.0, 1.0) == (False, Reason.BELOW_THRESHOLD)


@pytest.mark.parametrize(("p_kept", "keep"), [(0.64, False), (0.66, True)])
def test_low_thresholds_do_not_lower_that_of_a_kept_category_below_its_least(p_kept, keep):
    assert decide_kept(0.3, p_kept, 0.0, 0.5)[0] is keep


def test_without_kept_categories_nothing_changes():
    p_safe = np.linspace(0, 1, 50, dtype=np.float32)
    verdicts = dataclasses.replace(RuleVerdicts.silent(50), safe=np.arange(50) % 3 == 0)
    plain, none_kept = (
        combine(verdicts, p_safe, np.ones(50, np.uint8), Thresholds(0.4, 0.7, 0.4), p_kept=p_kept)
        for p_kept in (None, np.zeros(50, np.float32))
    )
    for name in ("keep", "reasons", "thresholds", "p_safe"):
        assert getattr(plain, name).tolist() == getattr(none_kept, name).tolist()
