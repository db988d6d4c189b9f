"""Two models compared at one recall."""

import dataclasses

import numpy as np
import pytest

from inverse_deid.core.values import RuleVerdicts
from inverse_deid.training.calibration import (
    AtOneRecall,
    ScoredCorpus,
    at_one_recall,
    precision_at,
    thresholds_at,
)

PHI = np.array([True, True, True, False, False, False])


def corpus(*p_safe, is_phi=PHI, always=()):
    n = len(p_safe)
    return ScoredCorpus(
        name="letters",
        is_phi=is_phi,
        p_safe=np.array(p_safe, np.float32),
        verdicts=dataclasses.replace(RuleVerdicts.silent(n), never=np.isin(np.arange(n), always)),
        densities=np.zeros(n),
    )


@pytest.mark.parametrize(
    ("recall", "precision"),
    [(0.3, 1.0), (1 / 3, 1.0), (0.34, 2 / 3), (2 / 3, 2 / 3), (1.0, 3 / 5)],
)
def test_precision_at_each_recall_by_hand(recall, precision):
    scored = corpus(0.1, 0.3, 0.5, 0.2, 0.4, 0.6)
    assert precision_at(scored, recall) == pytest.approx(precision)


def test_equal_probabilities_are_masked_together():
    assert precision_at(corpus(0.2, 0.2, 0.2, 0.2, 0.9, 0.9), 1 / 3) == 3 / 4


def test_what_the_rules_mask_counts_as_masked():
    assert precision_at(corpus(0.1, 0.2, 0.3, 0.9, 0.9, 0.9, always=[3]), 1.0) == 3 / 4


def test_two_models_at_the_recall_of_the_second():
    before = corpus(0.1, 0.3, 0.9, 0.2, 0.8, 0.95)
    after = corpus(0.1, 0.3, 0.7, 0.4, 0.8, 0.95)
    points = {"balanced": thresholds_at(0.5)}
    # At .5 the second masks two of three PHI tokens and one safe one; the first needs .3 for two of three.
    found = at_one_recall([before], [after], points, points)
    assert found == {"letters": AtOneRecall(recall=2 / 3, before=2 / 3, after=1.0)}


def test_no_recall_to_compare_at():
    points = {"balanced": thresholds_at(0.5)}
    nothing_masked = corpus(0.9, 0.9, 0.9, 0.9, 0.9, 0.9)
    without_phi = corpus(0.1, 0.9, is_phi=np.zeros(2, np.bool_))
    assert at_one_recall([nothing_masked], [nothing_masked], points, points) == {"letters": None}
    assert at_one_recall([without_phi], [without_phi], points, points) == {"letters": None}
