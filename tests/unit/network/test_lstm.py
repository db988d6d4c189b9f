"""The packed LSTM against that of Keras: the same outputs and the same gradients from the same weights."""

from functools import partial

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import keras
import tensorflow as tf

from inverse_deid.network.lstm import PackedLSTM

DIM, UNITS = 5, 4


def run(layer, sequences, mask):
    """Return the outputs, and the gradients of a loss of all of them."""
    draws = np.random.default_rng(5).normal(size=(*sequences.shape[:2], 2 * UNITS)).astype(np.float32)

    @tf.function
    def outputs_and_gradients(given):
        with tf.GradientTape() as tape:
            tape.watch(given)
            outputs = layer(given, mask=mask, training=True)
            weights = draws if outputs.shape.rank == 3 else draws[:, 0]
            loss = tf.reduce_sum(weights[..., : outputs.shape[-1]] * outputs)
        return outputs, tape.gradient(loss, [given, *layer.trainable_variables])

    outputs, gradients = outputs_and_gradients(tf.constant(sequences))
    dense = [None if one is None else np.asarray(tf.convert_to_tensor(one)) for one in gradients]
    return [np.asarray(outputs), *dense]


def one_draw_for_all_gates(cell, given, rate):
    ones = keras.ops.ones_like(given)
    return [keras.random.dropout(ones, rate, seed=cell.seed_generator)] * 4


@pytest.mark.parametrize(
    ("lengths", "dropout"),
    [
        ([7, 3, 0, 7, 1], 0.4),
        *(pytest.param(one, 0.0, marks=pytest.mark.slow) for one in ([7, 3, 0, 7, 1], [6], [8, 4], [0, 0])),
    ],
    ids=str,
)
@pytest.mark.parametrize("return_sequences", [True, False], ids=["sequences", "last"])
def test_outputs_and_gradients_are_those_of_keras(lengths, return_sequences, dropout, monkeypatch):
    rng = np.random.default_rng(1)
    sequences = rng.normal(size=(len(lengths), 9, DIM)).astype(np.float32)
    mask = np.arange(9) < np.array(lengths)[:, None]
    pair = [
        keras.layers.Bidirectional(
            kind(
                UNITS,
                return_sequences=return_sequences,
                dropout=dropout,
                recurrent_dropout=dropout,
                seed=3,
                use_cudnn=False,
            )
        )
        for kind in (keras.layers.LSTM, PackedLSTM)
    ]
    for lstm in (pair[0].forward_layer, pair[0].backward_layer):
        monkeypatch.setattr(lstm.cell, "_create_dropout_mask", partial(one_draw_for_all_gates, lstm.cell))
    for layer in pair:
        layer.build(sequences.shape)
    for ours, variable in zip(pair[1].weights, pair[0].weights, strict=True):
        variable.assign(rng.normal(size=variable.shape))
        ours.assign(variable)
    for expected, found in zip(*(run(layer, sequences, mask) for layer in pair), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_without_a_mask_all_steps_are_real():
    sequences = np.random.default_rng(2).normal(size=(3, 6, DIM)).astype(np.float32)
    layer = PackedLSTM(UNITS, return_sequences=True)
    layer.build(sequences.shape)
    everything = np.ones((3, 6), bool)
    for expected, found in zip(run(layer, sequences, everything), run(layer, sequences, None), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_rows_are_looked_up_for_one_hot_inputs():
    sequences = np.eye(DIM, dtype=np.float32)[np.random.default_rng(4).integers(DIM, size=(3, 6))]
    mask = np.arange(6) < np.array([[6], [2], [5]])
    pair = [
        keras.layers.Bidirectional(PackedLSTM(UNITS, one_hot=one_hot, seed=3)) for one_hot in (False, True)
    ]
    for layer in pair:
        layer.build(sequences.shape)
    for ours, variable in zip(pair[1].weights, pair[0].weights, strict=True):
        ours.assign(variable)
    (expected, _, *of_weights), (found, of_inputs, *found_of_weights) = (
        run(layer, sequences, mask) for layer in pair
    )
    assert of_inputs is None
    for one, other in zip([expected, *of_weights], [found, *found_of_weights], strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)


def test_the_content_of_padding_has_no_influence():
    rng = np.random.default_rng(3)
    layer = keras.layers.Bidirectional(PackedLSTM(UNITS, return_sequences=True))
    sequences, mask = rng.normal(size=(2, 5, DIM)).astype(np.float32), np.arange(5) < np.array([[2], [5]])
    layer.build(sequences.shape)
    others = np.where(mask[..., None], sequences, 99).astype(np.float32)
    np.testing.assert_array_equal(run(layer, sequences, mask)[0], run(layer, others, mask)[0])


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("activation", "relu"),
        ("recurrent_activation", "tanh"),
        ("use_bias", False),
        ("stateful", True),
        ("return_state", True),
    ],
)
def test_options_that_it_does_not_have_are_refused(option, value):
    with pytest.raises(ValueError, match="PackedLSTM has"):
        PackedLSTM(UNITS, **{option: value})


def test_dropout_of_one_hot_inputs_is_refused():
    with pytest.raises(ValueError, match="no dropout of one-hot inputs"):
        PackedLSTM(UNITS, one_hot=True, dropout=0.5)


def test_states_that_are_given_are_refused():
    states = [np.zeros((2, UNITS), np.float32)] * 2
    with pytest.raises(ValueError, match="PackedLSTM has no states that are given"):
        PackedLSTM(UNITS)(np.ones((2, 3, DIM), np.float32), initial_state=states)
