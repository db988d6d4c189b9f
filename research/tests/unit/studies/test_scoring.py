"""How a network's scores become decisions, and decisions become figures."""

import dataclasses

import numpy as np
import pytest
from scored_corpora import corpus_of, scores_of

from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import RuleVerdicts
from inverse_deid.training.calibration import ScoredCorpus, score_from_high
from inverse_deid_research.studies.scoring import (
    average_precision,
    measure_masks,
    precision_at_recall,
    read_scores,
    write_scores,
)
from inverse_deid_research.studies.tables import mean, spread


def test_a_corpus_knows_the_types_of_its_tokens():
    corpus = corpus_of("one", 1)
    assert corpus.tokens[0].words[3] == "Okonkwo"
    assert corpus.is_phi.tolist() == [0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0]
    assert set(corpus.gold_classes("binary").tolist()) == {0, 1}
    assert len(set(corpus.gold_classes("hyper").tolist())) == 3


def test_decisions_become_the_figures_of_the_evaluation():
    corpus = corpus_of("one", 2)
    scores = scores_of(corpus)
    evaluation = corpus.evaluate(scores.is_probably_safe)
    assert evaluation.value("recall_all") == evaluation.value("precision") == 1.0
    nothing = corpus.evaluate(np.ones(len(corpus.types), np.bool_))
    assert nothing.value("recall_all") == 0.0


def test_passes_only_mask_more():
    corpus = corpus_of("one", 2)
    verdicts = corpus.verdicts("case-aware")
    decisions = scores_of(corpus).decide(Thresholds(0.5, 0.5), verdicts)
    assert not (corpus.run_document_passes(verdicts, decisions) & ~decisions.keep).any()


def test_scores_come_back_from_the_disk(tmp_path):
    corpus = corpus_of("one", 1)
    write_scores(tmp_path / "x.npz", {"a/b held out": scores_of(corpus)})
    (found,) = read_scores(tmp_path / "x.npz").items()
    assert found[0] == "a/b held out"
    np.testing.assert_array_equal(found[1].p_safe, scores_of(corpus).p_safe)


def flags(*bits):
    return np.array(bits, np.bool_)


def test_rules_that_always_mask_come_first_and_safe_words_later():
    p_safe = np.array([0.9, 0.9, 0.9, np.nan], np.float32)
    verdicts = dataclasses.replace(RuleVerdicts.silent(4), safe=flags(0, 1, 0, 0), veto=flags(0, 0, 1, 0))
    corpus = ScoredCorpus("c", flags(0, 0, 0, 0), p_safe, verdicts, np.zeros(4))
    found = score_from_high(corpus)
    assert found[2] == found[3] == 0
    assert found[0] == pytest.approx(0.9)
    assert found[1] > found[0]
    assert score_from_high(corpus, adaptive=False)[1] == pytest.approx(0.9)


def test_tokens_of_one_value_are_masked_together():
    is_phi, needed = flags(1, 0, 1, 0), np.array([0.5, 0.5, 0.7, 0.9])
    assert precision_at_recall(is_phi, needed, 0.5) == 0.5
    assert precision_at_recall(is_phi, needed, 1.0) == pytest.approx(2 / 3)
    assert average_precision(is_phi, needed) == pytest.approx(0.5 * 0.5 + 0.5 * 2 / 3)


def test_the_order_of_equals_does_not_matter():
    rng = np.random.default_rng(1)
    is_phi, needed = rng.random(200) < 0.2, rng.integers(0, 9, 200) / 10
    shuffled = rng.permutation(200)
    assert average_precision(is_phi, needed) == pytest.approx(
        average_precision(is_phi[shuffled], needed[shuffled])
    )


def test_without_phi_nothing_is_defined():
    nothing = flags(0, 0)
    assert average_precision(nothing, np.array([0.1, 0.2])) is None
    assert precision_at_recall(nothing, np.array([0.1, 0.2]), 0.9) is None
    shares = measure_masks(nothing, nothing, np.array([0, 0], np.int32))
    assert shares == {"recall": None, "precision": None, "without a leak": None}
    assert mean([None]) is None
    assert spread([0.5, None]) is None
