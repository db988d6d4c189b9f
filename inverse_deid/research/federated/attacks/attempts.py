"""The attempts of a study: on its networks at the end, and on the first changes that leave its sites."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inverse_deid.core.values import FloatArray
from inverse_deid.network.batches import Example, windows
from inverse_deid.network.config import NetworkConfig
from inverse_deid.research.federated.attacks.inversion import (
    Recovered,
    characters_there,
    named_characters,
    named_words,
    recovered,
    words_there,
)
from inverse_deid.research.federated.attacks.membership import Group, document_losses, membership
from inverse_deid.research.federated.encoded_sites import EncodedSite, EncodedStudy
from inverse_deid.research.federated.local_training import LocalTrainer
from inverse_deid.research.federated.selection import SelectiveSettings, selected_changes
from inverse_deid.research.federated.study_trainers import StudyTrainers
from inverse_deid.research.federated.weights import Weights

_MEMBERS_PER_OTHER = 3
_WINDOWS_PER_SITE = 4
_OWN = 4
"""Keeps the random stream of the attempts apart."""


def membership_record(
    trainer: LocalTrainer, sites: Sequence[EncodedSite], networks: Mapping[str, Weights], seed: int
) -> dict[str, Any]:
    """The attempt on the networks that a method ended with.

    Args:
        trainer: Asks networks.
        sites: Their training documents are the members, their held-out ones the others.
        networks: Of each site.
        seed: Draws members, three for each other document, and the interval.

    Returns:
        For all tokens and for those of PHI: figures of `Membership`, None where undefined.
    """
    groups: dict[str, list[Group]] = {"all tokens": [], "tokens of PHI": []}
    for number, site in enumerate(sites):
        members = _some(site.train, _MEMBERS_PER_OTHER * len(site.held_out), [seed, number, _OWN])
        asked = [
            (docs, trainer.probabilities(networks[site.name], docs)) for docs in (members, site.held_out)
        ]
        for name, rows in groups.items():
            low, high = (document_losses(*pair, phi_only=name != "all tokens") for pair in asked)
            rows.append((low, high))
    found = {name: membership(rows, np.random.default_rng([seed, _OWN])) for name, rows in groups.items()}
    return {name: dataclasses.asdict(one) if one else None for name, one in found.items()}


def _some(examples: Sequence[Example], n_wanted: int, seed: Sequence[int]) -> list[Example]:
    drawn = np.random.default_rng(list(seed)).permutation(len(examples))[:n_wanted]
    return [examples[i] for i in sorted(drawn.tolist())]


@dataclass(frozen=True, slots=True, eq=False)
class Inversion:
    """What the attempts on changes of weights need.

    Args:
        config: Of the network.
        matrix: Of the public word vectors.
        start: First weights, known to all sites.
        sites: Whose documents are learned from.
        seed: Of the study.
        window: Tokens that a training window holds at most.
    """

    config: NetworkConfig
    matrix: FloatArray
    start: Weights
    sites: Sequence[EncodedSite]
    seed: int
    window: int

    def one_step(self, trainer: LocalTrainer) -> dict[str, Any]:
        """A step on one window, some windows of each site."""
        chosen = [
            [part]
            for site in self.sites
            for part in _some(windows(site.train, self.window, None), _WINDOWS_PER_SITE, [self.seed, _OWN])
        ]
        return self._record(trainer, chosen, [self._change(trainer, parts) for parts in chosen])

    def epoch(self, trainer: LocalTrainer, selective: SelectiveSettings) -> list[dict[str, Any]]:
        """The first epoch of each site: what it sends in B and FedAvg, and what it selects in C."""
        learned = [site.train for site in self.sites]
        changes = [self._change(trainer, examples) for examples in learned]
        rng = np.random.default_rng([self.seed, _OWN])
        chosen = [_selected(change, selective, rng) for change in changes]
        return [self._record(trainer, learned, given) for given in (changes, chosen)]

    def _change(self, trainer: LocalTrainer, examples: Sequence[Example]) -> FloatArray:
        done = trainer.epoch(examples, self.start, (self.seed, _OWN))
        return trainer.layout.flat(done.weights) - trainer.layout.flat(self.start)

    def _record(
        self, trainer: LocalTrainer, learned: Sequence[Sequence[Example]], changes: Sequence[FloatArray]
    ) -> dict[str, Any]:
        layout, characters, words = trainer.layout, [], []
        for examples, vector in zip(learned, changes, strict=True):
            change = layout.arrays(vector)
            named = named_characters(change, layout, self.config)
            characters.append(recovered(named, characters_there(examples, self.config)))
            named = named_words(change, layout, self.config, self.matrix)
            words.append(recovered(named, words_there(examples)))
        return {"n": len(learned), "characters": _figures(characters), "words": _figures(words)}


def inversion_record(study: EncodedStudy, trainers: StudyTrainers) -> dict[str, Any]:
    """All attempts on changes of weights, by what the attacker sees.

    Args:
        study: Its sites, and the public vocabulary.
        trainers: Of the study.
    """
    config = trainers.config
    seed, window = config.study.seeds[0], config.training.window
    made = Inversion(config.network, trainers.matrix, trainers.start(seed), study.sites, seed, window)
    settings = [method.settings for method in config.methods if method.way == "selective"]
    selective = settings[0] if settings else SelectiveSettings()
    whole, selected = made.epoch(trainers.of(0.0), selective)
    return {
        "one step on one window, plain SGD, no dropout": made.one_step(trainers.bare()),
        "one step on one window, as configured": made.one_step(trainers.of(0.0)),
        "first epoch of a site, all weights (B, FedAvg)": whole,
        "first epoch of a site, selected changes (C)": selected,
    }


def _selected(change: FloatArray, settings: SelectiveSettings, rng: np.random.Generator) -> FloatArray:
    given = selected_changes(change, settings, rng)
    seen = np.zeros_like(change)
    seen[given.indices] = given.values
    return seen


def _figures(found: Sequence[Recovered]) -> dict[str, float | None]:
    whole = Recovered(*(sum(getattr(one, name) for one in found) for name in ("right", "named", "there")))
    return {"precision": whole.precision, "recall": whole.recall, "there": whole.there / max(len(found), 1)}
