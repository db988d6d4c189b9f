"""What the loss is made of, computed by hand: labels, weights and the opinion of teachers."""

import dataclasses
import itertools

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tiny_networks as tiny

from inverse_deid.network.training import TokenBatches, make_loss, probabilities

pytestmark = pytest.mark.slow

STILL = tiny.training_config(epochs=1, word_dropout=0.0, dictionary_dropout=0.0, batch_tokens=10_000)


def loss_of(network, docs):
    """The loss of all documents, of which Keras gets two batches."""
    data = TokenBatches(lambda epoch: docs, network, STILL)
    data.begin(0)
    network.compile(loss=make_loss(network), jit_compile=False)
    total = weight = 0.0
    data.on_epoch_begin()
    for inputs, targets, weights in (data[i] for i in range(data.n_batches)):
        scored = network(inputs, training=True)  # no dropout: a CRF returns scores
        total += float(network.compute_loss(inputs, targets, scored, weights)) * weights.sum()
        weight += weights.sum()
    return total / weight


def mean_cross_entropy(docs, found, targets):
    total = sum(
        float((-(target * np.log(rows)).sum(axis=1) * doc.weights).sum())
        for doc, rows, target in zip(docs, found, targets, strict=True)
    )
    return total / sum(float(doc.weights.sum()) for doc in docs)


def test_labels_and_weights():
    config = tiny.network_config(dropout=0.0, targets="hyper")
    network, docs = tiny.new_network(config, 1), tiny.examples(config)
    expected = mean_cross_entropy(
        docs, probabilities(network, docs, config), [np.eye(8)[d.labels] for d in docs]
    )
    assert loss_of(network, docs) == pytest.approx(expected, rel=1e-5)


def test_teachers_take_their_share_of_the_target():
    config = tiny.network_config(dropout=0.0)
    network, rng, docs, targets = tiny.new_network(config, 1), np.random.default_rng(2), [], []
    for variable in network.trainable_variables:
        variable.assign(variable * 6)  # not near one half
    for i, doc in enumerate(tiny.examples(config)):
        if i % 3:  # documents with and without teachers in one batch
            share = rng.choice([0.0, 0.7, 1.0], (len(doc), 1))
            p = rng.random((len(doc), 1))
            opinion = np.concatenate([p, 1 - p], axis=1)
            targets.append((1 - share) * np.eye(2)[doc.labels] + share * opinion)
            docs.append(dataclasses.replace(doc, opinion=(opinion * share).astype(np.float16)))
        else:
            targets.append(np.eye(2)[doc.labels])
            docs.append(doc)
    expected = mean_cross_entropy(docs, probabilities(network, docs, config), targets)
    assert loss_of(network, docs) == pytest.approx(expected, rel=2e-3)  # opinions travel in half precision
    without = loss_of(network, [dataclasses.replace(doc, opinion=None) for doc in docs])
    assert abs(without - expected) > 0.02


def test_a_crf_learns_the_likelihood_of_the_labels_and_lets_tokens_of_no_weight_be():
    config = tiny.network_config(dropout=0.0, output="crf")
    network, docs = tiny.new_network(config, 1), tiny.examples(config, n_documents=6)
    transitions = np.array([[0.3, -0.8], [0.5, 0.1]], np.float32)
    network.get_layer("crf").transitions.assign(transitions)
    docs = [dataclasses.replace(d, weights=np.where(np.arange(len(d)) == 1, 0, d.weights)) for d in docs]
    # Without transitions the marginals are the softmax of the scores: that gives the scores up to a constant.
    network.get_layer("crf").transitions.assign(np.zeros((2, 2)))
    scores = [np.log(rows) for rows in probabilities(network, docs, config)]
    network.get_layer("crf").transitions.assign(transitions)
    total = 0.0
    for doc, rows in zip(docs, scores, strict=True):
        of_sequence = {}
        for classes in itertools.product((0, 1), repeat=len(doc)):
            steps = sum(transitions[a, b] for a, b in itertools.pairwise(classes))
            of_sequence[classes] = np.exp(sum(rows[t, c] for t, c in enumerate(classes)) + steps)
        known = [t for t in range(len(doc)) if doc.weights[t]]
        fitting = sum(w for s, w in of_sequence.items() if all(s[t] == doc.labels[t] for t in known))
        total -= np.log(fitting / sum(of_sequence.values()))
    expected = total / sum(float(doc.weights.sum()) for doc in docs)
    assert loss_of(network, docs) == pytest.approx(expected, rel=1e-4)
