"""Fit the network: weighted cross-entropy or the likelihood of a CRF, Adam with warm-up and linear decay."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.values import FloatArray
from inverse_deid.core.wording import _
from inverse_deid.network.batches import Batch, Example, batches, windows, with_dropouts
from inverse_deid.network.checkpoints import Checkpoints, State
from inverse_deid.network.config import NetworkConfig, TrainingConfig

TrainingStep = Callable[[dict[str, Any], Any, Any, Any], Any]

EpochData = Callable[[int], Sequence[Example]]
"""Returns the examples of an epoch, freshly augmented."""

_SCORING_TOKENS = 16384


@dataclass(frozen=True, slots=True)
class EpochReport:
    """The result of an epoch, counted from 1: the mean weighted loss per token, and the time of its steps.

    `gain` is the result of validation after it, None without validation, and `best` if it is the best so far.
    """

    epoch: int
    loss: float
    n_tokens: int
    seconds: float
    gain: float | None = None
    best: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Callbacks and checkpoints of a training.

    `on_batch` receives the epoch (from 1), the batches done, their approximate number, and the batch's loss.
    `validate` measures the network after an epoch; higher is better. `checkpoints` save the state after each
    epoch, to resume from.
    """

    on_batch: Callable[[int, int, int, float], None] = lambda *_: None
    on_epoch: Callable[[EpochReport], None] = lambda report: None
    validate: Callable[[keras.Model], float] | None = None
    checkpoints: Checkpoints | None = None


def fit(
    network: keras.Model,
    data: EpochData,
    config: TrainingConfig,
    *,
    dictionary_columns: Sequence[int] = (),
    watch: Watch | None = None,
) -> None:
    """Train a network in place; with `config.patience` it ends with the weights of its best epoch.

    `data` gives the examples of each epoch, counted from 0. `dictionary_columns` are the feature columns
    that `dictionary_dropout` hides.

    Raises:
        ConfigurationError: Patience without validation, or a checkpoint of another run.
        StageError: The loss is not a number, or the device is out of memory.
        OutputError: The checkpoint cannot be written.
    """
    _Training(network, data, config, dictionary_columns, watch or Watch()).run()


@dataclass(slots=True)
class _Training:
    """One call of `fit`."""

    network: keras.Model
    data: EpochData
    config: TrainingConfig
    dictionary_columns: Sequence[int]
    watch: Watch
    first: Sequence[Example] | None = None
    """The examples of the first epoch, if they were made to count its batches."""

    def run(self) -> None:
        config, network, watch = self.config, self.network, self.watch
        if config.patience and watch.validate is None:
            raise ConfigurationError(
                _("training.patience needs validation. Give held-out documents, or set it to 0")
            )
        keras.utils.set_random_seed(config.seed)
        state = watch.checkpoints.read() if watch.checkpoints else None
        if state is None:
            self.first = self.data(0)
            n_tokens = sum(map(len, self.first))
            state = State(n_batches=max(1, round(1.04 * n_tokens / config.batch_tokens)))
        optimizer = _optimizer(config, config.epochs * state.n_batches)
        with enough_memory("before the first batch"):
            optimizer.build(network.trainable_variables)
            if watch.checkpoints:
                watch.checkpoints.restore(network, optimizer, state)
        step = training_step(network, optimizer)
        while state.epoch < config.epochs:
            if config.patience and state.epoch - state.best_epoch >= config.patience:
                break
            report = self._epoch(step, state)
            state = dataclasses.replace(state, epoch=report.epoch)
            if report.best and report.gain is not None:
                kept = network.trainable_variables if config.patience else ()
                weights = [np.asarray(variable).copy() for variable in kept]
                state = dataclasses.replace(
                    state, best_epoch=report.epoch, best_gain=report.gain, best_weights=weights
                )
            if watch.checkpoints:
                watch.checkpoints.save(network, optimizer, state)
            watch.on_epoch(report)
        if state.best_weights:
            for variable, weight in zip(network.trainable_variables, state.best_weights, strict=True):
                variable.assign(weight)

    def _batches(self, epoch: int) -> Iterator[Batch]:
        """Return the batches of an epoch; its random choices depend on seed and epoch alone."""
        config = self.config
        examples, self.first = self.first, None
        if examples is None:
            examples = self.data(epoch)
        rng = np.random.default_rng([config.seed, epoch])
        noisy = [
            with_dropouts(example, config, self.dictionary_columns, rng)
            for example in windows(examples, config.window, rng)
        ]
        max_characters = int(self.network.get_layer("characters").output.shape[1])
        return batches(noisy, config.batch_tokens, max_characters, rng)

    def _epoch(self, step: TrainingStep, state: State) -> EpochReport:
        epoch = state.epoch + 1
        data = self._batches(state.epoch)
        names = [t.name for t in self.network.inputs]
        start, total, weight, n_tokens = time.perf_counter(), 0.0, 0.0, 0
        for done, batch in enumerate(data, start=1):
            inputs = {name: batch.inputs[name] for name in names}
            with enough_memory(f"on a batch of {'x'.join(map(str, batch.labels.shape))} tokens"):
                loss = float(step(inputs, batch.labels, batch.weights, batch.opinion))
            batch_weight = float(batch.weights.sum())
            total, weight = total + loss, weight + batch_weight
            n_tokens += int(batch.inputs["valid"].sum())
            self.watch.on_batch(epoch, done, state.n_batches, loss / max(batch_weight, 1.0))
        loss = total / max(weight, 1.0)
        if not np.isfinite(loss):
            raise StageError(
                _("the loss of epoch {epoch} is not a number. Lower training.learning_rate", epoch=epoch)
            )
        report = EpochReport(epoch, loss, n_tokens, time.perf_counter() - start)
        if self.watch.validate is None:
            return report
        with enough_memory("on the held-out documents"):
            gain = self.watch.validate(self.network)
        return dataclasses.replace(report, gain=gain, best=gain > state.best_gain)


def _optimizer(config: TrainingConfig, n_steps: int) -> keras.optimizers.Optimizer:
    n_warm_up = max(1, int(config.warm_up * n_steps))
    rate = keras.optimizers.schedules.PolynomialDecay(
        config.learning_rate,
        max(1, n_steps - n_warm_up),
        end_learning_rate=config.learning_rate * config.final_rate,
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


def training_step(
    network: keras.Model,
    optimizer: keras.optimizers.Optimizer,
    penalty: Callable[[], tf.Tensor] | None = None,
) -> TrainingStep:
    """Compile a step from inputs, labels, weights and opinion to the sum of the weighted loss.

    `penalty` is a scalar that is minimised along with the mean loss, and not reported.
    """
    signature = [
        {t.name: tf.TensorSpec((None, *t.shape[1:]), t.dtype, t.name) for t in network.inputs},
        tf.TensorSpec((None, None), tf.int32),
        tf.TensorSpec((None, None), tf.float32),
        tf.TensorSpec((None, None, None), tf.float16),
    ]
    names = {layer.name for layer in network.layers}
    losses = _chain_losses(network) if "crf" in names else _token_losses(network)

    @tf.function(input_signature=signature)  # type: ignore[untyped-decorator]
    def step(
        inputs: dict[str, tf.Tensor], labels: tf.Tensor, weights: tf.Tensor, opinion: tf.Tensor
    ) -> tf.Tensor:
        with tf.GradientTape() as tape:
            total = losses(inputs, labels, weights, opinion)
            loss = total / tf.maximum(tf.reduce_sum(weights), 1.0)
            loss = loss if penalty is None else loss + penalty()
        gradients = tape.gradient(loss, network.trainable_variables)
        optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))
        return total

    compiled: TrainingStep = step
    return compiled


def _token_losses(network: keras.Model) -> TrainingStep:
    """Return the cross-entropy of all tokens against labels and, by their share, teachers' opinions."""

    def losses(
        inputs: dict[str, tf.Tensor], labels: tf.Tensor, weights: tf.Tensor, opinion: tf.Tensor
    ) -> tf.Tensor:
        probabilities = network(inputs, training=True)
        n_classes = probabilities.shape[-1]
        opinion = tf.cast(opinion, tf.float32)
        of_label = 1.0 - tf.reduce_sum(opinion, axis=-1, keepdims=True)
        opinion = tf.pad(opinion, [[0, 0], [0, 0], [0, n_classes - tf.shape(opinion)[-1]]])
        targets = of_label * tf.one_hot(labels, n_classes) + opinion
        return tf.reduce_sum(keras.losses.categorical_crossentropy(targets, probabilities) * weights)

    return losses


def _chain_losses(network: keras.Model) -> TrainingStep:
    """Return the negative log likelihood under the CRF. Tokens of weight 0 may have any class."""
    crf = network.get_layer("crf")
    scorer = keras.Model(network.inputs, network.get_layer("classes").output)

    def losses(
        inputs: dict[str, tf.Tensor], labels: tf.Tensor, weights: tf.Tensor, _: tf.Tensor
    ) -> tf.Tensor:
        scores = scorer(inputs, training=True)
        allowed = tf.cast(tf.one_hot(labels, scores.shape[-1]), tf.bool) | (weights == 0)[..., None]
        return -tf.reduce_sum(crf.log_likelihood(scores, inputs["valid"], allowed))

    return losses


@contextmanager
def enough_memory(what: str) -> Iterator[None]:
    """Turn a device's lack of memory into one line.

    Raises:
        StageError: The device ran out of memory.
    """
    try:
        yield
    except tf.errors.ResourceExhaustedError:
        raise StageError(
            _(
                "the device ran out of memory {what}. Lower training.batch_tokens or "
                "network.token_units, or hide the GPU (CUDA_VISIBLE_DEVICES=-1)",
                what=what,
            )
        ) from None


def probabilities(
    network: keras.Model, examples: Sequence[Example], config: NetworkConfig
) -> list[FloatArray]:
    """Return class probabilities of every token, by Keras: float32 (n_tokens, n_classes) per example."""
    found: list[FloatArray] = [np.zeros((0, network.output_shape[-1]), np.float32)] * len(examples)
    names = [t.name for t in network.inputs]
    real = [i for i, example in enumerate(examples) if len(example)]
    for batch in batches([examples[i] for i in real], _SCORING_TOKENS, config.max_characters, None):
        rows = network.predict_on_batch({n: batch.inputs[n] for n in names})
        for row, member in zip(rows, batch.members, strict=True):
            found[real[member]] = row[: len(examples[real[member]])]
    return found
