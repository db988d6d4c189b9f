"""Measure a network in training on held-out documents: recall at a fixed precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import keras
import numpy as np

from inverse_deid.core.values import BoolArray, Document, FloatArray
from inverse_deid.network.batches import Example
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.training import probabilities
from inverse_deid.training.examples import ExampleMaker, Weights


def recall_at_precision(is_phi: BoolArray, p_safe: FloatArray, precision: float) -> float:
    """The highest recall of PHI tokens at which the masked ones hold that share of PHI.

    Args:
        is_phi: bool (n_tokens,).
        p_safe: float32 (n_tokens,); the lowest are masked first.
        precision: Wanted share of PHI among masked tokens, in [0, 1].

    Returns:
        In [0, 1]; 0 if no threshold reaches the precision or there is no PHI.

    Example:
        >>> recall_at_precision(np.array([True, True, False]), np.array([0.1, 0.9, 0.5]), 1.0)
        0.5
    """
    n_phi = int(is_phi.sum())
    if not n_phi:
        return 0.0
    order = np.argsort(p_safe, kind="stable")
    hits = np.cumsum(is_phi[order])
    # A threshold masks all tokens of one value or none: look where the value changes.
    last_of_value = np.append(np.diff(p_safe[order]) > 0, True)
    reached = (hits / np.arange(1, len(order) + 1) >= precision) & last_of_value
    return float(hits[reached].max(initial=0) / n_phi)


def validator(
    corpora: Sequence[Sequence[Document]], maker: ExampleMaker, config: NetworkConfig, precision: float
) -> Callable[[keras.Model], float] | None:
    """A function that measures a network: the mean over the corpora of recall at the precision.

    Returns:
        None if no corpus has a held-out document with PHI.
    """
    examples = [[maker.make(doc, Weights()) for doc in docs] for docs in corpora]
    examples = [some for some in examples if any((e.labels > 0).any() for e in some)]
    if not examples:
        return None

    def measure(network: keras.Model) -> float:
        return float(np.mean([_recall(network, some, config, precision) for some in examples]))

    return measure


def _recall(
    network: keras.Model, examples: Sequence[Example], config: NetworkConfig, precision: float
) -> float:
    scores = probabilities(network, examples, config)
    p_safe = np.concatenate([rows[:, 0] for rows in scores])
    return recall_at_precision(np.concatenate([e.labels > 0 for e in examples]), p_safe, precision)
