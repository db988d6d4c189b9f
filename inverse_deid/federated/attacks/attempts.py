"""The attempts of a study: on its networks at the end, and on the first changes that leave its sites."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inverse_deid.core.values import FloatArray
from inverse_deid.deep.batches import Example, windows
from inverse_deid.deep.config import NetworkConfig
from inverse_deid.federated.attacks.inversion import (
    Recovered,
    characters_there,
    named_characters,
    named_words,
    recovered,
    words_there,
)
from inverse_deid.federated.attacks.membership import Group, document_losses, membership
from inverse_deid.federated.encoded_sites import EncodedSite
from inverse_deid.federated.local_training import LocalTrainer
from inverse_deid.federated.selection import SelectiveSettings, selected_changes
from inverse_deid.federated.weights import Weights

_MEMBERS_PER_OTHER = 3
_WINDOWS_PER_SITE = 4
_SELECTION = 4
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
        members = _some(site.train, _MEMBERS_PER_OTHER * len(site.held_out), [seed, number, _SELECTION])
        asked = [
            (docs, trainer.probabilities(networks[site.name], docs)) for docs in (members, site.held_out)
        ]
        for name, rows in groups.items():
            low, high = (document_losses(*pair, phi_only=name != "all tokens") for pair in asked)
            rows.append((low, high))
    found = {
        name: membership(rows, np.random.default_rng([seed, _SELECTION])) for name, rows in groups.items()
    }
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
            part
            for site in self.sites
            for part in _some(
                windows(site.train, self.window, None), _WINDOWS_PER_SITE, [self.seed, _SELECTION]
            )
        ]
        return self._record(trainer, [[part] for part in chosen], None)

    def epoch(self, trainer: LocalTrainer, selective: SelectiveSettings | None = None) -> dict[str, Any]:
        """The first epoch of each site: what a site sends in B and FedAvg, or what it selects in C."""
        return self._record(trainer, [site.train for site in self.sites], selective)

    def _record(
        self, trainer: LocalTrainer, learned: Sequence[Sequence[Example]], selective: SelectiveSettings | None
    ) -> dict[str, Any]:
        characters, words = [], []
        for number, examples in enumerate(learned):
            change = self._change(trainer, examples, number, selective)
            named = named_characters(change, trainer.layout, self.config)
            characters.append(recovered(named, characters_there(examples, self.config)))
            named = named_words(change, trainer.layout, self.config, self.matrix)
            words.append(recovered(named, words_there(examples)))
        return {"n": len(learned), "characters": _figures(characters), "words": _figures(words)}

    def _change(
        self,
        trainer: LocalTrainer,
        examples: Sequence[Example],
        number: int,
        selective: SelectiveSettings | None,
    ) -> Weights:
        layout = trainer.layout
        done = trainer.epoch(examples, self.start, (self.seed, number, _SELECTION))
        change = layout.flat(done.weights) - layout.flat(self.start)
        if selective is not None:
            given = selected_changes(
                change, selective, np.random.default_rng([self.seed, number, _SELECTION])
            )
            change = np.zeros_like(change)
            change[given.indices] = given.values
        return layout.arrays(change)


def _figures(found: Sequence[Recovered]) -> dict[str, float | None]:
    whole = Recovered(*(sum(getattr(one, name) for one in found) for name in ("right", "named", "there")))
    return {"precision": whole.precision, "recall": whole.recall, "there": whole.there / max(len(found), 1)}
