"""The published figures against some copied by hand from the thesis, and its rule of choice."""

import pytest

from inverse_deid_research.studies.report import read_published
from inverse_deid_research.thesis.judging import Figure, find_best, find_best_pair

THESIS = read_published()["thesis"]


@pytest.mark.parametrize(
    ("found", "printed"),
    [
        (THESIS["adaptive"]["a-2"], [0.994, 0.361]),  # table 5.1
        (THESIS["adaptive"]["d-1"], [0.988, 0.563]),
        (THESIS["alone"]["0.8"]["c-2"], [0.935, 0.768]),  # table 5.2
        (THESIS["alone"]["0.9"]["b-2"], [0.984, 0.600]),
        (THESIS["alone"]["0.95"]["b-1"], [0.991, 0.498]),
        (THESIS["categories"]["ORGANIZATION"][6], 0.864),  # table 5.4, d-1
        (THESIS["categories"]["PATIENT"][0], 0.946),
        (THESIS["fine_tuned"]["2-high"], [0.990, 0.455]),  # table 5.8
        (THESIS["fine_tuned"]["0-low"], [0.901, 0.347]),
        (THESIS["fine_tuned_categories"]["0-high"]["AGE"], [0.512, 0.941]),  # table 5.10
        (THESIS["fine_tuned_categories"]["2-low"]["ALL"], [0.983, 0.993]),  # table 5.9
        (THESIS["earlier_categories"]["LOCATION"], [1.0, 1.0, 0.0, 0.0, 0.222]),  # table 5.11
    ],
)
def test_figures_are_those_of_the_thesis(found, printed):
    assert found == printed


def test_rules_alone_and_the_networks_of_others():
    lines = {line["method"]: (line["recall"], line["precision"]) for line in THESIS["comparison"]}
    assert lines["rules alone"] == (0.988, 0.117)  # table 5.3
    assert (0.974, 0.983) in lines.values()


def test_every_table_is_complete():
    runs = [f"{variant}-{run}" for variant in "abcd" for run in (1, 2)]
    assert list(THESIS["adaptive"]) == runs
    assert all(list(table) == runs for table in THESIS["alone"].values())
    assert all(len(row) == len(runs) for row in THESIS["categories"].values())


def test_an_acceptable_precision_goes_before_recall():
    assert find_best({"a": Figure(1.0, 0.3), "b": Figure(0.9, 0.4)}) == "b"
    low, high = Figure(0.97, 0.6), Figure(0.99, 0.55)
    assert find_best_pair([{"low": low, "high": high}]) == "high"
    assert find_best_pair([{"low": low, "high": Figure(0.99, 0.4)}]) == "low"
