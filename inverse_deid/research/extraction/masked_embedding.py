"""The two layers by which an extractor sees words only if the de-identifier lets them through.

Source: Lange, Adel and Strötgen 2020, section 3.3.2; Jang, Gu and Poole 2017; Maddison, Mnih and
Teh 2017 (Gumbel softmax).
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

_SMALLEST = 1e-20


def gumbel_softmax(log_weights: Any, noise: Any, temperature: float) -> Any:  # noqa: ANN401 - tensors
    """A point on the simplex near a draw from the categorical distribution; all but one at 0 as T goes to 0.

    Args:
        log_weights: float32 (..., n_classes), log probabilities up to a constant.
        noise: float32 of the same shape, draws from Gumbel(0, 1); 0 = the most probable class.
        temperature: Above 0.
    """
    return tf.nn.softmax((log_weights + noise) / temperature, axis=-1)


class GumbelChoice(layers.Layer):  # type: ignore[misc]
    """One class a token, as a one-hot vector whose gradient is that of the Gumbel softmax.

    In training the class is drawn, else it is the most probable one. `call` takes
    probabilities float32 (batch, time, n_classes) and gives exact zeros and ones of that shape.

    Args:
        temperature: Of the softmax, above 0.
        seed: Of the draws.
    """

    def __init__(self, temperature: float, seed: int, **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        self._temperature = temperature
        self._draws = keras.random.SeedGenerator(seed)

    def call(self, probabilities: Any, training: bool | None = None) -> Any:  # noqa: ANN401
        """The choice of each token."""
        log_weights = tf.math.log(probabilities + _SMALLEST)
        noise = tf.zeros_like(log_weights)
        if training:
            uniform = keras.random.uniform(tf.shape(log_weights), 1e-7, 1.0, seed=self._draws)
            noise = -tf.math.log(-tf.math.log(uniform) + _SMALLEST)
        soft = gumbel_softmax(log_weights, noise, self._temperature)
        hard = tf.one_hot(tf.argmax(log_weights + noise, axis=-1), tf.shape(soft)[-1])
        # the bracket is exactly 0, so that the value is exactly the hard choice
        return hard + (soft - tf.stop_gradient(soft))


class MaskedEmbedding(layers.Layer):  # type: ignore[misc]
    """Replaces the vectors of chosen tokens by trained vectors of their class.

    `call` takes vectors float32 (batch, time, dim) and a one-hot choice float32 (batch, time,
    n_labels), whose first label lets the word through; what is masked counts as nothing, exactly.

    Args:
        class_of_label: The class of each label but the first, counted from 0.
    """

    def __init__(self, class_of_label: tuple[int, ...], **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        self._class_of_label = class_of_label

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Make the vectors of the classes."""
        shape = (max(self._class_of_label) + 1, input_shape[-1])
        self.class_vectors = self.add_weight(shape=shape, initializer="uniform", name="class_vectors")
        super().build(input_shape)

    def call(self, vectors: Any, choice: Any) -> Any:  # noqa: ANN401
        """The vectors that the extractor may see."""
        of_label = tf.gather(self.class_vectors, np.array(self._class_of_label))
        return choice[..., :1] * vectors + tf.matmul(choice[..., 1:], of_label)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """That of the vectors."""
        return input_shape
