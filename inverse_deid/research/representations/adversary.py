"""Two adversaries that ask whether two sequences come from the same sentence.

Source: Friedrich et al. 2019, section 5.3; gradient reversal after Ganin et al. 2016.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import layers


class GradientReversal(layers.Layer):  # type: ignore[misc]
    """Passes values on unchanged, and gradients with the opposite sign."""

    def call(self, values: Any) -> Any:  # noqa: ANN401 - a tensor of the backend
        """The same values."""
        return _reversed(values)


@tf.custom_gradient  # type: ignore[untyped-decorator]
def _reversed(values: Any) -> Any:  # noqa: ANN401 - a tensor of the backend
    return tf.identity(values), lambda gradient: -gradient


def build_adversary(word_dim: int, dim: int, units: int) -> keras.Model:
    """Build both adversaries as one model.

    The first reads a representation beside word vectors, the second two representations
    and their cosine similarities, token by token.

    Args:
        word_dim: Length of a word vector.
        dim: Length of a private vector.
        units: Of each direction of each LSTM.

    Returns:
        A model of the inputs `first` float32 (batch, time, dim), `words` float32 (batch, time,
        word_dim), `second` float32 (batch, time, dim) and `valid` bool (batch, time); the output
        is float32 (batch,), the mean of both probabilities of "same sentence".
    """
    first = layers.Input((None, dim), name="first")
    words = layers.Input((None, word_dim), name="words")
    second = layers.Input((None, dim), name="second")
    valid = layers.Input((None,), dtype="bool", name="valid")
    cosines = _Cosines(name="cosines")(first, second)
    with_words = layers.Concatenate(name="first_task")([first, words])
    with_second = layers.Concatenate(name="second_task")([first, second, cosines])
    answers = [
        _answer(sequence, valid, units, number)
        for number, sequence in enumerate((with_words, with_second), start=1)
    ]
    mean = layers.Average(name="mean")(answers)
    return keras.Model([first, words, second, valid], layers.Reshape((), name="same")(mean), name="adversary")


class _Cosines(layers.Layer):  # type: ignore[misc]
    """Cosine similarity of two sequences, token by token: (batch, time, dim) twice to (batch, time, 1)."""

    def call(self, one: Any, other: Any) -> Any:  # noqa: ANN401 - tensors of the backend
        unit_one, unit_other = tf.math.l2_normalize(one, axis=-1), tf.math.l2_normalize(other, axis=-1)
        return tf.reduce_sum(unit_one * unit_other, axis=-1, keepdims=True)


def _answer(sequence: Any, valid: Any, units: int, number: int) -> Any:  # noqa: ANN401 - Keras tensors
    hidden = layers.Bidirectional(layers.LSTM(units), name=f"lstm_{number}")(sequence, mask=valid)
    return layers.Dense(1, activation="sigmoid", name=f"answer_{number}")(hidden)
