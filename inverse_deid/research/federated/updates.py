"""What a site sends back after a local epoch, and what the server refuses of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from inverse_deid.research.federated.weights import Layout, Weights


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """The network of a site after its epoch.

    Args:
        site: Its name.
        version: Which round of which run the site trained on.
        weights: All shared weights.
        n_tokens: Tokens it trained on: its weight in a mean.
    """

    site: str
    version: str
    weights: Weights = field(repr=False)
    n_tokens: int


def problem_of(update: Update, layout: Layout, version: str) -> str | None:
    """Why an update cannot be used, in a few words; None if it can.

    Args:
        update: As it came.
        layout: Of the common network.
        version: The round that was asked for.
    """
    if update.version != version:
        return "answered for another round or program version"
    if not layout.fits(update.weights):
        return "sent weights of a wrong shape"
    if not all(np.issubdtype(array.dtype, np.floating) for array in update.weights):
        return "sent weights that are no floating-point numbers"
    if not all(np.isfinite(array).all() for array in update.weights):
        return "sent a weight that is not a finite number"
    if update.n_tokens < 1:
        return "trained on no token"
    return None


def usable(updates: Sequence[Update], layout: Layout, version: str) -> tuple[list[Update], Mapping[str, str]]:
    """Leave out what cannot be used.

    Returns:
        The usable updates in order, and the problem of each other site by its name.
    """
    problems = {update.site: problem_of(update, layout, version) for update in updates}
    good = [update for update in updates if problems[update.site] is None]
    return good, {site: problem for site, problem in problems.items() if problem}


def mean_weights(updates: Sequence[Update]) -> Weights:
    """The mean of networks, each weighing as many tokens as it was trained on (FedAvg).

    Args:
        updates: At least one, all usable.

    Source:
        McMahan et al. 2017, algorithm 1.
    """
    n_tokens = np.array([update.n_tokens for update in updates], np.float64)
    shares = n_tokens / n_tokens.sum()
    stacked = zip(*(update.weights for update in updates), strict=True)
    return [
        np.einsum("s...,s->...", np.stack(arrays).astype(np.float64), shares).astype(np.float32)
        for arrays in stacked
    ]
