"""One step of training for some of the networks while the others are frozen, and early stopping."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import FloatArray
from inverse_deid.research.representations.config import LearningConfig

Say = Callable[[str], None]
Tensors = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """What one epoch did.

    Args:
        phase: What was trained.
        epoch: Counted from 1 in each phase.
        loss: Mean training loss of a batch.
        validation: Validation loss, which decides when to stop.
        adversary_accuracy: Of the adversary on the validation pairs; None where it plays no part.
    """

    phase: str
    epoch: int
    loss: float
    validation: float
    adversary_accuracy: float | None = None


def tensors(batch: Any) -> dict[str, Any]:  # noqa: ANN401 - a `Batch` or a `PairBatch`
    """The arrays of a batch by name, as tensors."""
    return {name: tf.convert_to_tensor(getattr(batch, name)) for name in batch.__slots__}


def training_step(
    loss: Callable[..., Any], trained: Sequence[keras.Model], config: LearningConfig
) -> Callable[..., float]:
    """Compile a step of Nadam; networks that are not named are frozen, whatever the loss reads.

    Args:
        loss: Gives a scalar for dictionaries of tensors.
        trained: The networks that move; each has its own state and its own norm.
        config: Rate and norm.
    """
    optimizers = [
        keras.optimizers.Nadam(config.learning_rate, global_clipnorm=config.clip_norm) for _ in trained
    ]
    for network, optimizer in zip(trained, optimizers, strict=True):
        optimizer.build(network.trainable_variables)

    def step(*given: Tensors) -> Any:  # noqa: ANN401 - a scalar tensor
        with tf.GradientTape() as tape:
            value = loss(*given)
        gradients = tape.gradient(value, [network.trainable_variables for network in trained])
        for network, optimizer, gradient in zip(trained, optimizers, gradients, strict=True):
            optimizer.apply_gradients(zip(gradient, network.trainable_variables, strict=True))
        return value

    run = compiled(step)
    return lambda *given: float(run(*given))


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of dictionaries of tensors at its first call, once for batches of any size.

    Args:
        function: Gives a tensor; of each tensor it is given, the batch and its length may change.
    """
    made: list[Callable[..., Any]] = []

    def run(*given: Tensors) -> Any:  # noqa: ANN401 - a tensor
        if not made:
            signature = [_signature(one) for one in given]
            made.append(tf.function(function, input_signature=signature, autograph=False))
        return made[0](*given)

    return run


def _signature(given: Tensors) -> dict[str, tf.TensorSpec]:
    """Of batches of any size and length, so that a step is compiled once."""
    free = {name: min(2, len(one.shape)) for name, one in given.items()}
    return {
        name: tf.TensorSpec([None] * free[name] + list(one.shape[free[name] :]), one.dtype)
        for name, one in given.items()
    }


def epoch_loss(step: Callable[..., float], batches: Iterable[tuple[Tensors, ...]]) -> float:
    """Mean loss of a step over the batches of an epoch.

    Raises:
        StageError: It is not a number.
    """
    loss = float(np.mean([step(*batch) for batch in batches]))
    if not np.isfinite(loss):
        raise StageError("the loss is not a number. Lower learning.learning_rate")
    return loss


def weights_of(networks: Sequence[keras.Model]) -> list[list[FloatArray]]:
    """A copy of all weights."""
    return [[np.array(weight) for weight in network.get_weights()] for network in networks]


class EarlyStopping:
    """Keeps the weights of the best epoch and says when no better one is to be expected.

    Args:
        networks: Whose weights are kept.
        patience: Epochs without a lower validation loss.
    """

    def __init__(self, networks: Sequence[keras.Model], patience: int) -> None:
        self._networks, self._patience = networks, patience
        self._best, self._n_stale = np.inf, 0
        self._weights = weights_of(networks)

    def is_over(self, validation: float) -> bool:
        """Note the validation loss of an epoch."""
        if validation < self._best:
            self._best, self._n_stale, self._weights = validation, 0, weights_of(self._networks)
        else:
            self._n_stale += 1
        return self._n_stale >= self._patience

    def restore(self) -> None:
        """Go back to the best epoch."""
        for network, weights in zip(self._networks, self._weights, strict=True):
            network.set_weights(weights)


def run_phase(
    train: Callable[[int], float],
    validate: Callable[[], tuple[float, float | None]],
    networks: Sequence[keras.Model],
    config: LearningConfig,
    record: Callable[[int, float, float, float | None], EpochRecord],
) -> list[EpochRecord]:
    """Train epoch by epoch until validation gains no more, and end with the best weights.

    Args:
        train: Trains an epoch, counted from 1, and gives its mean loss.
        validate: Gives the validation loss and the accuracy of the adversary, if it plays a part.
        networks: What `train` changes.
        config: Epochs and patience.
        record: Makes the record of an epoch from its number, both losses and the accuracy.
    """
    stopping, records = EarlyStopping(networks, config.patience), []
    for epoch in range(1, config.epochs + 1):
        records.append(record(epoch, train(epoch), *validate()))
        if stopping.is_over(records[-1].validation):
            break
    stopping.restore()
    return records
