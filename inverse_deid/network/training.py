"""Train a network with Keras: its batches, its loss, its optimizer, and one call of `fit`.

In Keras's words, a training is::

    network.compile(optimizer=make_optimizer(config, n_steps), loss=make_loss(network))
    network.fit(batches, epochs=config.epochs, callbacks=[...], shuffle=False)

Another layer goes into `network.py`, another loss into `make_loss`, another callback into the list of the
caller (`training/run.py`).
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from inverse_deid.core.errors import ConfigurationError, Remedy, StageError
from inverse_deid.core.values import FloatArray, IntArray
from inverse_deid.core.wording import _
from inverse_deid.network.batches import (
    Example,
    batches,
    group_by_length,
    group_evenly,
    pad_examples,
    windows,
    with_dropouts,
)
from inverse_deid.network.checkpoints import Checkpoints, State
from inverse_deid.network.config import NetworkConfig, TrainingConfig

EpochData = Callable[[int], Sequence[Example]]
"""Returns the examples of an epoch, freshly augmented."""

RECALL = "validation_recall"
"""The result of validation after an epoch, in the logs that callbacks get."""

_SCORING_TOKENS = 16384
JITTER = 8
"""Tokens by which windows of a batch may differ in length more than they need to."""


class EpochBatches(keras.utils.PyDataset):  # type: ignore[misc]
    """Batches of windows of similar length, as many in every epoch: Keras wants that.

    Which windows come together depends on the seed and the epoch alone. A subclass takes the windows of an
    epoch, and reads a group of them.

    Args:
        size: About how long a batch is, with padding.
        jitter: By how much windows of a batch may differ in length more than they need to.
        seed: Of the order.
        n_batches: Batches of an epoch, at least 2; 0 = as many as the first epoch fills.
    """

    def __init__(self, size: int, jitter: int, seed: int, n_batches: int = 0) -> None:
        super().__init__()
        self.n_batches, self.n_tokens, self.epoch = n_batches, 0, -1
        self._size, self._jitter, self._seed = size, jitter, seed
        self._groups: list[list[int]] = []
        self._is_running = False

    def begin(self, epoch: int) -> None:
        """Make the batches of an epoch, counted from 0, unless they are there."""
        if epoch == self.epoch:
            return
        rng = np.random.default_rng([self._seed, epoch])
        lengths = self.take(epoch, rng)
        self.n_batches = self.n_batches or max(2, len(group_by_length(lengths, self._size)))
        self._groups = group_evenly(lengths, self.n_batches, self._jitter, rng)
        self.epoch = epoch

    @property
    def num_batches(self) -> int:
        """The batches of an epoch, as Keras asks for them."""
        return self.n_batches

    def on_epoch_begin(self) -> None:
        """Note that Keras begins to train."""
        self._is_running = True

    def __getitem__(self, index: int) -> tuple[dict[str, np.ndarray], np.ndarray, FloatArray]:
        """Return a batch.

        Before an epoch begins, Keras reads two and learns from them which sizes vary: so they do.
        """
        if self._is_running:
            return self.read(self._groups[index], index, 0)
        return self.read(self._groups[0], index, index)

    def take(self, epoch: int, rng: np.random.Generator) -> Sequence[int] | IntArray:
        """Take the windows of an epoch, set `n_tokens`, and return their lengths."""
        raise NotImplementedError

    def read(
        self, group: Sequence[int], index: int, n_more: int
    ) -> tuple[dict[str, np.ndarray], np.ndarray, FloatArray]:
        """Return inputs, targets and weights of a batch, `n_more` longer than its longest window."""
        raise NotImplementedError


class TokenBatches(EpochBatches):
    """The batches of a network: inputs, class probabilities to learn, and weights of the tokens.

    Args:
        data: Gives the examples of each epoch, counted from 0.
        network: What reads them.
        config: The training.
        dictionary_columns: Feature columns that `dictionary_dropout` hides.
        n_batches: As in `EpochBatches`.
    """

    def __init__(
        self,
        data: EpochData,
        network: keras.Model,
        config: TrainingConfig,
        dictionary_columns: Sequence[int] = (),
        n_batches: int = 0,
    ) -> None:
        super().__init__(config.batch_tokens, JITTER, config.seed, n_batches)
        self._data, self._config, self._columns = data, config, dictionary_columns
        self._names = [t.name for t in network.inputs]
        self._n_classes = int(network.output_shape[-1])
        self._max_characters = int(network.get_layer("characters").output.shape[1])
        self._windows: list[Example] = []

    def take(self, epoch: int, rng: np.random.Generator) -> list[int]:
        """Cut the examples of an epoch into windows, and hide some of what they say."""
        cut = windows(self._data(epoch), self._config.window, rng)
        self._windows = [with_dropouts(window, self._config, self._columns, rng) for window in cut]
        self.n_tokens = sum(map(len, cut))
        return [len(window) for window in cut]

    def read(
        self, group: Sequence[int], index: int, n_more: int
    ) -> tuple[dict[str, np.ndarray], FloatArray, FloatArray]:
        """Return a batch."""
        batch = pad_examples([self._windows[i] for i in group], self._max_characters, n_more)
        inputs = {name: batch.inputs[name] for name in self._names}
        return inputs, batch.targets(self._n_classes), batch.weights


class WarmUpThenDecay(keras.optimizers.schedules.LearningRateSchedule):  # type: ignore[misc]
    """A learning rate that rises linearly to its peak, then falls linearly to a share of it.

    Args:
        peak: The highest rate.
        n_steps: Steps of the whole training.
        warm_up: Share of the steps in which the rate rises.
        final_rate: The rate at the end as a share of the peak; 1 = no decay.
    """

    def __init__(self, peak: float, n_steps: int, warm_up: float, final_rate: float) -> None:
        self._peak, self._n_steps, self._warm_up, self._final = peak, n_steps, warm_up, final_rate

    def __call__(self, step: Any) -> Any:  # noqa: ANN401 - a tensor of the backend
        """Return the rate at a step, counted from 0."""
        n_rising = max(1, int(self._warm_up * self._n_steps))
        step = keras.ops.cast(step, "float32")
        rise = keras.ops.minimum(1.0, (step + 1) / n_rising)
        fallen = keras.ops.clip((step - n_rising) / max(1, self._n_steps - n_rising), 0.0, 1.0)
        return self._peak * rise * (1 - (1 - self._final) * fallen)

    def get_config(self) -> dict[str, float]:
        """Return the arguments."""
        return {
            "peak": self._peak,
            "n_steps": self._n_steps,
            "warm_up": self._warm_up,
            "final_rate": self._final,
        }


def make_optimizer(config: TrainingConfig, n_steps: int) -> keras.optimizers.Optimizer:
    """Return the optimizer of a training of `n_steps` steps."""
    rate = WarmUpThenDecay(config.learning_rate, n_steps, config.warm_up, config.final_rate)
    return keras.optimizers.Adam(rate, global_clipnorm=config.clip_norm)


def make_loss(network: keras.Model) -> keras.losses.Loss:
    """Return the loss of a network: the cross-entropy of tokens, or the likelihood of a CRF, per weight."""
    if any(layer.name == "crf" for layer in network.layers):
        from inverse_deid.network.crf import ChainLoss

        return ChainLoss(network.get_layer("crf"))
    return keras.losses.CategoricalCrossentropy(reduction="mean_with_sample_weight")


def fit(  # noqa: PLR0913 - what a training is made of
    network: keras.Model,
    data: EpochData,
    config: TrainingConfig,
    *,
    dictionary_columns: Sequence[int] = (),
    validate: Callable[[keras.Model], float] | None = None,
    checkpoints: Checkpoints | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> None:
    """Train a network in place; with `config.patience` it ends with the weights of its best epoch.

    Args:
        network: As `build_network` returns it.
        data: Gives the examples of each epoch, counted from 0.
        config: The training.
        dictionary_columns: Feature columns that `dictionary_dropout` hides.
        validate: Measures the network after an epoch; higher is better.
        checkpoints: Save the state after each epoch. An interrupted run resumes from there.
        callbacks: Of Keras, called after all that. The logs of an epoch are `loss`, `tokens`,
            `tokens_per_second` and, with validation, `validation_recall` and `best`.

    Raises:
        ConfigurationError: Patience without validation, or a checkpoint of another run.
        StageError: The loss is not a number, or the device is out of memory.
        OutputError: The checkpoint cannot be written.
    """
    if config.patience and validate is None:
        raise ConfigurationError(
            _("training.patience needs validation. Give held-out documents, or set it to 0")
        )
    keras.utils.set_random_seed(config.seed)
    state = (checkpoints.read() if checkpoints else None) or State()
    is_over = bool(config.patience) and state.epoch - state.best_epoch >= config.patience
    own = TokenBatches(data, network, config, dictionary_columns, state.n_batches)
    if state.epoch < config.epochs and not is_over:
        own.begin(state.epoch)
    network.compile(
        optimizer=make_optimizer(config, config.epochs * max(1, own.n_batches)),
        loss=make_loss(network),
        jit_compile=False,  # the lengths differ from batch to batch
    )
    stopping = None if validate is None else Validation(validate, config.patience, state)
    run = Run(own, 0 if is_over else config.epochs, config.seed, state, stopping, checkpoints)
    fit_epochs(network, run, callbacks)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of `epochs` epochs over `data`, from a state on, with what watches it; `seed` is of dropout."""

    data: EpochBatches
    epochs: int
    seed: int
    state: State
    stopping: Validation | None = None
    checkpoints: Checkpoints | None = None


def fit_epochs(model: keras.Model, run: Run, callbacks: Sequence[keras.callbacks.Callback]) -> None:
    """Fit a compiled model, from the state of an earlier run on. It may read tokens or word pieces.

    Raises:
        ConfigurationError: A checkpoint of another model.
        StageError: The loss is not a number, or the device is out of memory.
        OutputError: The checkpoint cannot be written.
    """
    with enough_memory("before the first batch"):
        model.optimizer.build(model.trainable_variables)
        if run.checkpoints:
            run.checkpoints.restore(model, model.optimizer, run.state)
    if run.state.epoch >= run.epochs:
        if run.state.best_weights:
            model.set_weights(run.state.best_weights)
        return
    own: list[keras.callbacks.Callback] = [
        keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: _begin(run, epoch)),
        Figures(run.data),
    ]
    own += [run.stopping] if run.stopping else []
    own += [Saving(run)] if run.checkpoints else []
    with enough_memory("in training"):
        model.fit(
            run.data,
            epochs=run.epochs,
            initial_epoch=run.state.epoch,
            callbacks=[*own, *callbacks],
            shuffle=False,
            verbose=0,
        )


def _begin(run: Run, epoch: int) -> None:
    if keras.backend.backend() == "torch":  # whose dropout has one state, and no checkpoint has it
        keras.utils.set_random_seed((run.seed * 1000 + epoch) % 2**32)
    run.data.begin(epoch)


class Figures(keras.callbacks.Callback):  # type: ignore[misc]
    """Adds `tokens` and `tokens_per_second` to the logs of an epoch. Refuses a loss that is not a number."""

    def __init__(self, data: EpochBatches) -> None:
        super().__init__()
        self._data = data
        self._start = 0.0

    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        """Note the time."""
        self._start = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: dict[str, float]) -> None:
        """Add the figures.

        Raises:
            StageError: The loss is not a number.
        """
        if not np.isfinite(logs["loss"]):
            raise StageError(
                _("the loss of epoch {epoch} is not a number. Lower the learning rate", epoch=epoch + 1)
            )
        logs["tokens"] = self._data.n_tokens
        logs["tokens_per_second"] = self._data.n_tokens / max(time.perf_counter() - self._start, 1e-9)


class Validation(keras.callbacks.EarlyStopping):  # type: ignore[misc]
    """Measures the network after an epoch, and stops after `patience` epochs without gain (0 = never).

    With patience, the weights of the best epoch are kept in the end. It adds `validation_recall` and `best`,
    1 or 0, to the logs. It begins in the state of an interrupted run.
    """

    def __init__(self, measure: Callable[[keras.Model], float], patience: int, state: State) -> None:
        super().__init__(
            monitor=RECALL,
            mode="max",
            patience=patience or sys.maxsize,
            restore_best_weights=patience > 0,
        )
        self._measure, self._state = measure, state

    def on_train_begin(self, logs: object = None) -> None:
        """Take up the state."""
        super().on_train_begin(logs)
        state = self._state
        if state.best_epoch:
            self.best, self.best_epoch = state.best_gain, state.best_epoch - 1
            self.best_weights = state.best_weights or None
            self.wait = state.epoch - state.best_epoch

    def on_epoch_end(self, epoch: int, logs: dict[str, float]) -> None:
        """Measure the network."""
        with enough_memory("on the held-out documents"):
            logs[RECALL] = self._measure(self.model)
        super().on_epoch_end(epoch, logs)
        logs["best"] = int(self.best_epoch == epoch)

    def add_to(self, state: State) -> State:
        """Return a state with the best epoch."""
        return dataclasses.replace(
            state,
            best_epoch=self.best_epoch + 1,
            best_gain=float(self.best),
            best_weights=self.best_weights or [],
        )


class Saving(keras.callbacks.Callback):  # type: ignore[misc]
    """Saves the state of a run after each epoch, so that it can be resumed to the last bit."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run

    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        """Save weights, moments and random generators.

        Raises:
            OutputError: The file cannot be written.
        """
        run = self._run
        state = State(n_batches=run.data.n_batches, epoch=epoch + 1)
        if run.checkpoints:
            state = run.stopping.add_to(state) if run.stopping else state
            run.checkpoints.save(self.model, self.model.optimizer, state)


@contextmanager
def enough_memory(what: str) -> Iterator[None]:
    """Turn a device's lack of memory into one line.

    Raises:
        StageError: The device ran out of memory.
    """
    try:
        yield
    except Exception as error:
        if type(error).__name__ not in {"ResourceExhaustedError", "OutOfMemoryError"}:
            raise
        raise StageError(
            _(
                "the device ran out of memory {what}. Lower training.batch_tokens or network.token_units",
                what=what,
            ),
            remedies=[Remedy("device", "cpu")],
        ) from None


def probabilities(
    network: keras.Model, examples: Sequence[Example], config: NetworkConfig
) -> list[FloatArray]:
    """Return class probabilities of every token, by Keras: float32 (n_tokens, n_classes) per example."""
    found: list[FloatArray] = [np.zeros((0, network.output_shape[-1]), np.float32)] * len(examples)
    names = [t.name for t in network.inputs]
    real = [i for i, example in enumerate(examples) if len(example)]
    for batch in batches([examples[i] for i in real], _SCORING_TOKENS, config.max_characters):
        rows = network.predict_on_batch({n: batch.inputs[n] for n in names})
        for row, member in zip(rows, batch.members, strict=True):
            found[real[member]] = row[: len(examples[real[member]])]
    return found
