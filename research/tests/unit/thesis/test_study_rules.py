"""The rules by which the study judges: pairs of thresholds, acceptance, combiners, groups of documents, intervals."""

import numpy as np
import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid_research.studies.scoring import TokenScores, analyse_corpus
from inverse_deid_research.thesis.judging import (
    ALWAYS,
    BETWEEN,
    CRF,
    EITHER,
    N_DRAWS,
    OURS,
    PAIRS,
    PUBLISHED,
    Estimate,
    Figure,
    draw,
    find_best,
    find_best_pair,
    judge_corpus,
    log_odds,
    summarise,
)
from inverse_deid_research.thesis.tables import RECALLS

TEXT = "the nausea began on Monday with Okonkwo"
WORDS = TEXT.split()


def judge(crf=None):
    start = TEXT.index("Monday")
    doctor = TEXT.index("Okonkwo")
    spans = (
        PhiSpan(start, start + 6, PhiType.DATE),
        PhiSpan(doctor, doctor + 7, PhiType.DOCTOR),  # no HIPAA identifier
    )
    corpus = analyse_corpus("a", [Document("a", TEXT, spans)])
    return judge_corpus(corpus, np.full(len(WORDS), 0.9, np.float32) if crf is None else crf)


def scores_of(p_safe):
    nothing = np.zeros(len(WORDS), np.uint8)
    return {"a": TokenScores(np.full(len(WORDS), p_safe, np.float32), nothing, nothing)}


def test_the_pairs_and_recalls_are_those_of_the_thesis():
    assert {name: (pair.low, pair.high) for name, pair in PAIRS.items()} == {
        "low": (0.8, 0.9),
        "high": (0.9, 0.95),
    }
    assert RECALLS == (0.95, 0.98, 0.99)


@pytest.mark.parametrize(("precision", "expected"), [(0.49, "safe"), (0.5, "bold")])
def test_a_precision_of_half_is_acceptable_and_less_is_not(precision, expected):
    assert find_best({"safe": Figure(0.9, 0.8), "bold": Figure(0.99, precision)}) == expected


def test_of_equal_votes_the_higher_pair_is_preferred():
    low, high = Figure(0.99, 0.6), Figure(0.98, 0.6)
    prefers_low, prefers_high = {"low": low, "high": high}, {"low": high, "high": low}
    assert find_best_pair([prefers_low, prefers_high]) == "high"
    assert find_best_pair([prefers_low, prefers_low, prefers_high]) == "low"


def test_a_pair_lowers_the_threshold_of_safe_words_and_masks_a_weekday():
    # Between the thresholds: words of the safe lists are kept, others masked.
    keep = scores_of(0.85)["a"].decide(PAIRS["low"], judge().published).keep
    assert dict(zip(WORDS, keep.tolist(), strict=True)) == {
        word: word not in ("Monday", "Okonkwo") for word in WORDS
    }
    certain = scores_of(0.99)["a"].decide(PAIRS["high"], judge().published).keep
    assert [word for word, kept in zip(WORDS, certain, strict=True) if not kept] == ["Monday"]


def test_recall_counts_hipaa_identifiers_and_precision_all_identifiers():
    assert judge().measure_pair(scores_of(0.85), "low") == (1.0, 1.0)
    assert judge().measure_pair(scores_of(0.99), "low") == (1.0, 1.0)  # the doctor is kept
    assert judge().measure_pair(scores_of(0.1), "low") == (1.0, 2 / 7)
    without_names = judge().corpus.docs[0].spans[:1]
    corpus = analyse_corpus("a", [Document("a", TEXT, without_names)])
    judged = judge_corpus(corpus, np.full(len(WORDS), 0.9, np.float32))
    assert judged.measure_pair(scores_of(0.85), "low") == (1.0, 0.5)


def test_the_pair_is_evaluated_with_the_published_rules_and_the_network_alone_with_none():
    judged = judge()
    assert judged.evaluate_pair(scores_of(0.99), "high").value("recall_all") == 0.5
    assert judged.evaluate_alone(scores_of(0.99), 0.95).value("recall_all") == 0.0
    assert judged.evaluate_alone(scores_of(0.94), 0.95).value("recall_all") == 1.0


def test_the_two_combiners_have_rules_of_their_own():
    corpus = analyse_corpus("a", [Document("a", "Call 555-010-7788 about nausea")])
    p = np.full(len(corpus.types), 0.99, np.float32)
    nothing = np.zeros(len(p), np.uint8)
    judged, scores = judge_corpus(corpus, p), {"a": TokenScores(p, nothing, nothing)}
    assert np.isfinite(judged.margins(PUBLISHED, scores)).all()
    assert np.isinf(judged.margins(OURS, scores)).any()  # the phone number


def test_numbers_are_kept_by_the_published_combiner_and_never_by_its_variant():
    corpus = analyse_corpus("a", [Document("a", "fifty days")])
    p, nothing = np.full(2, 0.99, np.float32), np.zeros(2, np.uint8)
    judged, scores = judge_corpus(corpus, p), {"a": TokenScores(p, nothing, nothing)}
    assert np.isfinite(judged.margins(PUBLISHED, scores)).all()
    assert np.isneginf(judged.margins(ALWAYS, scores)).tolist() == [True, False]


def test_the_crf_masks_below_a_half_and_its_mean_is_taken_in_logits():
    crf = np.array([0.49, 0.5, 0.9, 0.9, 0.9, 0.9, 0.9], np.float32)
    judged = judge(crf)
    either = judged.margins(EITHER, scores_of(0.99))
    assert np.isneginf(either).tolist() == [True, False, False, False, True, False, False]
    assert judged.margins(CRF, scores_of(0.1)) == pytest.approx(log_odds(crf))
    same = judge(np.full(len(WORDS), 0.97, np.float32))
    mean = same.margins(BETWEEN, scores_of(0.97))
    assert mean == pytest.approx(same.margins(PUBLISHED, scores_of(0.97)), abs=1e-4)
    less = judge(np.full(len(WORDS), 0.6, np.float32)).margins(BETWEEN, scores_of(0.97))
    finite = np.isfinite(mean)
    half = (log_odds(np.float32(0.97)) - log_odds(np.float32(0.6))) / 2
    assert mean[finite] - less[finite] == pytest.approx(half, abs=1e-4)


def test_related_documents_are_drawn_together():
    shared = " ".join(f"w{n}" for n in range(12))
    docs = [Document("a", shared), Document("b", f"{shared} more"), Document("c", "alone")]
    corpus = analyse_corpus("a", docs)
    judged = judge_corpus(corpus, np.full(len(corpus.types), 0.9, np.float32))
    first, second, third = judged.clusters.tolist()
    assert first == second != third


def test_an_interval_has_the_middle_95_percent_of_many_draws():
    assert N_DRAWS == 2_000
    found = summarise(np.append(0.5, np.linspace(0, 1, 1_001)))
    assert found == pytest.approx((0.5, 0.025, 0.975))


def test_one_run_fewer_than_there_are_is_drawn_of_each_variant():
    draws = draw(np.arange(3), ["a", "a", "a"], n_draws=200)
    assert (draws.runs[0] == pytest.approx([1 / 3] * 3)) and draws.runs[1:].max() == pytest.approx(1.0)
    assert set(np.round(draws.runs[1:] * 2).ravel().tolist()) <= {0.0, 1.0, 2.0}


def test_a_gain_is_reached_only_if_its_whole_interval_is_above_zero():
    assert Estimate(0.1, 0.0, 0.2).verdict == "undecided"
    assert Estimate(0.1, 0.001, 0.2).verdict == "reached"
    assert Estimate(-0.1, -0.2, -0.001).verdict == "missed"
    assert Estimate(0.1, None, None).verdict == "undecided"
