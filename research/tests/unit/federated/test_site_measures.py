"""What is measured of a network, on hand-counted tokens."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tiny_networks import examples, network_config

from inverse_deid_research.federated.documents import EncodedSite, EncodedStudy
from inverse_deid_research.federated.settings import (
    CorpusSettings,
    DealSettings,
    FederatedStudySettings,
    MeasureSettings,
    MethodSettings,
)
from inverse_deid_research.federated.study import (
    FederatedRun,
    ScoredTokens,
    StudyWork,
    measure_tokens,
    score_tokens,
)
from inverse_deid_research.federated.tables import StudyFrames, list_differences
from inverse_deid_research.studies.tables import NO_VERDICT


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


def settings_of(methods):
    ways = {"A": "central", "C": "selective", "D": "isolated"}
    return FederatedStudySettings(
        data=CorpusSettings(train=(Path("x"),), test=(Path("y"),)),
        methods={name: MethodSettings(way=ways[name]) for name in methods},
        sites=DealSettings(number=2),
        study=MeasureSettings(epochs=1, seeds=(1,)),
    )


def frames(f1_by_document, methods=("A", "C", "D"), planned=(1,)):
    records = {
        (name, 1): {"epochs": [], "calibrated": {}, "f1_by_document": f1_by_document[name]}
        for name in methods
    }
    return StudyFrames(settings_of(methods), ["site-1", "site-2"], records, planned)


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


def test_nothing_is_judged_before_all_planned_seeds_have_run():
    some, few = [[[part, 100]] * 30 for part in (97, 90)]
    scores = {
        "A": {"all sites": some},
        "C": {"site-1": some, "site-2": some},
        "D": {"site-1": few, "site-2": few},
    }
    rows = list_differences(frames(scores, planned=(1, 2)))
    assert [(row[4], row[-1]) for row in rows] == [(NO_VERDICT, NO_VERDICT), (NO_VERDICT, None)]
    assert rows[0][5] == pytest.approx(0.07)


def test_every_site_must_gain_not_only_the_one_that_gains_least():
    few, more, all_of_it = [[part, 100] for part in (50, 51, 100)]
    found = frames(
        {
            "A": {"all sites": [more] * 30},
            "C": {"site-1": [more] * 30, "site-2": [*[few] * 29, all_of_it]},  # one document makes the gain
            "D": {"site-1": [few] * 30, "site-2": [few] * 30},
        }
    )
    (row,) = (row for row in list_differences(found) if row[0] == "C")
    assert row[5] == pytest.approx(0.01)
    assert row[8:] == ("site-1", "undecided")


def test_a_site_calibrates_on_its_held_out_documents():
    """The network is surer of the identifiers of held-out documents than of those of test documents."""
    train, held_out, test = (examples(network_config(), i, 6) for i in range(3))
    sure = {id(doc) for doc in held_out}

    def predict(weights, docs):
        p_safe = [np.where(doc.labels > 0, 0.2 if id(doc) in sure else 0.6, 0.9) for doc in docs]
        return [np.stack([p, 1 - p], axis=1).astype(np.float32) for p in p_safe]

    done = SimpleNamespace(weights=[], loss=1.0, seconds=1.0)
    trainer = SimpleNamespace(predict=predict)
    common = SimpleNamespace(trainer_with=lambda proximal: trainer, start=lambda seed: [])
    study = EncodedStudy(tuple(EncodedSite(name, train, held_out) for name in ("east", "west")), test)
    record = StudyWork(settings_of(("D",)), study, common).run_method(
        FederatedRun("D-1", "D", 1, ()), lambda proximal: lambda tasks: [done] * len(tasks), lambda line: None
    )
    for found in record["calibrated"].values():
        assert 0.2 <= found["high"] < 0.6
        assert found["recall"] == 0


def test_records_without_counts_by_document_give_no_difference():
    assert not list_differences(frames({"A": {}, "C": {}, "D": {}}))


def test_a_row_without_a_number_is_masked():
    some = examples(network_config(), 0, 1)
    rows = np.full((len(some[0]), 2), [0.9, 0.1], np.float32)
    rows[0] = np.nan
    found = score_tokens(some, [rows])
    assert found.is_masked.tolist() == [True] + [False] * (len(some[0]) - 1)
