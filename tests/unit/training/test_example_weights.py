"""What each token weighs and where teachers are asked, from configuration to example."""

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tiny_networks as tiny

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.lexicon import load_lexicon
from inverse_deid.network import export
from inverse_deid.network.folder import ModelParts
from inverse_deid.text.interning import InternedWords
from inverse_deid.training.augmentation import EpochMaker, EpochRecipe
from inverse_deid.training.examples import ExampleMaker, Teachers, Weights

CONFIG = tiny.network_config(feature_set="none")
DOC = Document(
    "1", "Ann Lindero of Velmo had rash.", (PhiSpan(0, 11, PhiType.PATIENT), PhiSpan(15, 20, PhiType.CITY))
)
DOUBTFUL = Document("2", "Rash on Monday, fever in 2019.")


def parts(config, seed):
    """A model with random weights that reads no features."""
    import keras

    from inverse_deid.network.network import build_network

    keras.utils.set_random_seed(seed)
    vectors = tiny.vectors(config)
    network = build_network(config, 0, vectors.matrix())
    for variable in network.trainable_variables:
        variable.assign(variable * 4)
    return ModelParts(
        network=config,
        feature_names=(),
        word_vectors=vectors,
        characters=export.export_characters(network),
        tokens=export.export_tokens(network, config, 0),
        weights=export.all_weights(network),
        operating_points={"balanced": Thresholds(0.5, 0.9)},
    )


@pytest.fixture(scope="module")
def teachers():
    return [parts(CONFIG, 1), parts(CONFIG, 2)]


def maker(config=CONFIG, **options):
    return ExampleMaker(config, load_lexicon(), tiny.vectors(config), **options)


@pytest.mark.parametrize("targets", ["binary", "hyper", "fine"])
def test_phi_document_and_class_weights_multiply(targets):
    weights = Weights(phi=3.0, document=0.5, factors={"NAME": 2.0, "ID": 7.0})
    example = maker(tiny.network_config(feature_set="none", targets=targets)).make(DOC, weights)
    assert example.words == ["Ann", "Lindero", "of", "Velmo", "had", "rash"]
    assert example.weights.tolist() == [3.0, 3.0, 0.5, 1.5, 0.5, 0.5]
    assert (example.labels > 0).tolist() == [True, True, False, True, False, False]
    assert len({int(example.labels[0]), int(example.labels[3])}) == (1 if targets == "binary" else 2)


def test_the_configuration_reaches_the_examples():
    training = tiny.training_config(phi_weight=4.0, class_weights={"PLACE": 1.5}, weak=1, weak_weight=0.25)
    carriers = [Document("c", "Rash on Monday, resolved.")]
    recipe = EpochRecipe(
        gold=[DOC], carriers=carriers, network=CONFIG, training=training, vectors=tiny.vectors(CONFIG)
    )
    gold, weak = EpochMaker(recipe).examples(0)
    assert gold.weights.tolist() == [4.0, 4.0, 1.0, 6.0, 1.0, 1.0]
    assert weak.labels.tolist()[2] > 0  # the weekday is marked by the patterns
    assert weak.weights.tolist() == [0.25, 0.25, 1.0, 0.25]


def doubtful_tokens(example):
    return {word: i for i, word in enumerate(example.words) if word in ("Monday", "2019")}


def test_doubtful_tokens_of_weak_documents_weigh_nothing_without_teachers():
    example = maker().make(DOUBTFUL, Weights(weak=True))
    doubtful = doubtful_tokens(example)
    assert len(doubtful) == 2
    assert {i for i, weight in enumerate(example.weights) if weight == 0} == set(doubtful.values())
    assert example.opinion is None
    assert (maker().make(DOUBTFUL, Weights()).weights == 1).all()


def test_doubtful_tokens_are_the_teachers_own(teachers):
    example = maker(teachers=teachers, teacher_weight=0.7).make(DOUBTFUL, Weights(weak=True, document=0.5))
    shares = example.opinion.astype(np.float32).sum(axis=1)
    doubtful = list(doubtful_tokens(example).values())
    assert np.allclose(shares[doubtful], 1, atol=2e-3)
    assert np.allclose(np.delete(shares, doubtful), 0.7, atol=2e-3)
    assert (example.weights == 0.5).all()


def test_marked_tokens_of_weak_documents_are_not_doubtful(teachers):
    marked = Document("3", DOUBTFUL.text, (PhiSpan(8, 14, PhiType.DATE),))
    example = maker(teachers=teachers, teacher_weight=0.7).make(marked, Weights(weak=True))
    assert example.opinion[2].astype(np.float32).sum() == pytest.approx(0.7, abs=2e-3)
    assert maker().make(marked, Weights(weak=True)).weights[2] == 3.0


def test_the_opinion_is_the_mean_of_the_teachers(teachers):
    both, first, second = (
        maker(teachers=some, teacher_weight=1.0).make(DOC, Weights()).opinion.astype(np.float32)
        for some in (teachers, teachers[:1], teachers[1:])
    )
    assert np.abs(first - second).max() > 0.01
    assert np.allclose(both, (first + second) / 2, atol=1e-3)


def test_a_label_counts_more_the_surer_teachers_are_that_an_identifier_is_safe(teachers):
    opinion, usual, first = (
        maker(teachers=teachers, **options).make(DOC, Weights())
        for options in (
            {"teacher_weight": 1.0},
            {"teacher_weight": 0.5},
            {"teacher_weight": 0.5, "labels_first": True},
        )
    )
    is_phi = first.labels > 0
    np.testing.assert_array_equal(first.opinion[~is_phi], usual.opinion[~is_phi])
    p_safe = opinion.opinion[:, :1].astype(np.float32)
    wanted = 0.5 * (1 - p_safe) * opinion.opinion.astype(np.float32)
    np.testing.assert_allclose(first.opinion[is_phi], wanted[is_phi], atol=2e-3)
    assert first.opinion[is_phi].sum() < usual.opinion[is_phi].sum()


def test_a_share_of_the_weakly_labelled_narratives_has_names_planted():
    carriers = [
        Document(str(i), f"The patient had a rash and took Benadryl {i} times. He slept.") for i in range(40)
    ]

    def drawn(mentions):
        recipe = EpochRecipe(
            gold=[],
            carriers=carriers,
            network=CONFIG,
            training=tiny.training_config(synthetic=0, weak=200, mentions=mentions),
            vectors=tiny.vectors(CONFIG),
        )
        return [doc for doc, _ in EpochMaker(recipe).documents(0)]

    without, some, all_of_them = (sum(bool(doc.spans) for doc in drawn(share)) for share in (0.0, 0.4, 1.0))
    assert (without, all_of_them) == (0, 200)
    assert 55 < some < 105


@pytest.mark.parametrize(
    ("network", "complaint"),
    [
        (tiny.network_config(feature_set="none", targets="hyper"), "different classes"),
        (tiny.network_config(feature_set="none", output="crf"), "CRF learns from labels alone"),
    ],
)
def test_teachers_that_cannot_teach_are_refused_before_a_worker_starts(teachers, network, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        EpochRecipe(
            gold=[DOC],
            carriers=[],
            network=network,
            training=tiny.training_config(),
            vectors=tiny.vectors(network),
            teachers=teachers,
        )
    with pytest.raises(ConfigurationError, match=complaint):
        Teachers(teachers, network, InternedWords())


def test_the_same_epoch_is_the_same_and_another_is_another():
    recipe = EpochRecipe(
        gold=[DOC] * 3,
        carriers=[],
        network=CONFIG,
        training=tiny.training_config(surrogates="english", keep_share=0.0, synthetic=2),
        vectors=tiny.vectors(CONFIG),
    )
    epochs = [[e.words for e in EpochMaker(recipe).examples(number)] for number in (0, 0, 1)]
    assert epochs[0] == epochs[1]
    assert epochs[0] != epochs[2]
