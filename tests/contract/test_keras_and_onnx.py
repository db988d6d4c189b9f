"""Keras and ONNX must agree on every valid token, whatever the padding, the order and the batch size."""

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from inverse_deid.core.thresholds import Thresholds
from inverse_deid.network import export
from inverse_deid.network.batches import Example, pad_examples
from inverse_deid.network.config import NetworkConfig, class_names
from inverse_deid.network.encoding import gap_codes, quantise, word_numbers
from inverse_deid.network.folder import ModelParts
from inverse_deid.network.network import build_network
from inverse_deid.network.scorer import Scorer, ScorerInput
from inverse_deid.network.training import probabilities
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import tokenize

TEXTS = (
    "Mr. Okonkwo took 40mg on 12/03/2019.",
    "x",
    "The patient, a 43-year-old baker, was seen at Bellwether by Dr. Li-Wu; rash, fever 38.4 °C; stopped.",
    "Zoë Ångström-Müller " * 30,
    "pneumonoultramicroscopicsilicovolcanoconiosis and supercalifragilisticexpialidocious",
)
VARIANTS = {
    "a": NetworkConfig(post_space=False, feature_set="none", token_layers=1, token_units=12),
    "b": NetworkConfig(post_space=True, feature_set="none", token_layers=1, token_units=12),
    "c": NetworkConfig(post_space=False, feature_set="casing", token_layers=1, token_units=12),
    "d": NetworkConfig(post_space=True, feature_set="casing", token_layers=1, token_units=12),
    "default": NetworkConfig(),
    "binary": NetworkConfig(targets="binary", token_units=12),
    "fine": NetworkConfig(targets="fine", token_units=12),
    "crf": NetworkConfig(output="crf", token_units=12),
    "paper": NetworkConfig(
        post_space=False,
        feature_set="none",
        characters="one-hot",
        char_dim=128,
        char_units=16,
        token_layers=1,
        token_units=12,
        hidden_units=10,
        lstm_dropout=False,
    ),
    "narrow": NetworkConfig(narrow_units=10, token_layers=1, token_units=12),
    "learn_words": NetworkConfig(learn_words=True, feature_set="casing", token_layers=1, token_units=12),
}


@pytest.fixture(scope="module", params=VARIANTS, ids=str)
def both(request):
    """A network with random weights, its export, and examples."""
    config = VARIANTS[request.param]
    rng = np.random.default_rng(7)
    vectors = quantise(["the", "patient", "rash"], rng.normal(size=(3, config.word_dim)).astype(np.float32))
    n_features = {"none": 0, "casing": 5, "all": 30}[config.feature_set]
    network = build_network(config, n_features, vectors.matrix())
    for weight in network.trainable_variables:  # biases start at zero: make every gate count
        weight.assign(weight + rng.normal(scale=0.05, size=weight.shape))
    if config.learn_words:  # the export rounds them; what is compared is everything else
        vectors = quantise(vectors.words, export.read_word_matrix(network))
        (learned,) = network.get_layer("word_embedding").weights
        learned.assign(np.concatenate([learned[:1], vectors.matrix()[1:]]))
    parts = ModelParts(
        network=config,
        feature_names=tuple(f"feature-{i}" for i in range(n_features)),
        word_vectors=vectors,
        characters=export.export_characters(network),
        tokens=export.export_tokens(network, config, n_features),
        weights=export.all_weights(network),
        operating_points={"balanced": Thresholds(0.5, 0.9)},
    )
    return network, parts, [_example(text, vectors, n_features, rng) for text in TEXTS]


def _example(text, vectors, n_features, rng):
    tokens = tokenize(text)
    n = len(tokens)
    return tokens, Example(
        words=tokens.words,
        word_rows=word_numbers(tokens.words, vectors.numbers()),
        gaps=gap_codes(tokens),
        features=rng.random((n, n_features)).astype(np.float32),
        labels=np.zeros(n, np.int32),
        weights=np.ones(n, np.float32),
    )


def _scores(parts, examples):
    interned = InternedWords()
    inputs = [ScorerInput(t, interned.ids(t.words), e.features) for t, e in examples]
    return Scorer(parts, interned, n_threads=1).score(inputs)


def test_one_document_at_a_time(both):
    network, parts, examples = both
    expected = probabilities(network, [e for _, e in examples], parts.network)
    for example, wanted in zip(examples, expected, strict=True):
        assert np.abs(_scores(parts, [example])[0] - wanted).max() < 1e-5


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 2, 0, 3, 1], [1, 1, 3, 1]])
def test_any_batch_and_order(both, order):
    network, parts, examples = both
    expected = probabilities(network, [e for _, e in examples], parts.network)
    for i, found in zip(order, _scores(parts, [examples[i] for i in order]), strict=True):
        assert np.abs(found - expected[i]).max() < 1e-5


def test_padding_has_no_influence_in_keras(both):
    network, parts, examples = both
    batch = pad_examples([e for _, e in examples], parts.network.max_characters)
    together = np.asarray(network({t.name: batch.inputs[t.name] for t in network.inputs}, training=False))
    alone = probabilities(network, [e for _, e in examples], parts.network)
    for i, wanted in enumerate(alone):
        assert np.abs(together[i, : len(wanted)] - wanted).max() < 1e-5


def test_rows_are_probabilities_of_the_named_classes(both):
    _, parts, examples = both
    scores = _scores(parts, examples)
    assert scores
    for found in scores:
        assert found.shape[1] == len(class_names(parts.network.targets))
        assert np.allclose(found.sum(axis=1), 1, atol=1e-5)


def test_words_met_before_do_not_change_a_score(both):
    _, parts, examples = both
    interned = InternedWords(capacity=20)
    scorer = Scorer(parts, interned, n_threads=1)
    fresh = _scores(parts, examples[:1])[0]
    for tokens, example in [*examples, examples[0]]:
        found = scorer.score([ScorerInput(tokens, interned.ids(tokens.words), example.features)])[0]
        interned.trim()
    assert np.array_equal(found, fresh)


def test_the_weights_fit_a_network_that_is_built_later(both):
    network, parts, examples = both
    later = build_network(parts.network, len(parts.feature_names), parts.word_vectors.matrix())
    export.load_weights(later, parts.weights)
    wanted = probabilities(network, [e for _, e in examples], parts.network)
    for rows, expected in zip(
        probabilities(later, [e for _, e in examples], parts.network), wanted, strict=True
    ):
        assert np.abs(rows - expected).max() < 1e-5
