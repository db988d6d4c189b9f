"""The network that server and sites build alike, and the hashes by which they find that out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import keras

from inverse_deid import __version__
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.encoding import WordVectors
from inverse_deid.network.network import build_network
from inverse_deid.research.federated.agreement import Declaration
from inverse_deid.research.federated.encoded_sites import vectors_hash
from inverse_deid.research.federated.local_config import LocalConfig
from inverse_deid.research.federated.local_training import LocalTrainer
from inverse_deid.research.federated.weights import Weights, weights_of
from inverse_deid.research.studies.records import fingerprint
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES
from inverse_deid.training.run import load_word_vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """What must be the same everywhere.

    Args:
        network: The network.
        training: How an epoch is trained.
        proximal: mu of FedProx, 0 = none.
        word_vectors: File of public word vectors, None = those of the packaged model.
    """

    network: NetworkConfig
    training: LocalConfig
    proximal: float = 0.0
    word_vectors: Path | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.proximal < float("inf"):
            raise ConfigurationError("training.proximal is at least 0")
        if self.network.learn_words:
            raise ConfigurationError(
                "network.learn_words cannot be used by sites together: the vocabulary is public and fixed"
            )


class CommonNetwork:
    """A built plan.

    Args:
        plan: What must be the same everywhere.

    Raises:
        ConfigurationError: The word vectors do not fit the network.
        InputError: They cannot be read.
    """

    def __init__(self, plan: NetworkPlan) -> None:
        self.plan = plan
        self.vectors: WordVectors = load_word_vectors(plan.word_vectors)
        if self.vectors.dim != plan.network.word_dim:
            raise ConfigurationError(f"network.word_dim must be {self.vectors.dim}, as of the word vectors")
        names = feature_names(plan.network.feature_set)
        columns = [i for i, name in enumerate(names) if name in DICTIONARY_FEATURE_NAMES]
        self.network = self._built()
        self.trainer = LocalTrainer(
            self.network,
            plan.network,
            plan.training,
            dictionary_columns=columns,
            proximal=plan.proximal,
        )

    def start(self, seed: int) -> Weights:
        """First weights."""
        keras.utils.set_random_seed(seed)
        return weights_of(self._built())

    def declaration(self, site: str, n_tokens: int) -> Declaration:
        """What a site with this network says of itself."""
        return Declaration(
            site=site,
            version=__version__,
            network=fingerprint(self.plan.network, self.trainer.layout.fingerprint),
            training=fingerprint(self.plan.training, self.plan.proximal),
            lexicon=load_lexicon().sha256,
            word_vectors=vectors_hash(self.vectors),
            n_tokens=n_tokens,
        )

    def _built(self) -> keras.Model:
        config = self.plan.network
        return build_network(config, len(feature_names(config.feature_set)), self.vectors.matrix())
