"""What a process has that an engine asks for epochs of sites.

No document stands in a message: the process reads the files of the study itself.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path

import tensorflow as tf

from inverse_deid.core.errors import ConfigurationError, InputError
from inverse_deid.network.batches import Example
from inverse_deid.research.federated.encoded_sites import DocumentEncoder, dealt_documents, study_vectors
from inverse_deid.research.federated.local_training import LocalEpoch, OptimizerState
from inverse_deid.research.federated.site_training import SiteTask
from inverse_deid.research.federated.study_config import StudyConfig
from inverse_deid.research.federated.study_trainers import StudyTrainers
from inverse_deid.training.documents import corpus_sha256


@dataclass(frozen=True, slots=True)
class SitePlan:
    """What a process must know to stand in for any site; it travels, and holds no document.

    Args:
        config: The study.
        hashes: SHA-256 of each of its corpora, by path.
        n_threads: Of a training step.
    """

    config: StudyConfig = field(hash=False)
    hashes: tuple[tuple[str, str], ...]
    n_threads: int


class SimulatedSite:
    """Trains in the name of any site of a study, on the CPU; sites leave no trace in it.

    Args:
        plan: The study.

    Raises:
        InputError: A corpus has changed since the study began, or cannot be read.
        ConfigurationError: TensorFlow was in use before.
    """

    def __init__(self, plan: SitePlan) -> None:
        _only_threads(plan.n_threads)
        changed = [path for path, digest in plan.hashes if corpus_sha256(Path(path)) != digest]
        if changed:
            raise InputError(f"{changed[0]}: has changed since the study began; begin it anew with --force")
        vectors = study_vectors(plan.config)
        self._trainers = StudyTrainers(plan.config, vectors)
        self._encoder = DocumentEncoder(plan.config, vectors)
        self._documents = [train for train, _ in dealt_documents(plan.config).sites.values()]
        self._encoded: dict[int, list[Example]] = {}

    def epoch(self, task: SiteTask, proximal: float, optimizer: OptimizerState | None) -> LocalEpoch:
        """One epoch of one site.

        Args:
            task: Which site, and from where.
            proximal: mu of FedProx; 0 = none.
            optimizer: Of the site's last epoch; None = fresh.

        Raises:
            StageError: The loss is not a number, or memory does not suffice.
        """
        if task.place not in self._encoded:
            self._encoded[task.place] = self._encoder.to_train_on(self._documents[task.place])
        trainer = self._trainers.of(proximal)
        return trainer.epoch(self._encoded[task.place], task.weights, task.randomness, optimizer)


@functools.lru_cache(maxsize=1)
def simulated_site(plan: SitePlan) -> SimulatedSite:
    """What this process has for a study; made once."""
    return SimulatedSite(plan)


def _only_threads(n_threads: int) -> None:
    try:
        tf.config.set_visible_devices([], "GPU")
        tf.config.threading.set_intra_op_parallelism_threads(n_threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    except RuntimeError as error:
        raise ConfigurationError("the process of a site has used TensorFlow before") from error
