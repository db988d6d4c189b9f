"""The selection rules of distributed selective SGD on eight weights, worked out by hand."""

import numpy as np
import pytest

from inverse_deid.core.errors import ConfigurationError, UpdateError
from inverse_deid.core.settings import make_settings
from inverse_deid_research.federated.settings import SelectiveSettings
from inverse_deid_research.federated.weights import (
    ParameterServer,
    Selected,
    choose_most_updated,
    count_share,
    select_changes,
)

# The example of eight weights.
#   number             0      1      2      3        4      5       6       7
GLOBAL = np.array([0.10, -0.20, 0.30, -0.40, 0.50, -0.60, 0.70, -0.80], np.float32)
COUNTS = np.array([4, 9, 1, 7, 0, 3, 8, 2])
CHANGES = np.array([0.05, -12.0, 0.0001, -0.00005, 0.0, 25.0, 0.0002, -0.3], np.float32)
# tau 0.0001: 2 (exactly tau in float32 or below), 3 and 4 stay at the site. Candidates: 0, 1, 5, 6, 7.
# gamma 10: the change of 1 leaves as -10, that of 5 as +10.
CLAMPED = {0: 0.05, 1: -10.0, 5: 10.0, 6: 0.0002, 7: -0.3}


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("theta_d", "wanted"),
    [
        (0.0, []),
        (0.125, [1]),
        (0.25, [1, 6]),
        (0.5, [0, 1, 3, 6]),
        (0.74, [0, 1, 3, 5, 6]),  # 5.92 weights are 5
        (0.75, [0, 1, 3, 5, 6, 7]),
        (1.0, [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_the_most_updated_weights_are_taken(theta_d, wanted):
    taken = ParameterServer(GLOBAL, COUNTS).download(theta_d, rng())
    assert taken.indices.tolist() == wanted
    assert taken.values.tolist() == GLOBAL[wanted].tolist()


def test_a_tie_is_broken_by_chance_and_only_a_tie():
    counts = np.array([5, 2, 2, 2, 2, 0, 9, 0])
    found = [frozenset(choose_most_updated(counts, 0.5, rng(seed)).tolist()) for seed in range(200)]
    assert all({0, 6} <= taken and not {5, 7} & taken for taken in found)
    assert {number for taken in found for number in taken} == {0, 1, 2, 3, 4, 6}


@pytest.mark.parametrize(("theta_u", "n"), [(0.0, 0), (0.125, 1), (0.5, 4), (0.6, 4), (0.625, 5), (1.0, 5)])
def test_changes_are_filtered_clamped_and_drawn(theta_u, n):
    settings = SelectiveSettings(upload=theta_u, gamma=10, tau=0.0001)
    given = select_changes(CHANGES, settings, rng())
    assert len(given) == n
    assert set(given.indices.tolist()) <= set(CLAMPED)
    assert given.indices.tolist() == sorted(set(given.indices.tolist()))
    assert given.values.tolist() == [np.float32(CLAMPED[i]) for i in given.indices.tolist()]


def test_all_large_changes_leave_when_theta_u_allows_it():
    given = select_changes(CHANGES, SelectiveSettings(upload=1), rng())
    assert dict(zip(given.indices.tolist(), given.values.tolist(), strict=True)) == {
        i: float(np.float32(value)) for i, value in CLAMPED.items()
    }


def test_a_change_of_exactly_tau_stays():
    changes = np.array([0.5, -0.5, 0.75], np.float32)
    given = select_changes(changes, SelectiveSettings(upload=1, tau=0.5), rng())
    assert given.indices.tolist() == [2]


def test_the_draw_is_uniform():
    drawn = np.zeros(8)
    for seed in range(2000):
        drawn[select_changes(CHANGES, SelectiveSettings(upload=0.25), rng(seed)).indices] += 1
    # two of five candidates each time: 800 expected, four standard deviations are 88
    assert drawn[[2, 3, 4]].sum() == 0
    assert np.abs(drawn[[0, 1, 5, 6, 7]] - 800).max() < 88


def test_the_server_adds_and_counts():
    server = ParameterServer(GLOBAL, COUNTS)
    server.upload(Selected(np.array([1, 5, 7]), np.array([-10, 10, -0.3], np.float32)))
    assert np.allclose(server.weights, [0.1, -10.2, 0.3, -0.4, 0.5, 9.4, 0.7, -1.1])
    assert server.counts.tolist() == [4, 10, 1, 7, 0, 4, 8, 3]


def test_two_sites_one_after_the_other():
    """The second site takes what the first one gave, and nothing else."""
    server = ParameterServer(GLOBAL)
    first = select_changes(CHANGES, SelectiveSettings(upload=1), rng())
    server.upload(first)
    taken = server.download(0.625, rng())
    assert taken.indices.tolist() == [0, 1, 5, 6, 7]
    assert np.allclose(taken.values, [0.15, -10.2, 9.4, 0.7002, -1.1])


@pytest.mark.parametrize(
    "changes",
    [
        Selected(np.array([8]), np.ones(1, np.float32)),
        Selected(np.array([-1]), np.ones(1, np.float32)),
        Selected(np.array([1, 1]), np.ones(2, np.float32)),
        Selected(np.array([1]), np.array([np.nan], np.float32)),
        Selected(np.array([1]), np.ones(2, np.float32)),
    ],
    ids=["beyond", "negative", "twice", "nan", "shape"],
)
def test_the_server_refuses_bad_changes_whole(changes):
    server = ParameterServer(GLOBAL, COUNTS)
    with pytest.raises(UpdateError):
        server.upload(changes)
    assert np.array_equal(server.weights, GLOBAL)
    assert np.array_equal(server.counts, COUNTS)


def test_a_site_gives_no_infinite_change():
    with pytest.raises(ValueError, match="finite"):
        select_changes(np.array([np.inf], np.float32), SelectiveSettings(), rng())


@pytest.mark.parametrize(
    "values",
    [
        {"download": 1.1},
        {"download": -0.1},
        {"upload": 2},
        {"upload": float("nan")},
        {"gamma": 0},
        {"gamma": float("inf")},
        {"tau": -1},
    ],
)
def test_settings_out_of_range_are_refused(values):
    with pytest.raises(ConfigurationError):
        make_settings(values, SelectiveSettings)


def test_shares_are_rounded_down_but_not_by_the_binary_system():
    assert [count_share(share, 100) for share in (0.29, 0.57, 0.58, 0.005, 1)] == [29, 57, 58, 0, 100]
