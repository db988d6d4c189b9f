"""What studies share that train networks by themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.batches import Example
from inverse_deid.network.config import NetworkConfig, TrainingConfig
from inverse_deid.network.encoding import WordVectors
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES
from inverse_deid_research.studies.records import START_OVER, Arrays

if TYPE_CHECKING:
    import keras

Epochs = Callable[[int], Sequence[Example]]
"""The examples of an epoch, counted from 0."""


def new_network(config: NetworkConfig, vectors: WordVectors, seed: int | None = None) -> keras.Model:
    """Build a network with random weights.

    With a seed, all other networks are forgotten first, and the weights are drawn from it.
    """
    import keras

    from inverse_deid.network.network import build_network

    if seed is not None:
        keras.utils.clear_session()
        keras.utils.set_random_seed(seed)
    return build_network(config, len(feature_names(config.feature_set)), vectors.matrix())


def fit_network(
    network: keras.Model,
    config: NetworkConfig,
    training: TrainingConfig,
    epochs: Epochs,
    **watched: Any,  # noqa: ANN401
) -> None:
    """Train a network, with the dropout of dictionary features that the settings ask for.

    `watched` are `validate`, `checkpoints` and `callbacks` of `network.training.fit`.
    """
    from inverse_deid.network.training import fit

    names = feature_names(config.feature_set)
    columns = [i for i, name in enumerate(names) if name in DICTIONARY_FEATURE_NAMES]
    fit(network, epochs, training, dictionary_columns=columns, **watched)


def on_epoch(call: Callable[[int, Mapping[str, float]], None]) -> keras.callbacks.Callback:
    """Return a callback that is called after each epoch, counted from 1, with the logs of `fit`."""
    import keras

    return keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: call(epoch + 1, logs))


def keep_last(make: Epochs) -> Epochs:
    """Return a function that keeps the epoch of the last call, and only that one, in memory."""
    kept: dict[int, Sequence[Example]] = {}

    def get(epoch: int) -> Sequence[Example]:
        if epoch not in kept:
            kept.clear()
            kept[epoch] = make(epoch)
        return kept[epoch]

    return get


def weights_of(network: keras.Model) -> Arrays:
    """Return the trainable weights in order: names of layers differ between networks of one process."""
    return {f"{i:03}": np.asarray(variable) for i, variable in enumerate(network.trainable_variables)}


def assign_weights(network: keras.Model, weights: Arrays) -> None:
    """Give a network of the same shape the weights of `weights_of`.

    Raises:
        ConfigurationError: The network has another shape.
    """
    given = [weights[name] for name in sorted(weights)]
    shapes = [tuple(variable.shape) for variable in network.trainable_variables]
    if shapes != [weight.shape for weight in given]:
        raise ConfigurationError("the stored weights belong to another network", remedies=[START_OVER])
    for variable, weight in zip(network.trainable_variables, given, strict=True):
        variable.assign(weight)
