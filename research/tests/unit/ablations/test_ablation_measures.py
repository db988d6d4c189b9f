"""What is made of trained networks without training, and when a difference counts."""

import numpy as np
import pandas as pd
import pytest
from scored_corpora import corpus_of, scores_of

from inverse_deid.core.values import Document
from inverse_deid_research.ablations.measures import LEARNERS, drop_safe, learn_combiner, pool_scores
from inverse_deid_research.ablations.tables import compare_with_base
from inverse_deid_research.studies.scoring import analyse_corpus


def test_mean_and_minimum_of_networks():
    corpus = corpus_of("one", 1)
    both = [{"one": scores_of(corpus, seed)} for seed in (1, 2)]
    rows = np.stack([scores["one"].p_safe for scores in both])
    np.testing.assert_allclose(pool_scores(both, np.mean)["one"].p_safe, rows.mean(axis=0))
    np.testing.assert_array_equal(pool_scores(both, np.min)["one"].p_safe, rows.min(axis=0))


def test_one_threshold_keeps_what_always_masks():
    verdicts = corpus_of("one", 1).verdicts("case-aware")
    plain = drop_safe(verdicts)
    assert verdicts.safe.any()
    assert not plain.safe.any()
    np.testing.assert_array_equal(plain.never, verdicts.never)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_learned_combiner_finds_what_is_easy(learner):
    pytest.importorskip("sklearn")
    held, other = corpus_of("held"), corpus_of("other", 4)
    scores = {corpus.name: scores_of(corpus) for corpus in (held, other)}
    verdicts = {corpus.name: corpus.verdicts("case-aware") for corpus in (held, other)}
    found = learn_combiner(learner, scores, verdicts, [held], [other])
    for corpus in (held, other):
        p_safe = found[corpus.name].p_safe
        assert p_safe[~corpus.is_phi].min() > p_safe[corpus.is_phi].max()


def test_one_class_is_too_little_for_a_learned_combiner():
    pytest.importorskip("sklearn")
    held = analyse_corpus("held", [Document("a", "a rash")])
    verdicts = {"held": held.verdicts("literal")}
    assert learn_combiner("logistic", {"held": scores_of(held)}, verdicts, [held], []) is None


def outcomes(variant, *values):
    return [
        {"variant": variant, "seeds": str(i), "corpus": "c", "is_compared": True, "recall": value}
        for i, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "verdict"),
    [((0.95, 0.96), "better"), ((0.91, 0.92), "within the seeds"), ((0.85, 0.86), "worse"), ((), "-")],
)
def test_a_difference_counts_beyond_the_spread_of_the_seeds(values, verdict):
    known = outcomes("base", 0.90, 0.92) + outcomes("crf", *values)
    assert compare_with_base("crf", "recall", pd.DataFrame(known)).verdict == verdict
