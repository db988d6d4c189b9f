"""The stacked extractor sees no masked word, and still teaches the de-identifier."""

import numpy as np
import pytest
import tensorflow as tf
from tiny_extractors import BOTH, config, documents, vectors

from inverse_deid_research.extraction.concepts import CONCEPTS, PHI
from inverse_deid_research.extraction.network import (
    CHOICE,
    MASKED,
    GumbelChoice,
    MaskedEmbedding,
    gumbel_softmax,
)
from inverse_deid_research.extraction.passages import pad_labels, pad_passages
from inverse_deid_research.extraction.tagger import new_tagger
from inverse_deid_research.extraction.training import compute_loss

pytestmark = pytest.mark.slow

N_LABELS = 5


@pytest.fixture(scope="module")
def stacked():
    tf.keras.utils.set_random_seed(3)
    return new_tagger(config(kind="stacked"), BOTH, vectors(), seed=3)


@pytest.fixture(scope="module")
def passages(stacked):
    return [s for doc in documents(0, 4) for s in stacked.passage_maker().encode_gold(doc)]


def inputs_of(stacked, passages):
    inputs = pad_passages(passages, stacked.config.max_characters)
    return {t.name: inputs[t.name] for t in stacked.network.model.inputs}


def choices(*numbers):
    return tf.one_hot([list(numbers)], N_LABELS)


def test_what_is_masked_counts_as_nothing_bit_by_bit():
    layer = MaskedEmbedding((0, 0, 1, 1))
    rng = np.random.default_rng(1)
    seen = rng.normal(size=(1, 4, 6)).astype(np.float32)
    other = seen.copy()
    other[0, 1:3] = rng.normal(scale=1e4, size=(2, 6))
    choice = choices(0, 1, 4, 0)
    first, second = (layer(vectors, choice).numpy() for vectors in (seen, other))
    assert first.tobytes() == second.tobytes()
    assert np.array_equal(first[0, 0], seen[0, 0])
    assert np.array_equal(first[0, 1], layer.class_vectors.numpy()[0])
    assert np.array_equal(first[0, 2], layer.class_vectors.numpy()[1])


def test_another_vector_of_a_masked_word_leaves_the_extraction_as_it_is(stacked, passages):
    """In the whole network, for a word that is masked before and after."""
    network, inputs = stacked.network, inputs_of(stacked, passages)
    phi = network.model.get_layer(f"{PHI}_scores")
    kernel, bias = phi.get_weights()
    word = passages[0].example.words.index("Okonkwo")
    row = int(inputs["words"][0, word])
    assert row > 0
    embedding = network.model.get_layer("word_embedding").embeddings
    before_matrix = embedding.numpy()
    try:
        # all words are masked but those of which the de-identifier says otherwise: here none
        phi.set_weights([kernel * 0, np.array([-9, 9, 0], np.float32)])
        before = network.scorer(inputs, training=False)[CONCEPTS].numpy()
        changed = before_matrix.copy()
        changed[row] += 3.0
        embedding.assign(changed)
        assert network.scorer(inputs, training=False)[CONCEPTS].numpy().tobytes() == before.tobytes()
        # the same change shows where nothing is masked
        phi.set_weights([kernel * 0, np.array([9, -9, 0], np.float32)])
        open_after = network.scorer(inputs, training=False)[CONCEPTS].numpy()
        embedding.assign(before_matrix)
        open_before = network.scorer(inputs, training=False)[CONCEPTS].numpy()
        assert not np.array_equal(open_after, open_before)
    finally:
        embedding.assign(before_matrix)
        phi.set_weights([kernel, bias])


def test_the_signs_after_a_masked_word_are_masked_with_it(stacked, passages):
    network, inputs = stacked.network, inputs_of(stacked, passages)
    phi = network.model.get_layer(f"{PHI}_scores")
    kernel, bias = phi.get_weights()
    other = {**inputs, "gaps": (inputs["gaps"] + 7) % 50}
    try:
        phi.set_weights([kernel * 0, np.array([-9, 9, 0], np.float32)])
        masked = [network.scorer(one, training=False)[CONCEPTS].numpy() for one in (inputs, other)]
        phi.set_weights([kernel * 0, np.array([9, -9, 0], np.float32)])
        seen = [network.scorer(one, training=False)[CONCEPTS].numpy() for one in (inputs, other)]
    finally:
        phi.set_weights([kernel, bias])
    assert masked[0].tobytes() == masked[1].tobytes()
    assert not np.array_equal(*seen)


@pytest.mark.parametrize("training", [True, False])
def test_gradients_of_the_extraction_reach_the_de_identifier(stacked, passages, training):
    network = stacked.network
    inputs, labels = inputs_of(stacked, passages), pad_labels(passages, CONCEPTS)
    below = network.model.get_layer("phi_token_lstm").trainable_variables
    classes = network.model.get_layer(MASKED).class_vectors
    with tf.GradientTape() as tape:
        if training:
            loss = compute_loss(network, inputs, CONCEPTS, labels)
        else:
            loss = tf.reduce_sum(network.scorer(inputs, training=False)[CONCEPTS] ** 2)
    gradients = tape.gradient(loss, [*below, classes])
    assert all(g is not None for g in gradients)
    assert all(float(tf.reduce_max(tf.abs(g))) > 0 for g in gradients[:-1])


def test_temperature_to_zero_is_the_discrete_draw():
    rng = np.random.default_rng(2)
    log_weights = rng.normal(size=(50, N_LABELS)).astype(np.float32)
    noise = rng.gumbel(size=(50, N_LABELS)).astype(np.float32)
    discrete = np.eye(N_LABELS)[(log_weights + noise).argmax(axis=1)]
    gaps = [
        float(np.abs(gumbel_softmax(log_weights, noise, t).numpy() - discrete).max())
        for t in (1.0, 0.1, 1e-5)
    ]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-6


@pytest.mark.parametrize("training", [True, False])
def test_the_choice_is_exactly_one_class(training):
    probabilities = tf.constant(np.random.default_rng(1).dirichlet(np.ones(N_LABELS), (3, 40)), tf.float32)
    found = GumbelChoice(0.7, seed=1)(probabilities, training=training).numpy()
    assert set(np.unique(found)) == {0.0, 1.0}
    assert np.array_equal(found.sum(axis=2), np.ones((3, 40)))
    if not training:
        assert np.array_equal(found.argmax(axis=2), probabilities.numpy().argmax(axis=2))


def test_draws_follow_the_probabilities():
    probabilities = tf.constant(np.tile([0.7, 0.2, 0.1], (1, 4000, 1)), tf.float32)
    found = GumbelChoice(1.0, seed=5)(probabilities, training=True).numpy().mean(axis=(0, 1))
    assert found == pytest.approx([0.7, 0.2, 0.1], abs=0.04)


def test_what_is_told_as_identifiers_is_what_is_masked(stacked, passages):
    network, inputs = stacked.network, inputs_of(stacked, passages)
    crf = network.model.get_layer(f"{PHI}_crf")
    choice = network.model.get_layer(CHOICE)(crf(network.scorer(inputs)[PHI], inputs["valid"]))
    assert passages
    for row, found in zip(choice.numpy().argmax(axis=2), stacked.label(passages), strict=True):
        assert np.array_equal(row[: len(found[PHI])], found[PHI])
