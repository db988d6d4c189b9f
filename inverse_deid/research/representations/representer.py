"""The private representation R = N_out + LSTM(E + N_in), with noise whose strength is learned.

Source: Friedrich et al. 2019, section 5.2, equation 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from inverse_deid.core.values import FloatArray
from inverse_deid.research.representations.config import RepresentationConfig

NOISE_IN, NOISE_OUT = "noise_in", "noise_out"
"""Names of the layers of noise, on words and on private vectors."""


class TrainableNoise(layers.Layer):  # type: ignore[misc]
    """Adds Gaussian noise with a learned standard deviation in each dimension, always above 0.

    The draws are an input, so that whoever calls the layer decides where they come from.

    Args:
        initial: Standard deviation at the start.
    """

    def __init__(self, initial: float, **options: Any) -> None:  # noqa: ANN401 - as Keras declares it
        super().__init__(**options)
        self._initial = initial

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Make one weight a dimension; its softplus is the standard deviation."""
        inverse_softplus = self._initial + math.log(-math.expm1(-self._initial))
        self.strength = self.add_weight(
            shape=(input_shape[-1],),
            initializer=keras.initializers.Constant(inverse_softplus),
            name="strength",
        )
        super().build(input_shape)

    @property
    def standard_deviations(self) -> Any:  # noqa: ANN401 - a tensor of the backend
        """float32 (dim,), the standard deviations."""
        return tf.math.softplus(self.strength)

    def call(self, values: Any, draws: Any) -> Any:  # noqa: ANN401 - tensors of the backend
        """Values plus scaled draws.

        Args:
            values: float32 (batch, time, dim).
            draws: float32 of that shape, standard normal; 0 = no noise.
        """
        return values + self.standard_deviations * draws

    def compute_mask(self, *_: object) -> None:
        """The padding is given as an input; no mask is passed on."""


def build_representer(config: RepresentationConfig, word_dim: int) -> keras.Model:
    """Build the representation.

    Args:
        config: Size, and noise at the start.
        word_dim: Length of a word vector.

    Returns:
        A model of the inputs `vectors` float32 (batch, time, word_dim), `draws_in` of that
        shape, `draws_out` float32 (batch, time, dim) and `valid` bool (batch, time); the
        output is float32 (batch, time, dim).
    """
    vectors = layers.Input((None, word_dim), name="vectors")
    draws_in = layers.Input((None, word_dim), name="draws_in")
    draws_out = layers.Input((None, config.dim), name="draws_out")
    valid = layers.Input((None,), dtype="bool", name="valid")
    noisy = TrainableNoise(config.noise_in, name=NOISE_IN)(vectors, draws_in)
    lstm = layers.LSTM(config.dim // 2, return_sequences=True, name="lstm")
    hidden = layers.Bidirectional(lstm, name="bilstm")(noisy, mask=valid)
    output = TrainableNoise(config.noise_out, name=NOISE_OUT)(hidden, draws_out)
    return keras.Model([vectors, draws_in, draws_out, valid], output, name="representer")


@contextmanager
def noise_held(representer: keras.Model) -> Iterator[None]:
    """Within it, steps of training that are built leave the deviations of the noise as they are."""
    noises = [representer.get_layer(name) for name in (NOISE_IN, NOISE_OUT)]
    for noise in noises:
        noise.trainable = False
    try:
        yield
    finally:
        for noise in noises:
            noise.trainable = True


def remove_noise(representer: keras.Model) -> None:
    """Take the noise away, for good: to see what it hides."""
    for name in (NOISE_IN, NOISE_OUT):
        strength = representer.get_layer(name).strength
        strength.assign(tf.fill(strength.shape, -math.inf))


def standard_deviations_of(representer: keras.Model) -> dict[str, FloatArray]:
    """The standard deviations of the noise by layer: `NOISE_IN` float32 (word_dim,), `NOISE_OUT` (dim,)."""
    return {
        name: np.asarray(representer.get_layer(name).standard_deviations) for name in (NOISE_IN, NOISE_OUT)
    }


def noise_range(representer: keras.Model) -> dict[str, list[float]]:
    """Least, median and most of the standard deviations of each layer of noise."""
    return {
        name: np.quantile(values, (0, 0.5, 1)).tolist()
        for name, values in standard_deviations_of(representer).items()
    }


def represented(representer: keras.Model, vectors: Any, valid: Any) -> Any:  # noqa: ANN401 - tensors
    """Represent a batch in training, with fresh draws of TensorFlow's global generator.

    Args:
        representer: From `build_representer`.
        vectors: float32 (batch, time, word_dim).
        valid: bool (batch, time).
    """
    shape = tf.shape(vectors)
    dim = representer.output_shape[-1]
    draws_in = tf.random.normal(shape)
    draws_out = tf.random.normal([shape[0], shape[1], dim])
    return representer([vectors, draws_in, draws_out, valid], training=True)
