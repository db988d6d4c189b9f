"""One epoch at one site, whatever the method: weights in, weights out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import keras
import numpy as np
import tensorflow as tf

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import FloatArray
from inverse_deid.network.batches import Example, batches, windows
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.training import enough_memory, probabilities, training_step, with_dropouts
from inverse_deid.research.federated.local_config import LocalConfig
from inverse_deid.research.federated.weights import Weights, layout_of, weights_of

OptimizerState = list[np.ndarray]
"""The variables of an optimizer: they stay at the site and are never sent."""


@dataclass(frozen=True, slots=True, eq=False)
class LocalEpoch:
    """What an epoch at a site made.

    Args:
        weights: After it.
        optimizer: To go on with at the same site; empty where the site keeps it.
        loss: Mean weighted loss a token.
        n_tokens: Tokens trained on.
        seconds: Time of the training steps.
    """

    weights: Weights = field(repr=False)
    optimizer: OptimizerState = field(repr=False)
    loss: float
    n_tokens: int
    seconds: float


class LocalTrainer:
    """Trains and asks one network in the name of any site; sites leave no trace in it.

    Args:
        network: From `build_network`; its weights are overwritten.
        network_config: Its configuration.
        config: How every site trains.
        dictionary_columns: Feature columns that `dictionary_dropout` hides.
        proximal: mu of FedProx: half of it times the squared distance to the weights
            that an epoch starts from is minimised along; 0 = FedAvg and all others.

    Raises:
        ConfigurationError: The word vectors are trainable.
    """

    def __init__(
        self,
        network: keras.Model,
        network_config: NetworkConfig,
        config: LocalConfig,
        *,
        dictionary_columns: Sequence[int] = (),
        proximal: float = 0.0,
    ) -> None:
        self.layout = layout_of(network)
        self._network, self._network_config, self._config = network, network_config, config
        self._columns = dictionary_columns
        self._names = [t.name for t in network.inputs]
        self._optimizer = _optimizer(config)
        self._optimizer.build(network.trainable_variables)
        self._fresh = [np.asarray(variable).copy() for variable in self._optimizer.variables]
        self._anchors = [tf.Variable(v.value) for v in network.trainable_variables] if proximal else []
        penalty = (lambda: self._distance() * (proximal / 2)) if proximal else None
        self._step = training_step(network, self._optimizer, penalty)

    def epoch(
        self,
        examples: Sequence[Example],
        start: Weights,
        randomness: Sequence[int],
        optimizer: OptimizerState | None = None,
    ) -> LocalEpoch:
        """Train once over the examples of a site.

        Args:
            examples: Whole documents.
            start: Weights to start from.
            randomness: Numbers that seed windows, order and dropout: the same ones, and
                the same start, give the same result.
            optimizer: Of the site's last epoch; None = fresh.

        Raises:
            StageError: The loss is not a number, or the device is out of memory.
        """
        self._assign(start, optimizer)
        rng = np.random.default_rng(list(randomness))
        _reseed(self._network, rng)
        began, total, weight, n_tokens = time.perf_counter(), 0.0, 0.0, 0
        for batch in batches(
            self._noisy(examples, rng), self._config.batch_tokens, self._network_config.max_characters, rng
        ):
            inputs = {name: batch.inputs[name] for name in self._names}
            with enough_memory("in a local epoch"):
                total += float(self._step(inputs, batch.labels, batch.weights, batch.opinion))
            weight += float(batch.weights.sum())
            n_tokens += int(batch.inputs["valid"].sum())
        weights = weights_of(self._network)
        if not np.isfinite(total) or not all(np.isfinite(array).all() for array in weights):
            raise StageError("the loss of a local epoch is not a number; lower training.learning_rate")
        state = [np.asarray(variable).copy() for variable in self._optimizer.variables]
        return LocalEpoch(weights, state, total / max(weight, 1.0), n_tokens, time.perf_counter() - began)

    def probabilities(self, weights: Weights, examples: Sequence[Example]) -> list[FloatArray]:
        """Class probabilities of every token: float32 (n_tokens, n_classes) an example."""
        self._assign(weights, None)
        return probabilities(self._network, examples, self._network_config)

    def _noisy(self, examples: Sequence[Example], rng: np.random.Generator) -> list[Example]:
        dropouts = self._config.dropouts()
        cut = windows(examples, self._config.window, rng)
        return [with_dropouts(example, dropouts, self._columns, rng) for example in cut]

    def _assign(self, weights: Weights, optimizer: OptimizerState | None) -> None:
        for variable, value in zip(self._network.trainable_variables, weights, strict=True):
            variable.assign(value)
        for variable, value in zip(self._optimizer.variables, optimizer or self._fresh, strict=True):
            variable.assign(value)
        for anchor, value in zip(self._anchors, weights, strict=False):
            anchor.assign(value)

    def _distance(self) -> tf.Tensor:
        """Squared distance to the weights that the epoch started from."""
        pairs = zip(self._network.trainable_variables, self._anchors, strict=True)
        return tf.add_n([tf.reduce_sum(tf.square(variable.value - anchor)) for variable, anchor in pairs])


def _optimizer(config: LocalConfig) -> keras.optimizers.Optimizer:
    kind = keras.optimizers.SGD if config.optimizer == "sgd" else keras.optimizers.Adam
    return kind(config.learning_rate, global_clipnorm=config.clip_norm or None)


def _reseed(network: keras.Model, rng: np.random.Generator) -> None:
    """Let the dropout of an epoch depend on nothing but its own seed."""
    for layer in network.layers:
        if isinstance(layer, keras.layers.Dropout) and layer.rate > 0:
            layer.seed_generator.state.assign([int(rng.integers(2**31)), 0])
