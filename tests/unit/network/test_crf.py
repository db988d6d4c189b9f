"""The chain of classes against the sum over all class sequences, which small sizes allow."""

import itertools

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow as tf

from inverse_deid.network.crf import Crf
from inverse_deid.network.scorer import marginals

SIZES = [(1, 2), (2, 2), (3, 3), (4, 3), (5, 2)]
"""Tokens and classes."""


def problem(n_tokens, n_classes, seed=0, batch=1):
    rng = np.random.default_rng([seed, n_tokens, n_classes])
    scores = rng.normal(scale=2, size=(batch, n_tokens, n_classes)).astype(np.float32)
    transitions = rng.normal(size=(n_classes, n_classes)).astype(np.float32)
    return scores, transitions


def weights_of_sequences(scores, transitions):
    """The weight of every class sequence of one document: {sequence: weight}."""
    n_tokens, n_classes = scores.shape
    found = {}
    for classes in itertools.product(range(n_classes), repeat=n_tokens):
        total = sum(float(scores[t, c]) for t, c in enumerate(classes))
        total += sum(float(transitions[a, b]) for a, b in itertools.pairwise(classes))
        found[classes] = np.exp(total)
    return found


def marginals_by_enumeration(scores, transitions):
    found = np.zeros(scores.shape)
    for classes, weight in weights_of_sequences(scores, transitions).items():
        for t, c in enumerate(classes):
            found[t, c] += weight
    return found / found.sum(axis=1, keepdims=True)


def layer(transitions):
    crf = Crf()
    crf.build((None, None, len(transitions)))
    crf.transitions.assign(transitions)
    return crf


def all_valid(scores):
    return np.ones(scores.shape[:2], bool)


@pytest.mark.parametrize(("n_tokens", "n_classes"), SIZES)
def test_the_partition_function_is_the_sum_over_all_sequences(n_tokens, n_classes):
    scores, transitions = problem(n_tokens, n_classes)
    found = layer(transitions).log_partition(tf.constant(scores), tf.constant(all_valid(scores)))
    expected = np.log(sum(weights_of_sequences(scores[0], transitions).values()))
    assert float(found[0]) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("n_tokens", "n_classes"), SIZES)
def test_marginals_are_those_of_all_sequences(n_tokens, n_classes):
    scores, transitions = problem(n_tokens, n_classes)
    expected = marginals_by_enumeration(scores[0], transitions)
    in_keras = np.asarray(layer(transitions)(tf.constant(scores), tf.constant(all_valid(scores))))
    assert np.abs(in_keras[0] - expected).max() < 1e-5
    assert np.abs(marginals(scores, all_valid(scores), transitions)[0] - expected).max() < 1e-6


@pytest.mark.parametrize(("scale", "tolerance"), [(1, 1e-5), (4, 1e-4)])  # Keras adds up in single precision
def test_keras_and_numpy_agree_on_long_padded_documents(scale, tolerance):
    scores, transitions = problem(60, 8, batch=4)
    scores *= scale
    valid = np.arange(60) < np.array([60, 1, 17, 59])[:, None]
    in_keras = np.asarray(layer(transitions)(tf.constant(scores), tf.constant(valid)))
    found = marginals(scores, valid, transitions)
    assert found.dtype == np.float32
    assert np.abs(found - in_keras)[valid].max() < tolerance
    assert np.abs(found[valid].sum(axis=1) - 1).max() < 1e-5


def test_padding_has_no_influence():
    scores, transitions = problem(5, 3)
    padding = np.full((1, 3, 3), 50, np.float32)
    padding[..., 1] = -50
    longer, valid = np.concatenate([scores, padding], axis=1), np.arange(8)[None] < 5
    crf = layer(transitions)
    for find in (
        lambda *given: np.asarray(crf(*map(tf.constant, given))),
        lambda s, v: marginals(s, v, transitions),
    ):
        assert np.abs(find(longer, valid)[:, :5] - find(scores, all_valid(scores))).max() < 1e-6
    alone = crf.log_partition(tf.constant(scores), tf.constant(all_valid(scores)))
    assert np.allclose(crf.log_partition(tf.constant(longer), tf.constant(valid)), alone, rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_likelihood_sums_over_the_classes_of_unknown_tokens(seed):
    scores, transitions = problem(4, 3, seed)
    allowed = np.zeros((1, 4, 3), bool)
    allowed[0, 0, 1] = allowed[0, 3, 2] = True
    allowed[0, 1:3] = [[True] * 3, [True, False, True]]
    sequences = weights_of_sequences(scores[0], transitions)
    fitting = sum(w for s, w in sequences.items() if all(allowed[0, t, c] for t, c in enumerate(s)))
    crf = layer(transitions)
    found = crf.log_likelihood(tf.constant(scores), tf.constant(all_valid(scores)), tf.constant(allowed))
    assert float(found[0]) == pytest.approx(np.log(fitting / sum(sequences.values())), abs=1e-4)


def test_a_document_of_unknown_classes_says_nothing():
    scores, transitions = problem(4, 3)
    free = tf.constant(np.ones((1, 4, 3), bool))
    found = layer(transitions).log_likelihood(tf.constant(scores), tf.constant(all_valid(scores)), free)
    assert float(found[0]) == 0


def test_what_is_no_number_stays_so_and_is_masked_later():
    scores, transitions = problem(3, 2)
    scores[0, 1, 0] = np.nan
    with np.errstate(invalid="ignore"):
        assert np.isnan(marginals(scores, all_valid(scores), transitions)).all()


def test_a_compiled_chain_reads_single_tokens():
    scores, transitions = problem(1, 3)
    shapes = [tf.TensorSpec((None, None, 3)), tf.TensorSpec((None, None), tf.bool)]
    compiled = tf.function(layer(transitions).log_partition, input_signature=shapes)
    found = compiled(tf.constant(scores), tf.constant(all_valid(scores)))
    assert found.numpy() == pytest.approx(np.log(np.exp(scores).sum()), rel=1e-5)
