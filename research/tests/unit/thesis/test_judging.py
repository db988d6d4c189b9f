"""Combiners at equal recall, and their intervals."""

import numpy as np
import pytest

from inverse_deid.core.values import Document
from inverse_deid_research.studies.scoring import TokenScores, analyse_corpus
from inverse_deid_research.thesis.judging import (
    ALONE,
    COMBINERS,
    EITHER,
    PUBLISHED,
    Figure,
    compare_at_recall,
    draw,
    find_best,
    judge_corpus,
    summarise,
    trace_curve,
)


@pytest.fixture
def judged():
    corpus = analyse_corpus("a", [Document("a", "the nausea began on Monday"), Document("b", "Okonkwo left")])
    crf = np.array([1, 1, 1, 1, 1, 0.1, 1], np.float32)
    return judge_corpus(corpus, crf)


def scores_of(p_safe):
    n = len(p_safe)
    return {"a": TokenScores(np.array(p_safe, np.float32), np.zeros(n, np.uint8), np.zeros(n, np.uint8))}


def test_the_network_alone_ranks_by_its_probability_alone(judged):
    margins = judged.margins(ALONE, scores_of([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]))
    assert (np.diff(margins) < 0).all()


def test_the_published_combiner_always_masks_a_weekday_and_spares_safe_words(judged):
    margins = judged.margins(PUBLISHED, scores_of([0.9] * 7))
    words = ["the", "nausea", "began", "on", "Monday", "Okonkwo", "left"]
    found = dict(zip(words, margins, strict=True))
    assert found["Monday"] == -np.inf
    assert found["nausea"] > found["Okonkwo"] > -np.inf


def test_what_the_crf_masks_stays_masked_with_either(judged):
    assert judged.margins(EITHER, scores_of([0.99] * 7))[5] == -np.inf


def test_an_unknown_probability_is_masked_first(judged):
    for combiner in COMBINERS[:-1]:
        assert judged.margins(combiner, scores_of([np.nan] + [0.9] * 6))[0] == -np.inf


def curves_of(n_docs, rng, noise):
    """Return a curve for tokens of which a fifth are PHI, and margins that tell so up to noise."""
    documents = np.repeat(np.arange(n_docs), 50)
    is_phi = rng.random(len(documents)) < 0.2
    margins = np.where(is_phi, -1.0, 1.0) + noise * rng.standard_normal(len(documents))
    return trace_curve(margins, is_phi, is_phi, documents)


def test_a_better_system_gains_at_equal_recall():
    worse, better = (curves_of(40, np.random.default_rng(1), noise) for noise in (1.5, 0.5))
    found = compare_at_recall(
        {"worse": [worse] * 3, "better": [better] * 3}, [0.95], draw(np.arange(40), ["a"] * 3)
    )
    (precision, gain) = found[0.95, "better"]
    assert precision.low < precision.value < precision.high
    assert gain.verdict == "reached"


def test_a_system_neither_gains_nor_loses_against_itself():
    curve = curves_of(20, np.random.default_rng(2), 1.0)
    found = compare_at_recall({"one": [curve], "same": [curve]}, [0.9], draw(np.arange(20), ["a"]))
    assert found[0.9, "same"][1] == (0, 0, 0)
    assert found[0.9, "same"][1].verdict == "undecided"


def test_draws_are_the_data_first_and_keep_each_variant():
    draws = draw(np.array([0, 1, 1, 2]), ["a", "a", "b", "b"], n_draws=50)
    assert (draws.clusters[0] == 1).all()
    assert (draws.clusters.sum(axis=1) == 3).all()
    assert np.allclose(draws.runs[:, :2].sum(axis=1), 0.5)


def test_nothing_to_measure_is_undefined():
    assert summarise(np.full(5, np.nan)).value is None


def test_an_epoch_of_acceptable_precision_goes_before_one_of_higher_recall():
    assert find_best({0: Figure(1.0, 0.3), 1: Figure(0.97, 0.55), 2: Figure(0.98, 0.51)}) == 2
