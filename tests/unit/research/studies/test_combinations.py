import numpy as np
import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.research.studies.analysed import (
    TokenScores,
    analysed,
    gold_classes,
    read_scores,
    verdicts_of,
    write_scores,
)
from inverse_deid.research.studies.combinations import LEARNERS, averaged, learned, least, without_safe
from inverse_deid.research.studies.decided import after_passes, by_argmax, decide, evaluate

TEXT = "Seen by Dr Okonkwo on 12/03/2019 with a rash."
SPANS = (PhiSpan(11, 18, PhiType.DOCTOR), PhiSpan(22, 32, PhiType.DATE))


def corpus_of(name, n_documents=10):
    return analysed(name, [Document(f"{name}{i}", TEXT, SPANS) for i in range(n_documents)])


def scores_of(corpus, seed=0):
    rng = np.random.default_rng(seed)
    right = np.where(corpus.is_phi, 0.1, 0.9) + rng.uniform(-0.08, 0.08, len(corpus.types))
    best = (right < 0.5).astype(np.uint8)
    return TokenScores(right.astype(np.float32), best, best)


def test_a_corpus_knows_the_types_of_its_tokens():
    corpus = corpus_of("one", 1)
    assert corpus.tokens[0].words[3] == "Okonkwo"
    assert corpus.is_phi.tolist() == [0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0]
    assert set(gold_classes(corpus, "binary").tolist()) == {0, 1}
    assert len(set(gold_classes(corpus, "hyper").tolist())) == 3


def test_decisions_become_the_figures_of_the_evaluation():
    corpus = corpus_of("one", 2)
    scores = scores_of(corpus)
    evaluation = evaluate(corpus, by_argmax(scores))
    assert evaluation.value("recall_all") == evaluation.value("precision") == 1.0
    nothing = evaluate(corpus, np.ones(len(corpus.types), np.bool_))
    assert nothing.value("recall_all") == 0.0


def test_passes_only_mask_more():
    corpus = corpus_of("one", 2)
    verdicts = verdicts_of(corpus, "case-aware")
    decisions = decide(scores_of(corpus), Thresholds(0.5, 0.5), verdicts)
    assert not (after_passes(corpus, verdicts, decisions) & ~decisions.keep).any()


def test_mean_and_minimum_of_networks():
    corpus = corpus_of("one", 1)
    both = [{"one": scores_of(corpus, seed)} for seed in (1, 2)]
    rows = np.stack([scores["one"].p_safe for scores in both])
    np.testing.assert_allclose(averaged(both)["one"].p_safe, rows.mean(axis=0))
    np.testing.assert_array_equal(least(both)["one"].p_safe, rows.min(axis=0))


def test_one_threshold_keeps_what_always_masks():
    verdicts = verdicts_of(corpus_of("one", 1), "case-aware")
    plain = without_safe(verdicts)
    assert verdicts.safe.any()
    assert not plain.safe.any()
    np.testing.assert_array_equal(plain.never, verdicts.never)


def test_scores_come_back_from_the_disk(tmp_path):
    corpus = corpus_of("one", 1)
    write_scores(tmp_path / "x.npz", {"a/b held out": scores_of(corpus)})
    (found,) = read_scores(tmp_path / "x.npz").items()
    assert found[0] == "a/b held out"
    np.testing.assert_array_equal(found[1].p_safe, scores_of(corpus).p_safe)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_learned_combiner_finds_what_is_easy(learner):
    pytest.importorskip("sklearn")
    held, other = corpus_of("held"), corpus_of("other", 4)
    scores = {corpus.name: scores_of(corpus) for corpus in (held, other)}
    verdicts = {corpus.name: verdicts_of(corpus, "case-aware") for corpus in (held, other)}
    found = learned(learner, scores, verdicts, [held], [other])
    for corpus in (held, other):
        p_safe = found[corpus.name].p_safe
        assert p_safe[~corpus.is_phi].min() > p_safe[corpus.is_phi].max()


def test_one_class_is_too_little_for_a_learned_combiner():
    pytest.importorskip("sklearn")
    held = analysed("held", [Document("a", "a rash")])
    verdicts = {"held": verdicts_of(held, "literal")}
    assert learned("logistic", {"held": scores_of(held)}, verdicts, [held], []) is None
