"""The networks: what is frozen stays, reversed gradients are negative, noise is learned, losses are right."""

import math

import numpy as np
import pytest
import tiny_representations as tiny

pytest.importorskip("tensorflow")
pytest.importorskip("sklearn")

import keras
import msgspec
import tensorflow as tf

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import make_settings
from inverse_deid_research.representations import training
from inverse_deid_research.representations.config import (
    AdversaryConfig,
    LearningConfig,
    RepresentationConfig,
    SharingConfig,
    TaggerConfig,
)
from inverse_deid_research.representations.networks import (
    RANDOM_LOSS,
    GradientReversal,
    Losses,
    TaggerLoss,
    TrainableNoise,
    build_adversary,
    build_networks,
    build_representer,
    build_tagger,
    class_probabilities,
    remove_noise,
    represent_batch,
    representation_loss,
    weights_by_path,
)
from inverse_deid_research.representations.secret_draws import SecretNormal
from inverse_deid_research.representations.sentences import batches, pad_sentences, with_vectors
from inverse_deid_research.representations.training import (
    EarlyStopping,
    draw_pairs,
    movable_sentences,
    move_token,
    pair_batches,
    tensors,
    training_step,
)

pytestmark = pytest.mark.slow

MATRIX = tiny.vectors().matrix()
NAMED = ("noise_in", "bilstm", "dense", "bounded", "noise_out", "normalised")
CONFIG = SharingConfig(
    representation=RepresentationConfig(dim=4, units=3, neighbours=3, pre_training=2, hold_noise=True),
    adversary=AdversaryConfig(units=3, epochs=3, patience=3, passes=2),
    tagger=TaggerConfig(units=4, layers=1),
    learning=LearningConfig(epochs=2, patience=1, batch=8, learning_rate=0.01),
)


@pytest.fixture(scope="module")
def material():
    return tiny.material(tiny.sentences(6, 1), tiny.sentences(3, 2), 3)


@pytest.fixture(scope="module")
def networks():
    return build_networks(CONFIG, tiny.DIM)


def some_batch(material):
    return tensors(next(batches(with_vectors(material.train, MATRIX), 8)))


def some_pairs(material):
    made = draw_pairs(movable_sentences(material.train), material.table, np.random.default_rng(1))
    return next(pair_batches(made, MATRIX, 8))


def changed(before, after):
    return [not np.array_equal(a, b) for a, b in zip(before, after, strict=True)]


@pytest.mark.parametrize("moving", ["representer", "tagger", "adversary"])
def test_only_what_is_trained_changes(networks, material, moving):
    every = {name: getattr(networks, name) for name in ("representer", "tagger", "adversary")}
    before = {name: list(weights_by_path(network).values()) for name, network in every.items()}
    losses = Losses(networks, 1.0)
    step = training_step(
        lambda batch, twins: losses.representation(batch, twins, training=True),
        [every[moving]],
        CONFIG.learning,
    )
    step(some_batch(material), some_pairs(material))
    for name, network in every.items():
        moved = changed(before[name], weights_by_path(network).values())
        assert all(moved) if name == moving else not any(moved)


def test_the_reversed_gradient_is_the_negative():
    values = tf.constant([[0.5, -2.0, 3.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(values)
        passed = GradientReversal()(values)
        plain, reversed_ = tf.reduce_sum(values**3), tf.reduce_sum(passed**3)
    assert np.array_equal(passed, values)
    assert np.array_equal(tape.gradient(reversed_, values), -tape.gradient(plain, values))


def test_reversal_turns_the_gradient_of_the_representation_and_not_that_of_the_adversary(networks, material):
    losses, given = Losses(networks, 1.0), some_pairs(material)

    def gradients(network, *, reverse):
        tf.random.set_seed(5)
        with tf.GradientTape() as tape:
            loss = losses.adversary(given, reverse=reverse)
        return [np.asarray(g) for g in tape.gradient(loss, network.trainable_variables)]

    for network, sign in ((networks.representer, -1), (networks.adversary, 1)):
        plain, turned = gradients(network, reverse=False), gradients(network, reverse=True)
        assert any(np.abs(g).max() > 1e-6 for g in plain)
        assert all(np.allclose(t, sign * p, atol=1e-7) for p, t in zip(plain, turned, strict=True))


def test_the_noise_has_the_deviation_that_it_says():
    layer = TrainableNoise(0.3)
    draws = np.random.default_rng(1).normal(size=(100, 50, 4)).astype(np.float32)
    noise = np.asarray(layer(np.zeros_like(draws), draws))
    assert np.allclose(noise.std(axis=(0, 1)), 0.3, atol=0.01)
    assert np.allclose(layer.standard_deviations, 0.3, atol=1e-6)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (RepresentationConfig(dim=4, units=3), ["noise_in", "bilstm", "dense", "noise_out", "normalised"]),
        (RepresentationConfig(dim=4, units=0, normalise="never"), ["noise_in", "bilstm", "noise_out"]),
        (
            RepresentationConfig(dim=4, units=3, normalise="around noise"),
            ["noise_in", "bilstm", "dense", "bounded", "noise_out", "normalised"],
        ),
    ],
    ids=["authors", "small", "bounded"],
)
def test_the_settings_decide_the_layers(part, expected):
    found = [layer.name for layer in build_representer(part, tiny.DIM).layers if layer.name in NAMED]
    assert found == expected


def test_normalised_vectors_have_length_1(networks, material):
    batch = some_batch(material)
    found = np.asarray(represent_batch(networks.representer, batch["vectors"], batch["valid"]))
    assert np.allclose(np.linalg.norm(found, axis=-1)[np.asarray(batch["valid"])], 1, atol=1e-5)


def test_dynamic_noise_depends_on_what_it_is_added_to():
    layer, ones = TrainableNoise(0.3, dynamic=True), tf.ones((1, 1, 2))
    assert np.allclose(layer(ones, ones), 1.3, atol=1e-6)
    layer.kernel.assign(np.eye(2))
    assert np.asarray(layer(ones, ones)).min() > 1.6
    assert np.asarray(layer(-ones, ones)).max() < -0.8


def test_the_deviations_of_the_noise_learn(networks, material):
    losses, batch, twins = Losses(networks, 1.0), some_batch(material), some_pairs(material)
    layers = [networks.representer.get_layer(name) for name in ("noise_in", "noise_out")]
    before = [np.asarray(layer.standard_deviations) for layer in layers]
    step = training_step(
        lambda one, other: losses.representation(one, other, training=True),
        [networks.representer],
        CONFIG.learning,
    )
    step(batch, twins)
    for layer, old in zip(layers, before, strict=True):
        assert layer.strength.shape == old.shape
        assert (np.asarray(layer.standard_deviations) != old).all()
        assert (np.asarray(layer.standard_deviations) > 0).all()


@pytest.mark.parametrize(
    ("task", "adversary", "weight", "expected"),
    [
        (0.2, 0.4, 1.0, 0.2 + (math.log(2) - 0.4)),
        (0.2, 1.0, 0.5, 0.2 + 0.5 * (1.0 - math.log(2))),
        (0.7, RANDOM_LOSS, 3.0, 0.7),
    ],
)
def test_the_loss_of_the_representation(task, adversary, weight, expected):
    assert representation_loss(task, adversary, weight) == pytest.approx(expected)
    tensor = representation_loss(tf.constant(task), tf.constant(adversary, tf.float32), weight)
    assert float(tensor) == pytest.approx(expected, abs=1e-6)


def test_the_adversary_averages_both_answers(networks, material):
    given = some_pairs(material)
    first = tf.random.stateless_normal((8, given["first"].shape[1], 4), (1, 2))
    inputs = [first, given["second"], first[::-1], given["valid"]]
    adversary = networks.adversary
    answers = keras.Model(adversary.inputs, [adversary.get_layer(f"answer_{n}").output for n in (1, 2)])
    one, other = (np.asarray(answer)[:, 0] for answer in answers(inputs))
    assert not np.allclose(one, other)
    assert np.allclose(adversary(inputs), (one + other) / 2, atol=1e-6)


def test_an_adversary_that_may_see_the_words_learns_the_task(material):
    """On plain words, where nothing is hidden, the same network finds out."""
    keras.utils.set_random_seed(2)
    adversary = build_adversary(tiny.DIM, tiny.DIM, 8)

    def loss(given):
        answers = adversary([given["first"], given["second"], given["second"], given["valid"]])
        return tf.reduce_mean(keras.losses.binary_crossentropy(given["same"][:, None], answers[:, None]))

    step = training_step(loss, [adversary], LearningConfig(learning_rate=0.02))
    rng = np.random.default_rng(1)
    for _ in range(12):
        made = draw_pairs(movable_sentences(material.train), material.table, rng)
        found = [step(batch) for batch in pair_batches(made, MATRIX, 8, rng)]
    assert np.mean(found) < 0.8 * RANDOM_LOSS


def test_pairs_differ_in_one_phi_token_at_most_and_no_side_tells(material):
    sentences = movable_sentences(material.train)
    made = draw_pairs(sentences * 40, material.table, np.random.default_rng(1))
    assert made
    for pair in made:
        differing = np.flatnonzero(pair.first.rows != pair.second.rows).tolist()
        assert differing == ([] if pair.same else [pair.moved])
        assert pair.first.classes[pair.moved] > 0
    originals = {id(sentence) for sentence in sentences}
    for same in (True, False):
        share = np.mean([id(pair.second) in originals for pair in made if pair.same == same])
        assert 0.45 < share < 0.55


def test_a_twin_is_never_the_sentence_itself(material):
    rng = np.random.default_rng(1)
    sentences = movable_sentences(material.train)
    assert sentences
    for sentence in sentences * 10:
        moved, place = move_token(sentence, material.table, rng)
        assert moved.rows[place] != sentence.rows[place]
        assert moved.rows[place] in material.table.of(sentence.rows[place : place + 1])[0]


def test_padding_changes_no_probability():
    keras.utils.set_random_seed(1)
    tagger = build_tagger(CONFIG.tagger, tiny.DIM)
    short, long = sorted(with_vectors(tiny.sentences(), MATRIX), key=len)[:: len(tiny.sentences()) - 1]
    alone = class_probabilities(tagger, [short])[0]
    beside = class_probabilities(tagger, [long, short])[1]
    assert len(long) > len(short)
    assert np.allclose(alone, beside, atol=1e-6)
    assert np.allclose(alone.sum(axis=1), 1, atol=1e-5)


def test_the_loss_of_the_tagger_is_that_of_the_sequence_per_token():
    tagger = build_tagger(TaggerConfig(units=3, layers=1, casing=False), tiny.DIM)
    tagger.get_layer("crf").transitions.assign(np.zeros((8, 8), np.float32))
    batch = pad_sentences(with_vectors(tiny.sentences()[:3], MATRIX))
    chances = tagger.predict_on_batch([batch.vectors, batch.casings, batch.valid])
    picked = np.take_along_axis(chances, batch.classes[..., None], axis=2)[..., 0][batch.valid]
    given = tensors(batch)
    loss = TaggerLoss(tagger)(given["vectors"], given, training=False)
    assert float(loss) == pytest.approx(
        -np.log(picked).mean(), abs=1e-4
    )  # without transitions, tokens are free


def test_early_stopping_goes_back_to_the_best_epoch():
    network = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    stopping, over = EarlyStopping([network], 2), []
    for epoch, loss in enumerate([3.0, 1.0, 2.0, 1.0]):
        network.set_weights([np.full((1, 1), epoch, np.float32)])
        over.append(stopping.is_over(loss))
    stopping.restore()
    assert over == [False, False, False, True]
    assert network.get_weights()[0].item() == 1


@pytest.mark.parametrize("procedure", ["three-phase", "reversal"])
def test_a_procedure_runs_its_phases(material, procedure):
    config = SharingConfig(
        representation=RepresentationConfig(
            dim=4, units=3, neighbours=3, procedure=procedure, pre_training=2
        ),
        adversary=CONFIG.adversary,
        tagger=TaggerConfig(units=3, layers=1),
        learning=LearningConfig(epochs=2, patience=2, batch=16),
    )
    lines = []
    new = build_networks(config, tiny.DIM)
    records = training.train_representation(new, material, config, lines.append)
    phases = {
        "three-phase": ["pre-training", "pre-training of the adversary", "alternating"],
        "reversal": ["reversal"],
    }[procedure]
    assert list(dict.fromkeys(record.phase for record in records)) == phases
    assert [record.adversary_accuracy is None for record in records] == [
        record.phase == "pre-training" for record in records
    ]
    n_epochs = {"three-phase": [2, 3, 2], "reversal": [2]}[procedure]
    assert len(lines) == len(records) == sum(n_epochs)
    assert [sum(record.phase == phase for record in records) for phase in phases] == n_epochs


@pytest.mark.parametrize(
    ("phase", "moving"),
    [("pre_train", {"representer", "tagger"}), ("pre_train_adversary", {"adversary"})],
)
def test_a_phase_freezes_what_it_does_not_train(material, phase, moving):
    config = msgspec.structs.replace(CONFIG, learning=LearningConfig(epochs=1, batch=64, learning_rate=0.01))
    some = build_networks(config, tiny.DIM)
    every = {name: getattr(some, name) for name in ("representer", "tagger", "adversary")}
    before = {name: list(weights_by_path(network).values()) for name, network in every.items()}
    getattr(training.PhaseTraining(some, material, config, lambda line: None), phase)()
    for name, network in every.items():
        after = weights_by_path(network)
        moved = dict(zip(after, changed(before[name], after.values()), strict=True))
        held = {path for path in moved if name == "representer" and "noise" in path}
        assert len(held) == (2 if name == "representer" else 0)
        assert {path for path in moved if moved[path]} == (set(moved) - held if name in moving else set())


def test_the_noise_is_held_in_pre_training_and_learns_in_the_alternation(material):
    some = build_networks(CONFIG, tiny.DIM)
    noises = [some.representer.get_layer(name) for name in ("noise_in", "noise_out")]

    def deviations():
        return [np.array(noise.standard_deviations) for noise in noises]

    phases = training.PhaseTraining(some, material, CONFIG, lambda line: None)
    before = deviations()
    assert [values[0] for values in before] == pytest.approx(
        [CONFIG.representation.noise_in, CONFIG.representation.noise_out]
    )
    phases.pre_train()
    assert not any(changed(before, deviations()))
    phases.alternate()
    assert all((old != new).all() for old, new in zip(before, deviations(), strict=True))


def test_the_adversary_passes_over_the_pairs_as_often_as_told(material, monkeypatch):
    """A round: one of the representation, then `passes` of the adversary, the first beside the task."""
    trained = []

    def step(loss, networks, config):
        names = [network.name for network in networks]
        return lambda *given: trained.append(tuple(names)) or 0.5

    monkeypatch.setattr(training, "training_step", step)
    passes = msgspec.structs.replace(CONFIG.adversary, passes=3)
    learning = msgspec.structs.replace(CONFIG.learning, epochs=1, batch=1000)
    config = msgspec.structs.replace(CONFIG, adversary=passes, learning=learning)
    some = build_networks(config, tiny.DIM)
    training.PhaseTraining(some, material, config, lambda line: None).alternate()
    assert trained == [("representer",), ("tagger", "adversary"), ("adversary",), ("adversary",)]


def test_silence_takes_the_noise_away(networks, material):
    some = build_networks(CONFIG, tiny.DIM)
    given = some_batch(material)

    def vectors():
        return np.asarray(represent_batch(some.representer, given["vectors"], given["valid"]))

    assert not np.array_equal(vectors(), vectors())
    remove_noise(some.representer)
    assert np.array_equal(vectors(), vectors())
    assert np.isfinite(vectors()).all()


def test_noise_that_is_much_or_little_is_what_it_says():
    for initial in (1e-3, 1000.0):
        layer = TrainableNoise(initial)
        layer.build((None, 2))
        assert np.allclose(layer.standard_deviations, initial, rtol=1e-3)


@pytest.mark.parametrize("value", [math.nan, 0.0, -1.0, math.inf, 1e9])
def test_noise_out_of_range_is_refused(value):
    for name in ("noise_in", "noise_out", "privacy_weight"):
        with pytest.raises(ConfigurationError, match=f"{name}: expected `float` (> 0.0|<= 1000.0)"):
            make_settings({name: value}, RepresentationConfig)


def test_secret_draws_are_normal_and_never_the_same():
    one, other = (SecretNormal().standard_normal((200, 50), np.float32) for _ in range(2))
    assert one.shape == (200, 50) and one.dtype == np.float32
    assert abs(one.mean()) < 0.05 and abs(one.std() - 1) < 0.05
    assert not np.intersect1d(one, other).size > 10
