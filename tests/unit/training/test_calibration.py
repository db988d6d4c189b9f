import dataclasses

import numpy as np
import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import make_settings
from inverse_deid.core.thresholds import LEAST_HIGH, MOST_SLOPE, Thresholds
from inverse_deid.core.values import RuleVerdicts
from inverse_deid.training.calibration import (
    ScoredCorpus,
    calibrate,
    calibrate_precision,
    floor_lines,
    measure,
    operating_points,
    thresholds_at,
)
from inverse_deid.training.config import CalibrationConfig


def corpus(is_phi, p_safe, rule_safe=None, always=None, density=None):
    n = len(is_phi)
    given = {"safe": rule_safe, "never": always}
    flags = {name: np.array(bits, bool) for name, bits in given.items() if bits is not None}
    return ScoredCorpus(
        "corpus",
        np.array(is_phi, bool),
        np.array(p_safe, np.float32),
        dataclasses.replace(RuleVerdicts.silent(n), **flags),
        np.zeros(n) if density is None else np.array(density, float),
    )


def random_corpus(seed, n=4000):
    rng = np.random.default_rng(seed)
    is_phi = rng.random(n) < 0.1
    p_safe = np.where(is_phi, rng.beta(1, 6, n), rng.beta(8, 1, n))
    return corpus(is_phi, p_safe, rng.random(n) < 0.5, rng.random(n) < 0.02)


@pytest.mark.parametrize("recall", [0.9, 0.97, 0.99, 1.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_wanted_recall_is_reached_on_the_corpora_together(recall, seed):
    corpora = [random_corpus(seed), random_corpus(seed + 10)]
    points = [measure(one, calibrate(corpora, recall)) for one in corpora]
    n_phi = [int(one.is_phi.sum()) for one in corpora]
    together = sum(point.recall * n for point, n in zip(points, n_phi, strict=True)) / sum(n_phi)
    assert together >= recall - 1e-9


def test_the_thresholds_are_not_higher_than_needed():
    one = random_corpus(5)
    thresholds = calibrate([one], 0.97)
    lower = thresholds_at(thresholds.high - 0.02)
    assert measure(one, lower).recall < 0.97


def test_what_is_always_masked_needs_no_threshold():
    one = corpus([1, 0], [1.0, 0.9], always=[1, 0])
    assert calibrate([one], 1.0).high == pytest.approx(0.01)


def test_nan_counts_as_masked():
    assert measure(corpus([1, 0], [np.nan, 0.99]), thresholds_at(0.5)).recall == 1


def test_a_corpus_without_phi_cannot_calibrate():
    with pytest.raises(ConfigurationError, match="no PHI"):
        calibrate([corpus([0, 0], [0.5, 0.5])], 0.99)


def test_undefined_is_none():
    point = measure(corpus([0], [0.99]), thresholds_at(0.5))
    assert (point.recall, point.precision) == (None, None)


# Operating points -------------------------------------------------------------------------------


def test_precision_by_hand():
    one = corpus([1, 1, 0, 1, 0, 0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.99])
    assert 0.4 < calibrate_precision([one], 0.75).high <= 0.5
    assert 0.2 < calibrate_precision([one], 0.8).high <= 0.3
    assert 0.5 < calibrate_precision([one], 0.6).high <= 0.99


def test_the_precision_is_that_of_every_corpus_at_one_threshold():
    # Each for itself goes up to 0.5 and 0.2; at 0.2 the first masks nothing but safe tokens.
    late = corpus([0, 0, *[1] * 8], [0.15, 0.15, *[0.5] * 8])
    early = corpus([1, 1, 0, 0], [0.1, 0.2, 0.3, 0.3])
    thresholds = calibrate_precision([late, early], 0.8)
    assert 0.1 < thresholds.high <= 0.15
    assert measure(late, thresholds).precision is None
    assert measure(early, thresholds).precision == 1


def test_a_precision_out_of_reach_gives_the_smallest_thresholds():
    assert calibrate_precision([corpus([0, 1], [0.001, 0.9])], 0.9).high == pytest.approx(0.01)


def test_a_precision_out_of_reach_is_said_and_one_in_reach_is_not():
    # Below the smallest threshold lie one token of PHI and three safe ones.
    crowded = corpus([1, 0, 0, 0, 1], [0.001, 0.002, 0.003, 0.004, 0.9])
    clear = corpus([1, 0], [0.3, 0.9])
    (line,) = floor_lines([crowded], calibrate_precision([crowded], 0.9), 0.9)
    assert "in corpus, 25.0 % is PHI; 90 % was wanted" in line
    assert floor_lines([crowded], calibrate_precision([crowded], 0.25), 0.25) == []
    without_phi = corpus([0], [0.001])
    assert floor_lines([clear, without_phi], calibrate_precision([clear, without_phi], 0.9), 0.9) == []


@pytest.mark.parametrize("is_phi", [[1, 0], [0, 1]])
def test_equal_values_are_masked_together(is_phi):
    one = corpus(is_phi, [0.5, 0.5])
    assert calibrate_precision([one], 0.9).high <= 0.5
    assert calibrate_precision([one], 0.5).high > 0.5
    assert measure(one, calibrate([one], 1.0)).precision == 0.5


def test_corpora_without_phi_do_not_set_the_precision():
    with pytest.raises(ConfigurationError, match="no PHI"):
        calibrate_precision([corpus([0], [0.5])], 0.9)
    one = corpus([1, 0], [0.3, 0.9])
    assert calibrate_precision([one, corpus([0], [0.1])], 0.9) == calibrate_precision([one], 0.9)


def test_the_lenient_point_is_sought_below_the_balanced_one():
    # The precision is reached up to 0.95, and below the balanced point only up to 0.6.
    one = corpus([1, 1, 0, 1, *[1] * 20], [0.55, 0.6, 0.7, 0.8, *[0.95] * 20])
    config = CalibrationConfig(strict_recall=1.0, balanced_recall=0.1, lenient_precision=0.9)
    points = operating_points([one], config)
    assert 0.8 < points["balanced"].high < 0.9
    assert 0.6 < points["lenient"].high <= 0.7


def test_no_point_that_is_written_is_low():
    one = corpus([1, 0], [0.001, 0.002])
    points = operating_points([one], CalibrationConfig(density_slope=MOST_SLOPE))
    assert {pair.high for pair in points.values()} == {LEAST_HIGH}
    assert not any(pair.are_low for pair in points.values())


def test_a_crowded_document_is_masked_from_a_higher_threshold_on():
    one = corpus([1, 0, 0], [0.5, 0.6, 0.6], density=[0, 1, -1])
    thresholds = calibrate([one], 1.0, Thresholds(1, 1, 1.0))
    assert (thresholds.density_slope, thresholds.high) == (1.0, pytest.approx(0.5, abs=1e-5))
    assert measure(one, thresholds).precision == 0.5
    assert measure(one, calibrate([one], 1.0)).precision == 1


@pytest.mark.parametrize("slope", [-0.1, 2.5, float("nan")])
def test_a_slope_out_of_range_is_refused(slope):
    with pytest.raises(ConfigurationError, match="density_slope"):
        make_settings({"density_slope": slope}, CalibrationConfig)


@pytest.mark.parametrize("value", [0, -0.1, 1.1, float("nan")])
def test_an_aim_out_of_range_is_refused(value):
    with pytest.raises(ConfigurationError, match="strict_recall"):
        make_settings({"strict_recall": value}, CalibrationConfig)
