"""How far two reviewers agree, and how long they take."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, select

from inverse_deid.core.values import BoolArray
from inverse_deid.evaluation.agreement import Agreement, measure_agreement
from inverse_deid.review.contents import read_content
from inverse_deid.review.layers import reviewers_tokens, runs_of
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import CASES, LAYERS, USERS
from inverse_deid.review.values import LayerKind


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
    with store.reading() as connection:
        pairs = _pairs(connection, store)
        times = _times(connection)
    tokens = None
    if pairs:
        judgements = np.concatenate([np.stack(pair) for pair in pairs], axis=1).astype(np.int64)
        documents = np.repeat(np.arange(len(pairs)), [len(first) for first, _ in pairs])
        tokens = measure_agreement(judgements, documents, n_steps=2, seed=seed)
    return ReviewSummary(len(pairs), tokens, span_agreement(pairs), times)


def span_agreement(pairs: list[tuple[BoolArray, BoolArray]]) -> SpanAgreement:
    """Compare runs of masked tokens.

    Args:
        pairs: For each case what the first and the second keep, bool (n_tokens,) each.

    Example:
        >>> keep = np.array([True, False, False, True, False])
        >>> span_agreement([(keep, np.array([True, False, False, False, False]))]).f1
        0.0
        >>> span_agreement([(keep, keep)]).f1
        1.0
    """
    n_both = n_first = n_second = 0
    for first, second in pairs:
        a, b = set(runs_of(~first)), set(runs_of(~second))
        n_both, n_first, n_second = n_both + len(a & b), n_first + len(a), n_second + len(b)
    return SpanAgreement(n_both, n_first, n_second)


def _pairs(connection: Connection, store: ReviewStore) -> list[tuple[BoolArray, BoolArray]]:
    """What both reviewers keep, of every case with two approvals."""
    found = select(CASES.c.id).where(CASES.c.n_approvals >= 2).order_by(CASES.c.id)
    pairs = []
    for case_id in connection.execute(found).scalars().all():
        content = read_content(connection, case_id, store.sealer)
        first, second = reviewers_tokens(connection, store, case_id, content)[:2]
        pairs.append((first.keep, second.keep))
    return pairs


def _times(connection: Connection) -> tuple[ReviewerTime, ...]:
    found = select(USERS.c.name, LAYERS.c.seconds).join(LAYERS, LAYERS.c.user_id == USERS.c.id)
    found = found.where(LAYERS.c.approval.is_not(None), LAYERS.c.kind == LayerKind.REVIEW.value)
    seconds: dict[str, list[float]] = defaultdict(list)
    for row in connection.execute(found):
        seconds[row.name].append(row.seconds)
    return tuple(
        ReviewerTime(name, len(spent), statistics.median(spent)) for name, spent in sorted(seconds.items())
    )
