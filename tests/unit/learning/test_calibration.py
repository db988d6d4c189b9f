import numpy as np
import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.learning.calibration import ScoredCorpus, calibrate, measure, thresholds_at


def corpus(is_phi, p_safe, rule_safe=None, always=None):
    n = len(is_phi)
    none = np.zeros(n, bool)
    return ScoredCorpus(
        "corpus",
        np.array(is_phi, bool),
        np.array(p_safe, np.float32),
        none if rule_safe is None else np.array(rule_safe, bool),
        none if always is None else np.array(always, bool),
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
