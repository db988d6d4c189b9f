"""The LSTM with a written-out gradient is that of Keras, with masks, backwards and with dropout."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from inverse_deid.network.by_length import ByLength, InOrder
from inverse_deid.network.lstm import Lstm, hidden_states

BATCH, TIME, DIM, UNITS = 3, 5, 4, 6
LENGTHS = np.array([5, 2, 4])


@pytest.fixture
def inputs():
    return np.random.default_rng(1).normal(size=(BATCH, TIME, DIM)).astype(np.float32)


@pytest.fixture
def mask():
    return np.arange(TIME) < LENGTHS[:, None]


def with_gradients(layer, inputs, mask):
    """The output where something is read, and the gradients of inputs and weights."""
    inputs = tf.constant(inputs)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        output = layer(inputs, mask=tf.constant(mask), training=True)
        real = tf.cast(mask, tf.float32)[..., None] if len(output.shape) == 3 else 1.0
        loss = tf.reduce_sum(tf.sin(output * np.linspace(1, 2, output.shape[-1])) * real)
    return [
        output.numpy() * np.asarray(real),
        *(g.numpy() for g in tape.gradient(loss, [inputs, *layer.weights])),
    ]


@pytest.mark.parametrize("sequences", [True, False])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_outputs_and_gradients_are_those_of_keras(inputs, mask, sequences, bidirectional):
    made = [kind(UNITS, return_sequences=sequences, name="lstm") for kind in (layers.LSTM, Lstm)]
    if bidirectional:
        made = [layers.Bidirectional(one) for one in made]
    theirs, ours = made
    theirs.build(inputs.shape)
    ours.build(inputs.shape)
    ours.set_weights(theirs.get_weights())
    pairs = zip(with_gradients(theirs, inputs, mask), with_gradients(ours, inputs, mask), strict=True)
    for their, our in pairs:
        np.testing.assert_allclose(our, their, atol=2e-6)


def test_without_a_mask_every_step_is_read(inputs):
    theirs, ours = layers.LSTM(UNITS), Lstm(UNITS)
    theirs.build(inputs.shape)
    ours.build(inputs.shape)
    ours.set_weights(theirs.get_weights())
    np.testing.assert_allclose(ours(inputs), theirs(inputs), atol=1e-6)


def test_the_written_gradient_is_the_one_of_automatic_differentiation(inputs, mask):
    """With recurrent dropout, which multiplies the hidden state on its way to the next step."""
    rng = np.random.default_rng(2)
    weights = [
        tf.constant(rng.normal(size=s), tf.float32)
        for s in ((DIM, 4 * UNITS), (UNITS, 4 * UNITS), (4 * UNITS,))
    ]
    passed = tf.constant(rng.choice([0.0, 2.0], size=(BATCH, UNITS)), tf.float32)
    by_time, real = tf.constant(inputs.transpose(1, 0, 2)), tf.constant(mask.T[..., None], tf.float32)

    def plain(by_time, kernel, recurrent, bias):
        hidden = cell = tf.zeros((BATCH, UNITS))
        steps = []
        for t in range(TIME):
            i, f, g, o = tf.split(by_time[t] @ kernel + (hidden * passed) @ recurrent + bias, 4, axis=1)
            new = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(g)
            hidden = tf.where(real[t] > 0, tf.sigmoid(o) * tf.tanh(new), hidden)
            cell = tf.where(real[t] > 0, new, cell)
            steps.append(hidden)
        return tf.stack(steps)

    found = []
    for run in (plain, lambda x, *w: hidden_states(x, real, passed, *w)):
        with tf.GradientTape() as tape:
            tape.watch([by_time, *weights])
            loss = tf.reduce_sum(tf.cos(run(by_time, *weights) * np.linspace(1, 2, UNITS)))
        found.append([loss, *tape.gradient(loss, [by_time, *weights])])
    for expected, our in zip(*found, strict=True):
        np.testing.assert_allclose(our, expected, rtol=2e-4, atol=2e-5)


def test_dropout_acts_in_training_alone(inputs):
    keras.utils.set_random_seed(1)
    layer = Lstm(UNITS, dropout=0.5, recurrent_dropout=0.5)
    first, second = (layer(inputs, training=True).numpy() for _ in range(2))
    assert not np.allclose(first, second)
    np.testing.assert_array_equal(layer(inputs, training=False), layer(inputs, training=False))


def test_words_come_back_in_their_order():
    """Of all lengths, also 0; a group without words does no harm."""
    lengths = [3, 9, 0, 8, 12, 1]
    codes = np.array([[7] * n + [0] * (12 - n) for n in lengths], np.int32)
    for chosen in (codes, codes[[0, 5]], codes[[1]], codes[:0]):
        groups = ByLength((2, 8))(chosen)
        assert all(group.shape[1] <= limit for (_, group), limit in zip(groups, (2, 8, 12), strict=True))
        sums = [tf.cast(tf.reduce_sum(group, axis=1, keepdims=True), tf.float32) for _, group in groups]
        joined = InOrder()([rows for rows, _ in groups], sums)
        np.testing.assert_array_equal(joined, chosen.sum(axis=1, keepdims=True))
