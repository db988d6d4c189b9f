"""The trainers of a study, which all its methods share."""

from __future__ import annotations

import keras

from inverse_deid.core.settings import change_settings
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.encoding import WordVectors
from inverse_deid.network.network import build_network
from inverse_deid.research.federated.encoded_sites import dictionary_columns
from inverse_deid.research.federated.local_config import LocalConfig
from inverse_deid.research.federated.local_training import LocalTrainer
from inverse_deid.research.federated.study_config import StudyConfig
from inverse_deid.research.federated.weights import Weights, weights_of


def peak_memory() -> str:
    """The most memory that this process held so far, in words."""
    try:
        import resource
    except ImportError:  # Windows
        return "not measured"
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB"


class StudyTrainers:
    """One trainer for each proximal term: building one takes longer than an epoch of a small site."""

    def __init__(self, config: StudyConfig, vectors: WordVectors) -> None:
        self._made: dict[float, LocalTrainer] = {}
        self.config, self.matrix = config, vectors.matrix()

    def of(self, proximal: float) -> LocalTrainer:
        """The trainer with this proximal term."""
        if proximal not in self._made:
            self._made[proximal] = LocalTrainer(
                self._network(self.config.network),
                self.config.network,
                self.config.training,
                dictionary_columns=dictionary_columns(self.config),
                proximal=proximal,
            )
        return self._made[proximal]

    def bare(self) -> LocalTrainer:
        """The same network without dropout, by plain SGD: what an attacker would like best."""
        network = change_settings(self.config.network, dropout=0.0)
        training = LocalConfig(window=self.config.training.window, batch_tokens=self.config.training.window)
        return LocalTrainer(self._network(network), network, training)

    def start(self, seed: int) -> Weights:
        """The common first weights of a seed."""
        keras.utils.set_random_seed(seed)
        return weights_of(self._network(self.config.network))

    def _network(self, network: NetworkConfig) -> keras.Model:
        return build_network(network, len(feature_names(network.feature_set)), self.matrix)
