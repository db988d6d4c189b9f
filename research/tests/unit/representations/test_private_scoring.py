"""Masking through a representation: without the noise that hides what is shared, one answer for one text."""

import numpy as np
import pytest
import tiny_representations as tiny

pytest.importorskip("tensorflow")
pytest.importorskip("sklearn")

import keras

from inverse_deid.core.errors import ModelError
from inverse_deid.text.tokenizer import tokenize
from inverse_deid_research.representations.config import RepresentationConfig, TaggerConfig
from inverse_deid_research.representations.folders import PrivateNetwork, Representation
from inverse_deid_research.representations.networks import (
    N_CLASSES,
    PrivateScorer,
    build_representer,
    build_tagger,
    class_probabilities,
    encode_sentences,
    load_representer,
    load_tagger,
    weights_by_path,
)
from inverse_deid_research.representations.sentences import sentences_of

pytestmark = pytest.mark.slow

SENTENCE = "Okonkwo had a mild rash."


def network(noise):
    keras.utils.set_random_seed(2)
    config = RepresentationConfig(dim=4, units=3, neighbours=3, noise_in=noise, noise_out=noise)
    shape = TaggerConfig(units=4, layers=1)
    representer, tagger = build_representer(config, tiny.DIM), build_tagger(shape, config.dim)
    representation = Representation(config, tiny.vectors(), weights_by_path(representer))
    return PrivateNetwork(shape, weights_by_path(tagger), representation, {})


@pytest.fixture(scope="module")
def noisy():
    return PrivateScorer(network(2.0))


def test_one_text_has_one_answer(noisy):
    tokens = tokenize(f"{SENTENCE} The fever was mild.")
    first, again = noisy.probabilities(tokens), noisy.probabilities(tokens)
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() == PrivateScorer(network(2.0)).probabilities(tokens).tobytes()


def test_a_sentence_has_one_answer_whatever_stands_around_it(noisy):
    alone = noisy.probabilities(tokenize(SENTENCE))
    behind = noisy.probabilities(tokenize(f"The fever was mild and the cough was seen by Zora. {SENTENCE}"))
    assert np.allclose(behind[-len(alone) :], alone, atol=1e-5)


def test_texts_are_read_without_the_noise_that_hides_what_is_shared(noisy):
    tokens = tokenize(SENTENCE)
    silent = PrivateScorer(network(1e-6)).probabilities(tokens)
    assert np.allclose(noisy.probabilities(tokens), silent, atol=1e-5)
    given, matrix = network(2.0), tiny.vectors().matrix()
    sentences = sentences_of([tiny.annotated("[Okonkwo] had a mild rash.")], tiny.vectors().numbers())
    shared = encode_sentences(
        load_representer(given.representation), sentences, matrix, np.random.default_rng(1)
    )
    (answer,) = class_probabilities(load_tagger(given), shared)
    assert np.abs(answer - silent).max() > 1e-3


def test_a_text_without_words_has_no_answers(noisy):
    assert noisy.probabilities(tokenize(" -- ")).shape == (0, N_CLASSES)


def test_many_sentences_are_answered_in_their_order(noisy):
    many = noisy.probabilities(tokenize(f"{SENTENCE} The fever was mild. " * 70))
    alone = noisy.probabilities(tokenize(f"{SENTENCE} The fever was mild."))
    assert np.allclose(many, np.tile(alone, (70, 1)), atol=1e-5)


def strength_of(given):
    path = next(path for path in given.representation.weights if path.startswith("noise_in"))
    return given.representation.weights[path]


def test_an_answer_that_is_no_number_is_no_probability():
    """NaN is at or above no threshold: the token is masked."""
    scorer = PrivateScorer(network(1.0))
    scorer._representer.get_layer("noise_in").strength.assign(np.full(tiny.DIM, np.nan))
    assert np.isnan(scorer.probabilities(tokenize(SENTENCE))[:, 0]).all()


@pytest.mark.parametrize(
    ("strength", "expected"),
    [(np.nan, "are damaged"), (-np.inf, "are damaged"), (-200.0, "adds no noise")],
)
def test_weights_that_hide_nothing_are_refused(strength, expected):
    given = network(1.0)
    strength_of(given)[1] = strength
    with pytest.raises(ModelError, match=expected):
        load_representer(given.representation)


def test_noise_that_depends_on_the_words_is_refused():
    representation = Representation(RepresentationConfig(dynamic=True), tiny.vectors(), {})
    with pytest.raises(ModelError, match="depends on the words"):
        load_representer(representation)
