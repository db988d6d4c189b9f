"""An LSTM with coupled gates, and a study with them."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from inverse_deid.core.settings import read_settings
from inverse_deid.network.config import NetworkConfig
from inverse_deid_research.federated.coupled import CoupledLSTM
from inverse_deid_research.federated.network import CommonNetwork
from inverse_deid_research.federated.settings import EpochSettings, FederatedStudySettings

UNITS = 5


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def read_by_hand(layer, sequence):
    """Return the outputs of a layer with coupled gates, step by step."""
    kernel, recurrent, bias = (np.asarray(weight) for weight in layer.weights)
    hidden, cell, found = np.zeros(UNITS), np.zeros(UNITS), []
    for inputs in sequence:
        new, candidate, out = np.split(inputs @ kernel + hidden @ recurrent + bias, 3)
        new = sigmoid(new)
        cell = (1 - new) * cell + new * np.tanh(candidate)
        hidden = sigmoid(out) * np.tanh(cell)
        found.append(hidden)
    return np.array(found)


def test_what_is_new_in_a_cell_takes_the_place_of_what_was_there():
    keras.utils.set_random_seed(3)
    layer = CoupledLSTM(UNITS, return_sequences=True)
    sequences = np.random.default_rng(3).normal(size=(2, 7, 4)).astype(np.float32)
    valid = np.array([[True] * 7, [True] * 4 + [False] * 3])
    found = np.asarray(layer(sequences, mask=valid))
    assert [tuple(weight.shape) for weight in layer.weights] == [(4, 15), (5, 15), (15,)]
    assert np.asarray(layer.weights[2]).tolist() == [-1.0] * 5 + [0.0] * 10
    np.testing.assert_allclose(found[0], read_by_hand(layer, sequences[0]), atol=1e-6)
    np.testing.assert_allclose(found[1, :4], read_by_hand(layer, sequences[1, :4]), atol=1e-6)
    assert not found[1, 4:].any()


def test_its_gradients_are_those_of_small_steps():
    keras.utils.set_random_seed(4)
    layer = CoupledLSTM(UNITS)
    sequences = tf.constant(np.random.default_rng(4).normal(size=(3, 6, 4)).astype(np.float32))

    def loss():
        return tf.reduce_sum(layer(sequences) ** 2)

    with tf.GradientTape() as tape:
        now = loss()
    found = tape.gradient(now, [weight.value for weight in layer.weights])
    rng = np.random.default_rng(5)
    for weight, gradient in zip(layer.weights, found, strict=True):
        before, direction = np.asarray(weight), rng.normal(size=weight.shape).astype(np.float32)
        weight.assign(before + 1e-3 * direction)
        after = float(loss())
        weight.assign(before - 1e-3 * direction)
        by_step = (after - float(loss())) / 2e-3
        weight.assign(before)
        assert by_step == pytest.approx(float(np.sum(np.asarray(gradient) * direction)), rel=0.02, abs=1e-3)


def test_all_lstms_of_a_study_have_coupled_gates_if_it_says_so(tmp_path):
    config = NetworkConfig(char_units=6, token_units=6, token_layers=1, feature_set="none", dropout=0.0)
    usual, coupled = (
        CommonNetwork(config, EpochSettings(), None, is_coupled=coupled) for coupled in (False, True)
    )
    sizes = [
        sum(
            array.size
            for name, array in zip(network.trainer.layout.names, network.start(1), strict=True)
            if "lstm" in name
        )
        for network in (usual, coupled)
    ]
    assert sizes[1] == sizes[0] * 3 // 4
    path = tmp_path / "study.toml"
    text = '[data]\ntrain = ["a.jsonl"]\ntest = ["b.jsonl"]\n[methods.A]\nway = "central"\n'
    path.write_text("coupled_gates = true\n" + text, encoding="utf-8")
    assert read_settings(path, FederatedStudySettings).coupled_gates
    path.write_text(text, encoding="utf-8")
    assert not read_settings(path, FederatedStudySettings).coupled_gates
