"""The network that server and sites build alike: local epochs with it, and the hashes that compare it.

A local epoch is the same whatever the method: weights in, weights out.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import keras
import msgspec
import numpy as np
import tensorflow as tf

from inverse_deid import __version__
from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.values import Document, FloatArray
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.batches import (
    Example,
    group_by_length,
    group_evenly,
    pad_examples,
    windows,
    with_dropouts,
)
from inverse_deid.network.config import NetworkConfig, TrainingConfig
from inverse_deid.network.network import build_network, make_usual_lstm
from inverse_deid.network.training import JITTER, enough_memory, make_loss, probabilities
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES
from inverse_deid.training.examples import ExampleMaker
from inverse_deid.training.examples import Weights as TokenWeights
from inverse_deid.training.run import load_word_vectors
from inverse_deid_research.federated.coupled import CoupledLSTM
from inverse_deid_research.federated.messages import Declaration
from inverse_deid_research.federated.settings import EpochSettings
from inverse_deid_research.federated.weights import Weights, copy_weights, read_layout
from inverse_deid_research.studies.records import fingerprint

OptimizerState = list[np.ndarray]
"""The variables of an optimizer. They stay at the site and are never sent."""


@dataclass(frozen=True, slots=True, eq=False)
class LocalEpoch:
    """The result of an epoch at a site, with the mean weighted loss per token."""

    weights: Weights = field(repr=False)
    # For the next epoch of the same site; empty where the site keeps it.
    optimizer: OptimizerState = field(repr=False)
    loss: float
    n_tokens: int
    seconds: float


class LocalTrainer:
    """Trains and asks one network in the name of any site. Sites leave no trace in it.

    The weights of `network` are overwritten; `ConfigurationError` if word vectors are among them.
    `dictionary_dropout` hides the feature columns `dictionary_columns`.
    """

    def __init__(
        self,
        network: keras.Model,
        network_config: NetworkConfig,
        config: EpochSettings,
        *,
        dictionary_columns: Sequence[int] = (),
    ) -> None:
        self.layout = read_layout(network)
        self.network, self._network_config, self._config = network, network_config, config
        self._dropouts = TrainingConfig(
            word_dropout=config.word_dropout, dictionary_dropout=config.dictionary_dropout
        )
        self._columns = dictionary_columns
        self._names = [t.name for t in network.inputs]
        self._n_classes = int(network.output_shape[-1])
        kind = keras.optimizers.SGD if config.optimizer == "sgd" else keras.optimizers.Adam
        self._anchors = [tf.Variable(v.value) for v in network.trainable_variables] if config.proximal else []
        self._optimizer = _add_proximal_term(kind, self._anchors, config.proximal)(
            config.learning_rate, global_clipnorm=config.clip_norm or None
        )
        self._optimizer.build(network.trainable_variables)
        network.compile(self._optimizer, make_loss(network), jit_compile=False)
        self._fresh = [np.asarray(variable).copy() for variable in self._optimizer.variables]

    def train_epoch(
        self,
        examples: Sequence[Example],
        start: Weights,
        randomness: Sequence[int],
        optimizer: OptimizerState | None = None,
    ) -> LocalEpoch:
        """Train once over the examples of a site.

        `randomness` seeds windows, order and dropout: the same numbers and the same start give the same
        result. `optimizer` is that of the site's last epoch; None = fresh.

        Raises:
            StageError: The loss is not a number, or the device is out of memory.
        """
        self.assign(start, optimizer)
        rng = np.random.default_rng(list(randomness))
        for layer in self.network.layers:  # let dropout depend on nothing but the seed of the epoch
            if isinstance(layer, keras.layers.Dropout) and layer.rate > 0:
                layer.seed_generator.state.assign([int(rng.integers(2**31)), 0])
        began, total, weight, n_tokens = time.perf_counter(), 0.0, 0.0, 0
        cut = windows(examples, self._config.window, rng)
        noisy = [with_dropouts(example, self._dropouts, self._columns, rng) for example in cut]
        lengths = [len(window) for window in noisy]
        n_groups = len(group_by_length(lengths, self._config.batch_tokens))
        for group in group_evenly(lengths, n_groups, JITTER, rng):
            batch = pad_examples([noisy[i] for i in group], self._network_config.max_characters)
            inputs = {name: batch.inputs[name] for name in self._names}
            of_batch = float(batch.weights.sum())
            with enough_memory("in a local epoch"):
                total += of_batch * self.network.train_on_batch(
                    inputs, batch.targets(self._n_classes), batch.weights
                )
            weight += of_batch
            n_tokens += sum(lengths[i] for i in group)
        weights = copy_weights(self.network)
        if not np.isfinite(total) or not all(np.isfinite(array).all() for array in weights):
            raise StageError("the loss of a local epoch is not a number. Lower training.learning_rate")
        state = [np.asarray(variable).copy() for variable in self._optimizer.variables]
        return LocalEpoch(weights, state, total / max(weight, 1.0), n_tokens, time.perf_counter() - began)

    def predict(self, weights: Weights, examples: Sequence[Example]) -> list[FloatArray]:
        """Return the class probabilities of every token: float32 (n_tokens, n_classes) per example."""
        self.assign(weights)
        return probabilities(self.network, examples, self._network_config)

    def assign(self, weights: Weights, optimizer: OptimizerState | None = None) -> None:
        """Give the network these weights, and the optimizer its variables; None = fresh ones."""
        for variable, value in zip(self.network.trainable_variables, weights, strict=True):
            variable.assign(value)
        for variable, value in zip(self._optimizer.variables, optimizer or self._fresh, strict=True):
            variable.assign(value)
        for anchor, value in zip(self._anchors, weights, strict=False):
            anchor.assign(value)


def _add_proximal_term(
    kind: type[keras.optimizers.Optimizer], anchors: Sequence[tf.Variable], factor: float
) -> type[keras.optimizers.Optimizer]:
    """Return an optimizer that draws the weights to anchors as well; without anchors, the optimizer.

    The proximal term of the loss is `factor / 2` times the squared distance. It is not reported.

    Source: Li et al. 2020, "Federated Optimization in Heterogeneous Networks" (FedProx).
    """
    if not anchors:
        return kind

    class Proximal(kind):  # type: ignore[misc]
        def apply(self, grads: Sequence[tf.Tensor], trainable_variables: Sequence[Any] | None = None) -> None:
            """Add the gradient of the term, and update the weights."""
            drawn = [
                tf.convert_to_tensor(gradient) + factor * (variable.value - anchor)
                for gradient, variable, anchor in zip(grads, trainable_variables or (), anchors, strict=True)
            ]
            super().apply(drawn, trainable_variables)

    return Proximal


class CommonNetwork:
    """The network of all sites, with the public word vectors of a file; None = those of the packaged model.

    With `is_coupled`, its LSTMs have coupled gates.

    Raises:
        InputError: They cannot be read.
        ConfigurationError: They do not fit the network.
    """

    def __init__(
        self,
        config: NetworkConfig,
        training: EpochSettings,
        word_vectors: Path | None,
        *,
        is_coupled: bool = False,
    ) -> None:
        self.config, self.training, self.is_coupled = config, training, is_coupled
        self.vectors = load_word_vectors(word_vectors)
        if self.vectors.dim != config.word_dim:
            raise ConfigurationError(f"network.word_dim must be {self.vectors.dim}, as in the word vectors")
        self.matrix = self.vectors.matrix()
        self._trainers: dict[float, LocalTrainer] = {}

    @property
    def trainer(self) -> LocalTrainer:
        """The trainer with the proximal term of the settings."""
        return self.trainer_with(self.training.proximal)

    def trainer_with(self, proximal: float) -> LocalTrainer:
        """Return the one trainer with this proximal term.

        Building a trainer takes longer than an epoch of a small site.
        """
        if proximal not in self._trainers:
            names = feature_names(self.config.feature_set)
            self._trainers[proximal] = LocalTrainer(
                self._build(self.config),
                self.config,
                msgspec.structs.replace(self.training, proximal=proximal),
                dictionary_columns=[i for i, name in enumerate(names) if name in DICTIONARY_FEATURE_NAMES],
            )
        return self._trainers[proximal]

    def bare_trainer(self) -> LocalTrainer:
        """Return a trainer without dropout, by plain SGD: what an attacker would like best."""
        config = msgspec.structs.replace(self.config, dropout=0.0)
        window = self.training.window
        return LocalTrainer(self._build(config), config, EpochSettings(window=window, batch_tokens=window))

    def start(self, seed: int) -> Weights:
        keras.utils.set_random_seed(seed)
        return copy_weights(self._build(self.config))

    def encode(self, docs: Sequence[Document], *, to_train_on: bool) -> list[Example]:
        """Encode documents; protected health information (PHI) is weighted `to_train_on`."""
        weights = TokenWeights(phi=self.training.phi_weight if to_train_on else 1.0)
        made = self._maker.make_many([(doc, weights) for doc in docs])
        return [example for example in made if len(example)]

    def declare(self, site: str, n_tokens: int) -> Declaration:
        vocabulary = hashlib.sha256("\n".join(self.vectors.words).encode())
        vocabulary.update(self.vectors.codes.tobytes() + self.vectors.scale.tobytes())
        return Declaration(
            site=site,
            version=__version__,
            network=fingerprint(self.config, self.trainer.layout.fingerprint),
            training=fingerprint(self.training),
            lexicon=load_lexicon().sha256,
            word_vectors=vocabulary.hexdigest(),
            n_tokens=n_tokens,
        )

    @cached_property
    def _maker(self) -> ExampleMaker:
        return ExampleMaker(self.config, load_lexicon(), self.vectors)

    def _build(self, config: NetworkConfig) -> keras.Model:
        lstm = CoupledLSTM if self.is_coupled else make_usual_lstm
        return build_network(config, len(feature_names(config.feature_set)), self.matrix, lstm)


@dataclass(frozen=True, slots=True, eq=False)
class SiteTask:
    """One epoch of the site at a place (from 0): its first weights, and seeds as in `train_epoch`."""

    place: int
    weights: Weights = field(repr=False)
    randomness: tuple[int, ...]


SiteEpochs = Callable[[Sequence[SiteTask]], list[LocalEpoch]]
"""Trains sites that do not wait for each other, each at most once, and returns their epochs in the order
of the tasks. A site keeps the variables of its optimizer from one of its epochs to the next."""


class DirectEpochs:
    """The sites take turns in this process; `documents` are those of each site by its place."""

    def __init__(self, trainer: LocalTrainer, documents: Sequence[Sequence[Example]]) -> None:
        self._trainer, self._documents = trainer, documents
        self._optimizers: dict[int, OptimizerState] = {}

    def __call__(self, tasks: Sequence[SiteTask]) -> list[LocalEpoch]:
        found = []
        for task in tasks:
            optimizer, documents = self._optimizers.get(task.place), self._documents[task.place]
            found.append(self._trainer.train_epoch(documents, task.weights, task.randomness, optimizer))
            self._optimizers[task.place] = found[-1].optimizer
        return found
