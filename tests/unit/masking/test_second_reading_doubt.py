"""Which words a second reader is asked about."""

import dataclasses

import numpy as np
import pytest

from inverse_deid.core.values import RuleAnalysis, RuleVerdicts
from inverse_deid.masking.scorers import find_doubtful
from inverse_deid.network.doubt import Doubt
from inverse_deid.rules.analysis import FEATURE_NAMES

LIMITS = Doubt(0.1, 0.9, 0.99, 0.999)
NAMED = FEATURE_NAMES.index("is-possibly-name")


def ask(p_safe, *, named=False, **verdicts):
    """Return whether a token with such verdicts is read again."""
    features = np.zeros((1, len(FEATURE_NAMES)), np.float32)
    features[0, NAMED] = named
    given = {name: np.array([True]) for name in verdicts}
    analysis = RuleAnalysis(
        ids=np.zeros(1, np.int32),
        features=features,
        verdicts=dataclasses.replace(RuleVerdicts.silent(1), **given),
    )
    return bool(find_doubtful(LIMITS, [np.array([[p_safe, 1 - p_safe]], np.float32)], [analysis])[0][0])


@pytest.mark.parametrize(
    ("verdicts", "highest"),
    [
        ({"safe": True}, 0.9),
        ({"fact": True}, 0.9),
        ({"safe": True, "opening": True}, 0.99),
        ({}, 0.99),
        ({"word": True}, 0.999),
    ],
)
def test_the_highest_doubtful_probability_depends_on_the_rules(verdicts, highest):
    assert ask(0.1, **verdicts)
    assert ask(highest - 0.0005, **verdicts)
    assert not ask(highest + 0.0005, **verdicts)
    assert not ask(0.0995, **verdicts)


@pytest.mark.parametrize("verdicts", [{"safe": True}, {}])
def test_words_of_name_lists_are_doubtful_for_longer(verdicts):
    assert ask(0.9985, named=True, **verdicts)
    assert not ask(0.9995, named=True, **verdicts)


@pytest.mark.parametrize("decided", ["certain", "never", "veto", "name"])
def test_what_the_rules_decide_is_not_read_again(decided):
    assert not ask(0.5, **{decided: True})


@pytest.mark.parametrize("masked", ["never", "veto", "name"])
def test_what_only_masks_categories_that_are_kept_is_read_again(masked):
    assert ask(0.5, **{masked: True, "lifted": True})
