"""How many held-out identifiers it takes before fine-tuning may lower a threshold.

A few documents say little about rare leaks: without any leak among 17 identifiers, the true recall may be as
low as 84 %. So a threshold falls below that of the model that was started from only if the held-out
identifiers show, with a confidence of 95 %, that the aimed recall is still reached.

- An identifier is a marked text. In one document the same text counts once, as a name that is missed once is
  missed again. It leaks if any of its tokens is kept.
- The exact lower bound of the recall must reach the aim. That takes `n_needed` identifiers without a leak
  (about 3 / (1 - aim), the rule of three), and more if some leak.
- They are from at least `LEAST_DOCUMENTS` documents: those of one document resemble each other.

`lenient` aims at a precision, so it needs the evidence of `balanced`.

Source: Clopper and Pearson 1934 (exact bound); Hanley and Lippman-Hand 1983 (rule of three).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from inverse_deid.core.thresholds import OperatingPoints, Thresholds
from inverse_deid.training.calibration import MARGIN, ScoredCorpus, score_from_high, thresholds_at
from inverse_deid.training.config import CalibrationConfig

CONFIDENCE = 0.95
LEAST_DOCUMENTS = 20
"""Of fewer documents, no share of identifiers is told apart from a habit of one author."""


def n_needed(recall: float) -> int:
    """Return how many identifiers without a leak show a recall; `recall` is in (0, 1).

    Example:
        >>> n_needed(0.98), n_needed(0.989), n_needed(0.995)
        (149, 271, 598)
    """
    return math.ceil(math.log(1 - CONFIDENCE) / math.log(recall))


def recall_bound(n_masked: int, n: int) -> float:
    """Return the exact lower bound of a recall, in [0, 1], after `n_masked` of `n` identifiers were masked.

    Example:
        >>> round(recall_bound(17, 17), 3), recall_bound(0, 0)
        (0.838, 0.0)
    """
    return float(betaincinv(n_masked, n - n_masked + 1, 1 - CONFIDENCE)) if n_masked else 0.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """The held-out documents that a model was calibrated on.

    Args:
        corpora: The held-out documents.
        n_documents: Those with identifiers.
        n_identifiers: In them, each text of a document once.
    """

    corpora: Sequence[ScoredCorpus] = field(repr=False)
    n_documents: int
    n_identifiers: int

    @classmethod
    def of(cls, corpora: Sequence[ScoredCorpus]) -> Evidence:
        """Count the identifiers of held-out documents."""
        return cls(
            corpora,
            sum(corpus.n_documents for corpus in corpora),
            sum(int(corpus.identifiers.max(initial=-1)) + 1 for corpus in corpora),
        )

    def leak_at(self, like: Thresholds) -> npt.NDArray[np.float64]:
        """Return above which `high` each identifier is masked whole, falling; `like` gives the slope."""
        highest = []
        for corpus in (corpus for corpus in self.corpora if corpus.n_documents):
            scores = np.zeros(int(corpus.identifiers.max(initial=-1)) + 1)
            is_one = corpus.identifiers >= 0
            np.maximum.at(scores, corpus.identifiers[is_one], score_from_high(corpus, like)[is_one])
            highest.append(scores)
        return np.sort(np.concatenate(highest or [np.zeros(0)]))[::-1]

    def least_high(self, recall: float, like: Thresholds) -> float | None:
        """Return the smallest `high` that the identifiers support, None = none, as they are too few."""
        n = self.n_identifiers
        if self.n_documents < LEAST_DOCUMENTS or recall_bound(n, n) < recall:
            return None
        n_leaks = 0
        while n_leaks + 1 < n and recall_bound(n - n_leaks - 1, n) >= recall:
            n_leaks += 1
        return min(float(self.leak_at(like)[n_leaks]) + MARGIN, 1 - MARGIN)


def keep_margin(
    found: Mapping[str, Thresholds], start: OperatingPoints, evidence: Evidence, config: CalibrationConfig
) -> dict[str, Thresholds]:
    """Return operating points that are below those of `start` only as far as the evidence goes.

    None masks more than the one before it.
    """
    points = {name: _support(name, pair, start, evidence, config) for name, pair in found.items()}
    last: Thresholds | None = None
    for name in reversed(points):
        if last is not None and points[name].high < last.high:
            points[name] = last
        last = points[name]
    return points


def _support(
    name: str, found: Thresholds, start: OperatingPoints, evidence: Evidence, config: CalibrationConfig
) -> Thresholds:
    kept = start.get(name)
    if kept is None or _is_safer(found, kept):
        return found
    least = evidence.least_high(_recall_of(name, config), found)
    if least is None:
        return Thresholds(max(found.low, kept.low), max(found.high, kept.high), kept.density_slope)
    supported = thresholds_at(max(found.high, least), found)
    if supported.density_slope == kept.density_slope and supported.high >= kept.high:
        return replace(kept, low=max(found.low, kept.low))
    return supported


def _is_safer(found: Thresholds, kept: Thresholds) -> bool:
    """Tell whether the first thresholds keep nothing that the second ones mask."""
    is_higher = found.low >= kept.low and found.high >= kept.high
    return is_higher and found.density_slope == kept.density_slope


def _recall_of(name: str, config: CalibrationConfig) -> float:
    return config.strict_recall if name == "strict" else config.balanced_recall


def evidence_lines(
    points: Mapping[str, Thresholds],
    start: OperatingPoints | None,
    evidence: Evidence,
    config: CalibrationConfig,
) -> Iterator[str]:
    """Say what the operating points rest on, and which of them are those of the model to start from."""
    yield (
        f"calibrated on {evidence.n_documents:,} documents, {evidence.n_identifiers:,} identifiers "
        "(held out, the same text once per document)"
    )
    for name, pair in points.items():
        recall = _recall_of(name, config)
        if evidence.least_high(recall, pair) is not None:
            continue
        n = f"{n_needed(recall):,}" if recall < 1 else "infinitely many"
        needs = (
            f"{n} held-out identifiers of {LEAST_DOCUMENTS} documents without a leak, or more if some leak"
        )
        if start is not None and name in start:
            yield f"{name}: not below the thresholds of the model to start from. Lower ones need {needs}"
        else:
            yield f"{name}: too few to show a recall of {100 * recall:g} %, which needs {needs}"
