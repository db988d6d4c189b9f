"""Few held-out identifiers never lower a threshold below that of the model that was started from."""

import dataclasses

import numpy as np
import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Document, PhiSpan, RuleVerdicts
from inverse_deid.masking.pipeline import Scores
from inverse_deid.text.interning import InternedWords
from inverse_deid.training.calibration import ScoredCorpus, measure, operating_points, thresholds_at
from inverse_deid.training.config import CalibrationConfig, calibration_of
from inverse_deid.training.evidence import (
    LEAST_DOCUMENTS,
    Evidence,
    evidence_lines,
    keep_margin,
    n_needed,
    recall_bound,
)
from inverse_deid.training.scoring import score_documents

AIMS = CalibrationConfig(
    strict_recall=0.989, balanced_recall=0.98, lenient_precision=0.88, density_slope=0.45
)
START = {
    "strict": Thresholds(0.96, 0.985, 0.45),
    "balanced": Thresholds(0.85, 0.94, 0.45),
    "lenient": Thresholds(0.27, 0.5, 0.45),
}


def corpus(n_identifiers, n_documents, n_leaks=0, seed=1):
    """Documents of an excellent network: all identifiers but some are surely masked, all else is kept."""
    rng = np.random.default_rng(seed)
    n_tokens = 4 * n_identifiers
    identifiers = np.full(n_tokens, -1, np.int64)
    identifiers[::4] = np.arange(n_identifiers)
    p_safe = np.where(identifiers >= 0, rng.uniform(0, 0.05, n_tokens), rng.uniform(0.97, 1, n_tokens))
    p_safe[: 4 * n_leaks : 4] = 0.999
    verdicts = RuleVerdicts.silent(n_tokens)
    zeros = np.zeros(n_tokens)
    return ScoredCorpus(
        "c", identifiers >= 0, p_safe.astype(np.float32), verdicts, zeros, identifiers, n_documents
    )


def tuned(one, start=START, aims=AIMS):
    return keep_margin(operating_points([one], aims), start, Evidence.of([one]), aims)


def test_an_excellent_network_alone_would_take_the_floor():
    found = operating_points([corpus(17, 4)], AIMS)
    assert [pair.high for pair in found.values()] == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(("n_identifiers", "n_documents"), [(17, 4), (148, 60), (5000, LEAST_DOCUMENTS - 1)])
def test_few_identifiers_or_documents_keep_the_thresholds_of_the_start(n_identifiers, n_documents):
    assert tuned(corpus(n_identifiers, n_documents)) == START


def test_each_point_needs_what_its_aim_says():
    n_balanced, n_strict = n_needed(AIMS.balanced_recall), n_needed(AIMS.strict_recall)
    assert (n_balanced, n_strict) == (149, 271)
    some, many = tuned(corpus(n_balanced, 60)), tuned(corpus(n_strict, 60))
    assert some["strict"] == START["strict"]
    assert some["balanced"].high == many["balanced"].high == many["strict"].high == 0.5


def test_the_number_is_the_exact_one():
    for recall in (0.9, 0.98, 0.989, 0.995):
        n = n_needed(recall)
        assert recall_bound(n, n) >= recall > recall_bound(n - 1, n - 1)
        assert n == pytest.approx(3 / (1 - recall), rel=0.06)


def test_leaks_raise_the_number():
    assert tuned(corpus(271, 60, n_leaks=1))["strict"] == START["strict"]
    enough = next(n for n in range(271, 1000) if recall_bound(n - 1, n) >= AIMS.strict_recall)
    assert tuned(corpus(enough - 1, 60, n_leaks=1))["strict"] == START["strict"]
    assert tuned(corpus(enough, 60, n_leaks=1))["strict"].high < START["strict"].high


@pytest.mark.parametrize("n_leaks", range(4))
def test_a_lower_threshold_has_the_bound_that_it_claims(n_leaks):
    one = corpus(900, 60, n_leaks=n_leaks)
    is_close = (one.identifiers >= 0) & (np.arange(len(one.p_safe)) % 20 == 0)
    p_safe = np.where(is_close, np.linspace(0.5, 0.98, len(one.p_safe)), one.p_safe)
    one = dataclasses.replace(one, p_safe=p_safe.astype(np.float32))
    found = tuned(one)
    assert found
    for name, pair in found.items():
        recall = measure(one, pair).recall
        aim = {"strict": 0.989, "balanced": 0.98}.get(name, 0)
        if pair.high < START[name].high:
            assert recall_bound(round(recall * 900), 900) >= aim


def test_higher_thresholds_need_no_evidence_and_the_order_stays():
    one = corpus(17, 4)
    one = dataclasses.replace(one, p_safe=np.full(len(one.p_safe), 0.9995, np.float32))
    found = tuned(one)
    assert found["strict"].high > START["strict"].high
    assert found["strict"].high >= found["balanced"].high >= found["lenient"].high


@pytest.mark.parametrize("slope", [0.0, 0.2, 0.5])
def test_another_slope_is_not_a_way_around(slope):
    aims = with_aims(AIMS, density_slope=slope)
    found = tuned(corpus(17, 4), aims=aims)
    assert found
    for name, pair in found.items():
        assert pair.density_slope == START[name].density_slope
        assert (pair.low, pair.high) >= (START[name].low, START[name].high)


def with_aims(config, **changed):
    return CalibrationConfig(**{name: getattr(config, name) for name in config.__struct_fields__} | changed)


def test_a_model_with_other_names_of_points_is_no_error():
    assert tuned(corpus(17, 4), start={"mine": thresholds_at(0.9)})["strict"].high == 0.5


def test_the_run_says_what_it_rests_on():
    one = corpus(17, 4)
    lines = list(evidence_lines(tuned(one), START, Evidence.of([one]), AIMS))
    assert lines[0].startswith("calibrated on 4 documents, 17 identifiers")
    assert [line.split(":")[0] for line in lines[1:]] == ["strict", "balanced", "lenient"]
    assert "271 held-out identifiers" in lines[1]
    alone = list(evidence_lines(operating_points([one], AIMS), None, Evidence.of([one]), AIMS))
    assert "too few to show a recall of 98.9 %" in alone[1]
    many = corpus(2000, 90)
    assert len(list(evidence_lines(tuned(many), START, Evidence.of([many]), AIMS))) == 1


def test_a_certain_recall_is_never_shown():
    aims = with_aims(AIMS, strict_recall=1.0)
    one = corpus(2000, 90)
    assert tuned(one, aims=aims)["strict"] == START["strict"]
    assert "infinitely many" in list(evidence_lines(tuned(one), START, Evidence.of([one]), aims))[1]


def test_aims_and_slope_are_those_of_the_start():
    stated = {"strict_recall": 0.99, "balanced_recall": 0.97, "lenient_precision": 0.8, "density_slope": 0.3}
    assert calibration_of(START, {"calibration": stated}) == CalibrationConfig(**stated)
    for damaged in ({}, {"calibration": 7}, {"calibration": {"strict_recall": 2}}):
        assert calibration_of(START, damaged) == CalibrationConfig(density_slope=0.45)


class Unsure:
    """Scores every token alike."""

    def score(self, tokens, _analyses):
        return [Scores(np.full(len(one), 0.5, np.float32), np.zeros(len(one), np.uint8)) for one in tokens]


def test_the_same_text_counts_once_per_document():
    text = "Okonkwo met OKONKWO and Li-Wu."
    spans = (
        PhiSpan(0, 7, PhiType.PATIENT),
        PhiSpan(12, 19, PhiType.DOCTOR),
        PhiSpan(24, 29, PhiType.PATIENT),
    )
    docs = [Document("a", text, spans), Document("b", text, spans), Document("c", "well", ())]
    one = score_documents(Unsure(), InternedWords(), "c", docs)
    assert one.identifiers.tolist() == [0, -1, 0, -1, 1, 1, 2, -1, 2, -1, 3, 3, -1]
    evidence = Evidence.of([one])
    assert (evidence.n_documents, evidence.n_identifiers) == (2, 4)
