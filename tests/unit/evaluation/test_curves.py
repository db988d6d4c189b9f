import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_recall_curve

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.evaluation.measures.curves import (
    choose_corners,
    measure_reliability,
    measure_scores,
    recall_precision_curve,
)
from inverse_deid.evaluation.measures.figures import Share
from inverse_deid.evaluation.measures.uncertainty import clopper_pearson


def truth(*flags):
    return np.array(flags, np.bool_)


def random_tokens(n_tokens=400, seed=1):
    """Tokens with ties, some of them without p_safe."""
    rng = np.random.default_rng(seed)
    is_phi = rng.random(n_tokens) < 0.2
    p_safe = np.round(np.where(is_phi, rng.beta(1, 3, n_tokens), rng.beta(6, 1, n_tokens)), 2)
    return is_phi, p_safe


def test_six_tokens_by_hand():
    # Masked below 0.4: the two with 0.1. Below 0.9: those with 0.4 too. At last all.
    is_phi = truth(1, 0, 1, 1, 0, 0)
    curve = recall_precision_curve(is_phi, [0.1, 0.1, 0.4, 0.9, 0.9, 0.9])
    assert curve.thresholds.tolist() == [0.4, 0.9, np.inf]
    assert curve.recall.tolist() == [1 / 3, 2 / 3, 1.0]
    assert curve.precision.tolist() == [1 / 2, 2 / 3, 3 / 6]
    assert curve.safe_kept.tolist() == [2 / 3, 2 / 3, 0.0]
    assert curve.average_precision == pytest.approx(1 / 3 * (1 / 2 + 2 / 3 + 1 / 2))
    assert len(curve) == 3


def test_unknown_is_masked_at_every_threshold():
    curve = recall_precision_curve(truth(1, 0, 0), [np.nan, 0.0, 1.0])
    assert curve.thresholds.tolist() == [0.0, 1.0, np.inf]
    assert curve.recall.tolist() == [1.0, 1.0, 1.0]
    assert curve.safe_kept.tolist() == [1.0, 0.5, 0.0]


def test_every_point_is_what_its_threshold_masks():
    is_phi, p_safe = random_tokens()
    p_safe[::17] = np.nan
    curve = recall_precision_curve(is_phi, p_safe)
    assert len(curve) == len(np.unique(p_safe[~np.isnan(p_safe)])) + 1
    rows = zip(curve.thresholds, curve.recall, curve.precision, curve.safe_kept, strict=True)
    for threshold, recall, precision, safe_kept in rows:
        masked = np.isnan(p_safe) | (p_safe < threshold)
        assert recall == masked[is_phi].mean()
        assert precision == is_phi[masked].mean()
        assert safe_kept == pytest.approx((~masked[~is_phi]).mean())


def test_curve_and_average_precision_are_those_of_scikit_learn():
    is_phi, p_safe = random_tokens()
    curve = recall_precision_curve(is_phi, p_safe)
    precision, recall, thresholds = precision_recall_curve(is_phi, -p_safe)
    assert len(thresholds) == len(curve)
    np.testing.assert_allclose(curve.recall, recall[:-1][::-1])
    np.testing.assert_allclose(curve.precision, precision[:-1][::-1])
    assert curve.average_precision == pytest.approx(average_precision_score(is_phi, -p_safe))


@pytest.mark.parametrize("is_phi", [truth(), truth(1, 1), truth(0, 0)])
def test_without_phi_or_safe_tokens_there_is_no_curve(is_phi):
    assert recall_precision_curve(is_phi, np.full(len(is_phi), 0.5)) is None


@pytest.mark.parametrize("p_safe", [[0.5], [0.5, 1.5], [-0.1, 0.5], [0.5, np.inf]])
def test_what_are_no_probabilities_is_refused(p_safe):
    with pytest.raises(StageError):
        recall_precision_curve(truth(1, 0), p_safe)
    with pytest.raises(StageError):
        measure_reliability(truth(1, 0), p_safe)


def drawn(recall, precision):
    return np.stack([recall, precision], axis=1)


def test_thinning_leaves_no_corner_out():
    bends = [(0.0, 1.0), (0.3, 0.9), (0.3, 0.5), (0.7, 0.6), (0.9, 0.1), (1.0, 0.1)]
    line = np.concatenate(
        [np.linspace(a, b, 1_000, endpoint=False) for a, b in itertools.pairwise(bends)]
        + [np.array(bends[-1:])]
    )
    found = choose_corners(line, 20)
    np.testing.assert_allclose(line[found], bends, atol=1e-9)
    assert found.tolist() == sorted(found)


def test_thinning_keeps_at_most_so_many_points_near_to_all_others():
    rng = np.random.default_rng(1)
    recall = np.sort(rng.random(5_000))
    precision = np.clip(1 - recall**3 + rng.normal(0, 0.002, 5_000), 0, 1)
    found = choose_corners(drawn(recall, precision), 100)
    assert len(set(found)) == 100
    assert (found[0], found[-1]) == (0, 4_999)
    assert np.abs(np.interp(recall, recall[found], precision[found]) - precision).max() < 0.02


def test_a_short_curve_stays_and_a_line_has_two_points():
    curve = drawn(np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.2, 0.1]))
    assert choose_corners(curve, 3).tolist() == [0, 1, 2]
    assert choose_corners(curve, 2).tolist() == [0, 2]
    assert choose_corners(curve[:0], 2).tolist() == []
    with pytest.raises(ConfigurationError):
        choose_corners(curve, 1)


@pytest.mark.parametrize("last", [0.5, 0.4])
def test_a_curve_that_goes_back_over_itself_keeps_its_peak(last):
    curve = drawn(np.zeros(9), np.array([0.5, 0.5, 0.5, 0.9, 0.5, 0.5, 0.5, 0.5, last]))
    assert 3 in choose_corners(curve, 3)


def test_reliability_by_hand():
    # 0.3 begins its bin and 1 belongs to the last one.
    p_safe = [0.25, 0.3, 0.35, 0.95, 1.0, np.nan]
    found = measure_reliability(truth(1, 1, 0, 0, 0, 1), p_safe)
    assert [row.safe for row in found.bins] == [
        Share(0, 0),
        Share(0, 0),
        Share(0, 1),
        Share(1, 2),
        *[Share(0, 0)] * 5,
        Share(2, 2),
    ]
    assert found.bins[3].mean_p_safe == pytest.approx(0.325)
    assert found.bins[0].mean_p_safe is None
    assert found.bins[0].interval is None
    assert found.bins[3].interval == clopper_pearson(1, 2)
    assert (found.bins[3].low, found.bins[3].high) == (0.3, 0.4)
    # 1 token off by 0.25, 2 by 0.175, 2 by 0.025, of 5.
    assert found.expected_calibration_error == pytest.approx((0.25 + 2 * 0.175 + 2 * 0.025) / 5)
    assert found.unknown == 1


def test_bins_hold_all_tokens_and_every_edge_begins_its_bin():
    edges = np.arange(100) / 100
    found = measure_reliability(np.zeros(100, np.bool_), edges, n_bins=100)
    assert [row.safe.whole for row in found.bins] == [1] * 100


def test_probabilities_that_hold_have_little_error_and_others_much():
    rng = np.random.default_rng(2)
    p_safe = rng.random(20_000)
    is_phi = rng.random(20_000) > p_safe
    good = measure_reliability(is_phi, p_safe)
    assert good.expected_calibration_error < 0.02
    assert sum(row.interval.low <= row.mean_p_safe <= row.interval.high for row in good.bins) >= 8
    assert measure_reliability(is_phi, np.clip(p_safe + 0.2, 0, 1)).expected_calibration_error > 0.1


def test_without_tokens_there_is_no_error():
    found = measure_scores(truth(), [])
    assert found.curve is None
    assert found.reliability.expected_calibration_error is None
    assert len(found.reliability.bins) == 10
    with pytest.raises(ConfigurationError):
        measure_reliability(truth(), [], n_bins=0)
