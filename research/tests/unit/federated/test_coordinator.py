"""Rounds at the server: who is asked, whose numbers count, who is left out by name."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from inverse_deid.core.errors import ConfigurationError, UpdateError
from inverse_deid.core.settings import make_settings
from inverse_deid_research.federated.messages import Reply, TrainingState, pack, unpack
from inverse_deid_research.federated.server import NO_ANSWER, begin_training, end_round
from inverse_deid_research.federated.settings import CommonTraining
from inverse_deid_research.federated.weights import WeightLayout

LAYOUT = WeightLayout(("kernel", "bias"), ((2, 2), (2,)))
SITES = ("east", "west", "north")


def training(way="average", **changed):
    return CommonTraining(**{"way": way, "sites": SITES, "epochs": 2, **changed})


def start(way="average", **changed):
    return begin_training(training(way, **changed), "run", LAYOUT, [np.zeros((2, 2)), np.zeros(2)])


def reply(site, value, number=0, **changed):
    whole = Reply(site, "run", number, 10, weights=np.full(6, value, np.float32))
    return dataclasses.replace(whole, **changed)


def given(site, indices, values, number=0):
    return Reply(site, "run", number, 0, indices=np.array(indices), values=np.array(values, np.float32))


def test_the_mean_becomes_the_next_state():
    replies = {site: reply(site, value) for site, value in zip(SITES, (1, 2, 6), strict=True)}
    state, report = end_round(training(), LAYOUT, start(), replies)
    assert state.weights.tolist() == [3.0] * 6
    assert (state.number, state.epoch, state.asked, state.finished) == (1, 1, SITES, False)
    assert (report.used, dict(report.left_out)) == (SITES, {})


BAD = {
    "finite": reply("west", np.nan),
    "shape": reply("west", 1, weights=np.ones(5, np.float32)),
    "another round or run": reply("west", 1, number=7),
    "another round": reply("west", 1, run="yesterday"),
    "no token": reply("west", 1, n_tokens=0),
    "the name of another site": reply("south", 1),
    "damaged": UpdateError("sent a message that is damaged"),
}


@pytest.mark.parametrize("word", BAD)
def test_a_bad_answer_is_named_and_hurts_nobody(word):
    replies = {"east": reply("east", 1), "west": BAD[word], "north": reply("north", 3)}
    state, report = end_round(training(), LAYOUT, start(), replies)
    assert state.weights.tolist() == [2.0] * 6
    assert word in report.left_out["west"]
    assert report.used == ("east", "north")


def test_a_site_that_is_silent_is_named():
    state, report = end_round(training(), LAYOUT, start(), {"east": reply("east", 4)})
    assert dict(report.left_out) == {"west": NO_ANSWER, "north": NO_ANSWER}
    assert state.weights.tolist() == [4.0] * 6


def test_too_few_answers_change_nothing():
    state, report = end_round(training(least_sites=2), LAYOUT, start(), {"east": reply("east", 4)})
    assert state.weights.tolist() == [0.0] * 6
    assert report.used == ()
    assert state.number == 1


def test_round_robin_asks_one_site_after_the_other():
    agreed, state, asked = training("round-robin"), start("round-robin"), []
    while not state.finished:
        asked += state.asked
        (site,) = state.asked
        state, _ = end_round(
            agreed, LAYOUT, state, {site: reply(site, state.number + 1, number=state.number)}
        )
    assert asked == [*SITES, *SITES]
    assert state.weights.tolist() == [6.0] * 6
    assert state.epoch == 2


def test_an_answer_out_of_turn_is_left_out():
    state, report = end_round(
        training("round-robin"), LAYOUT, start("round-robin"), {"west": reply("west", 1)}
    )
    assert "was not asked" in report.left_out["west"]
    assert state.weights.tolist() == [0.0] * 6


def test_selective_adds_what_is_given_and_counts_it():
    replies = {
        "east": given("east", [0, 2], [1, 1]),
        "west": given("west", [2, 5], [0.5, -1]),
        "north": given("north", [9], [1]),
    }
    state, report = end_round(training("selective"), LAYOUT, start("selective"), replies)
    assert state.weights.tolist() == [1, 0, 1.5, 0, 0, -1]
    assert state.counts.tolist() == [1, 0, 2, 0, 0, 1]
    assert "do not exist" in report.left_out["north"]


def test_selective_refuses_whole_networks():
    _, report = end_round(training("selective"), LAYOUT, start("selective"), {"east": reply("east", 1)})
    assert "no changes" in report.left_out["east"]


@pytest.mark.parametrize("way", ["average", "selective"])
def test_states_and_replies_travel(way):
    state = start(way)
    found = unpack(pack(state), TrainingState)
    assert found.weights.tolist() == state.weights.tolist()
    assert [getattr(found, f) for f in ("run", "number", "asked", "order", "finished")] == [
        "run", 0, SITES, SITES, False,
    ]  # fmt: skip
    back = unpack(pack(given("east", [1], [2])), Reply)
    assert back.changes.indices.tolist() == [1]


@pytest.mark.parametrize(
    "changed",
    [
        {"way": "central"},
        {"sites": ()},
        {"sites": ("a", "a")},
        {"sites": ("a/b",)},
        {"epochs": 0},
        {"least_sites": 0},
        {"least_sites": 4},
    ],
)
def test_bad_agreements_are_refused(changed):
    with pytest.raises(ConfigurationError):
        make_settings({"way": "average", "sites": SITES, "epochs": 2, **changed}, CommonTraining)
