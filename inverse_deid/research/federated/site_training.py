"""Where the sites of a study train: in this process, or wherever an engine has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from inverse_deid.network.batches import Example
from inverse_deid.research.federated.local_training import LocalEpoch, LocalTrainer, OptimizerState
from inverse_deid.research.federated.weights import Weights


@dataclass(frozen=True, slots=True, eq=False)
class SiteTask:
    """One epoch of one site.

    Args:
        place: Of the site, from 0.
        weights: It starts from these.
        randomness: Seeds windows, order and dropout.
    """

    place: int
    weights: Weights = field(repr=False)
    randomness: tuple[int, ...]


SiteEpochs = Callable[[Sequence[SiteTask]], list[LocalEpoch]]
"""Trains sites that do not wait for each other, each at most once, and gives their epochs in the order
of the tasks. A site keeps the variables of its optimizer from one of its epochs to the next."""

BeginRun = Callable[[], SiteEpochs]
"""Begins a run, in which no site has trained yet."""


class DirectEpochs:
    """The sites take turns in this process.

    Args:
        trainer: Trains in the name of each.
        documents: Training documents of each site, by its place.
    """

    def __init__(self, trainer: LocalTrainer, documents: Sequence[Sequence[Example]]) -> None:
        self._trainer, self._documents = trainer, documents
        self._optimizers: dict[int, OptimizerState] = {}

    def __call__(self, tasks: Sequence[SiteTask]) -> list[LocalEpoch]:
        """Train one site after the other."""
        return [self._epoch(task) for task in tasks]

    def _epoch(self, task: SiteTask) -> LocalEpoch:
        optimizer = self._optimizers.get(task.place)
        documents = self._documents[task.place]
        done = self._trainer.epoch(documents, task.weights, task.randomness, optimizer)
        self._optimizers[task.place] = done.optimizer
        return done
