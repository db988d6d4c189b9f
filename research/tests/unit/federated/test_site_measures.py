"""What is measured of a network, on hand-counted tokens."""

from pathlib import Path

import numpy as np
import pytest
from tiny_networks import examples, network_config

from inverse_deid_research.federated.settings import (
    CorpusSettings,
    DealSettings,
    FederatedStudySettings,
    MeasureSettings,
    MethodSettings,
)
from inverse_deid_research.federated.study import ScoredTokens, measure_tokens, score_tokens
from inverse_deid_research.federated.tables import StudyFrames, list_differences


def tokens(is_phi, p_safe, masked=None, lengths=None):
    p = np.array(p_safe, np.float32)
    chosen = p < 0.5 if masked is None else np.array(masked)
    return ScoredTokens(np.array(is_phi), p, chosen, lengths or (len(is_phi),))


def test_f1_counts_tokens():
    found = measure_tokens(tokens([True, True, True, False, False], [0.1, 0.2, 0.9, 0.3, 0.8]), 0.9)
    assert found["precision"] == found["recall"] == pytest.approx(2 / 3)
    assert found["f1"] == pytest.approx(2 / 3)


def test_recall_at_precision_takes_the_best_threshold():
    found = measure_tokens(tokens([True, True, True, False], [0.1, 0.2, 0.9, 0.8]), 0.75)
    assert found["recall_at_precision"] == 1.0
    assert measure_tokens(tokens([True, True, True, False], [0.1, 0.2, 0.9, 0.8]), 0.9)[
        "recall_at_precision"
    ] == pytest.approx(2 / 3)


def test_nothing_to_find_is_undefined():
    found = measure_tokens(tokens([False], [0.9]), 0.9)
    assert (found["f1"], found["recall"], found["recall_at_precision"]) == (None, None, None)


def test_some_documents():
    whole = tokens([True, False, True, True], [0.1, 0.9, 0.2, 0.9], lengths=(2, 1, 1))
    part = whole.select([2, 0])
    assert part.lengths == (2, 1)
    assert part.p_safe.tolist() == pytest.approx([0.1, 0.9, 0.9])


def test_f1_is_the_ratio_of_the_sums_over_documents():
    whole = tokens([True, False, True, True], [0.1, 0.3, 0.2, 0.9], lengths=(2, 0, 2))
    rows = whole.share_by_document()
    assert rows.tolist() == [[2, 3], [0, 0], [2, 3]]
    part, all_of_it = rows.sum(0).tolist()
    assert part / all_of_it == measure_tokens(whole, 0.9)["f1"]


def frames(f1_by_document, methods=("A", "C", "D")):
    ways = {"A": "central", "C": "selective", "D": "isolated"}
    study = FederatedStudySettings(
        data=CorpusSettings(train=(Path("x"),), test=(Path("y"),)),
        methods={name: MethodSettings(way=ways[name]) for name in methods},
        sites=DealSettings(number=2),
        study=MeasureSettings(epochs=1, seeds=(1,)),
    )
    records = {
        (name, 1): {"epochs": [], "calibrated": {}, "f1_by_document": f1_by_document[name]}
        for name in methods
    }
    return StudyFrames(study, ["site-1", "site-2"], records)


def test_methods_are_compared_with_central_and_isolated_training_by_documents():
    some, few, many = [[[part, 100]] * 30 for part in (97, 90, 99)]
    found = frames(
        {
            "A": {"all sites": some},
            "C": {"site-1": some, "site-2": many},
            "D": {"site-1": few, "site-2": many},
        }
    )
    rows = {row[0]: row[1:] for row in list_differences(found)}
    assert set(rows) == {"C", "D"}
    assert rows["C"][0] == pytest.approx(0.98 - 0.97)
    assert rows["C"][3] == "reached"
    assert rows["C"][7:] == ("site-2", "undecided")  # both sites have the same network there
    assert rows["D"][0] == pytest.approx(0.945 - 0.97)
    assert (rows["D"][3], rows["D"][-1]) == ("missed", None)


def test_records_without_counts_by_document_give_no_difference():
    assert not list_differences(frames({"A": {}, "C": {}, "D": {}}))


def test_a_row_without_a_number_is_masked():
    some = examples(network_config(), 0, 1)
    rows = np.full((len(some[0]), 2), [0.9, 0.1], np.float32)
    rows[0] = np.nan
    found = score_tokens(some, [rows])
    assert found.is_masked.tolist() == [True] + [False] * (len(some[0]) - 1)
