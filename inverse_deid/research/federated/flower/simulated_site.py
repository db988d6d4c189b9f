"""A process that trains epochs for any site of a study.

Messages contain no documents: the process reads the files of the study itself.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path

import tensorflow as tf

from inverse_deid.core.errors import ConfigurationError, InputError
from inverse_deid.network.batches import Example
from inverse_deid.research.federated.documents import DocumentEncoder, deal_documents
from inverse_deid.research.federated.local_training import LocalEpoch, OptimizerState, SiteTask
from inverse_deid.research.federated.network import CommonNetwork, load_vectors
from inverse_deid.research.federated.settings import FederatedStudySettings
from inverse_deid.training.documents import corpus_sha256


@dataclass(frozen=True, slots=True)
class SitePlan:
    """The knowledge of a process that acts for any site. It is sent, and contains no document.

    Args:
        hashes: SHA-256 of each of its corpora, by path.
        n_threads: Of a training step.
    """

    settings: FederatedStudySettings = field(hash=False)
    hashes: tuple[tuple[str, str], ...]
    n_threads: int


class SimulatedSite:
    """Trains in the name of any site of a study, on the CPU. Sites leave no trace in it.

    Raises:
        InputError: A corpus has changed since the study began, or cannot be read.
        ConfigurationError: TensorFlow was in use before.
    """

    def __init__(self, plan: SitePlan) -> None:
        _limit_threads(plan.n_threads)
        changed = [path for path, digest in plan.hashes if corpus_sha256(Path(path)) != digest]
        if changed:
            raise InputError(f"{changed[0]}: changed since the study began. Start over with --force")
        settings = plan.settings
        vectors = load_vectors(settings.data.word_vectors, settings.network)
        self._common = CommonNetwork(settings.network, settings.training, vectors)
        self._encoder = DocumentEncoder(settings, vectors)
        self._documents = [train for train, _ in deal_documents(settings).sites.values()]
        self._encoded: dict[int, list[Example]] = {}

    def train_epoch(self, task: SiteTask, proximal: float, optimizer: OptimizerState | None) -> LocalEpoch:
        """Train one epoch of one site; an optimizer of None is a fresh one.

        Raises:
            StageError: The loss is not a number, or the memory is too small.
        """
        if task.place not in self._encoded:
            self._encoded[task.place] = self._encoder.encode(self._documents[task.place], to_train_on=True)
        trainer = self._common.trainer_with(proximal)
        return trainer.train_epoch(self._encoded[task.place], task.weights, task.randomness, optimizer)


@functools.lru_cache(maxsize=1)
def find_simulated_site(plan: SitePlan) -> SimulatedSite:
    """Return the site of this process for a study, made once."""
    return SimulatedSite(plan)


def _limit_threads(n_threads: int) -> None:
    try:
        tf.config.set_visible_devices([], "GPU")
        tf.config.threading.set_intra_op_parallelism_threads(n_threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    except RuntimeError as error:
        raise ConfigurationError(
            "the process of a site has used TensorFlow before. Run the command again"
        ) from error
