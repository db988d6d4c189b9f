"""The ways to train together; each yields its epochs one by one.

A, B, C and D are those of Festag and Spreckelsen 2020; FedAvg (McMahan et al. 2017)
and FedProx (Li et al. 2020) are today's references.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from inverse_deid_research.federated.documents import EncodedSite
from inverse_deid_research.federated.network import LocalEpoch, LocalTrainer, SiteEpochs, SiteTask
from inverse_deid_research.federated.settings import SelectiveSettings
from inverse_deid_research.federated.weights import (
    ParameterServer,
    Update,
    Weights,
    average_weights,
    select_changes,
)

COMMON = "all sites"
"""Name of the network in methods that end with a single one."""

_SERVER, _ORDER, _UPLOAD = 1, 2, 3
"""Keep the random streams of an epoch apart; 0 is that of training."""


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """What all methods start from. `begin` begins a run of the sites, in which no site has trained yet."""

    trainer: LocalTrainer
    sites: Sequence[EncodedSite]
    begin: Callable[[], SiteEpochs] = field(repr=False)
    start: Weights = field(repr=False)
    n_epochs: int
    seed: int

    def task(self, place: int, epoch: int, weights: Weights) -> SiteTask:
        """Return the epoch of one site; both numbers count from 0."""
        return SiteTask(place, weights, (self.seed, epoch, place, 0))

    def tasks(self, epoch: int, networks: Sequence[Weights]) -> list[SiteTask]:
        return [self.task(place, epoch, weights) for place, weights in enumerate(networks)]

    def rng(self, *numbers: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *numbers])


@dataclass(frozen=True, slots=True, eq=False)
class EpochOutcome:
    """The state of a method after an epoch: the network of each site, or one of all under `COMMON`."""

    networks: Mapping[str, Weights] = field(repr=False)
    loss: float  # mean of the sites
    n_sent: int  # by all sites
    n_received: int  # by all sites
    seconds: float


def train_centrally(course: Course) -> Iterator[EpochOutcome]:
    """Train method A: all documents in one place, no protection."""
    together = [example for site in course.sites for example in site.train]
    weights, optimizer = course.start, None
    for epoch in range(course.n_epochs):
        done = course.trainer.train_epoch(together, weights, (course.seed, epoch, 0, 0), optimizer)
        weights, optimizer = done.weights, done.optimizer
        yield _make_outcome({COMMON: weights}, [done], 0, 0)


def train_in_turns(course: Course) -> Iterator[EpochOutcome]:
    """Train method B: each site trains an epoch and hands on the whole network (cyclic weight transfer)."""
    train, weights = course.begin(), course.start
    n_handed = course.trainer.layout.n_numbers * len(course.sites)
    for epoch in range(course.n_epochs):
        dones: list[LocalEpoch] = []
        for place in range(len(course.sites)):
            dones += train([course.task(place, epoch, weights)])
            weights = dones[-1].weights
        yield _make_outcome({COMMON: weights}, dones, n_handed, n_handed)


def train_alone(course: Course) -> Iterator[EpochOutcome]:
    """Train method D: every site for itself."""
    train, networks = course.begin(), [course.start for _ in course.sites]
    for epoch in range(course.n_epochs):
        dones = train(course.tasks(epoch, networks))
        networks = [done.weights for done in dones]
        named = {site.name: weights for site, weights in zip(course.sites, networks, strict=True)}
        yield _make_outcome(named, dones, 0, 0)


def train_selectively(course: Course, settings: Mapping[str, SelectiveSettings]) -> Iterator[EpochOutcome]:
    """Train method C: distributed selective SGD.

    Real sites do not wait for each other. Here they take turns, in a new random order
    in every epoch, so that each gets the changes of the others since its last turn.
    """
    train, layout = course.begin(), course.trainer.layout
    server = ParameterServer(layout.flatten(course.start))
    networks = {site.name: course.start for site in course.sites}
    for epoch in range(course.n_epochs):
        dones, n_sent, n_received = [], 0, 0
        for number in course.rng(epoch, _ORDER).permutation(len(course.sites)).tolist():
            name = course.sites[number].name
            local = layout.flatten(networks[name])
            taken = server.download(settings[name].download, course.rng(epoch, number, _SERVER))
            local[taken.indices] = taken.values
            (done,) = train([course.task(number, epoch, layout.split(local))])
            changes = layout.flatten(done.weights) - local
            given = select_changes(changes, settings[name], course.rng(epoch, number, _UPLOAD))
            server.upload(given)
            networks[name] = done.weights
            dones.append(done)
            n_sent, n_received = n_sent + len(given), n_received + len(taken)
        yield _make_outcome(networks, dones, n_sent, n_received)


def train_averaged(course: Course) -> Iterator[EpochOutcome]:
    """Train FedAvg: every site starts from the same network, and the mean is the next one.

    With a trainer of `proximal` above 0 it is FedProx.
    """
    train, weights = course.begin(), course.start
    n_exchanged = course.trainer.layout.n_numbers * len(course.sites)
    for epoch in range(course.n_epochs):
        dones = train(course.tasks(epoch, [weights] * len(course.sites)))
        weights = average_weights([Update(done.weights, done.n_tokens) for done in dones])
        yield _make_outcome({COMMON: weights}, dones, n_exchanged, n_exchanged)


def _make_outcome(
    networks: Mapping[str, Weights], dones: Sequence[LocalEpoch], n_sent: int, n_received: int
) -> EpochOutcome:
    loss = float(np.mean([done.loss for done in dones]))
    return EpochOutcome(dict(networks), loss, n_sent, n_received, sum(done.seconds for done in dones))
