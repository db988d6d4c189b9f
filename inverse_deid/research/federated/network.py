"""The network that server and sites build alike, its trainers, and the hashes that compare it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import keras
import msgspec

from inverse_deid import __version__
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.encoding import WordVectors
from inverse_deid.network.network import build_network
from inverse_deid.research.federated.local_training import LocalTrainer
from inverse_deid.research.federated.messages import Declaration
from inverse_deid.research.federated.settings import EpochSettings
from inverse_deid.research.federated.weights import Weights, copy_weights
from inverse_deid.research.studies.records import fingerprint
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES
from inverse_deid.training.run import load_word_vectors


def load_vectors(path: Path | None, network: NetworkConfig) -> WordVectors:
    """Load the public word vectors; a path of None means those of the packaged model.

    Raises:
        InputError: They cannot be read.
        ConfigurationError: They do not fit the network.
    """
    vectors = load_word_vectors(path)
    if vectors.dim != network.word_dim:
        raise ConfigurationError(f"network.word_dim must be {vectors.dim}, as in the word vectors")
    return vectors


class CommonNetwork:
    """The network of all sites."""

    def __init__(self, config: NetworkConfig, training: EpochSettings, vectors: WordVectors) -> None:
        self.config, self.training, self.vectors = config, training, vectors
        self.matrix = vectors.matrix()
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
        """Return the common first weights of a seed."""
        keras.utils.set_random_seed(seed)
        return copy_weights(self._build(self.config))

    def declare(self, site: str, n_tokens: int) -> Declaration:
        """Return what a site with this network declares."""
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

    def _build(self, config: NetworkConfig) -> keras.Model:
        return build_network(config, len(feature_names(config.feature_set)), self.matrix)
