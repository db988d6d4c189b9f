"""How far two reviewers agree, and how long they take."""

from __future__ import annotations

from dataclasses import dataclass

from inverse_deid.evaluation.agreement import Agreement
from inverse_deid.review.store import ReviewStore


@dataclass(frozen=True, slots=True)
class SpanAgreement:
    """Masks of the first and second reviewers, as spans of the same first and last token.

    Args:
        n_both: Spans that both have.
        n_first: Spans of the first.
        n_second: Spans of the second.
    """

    n_both: int
    n_first: int
    n_second: int

    @property
    def f1(self) -> float | None:
        """In [0, 1]; None if neither masked anything."""
        n = self.n_first + self.n_second
        return 2 * self.n_both / n if n else None


@dataclass(frozen=True, slots=True)
class ReviewerTime:
    """What one reviewer did.

    Args:
        user: His name.
        n_approved: Cases that he approved.
        median_seconds: Working time a case; pauses count two minutes at most. None = no case.
    """

    user: str
    n_approved: int
    median_seconds: float | None


@dataclass(frozen=True, slots=True)
class ReviewSummary:
    """Agreement and time of a store.

    Args:
        n_double: Cases that two reviewers approved.
        tokens: Kept or masked, on all tokens of those cases; kappa with an interval by case.
        spans: The masks.
        times: By name.
    """

    n_double: int
    tokens: Agreement | None
    spans: SpanAgreement
    times: tuple[ReviewerTime, ...]


def summarise_reviewers(store: ReviewStore, *, seed: int = 1) -> ReviewSummary:
    """Agreement on all cases with two approvals, and the time of every reviewer.

    Args:
        store: The store.
        seed: Of the interval of kappa.
    """
    raise NotImplementedError
