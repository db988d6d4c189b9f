"""How good a network is on documents that no site trains on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray, FloatArray, RuleVerdicts
from inverse_deid.network.batches import Example
from inverse_deid.training.calibration import ScoredCorpus, densities, recall_at_precision


@dataclass(frozen=True, slots=True)
class Measures:
    """PHI against safe, one token = one decision; None = undefined.

    Args:
        f1: Of the most probable class, whatever type of PHI it is.
        precision: Likewise.
        recall: Likewise.
        recall_at_precision: Highest recall of any threshold at the wanted precision.
    """

    f1: float | None
    precision: float | None
    recall: float | None
    recall_at_precision: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Tokens of documents as a network sees them, one after the other.

    Args:
        is_phi: bool (n_tokens,), gold.
        p_safe: float32 (n_tokens,).
        is_masked: bool (n_tokens,), the most probable class is not *safe*.
        lengths: Tokens of each document.
    """

    is_phi: BoolArray = field(repr=False)
    p_safe: FloatArray = field(repr=False)
    is_masked: BoolArray = field(repr=False)
    lengths: tuple[int, ...] = field(repr=False)

    def of(self, documents: Sequence[int]) -> Scored:
        """Some of the documents, by their number."""
        chosen = np.zeros(len(self.lengths), np.bool_)
        chosen[list(documents)] = True
        tokens = np.repeat(chosen, self.lengths)
        kept = tuple(n for n, is_chosen in zip(self.lengths, chosen.tolist(), strict=True) if is_chosen)
        return Scored(self.is_phi[tokens], self.p_safe[tokens], self.is_masked[tokens], kept)

    def corpus(self, name: str) -> ScoredCorpus:
        """What calibration reads; the network is alone, without rules."""
        verdicts = RuleVerdicts.silent(len(self.is_phi))
        parts = np.split(self.p_safe, np.cumsum(self.lengths)[:-1])
        return ScoredCorpus(name, self.is_phi, self.p_safe, verdicts, densities(parts))


def scored(examples: Sequence[Example], probabilities: Sequence[FloatArray]) -> Scored:
    """Join what a network says of documents.

    Args:
        examples: The documents.
        probabilities: float32 (n_tokens, n_classes) of each.
    """
    rows = np.concatenate(list(probabilities))
    return Scored(
        np.concatenate([example.labels > 0 for example in examples]),
        rows[:, 0].copy(),
        _not_safe(rows),
        tuple(len(example) for example in examples),
    )


def _not_safe(rows: FloatArray) -> BoolArray:
    """A row that holds no number is no vote for safe."""
    best: npt.NDArray[np.int64] = rows.argmax(axis=1)
    return np.asarray((best != 0) | np.isnan(rows).any(axis=1))


def measures(found: Scored, precision: float) -> Measures:
    """Measure the tokens of documents.

    Args:
        found: The tokens.
        precision: At which recall is looked up.

    Example:
        >>> flags = np.array([True, True, False])
        >>> masked = np.array([True, False, False])
        >>> measures(Scored(flags, np.array([0.1, 0.9, 0.8], np.float32), masked, (3,)), 0.9)
        Measures(f1=0.6666666666666666, precision=1.0, recall=0.5, recall_at_precision=0.5)
    """
    hits = int((found.is_phi & found.is_masked).sum())
    n_masked, n_phi = int(found.is_masked.sum()), int(found.is_phi.sum())
    return Measures(
        f1=2 * hits / (n_masked + n_phi) if n_masked + n_phi else None,
        precision=hits / n_masked if n_masked else None,
        recall=hits / n_phi if n_phi else None,
        recall_at_precision=recall_at_precision(found.is_phi, found.p_safe, precision) if n_phi else None,
    )


def worst_site(values: Mapping[str, float | None]) -> str | None:
    """The site of the lowest figure, the first of equals; None of nothing.

    Example:
        >>> worst_site({"east": 0.9, "west": 0.8, "north": None})
        'west'
    """
    known = {site: value for site, value in values.items() if value is not None}
    return min(known, key=lambda site: known[site]) if known else None
