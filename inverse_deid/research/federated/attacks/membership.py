"""Was a document trained on? The attempt that asks a network for its loss on it.

Whoever has a network and a document guesses that it was trained on if the loss is low. No
threshold is chosen: what is measured is how often a training document has the lower loss of
a pair of a training document and another one of the same site, drawn from the same documents.

Source: Yeom et al. 2018, "Privacy Risk in Machine Learning", section 3 (loss threshold).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import FloatArray
from inverse_deid.network.batches import Example

Losses = npt.NDArray[np.float64]
Group = tuple[Losses, Losses]
"""Losses of training documents and of others, which are compared with each other alone."""

_N_SAMPLES = 1000
_SMALLEST = 1e-12


@dataclass(frozen=True, slots=True)
class Membership:
    """How well losses tell training documents from others.

    Args:
        auc: Share of pairs in which the training document has the lower loss; equal losses
            count half. 0.5 = nothing is told, 1 = everything.
        low: Of the 95 % interval, by drawing documents anew.
        high: Likewise.
        n_members: Training documents.
        n_others: Other documents.
    """

    auc: float
    low: float
    high: float
    n_members: int
    n_others: int


def document_losses(
    examples: Sequence[Example], probabilities: Sequence[FloatArray], *, phi_only: bool = False
) -> Losses:
    """The mean loss of each document: float64 (n_documents,), in nats a token.

    Args:
        examples: The documents.
        probabilities: float32 (n_tokens, n_classes) of each.
        phi_only: Count tokens of PHI alone; a document without any is left out.
    """
    found = []
    for example, rows in zip(examples, probabilities, strict=True):
        counted = example.labels > 0 if phi_only else np.ones(len(example), np.bool_)
        if counted.any():
            right = rows[np.arange(len(example)), example.labels][counted].astype(np.float64)
            found.append(-np.log(np.maximum(right, _SMALLEST)).mean())
    return np.array(found, np.float64)


def membership(groups: Sequence[Group], rng: np.random.Generator) -> Membership | None:
    """Measure the attempt.

    Args:
        groups: Of each site; documents of different sites are not compared.
        rng: Draws documents anew for the interval.

    Returns:
        None where no site has both kinds of documents.

    Example:
        >>> low, high = np.array([0.1, 0.2]), np.array([0.15, 0.9])
        >>> membership([(low, high)], np.random.default_rng(1)).auc
        0.75
    """
    wins = [_wins(members, others) for members, others in groups if len(members) and len(others)]
    if not wins:
        return None
    drawn = [_share([_drawn(one, rng) for one in wins]) for _ in range(_N_SAMPLES)]
    low, high = np.quantile(drawn, (0.025, 0.975))
    n_members, n_others = (sum(one.shape[axis] for one in wins) for axis in (0, 1))
    return Membership(_share(wins), float(low), float(high), n_members, n_others)


def _wins(members: Losses, others: Losses) -> Losses:
    """1 where the training document has the lower loss, 0.5 where both have the same: (members, others)."""
    difference = others[None, :] - members[:, None]
    return (np.sign(difference) + 1) / 2


def _drawn(wins: Losses, rng: np.random.Generator) -> Losses:
    rows, columns = (rng.integers(n, size=n) for n in wins.shape)
    return wins[np.ix_(rows, columns)]


def _share(wins: Sequence[Losses]) -> float:
    return float(sum(one.sum() for one in wins) / sum(one.size for one in wins))
