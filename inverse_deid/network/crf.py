"""A linear-chain CRF whose marginals serve as class probabilities.

The forward-backward marginals are the gradient of the log partition function
with respect to the scores, so that automatic differentiation gives them; masking,
which has no TensorFlow, computes them with `chain.marginals`.

Source: Lafferty, McCallum and Pereira 2001; Lample et al. 2016, section 2.2.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import layers

_FORBIDDEN = -1e4
_LEAST = 1e-37
"""Least sum of weights of which the greatest is 1, so that its logarithm is finite."""


class Crf(layers.Layer):  # type: ignore[misc]
    """Holds the transition scores and turns the scores of each token into marginals.

    `call` takes scores float32 (batch, time, n_classes) and valid bool (batch, time),
    and gives probabilities of that shape; `log_likelihood` is for training. With `learns_scores`, the scores
    themselves are returned in training, as `ChainLoss` needs them.
    """

    def __init__(self, *, learns_scores: bool = False, **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        self._learns_scores = learns_scores

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Make the transition scores: `transitions[i, j]` is for class j after class i."""
        n_classes = input_shape[-1]
        self.transitions = self.add_weight(
            shape=(n_classes, n_classes), initializer="zeros", name="transitions"
        )
        super().build(input_shape)

    def call(self, scores: Any, valid: Any, training: bool = False) -> Any:  # noqa: ANN401 - a tensor
        """Return the marginal probability of each class at each token."""
        if training and self._learns_scores:
            return scores
        with tf.GradientTape() as tape:
            tape.watch(scores)
            total = tf.reduce_sum(self.log_partition(scores, valid))
        return tape.gradient(total, scores)

    def compute_mask(self, *_: object) -> None:
        """Return None: padding is an input, and no mask is passed on."""

    def log_partition(self, scores: Any, valid: Any) -> Any:  # noqa: ANN401 - tensors of the backend
        """Return the log of the summed weight of all class sequences: float32 (batch,)."""
        by_time = tf.transpose(scores, (1, 0, 2))
        real = tf.transpose(valid, (1, 0))[..., None]
        # a matrix product of weights is much faster than logarithms of sums, pair by pair of classes
        highest = tf.reduce_max(self.transitions)
        weights = tf.exp(self.transitions - highest)

        def step(before: Any, at: tuple[Any, Any]) -> Any:  # noqa: ANN401
            score, is_real = at
            top = tf.stop_gradient(tf.reduce_max(before, axis=1, keepdims=True))
            summed = tf.matmul(tf.exp(before - top), weights)
            reached = tf.math.log(tf.maximum(summed, _LEAST)) + top + highest + score
            return tf.where(is_real, reached, before)

        # the first step returns its input: a scan over nothing, for single tokens, would fail
        follows = tf.concat([tf.zeros_like(real[:1]), real[1:]], axis=0)
        last = tf.scan(step, (by_time, follows), initializer=by_time[0])[-1]
        return tf.reduce_logsumexp(last, axis=1)

    def log_likelihood(self, scores: Any, valid: Any, allowed: Any) -> Any:  # noqa: ANN401
        """Return the log probability that every token has one of its allowed classes: float32 (batch,).

        Args:
            scores: float32 (batch, time, n_classes).
            valid: bool (batch, time).
            allowed: bool (batch, time, n_classes); a token of unknown class allows all.
        """
        kept = tf.where(allowed, scores, scores + _FORBIDDEN)
        both = self.log_partition(tf.concat([kept, scores], axis=0), tf.concat([valid, valid], axis=0))
        of_kept, of_all = tf.split(both, 2)
        return of_kept - of_all


class ChainLoss(keras.losses.Loss):  # type: ignore[misc]
    """The negative log likelihood of the labels under a CRF, per weight.

    Tokens of weight 0 may have any class. It takes targets float32 (batch, time, n_classes), 0 on padding,
    the scores of the network, and weights float32 (batch, time).
    """

    def __init__(self, crf: Crf) -> None:
        super().__init__(name="chain", reduction=None)
        self._crf = crf

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # noqa: ANN401
        """Return the loss of a batch, a scalar."""
        valid = tf.reduce_any(y_true > 0, axis=-1)
        allowed = (y_true > 0) | (sample_weight == 0)[..., None]
        likelihood = self._crf.log_likelihood(y_pred, valid, allowed)
        return -tf.reduce_sum(likelihood) / tf.maximum(tf.reduce_sum(sample_weight), 1.0)
