import dataclasses

import numpy as np
import pytest

from inverse_deid.core.values import RuleVerdicts
from inverse_deid.research.studies.ablation_report import Outcome, difference
from inverse_deid.research.studies.measures import (
    average_precision,
    masked_shares,
    mean,
    precision_at_recall,
    spread,
)
from inverse_deid.research.studies.thesis_figures import Figure, best_of, best_pair
from inverse_deid.training.calibration import ScoredCorpus, score_from_high


def flags(*bits):
    return np.array(bits, np.bool_)


def test_rules_that_always_mask_come_first_and_safe_words_later():
    p_safe = np.array([0.9, 0.9, 0.9, np.nan], np.float32)
    verdicts = dataclasses.replace(RuleVerdicts.silent(4), safe=flags(0, 1, 0, 0), veto=flags(0, 0, 1, 0))
    corpus = ScoredCorpus("c", flags(0, 0, 0, 0), p_safe, verdicts, np.zeros(4))
    found = score_from_high(corpus)
    assert found[2] == found[3] == 0
    assert found[0] == pytest.approx(0.9)
    assert found[1] > found[0]
    assert score_from_high(corpus, adaptive=False)[1] == pytest.approx(0.9)


def test_tokens_of_one_value_are_masked_together():
    is_phi, needed = flags(1, 0, 1, 0), np.array([0.5, 0.5, 0.7, 0.9])
    assert precision_at_recall(is_phi, needed, 0.5) == 0.5
    assert precision_at_recall(is_phi, needed, 1.0) == pytest.approx(2 / 3)
    assert average_precision(is_phi, needed) == pytest.approx(0.5 * 0.5 + 0.5 * 2 / 3)


def test_the_order_of_equals_does_not_matter():
    rng = np.random.default_rng(1)
    is_phi, needed = rng.random(200) < 0.2, rng.integers(0, 9, 200) / 10
    shuffled = rng.permutation(200)
    assert average_precision(is_phi, needed) == pytest.approx(
        average_precision(is_phi[shuffled], needed[shuffled])
    )


def test_without_phi_nothing_is_defined():
    nothing = flags(0, 0)
    assert average_precision(nothing, np.array([0.1, 0.2])) is None
    assert precision_at_recall(nothing, np.array([0.1, 0.2]), 0.9) is None
    shares = masked_shares(nothing, nothing, np.array([0, 0], np.int32))
    assert (shares.recall, shares.precision, shares.without_leak) == (None, None, None)
    assert mean([None]) is None
    assert spread([0.5, None]) is None


def outcomes(variant, *values):
    return [Outcome(variant, str(i), "c", True, {"recall": value}) for i, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "verdict"),
    [((0.95, 0.96), "better"), ((0.91, 0.92), "within the seeds"), ((0.85, 0.86), "worse"), ((), "-")],
)
def test_a_difference_counts_beyond_the_spread_of_the_seeds(values, verdict):
    known = outcomes("base", 0.90, 0.92) + outcomes("crf", *values)
    assert difference("crf", "recall", known).verdict == verdict


def test_an_acceptable_precision_goes_before_recall():
    assert best_of({"a": Figure(1.0, 0.3), "b": Figure(0.9, 0.4)}) == "b"
    low, high = Figure(0.97, 0.6), Figure(0.99, 0.55)
    assert best_pair([{"low": low, "high": high}]) == "high"
    assert best_pair([{"low": low, "high": Figure(0.99, 0.4)}]) == "low"
