"""Fit the network: weighted cross-entropy, Adam with warm-up and linear decay."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import FloatArray
from inverse_deid.deep.batches import Batch, Example, batches, padded, windows
from inverse_deid.deep.config import NetworkConfig, TrainingConfig

TrainingStep = Callable[[dict[str, Any], Any, Any], Any]

EpochData = Callable[[int], Sequence[Example]]
"""Gives the examples of an epoch, freshly augmented."""


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What one epoch did.

    Args:
        epoch: Counted from 1.
        loss: Mean weighted cross-entropy a token.
        n_tokens: Tokens trained on.
        seconds: Time of the training steps alone.
    """

    epoch: int
    loss: float
    n_tokens: int
    seconds: float


def fit(
    network: keras.Model,
    data: EpochData,
    config: TrainingConfig,
    *,
    dictionary_columns: Sequence[int] = (),
    on_epoch: Callable[[EpochReport], None] = lambda report: None,
) -> None:
    """Train a network in place.

    Args:
        network: From `build_network`.
        data: The examples of each epoch, counted from 0.
        config: Epochs, rates, weights, dropouts, seed.
        dictionary_columns: Feature columns that `dictionary_dropout` hides.
        on_epoch: Called after each epoch.

    Raises:
        StageError: The loss is not a number.
    """
    keras.utils.set_random_seed(config.seed)
    rng = np.random.default_rng(config.seed)
    examples = windows(data(0), config.window, rng)
    n_steps = config.epochs * _count_batches(examples, config.batch_tokens)
    step = _training_step(network, _optimizer(config, n_steps))
    names = [t.name for t in network.inputs]
    max_characters = int(network.get_layer("characters").output.shape[1])
    for epoch in range(config.epochs):
        if epoch:
            examples = windows(data(epoch), config.window, rng)
        noisy = [_with_dropouts(example, config, dictionary_columns, rng) for example in examples]
        report = _run_epoch(step, names, batches(noisy, config.batch_tokens, max_characters, rng), epoch + 1)
        on_epoch(report)


def _count_batches(examples: Sequence[Example], batch_tokens: int) -> int:
    return max(1, round(1.04 * sum(map(len, examples)) / batch_tokens))


def _optimizer(config: TrainingConfig, n_steps: int) -> keras.optimizers.Optimizer:
    n_warm_up = max(1, int(config.warm_up * n_steps))
    rate = keras.optimizers.schedules.PolynomialDecay(
        config.learning_rate, max(1, n_steps - n_warm_up), end_learning_rate=config.learning_rate / 50
    )
    return keras.optimizers.Adam(_WarmUp(rate, n_warm_up), global_clipnorm=config.clip_norm)


class _WarmUp(keras.optimizers.schedules.LearningRateSchedule):  # type: ignore[misc]
    """A schedule that is reached linearly."""

    def __init__(self, after: keras.optimizers.schedules.LearningRateSchedule, n_steps: int) -> None:
        self._after = after
        self._n_steps = n_steps

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        step = tf.cast(step, tf.float32)
        ramp = tf.minimum(1.0, (step + 1) / self._n_steps)
        return ramp * self._after(tf.maximum(0.0, step - self._n_steps))


def _training_step(network: keras.Model, optimizer: keras.optimizers.Optimizer) -> TrainingStep:
    """Compile one step: inputs, labels and weights in, sum of the weighted loss out."""
    optimizer.build(network.trainable_variables)
    signature = [
        {t.name: tf.TensorSpec((None, *t.shape[1:]), t.dtype, t.name) for t in network.inputs},
        tf.TensorSpec((None, None), tf.int32),
        tf.TensorSpec((None, None), tf.float32),
    ]

    @tf.function(input_signature=signature)  # type: ignore[untyped-decorator]
    def step(inputs: dict[str, tf.Tensor], labels: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            probabilities = network(inputs, training=True)
            losses = keras.losses.sparse_categorical_crossentropy(labels, probabilities)
            total = tf.reduce_sum(losses * weights)
            loss = total / tf.maximum(tf.reduce_sum(weights), 1.0)
        gradients = tape.gradient(loss, network.trainable_variables)
        optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))
        return total

    compiled: TrainingStep = step
    return compiled


def _run_epoch(step: TrainingStep, names: Sequence[str], data: Iterable[Batch], epoch: int) -> EpochReport:
    start, total, weight, n_tokens = time.perf_counter(), 0.0, 0.0, 0
    for batch in data:
        inputs = {name: batch.inputs[name] for name in names}
        total += float(step(inputs, batch.labels, batch.weights))
        weight += float(batch.weights.sum())
        n_tokens += int(batch.inputs["valid"].sum())
    loss = total / max(weight, 1.0)
    if not np.isfinite(loss):
        raise StageError(f"the loss of epoch {epoch} is not a number; lower training.learning_rate")
    return EpochReport(epoch, loss, n_tokens, time.perf_counter() - start)


def _with_dropouts(
    example: Example, config: TrainingConfig, columns: Sequence[int], rng: np.random.Generator
) -> Example:
    """Hide some words from the word embedding and some dictionary features."""
    n_tokens = len(example)
    share = config.word_dropout * np.where(example.labels > 0, 2, 1)
    word_rows = np.where(rng.random(n_tokens) < share, 0, example.word_rows).astype(np.int32)
    features = example.features
    if len(columns):
        features = features.copy()
        hidden = np.flatnonzero(rng.random(n_tokens) < config.dictionary_dropout)
        features[np.ix_(hidden, np.asarray(columns))] = 0
    return Example(example.words, word_rows, example.gaps, features, example.labels, example.weights)


def probabilities(
    network: keras.Model, examples: Sequence[Example], config: NetworkConfig
) -> list[FloatArray]:
    """Class probabilities of every token, by Keras: float32 (n_tokens, n_classes) an example."""
    found: list[FloatArray] = []
    names = [t.name for t in network.inputs]
    for example in examples:
        batch = padded([example], config.max_characters)
        found.append(np.asarray(network({n: batch.inputs[n] for n in names}, training=False))[0])
    return found
