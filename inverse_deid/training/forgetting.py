"""What fine-tuning gained or lost, at one recall: figures of two models differ by their thresholds, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inverse_deid.core.thresholds import EVERYTHING_MASKED, Thresholds
from inverse_deid.training.calibration import ScoredCorpus, measure, needed_to_mask


@dataclass(frozen=True, slots=True)
class AtOneRecall:
    """Precision of two models at a recall that both reach.

    Args:
        recall: Share of PHI tokens masked, in (0, 1].
        before: Precision of the model that was started from.
        after: Precision of the model that came out.
    """

    recall: float
    before: float
    after: float


def at_one_recall(
    before: Sequence[ScoredCorpus],
    after: Sequence[ScoredCorpus],
    points_before: Mapping[str, Thresholds],
    points_after: Mapping[str, Thresholds],
    name: str = "balanced",
) -> dict[str, AtOneRecall | None]:
    """Compare two models on each corpus at the recall that the second has at one operating point.

    Args:
        before: Corpora scored by the model that was started from.
        after: The same corpora, in the same order, scored by the model that came out.
        points_before: Operating points of the first; their slope is used.
        points_after: Operating points of the second.
        name: The operating point.

    Returns:
        By corpus; None where there is no PHI or none of it is masked.
    """
    found: dict[str, AtOneRecall | None] = {}
    for one, other in zip(before, after, strict=True):
        recall = measure(other, points_after[name]).recall
        found[one.name] = (
            AtOneRecall(
                recall,
                precision_at(one, recall, points_before[name]),
                precision_at(other, recall, points_after[name]),
            )
            if recall
            else None
        )
    return found


def precision_at(corpus: ScoredCorpus, recall: float, like: Thresholds = EVERYTHING_MASKED) -> float:
    """Precision at the smallest threshold that reaches a recall; equal probabilities are masked together.

    Args:
        corpus: Scored tokens with PHI among them.
        recall: In (0, 1].
        like: Thresholds with the slope to use.

    Example:
        >>> from inverse_deid.core.values import RuleVerdicts
        >>> corpus = ScoredCorpus("x", np.array([True, False, True]), np.array([0.1, 0.2, 0.3], np.float32),
        ...     RuleVerdicts.silent(3), np.zeros(3))
        >>> precision_at(corpus, 0.5), round(precision_at(corpus, 1.0), 3)
        (1.0, 0.667)
    """
    at = needed_to_mask(corpus, like)
    of_phi = np.sort(at[corpus.is_phi])
    limit = of_phi[max(0, int(np.ceil(recall * len(of_phi) - 1e-9)) - 1)]
    return float(corpus.is_phi[at <= limit].mean())
