"""The limits of doubt."""

import numpy as np
import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.network.doubt import EVERYTHING, Doubt, find_widest, plan_windows


@pytest.mark.parametrize(
    "limits",
    [
        (0.9, 0.3, 0.9, 0.95),
        (-0.1, 0.5, 0.5, 0.5),
        (0.5, 0.9, 0.9, 1.5),
        (0.1, 0.9, 0.9, 0.8),
        (0.1, 0.9, 0.8, 0.9),
        (np.nan, 0.9, 0.9, 0.9),
    ],
)
def test_limits_are_probabilities_in_order(limits):
    with pytest.raises(ConfigurationError, match="limits of doubt"):
        Doubt(*limits)


@pytest.mark.parametrize(
    "stored",
    [
        None,
        [0.1, 0.9],
        {"low": 0.1, "high": 0.9, "high_of_names": 1},
        {"low": "0", "high_of_safe": 0.9, "high": 0.9, "high_of_names": 1},
    ],
)
def test_stored_limits_that_are_not_four_numbers_are_refused(stored):
    with pytest.raises(ConfigurationError, match="limits of doubt"):
        Doubt.from_json(stored)


def test_limits_are_read_as_they_were_written():
    assert Doubt.from_json(Doubt(0.2, 0.98, 0.99, 0.9998).as_json()) == Doubt(0.2, 0.98, 0.99, 0.9998)


def test_both_ends_are_doubtful_and_what_is_unknown_is_not():
    p_safe = np.array([0.25, 0.5, 0.75, 0.875, np.nan, 0.125], np.float32)
    nobody, everybody = np.zeros(6, np.bool_), np.ones(6, np.bool_)
    doubt = Doubt(0.25, 0.25, 0.5, 0.75)
    assert np.flatnonzero(doubt.among(p_safe, nobody, nobody)).tolist() == [0, 1]
    assert np.flatnonzero(doubt.among(p_safe, everybody, nobody)).tolist() == [0, 1, 2]
    assert np.flatnonzero(doubt.among(p_safe, nobody, everybody)).tolist() == [0]
    assert np.flatnonzero(doubt.among(p_safe, everybody, everybody)).tolist() == [0, 1, 2]


def test_the_widest_limits_have_the_doubt_of_all():
    assert find_widest([Doubt(0.2, 0.3, 0.9, 0.95), Doubt(0.1, 0.4, 0.5, 0.99)]) == Doubt(0.1, 0.4, 0.9, 0.99)
    assert find_widest([]) == EVERYTHING


def test_no_documents_and_no_doubt_have_no_windows():
    assert len(plan_windows(np.zeros(0, np.bool_), [0])) == 0
    assert len(plan_windows(np.zeros(50, np.bool_), [0, 20, 20, 50])) == 0


def test_a_long_run_of_doubt_is_cut_where_the_document_says():
    doubtful = np.ones(300, np.bool_)
    doubtful[:40] = False
    later = doubtful.copy()
    later[40:56] = False
    for one in (doubtful, later):
        windows = plan_windows(one, [0, 300])
        assert windows.first.tolist()[1:] == [112, 224]
        assert windows.end.tolist() == [120, 232, 300]
