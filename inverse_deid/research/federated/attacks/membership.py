"""Membership: was a document trained on? The attempt asks a network for its loss on the document.

An attacker with a network and a document guesses that it was trained on if the loss is low. No
threshold is chosen. The measure is how often, in a pair of a training document and another document
of the same site, the training document has the lower loss.

Source: Yeom et al. 2018, "Privacy Risk in Machine Learning", section 3 (loss threshold).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import FloatArray
from inverse_deid.network.batches import Example
from inverse_deid.research.federated.documents import EncodedSite
from inverse_deid.research.federated.local_training import LocalTrainer
from inverse_deid.research.federated.weights import Weights

Losses = npt.NDArray[np.float64]
Group = tuple[Losses, Losses]
"""Losses of training documents and of others, which are compared only with each other."""

_N_SAMPLES = 1000
_SMALLEST = 1e-12
_MEMBERS_PER_OTHER = 3
_OWN = 4
"""Keeps the random stream of the attempts apart."""


@dataclass(frozen=True, slots=True)
class Membership:
    """How well losses separate training documents from others.

    Args:
        auc: Share of pairs in which the training document has the lower loss; equal losses
            count half. 0.5 = losses tell nothing, 1 = everything.
        low: Of the 95 % interval, from resampled documents.
    """

    auc: float
    low: float
    high: float
    n_members: int
    n_others: int


def measure_losses(
    examples: Sequence[Example], probabilities: Sequence[FloatArray], *, phi_only: bool = False
) -> Losses:
    """Return the mean loss of each document: float64 (n_documents,), in nats per token.

    `probabilities` are float32 (n_tokens, n_classes) per document. With `phi_only`, only tokens of
    protected health information (PHI) count, and documents without any are left out.
    """
    found = []
    for example, rows in zip(examples, probabilities, strict=True):
        counted = example.labels > 0 if phi_only else np.ones(len(example), np.bool_)
        if counted.any():
            right = rows[np.arange(len(example)), example.labels][counted].astype(np.float64)
            found.append(-np.log(np.maximum(right, _SMALLEST)).mean())
    return np.array(found, np.float64)


def measure_membership(groups: Sequence[Group], rng: np.random.Generator) -> Membership | None:
    """Measure the attempt.

    Args:
        groups: Of each site. Documents of different sites are not compared.
        rng: Resamples documents for the interval.

    Returns:
        None if no site has both kinds of documents.

    Example:
        >>> low, high = np.array([0.1, 0.2]), np.array([0.15, 0.9])
        >>> measure_membership([(low, high)], np.random.default_rng(1)).auc
        0.75
    """
    wins = [  # (members, others): 1 where the training document has the lower loss, 0.5 for equal losses
        (np.sign(others[None, :] - members[:, None]) + 1) / 2
        for members, others in groups
        if len(members) and len(others)
    ]
    if not wins:
        return None

    def resample(one: Losses) -> Losses:
        rows, columns = (rng.integers(n, size=n) for n in one.shape)
        return one[np.ix_(rows, columns)]

    drawn = [_average([resample(one) for one in wins]) for _ in range(_N_SAMPLES)]
    low, high = np.quantile(drawn, (0.025, 0.975))
    n_members, n_others = (sum(one.shape[axis] for one in wins) for axis in (0, 1))
    return Membership(_average(wins), float(low), float(high), n_members, n_others)


def _average(wins: Sequence[Losses]) -> float:
    return float(sum(one.sum() for one in wins) / sum(one.size for one in wins))


def attempt_membership(
    trainer: LocalTrainer, sites: Sequence[EncodedSite], networks: Mapping[str, Weights], seed: int
) -> dict[str, Any]:
    """Attempt membership on the networks that a method ended with.

    Members are training documents of the sites, three for each held-out document, which are the others.

    Returns:
        For all tokens and for those of PHI: the fields of `Membership`, None where undefined.
    """
    groups: dict[str, list[Group]] = {"all tokens": [], "tokens of PHI": []}
    for number, site in enumerate(sites):
        members = draw_examples(site.train, _MEMBERS_PER_OTHER * len(site.held_out), [seed, number, _OWN])
        asked = [(docs, trainer.predict(networks[site.name], docs)) for docs in (members, site.held_out)]
        for name, rows in groups.items():
            low, high = (measure_losses(*pair, phi_only=name != "all tokens") for pair in asked)
            rows.append((low, high))
    found = {
        name: measure_membership(rows, np.random.default_rng([seed, _OWN])) for name, rows in groups.items()
    }
    return {name: dataclasses.asdict(one) if one else None for name, one in found.items()}


def draw_examples(examples: Sequence[Example], n_wanted: int, seed: Sequence[int]) -> list[Example]:
    """Draw some examples, in their order."""
    drawn = np.random.default_rng(list(seed)).permutation(len(examples))[:n_wanted]
    return [examples[i] for i in sorted(drawn.tolist())]
