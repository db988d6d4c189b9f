"""How good a review is: agreement and time of reviewers, and a bound on the leaks in released cases.

The bound comes from the elusion check: released cases are drawn at random and read in full.

Source: Clopper and Pearson 1934 (the exact one-sided bound); drawing without replacement from
finitely many cases only makes it safer.
"""

from __future__ import annotations

import math
import random
import secrets
import statistics
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.core.values import BoolArray
from inverse_deid.core.wording import _
from inverse_deid.evaluation.grades import Agreement, measure_agreement
from inverse_deid.evaluation.guarantees import Aim, provable_target
from inverse_deid.evaluation.measures.uncertainty import check_confidence
from inverse_deid.review.flow.approval import reopen
from inverse_deid.review.flow.cases import lock_row
from inverse_deid.review.flow.contents import read_content
from inverse_deid.review.flow.layers import find_runs, replay_approved
from inverse_deid.review.flow.oversight import added_by, has_hand, read_limits, refuse_adder, refuse_hand
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.tables import CASES, LAYERS, SAMPLE_CASES, SAMPLES, USERS
from inverse_deid.review.store.values import CaseState, LayerKind, User, UserRole

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class ReviewerTime:
    """Approved cases of one reviewer and the median working time per case.

    Pauses count two minutes at most.
    """

    user: str
    n_approved: int
    median_seconds: float | None


@dataclass(frozen=True, slots=True)
class ReviewSummary:
    """Agreement and time of a store."""

    n_double: int  # cases approved by two reviewers
    tokens: Agreement | None  # all tokens of those cases, kept or masked; kappa has an interval by case
    f1: float | None  # of the masks, see `compare_masks`
    times: tuple[ReviewerTime, ...]  # by name


def summarise_reviewers(store: ReviewStore, *, seed: int = 1) -> ReviewSummary:
    """Return the agreement on all cases with two approvals, and the time of every reviewer."""
    with store.reading() as transaction:
        pairs = _read_pairs(transaction)
        times = _read_times(transaction)
    tokens = None
    if pairs:
        judgements = np.concatenate([np.stack(pair) for pair in pairs], axis=1).astype(np.int64)
        documents = np.repeat(np.arange(len(pairs)), [len(first) for first, _ in pairs])
        tokens = measure_agreement(judgements, documents, n_steps=2, seed=seed)
    return ReviewSummary(len(pairs), tokens, compare_masks(pairs), times)


def compare_masks(pairs: list[tuple[BoolArray, BoolArray]]) -> float | None:
    """Return the F1 of two reviewers' masks, as spans with the same first and last token.

    `pairs` are, for each case, the tokens that each reviewer keeps, bool (n_tokens,). The result is in
    [0, 1], or None if neither masked anything.

    Example:
        >>> keep = np.array([True, False, False, True, False])
        >>> compare_masks([(keep, np.array([True, False, False, False, False]))])
        0.0
        >>> compare_masks([(keep, keep)])
        1.0
    """
    n_both = n_spans = 0
    for first, second in pairs:
        a, b = set(find_runs(~first)), set(find_runs(~second))
        n_both, n_spans = n_both + len(a & b), n_spans + len(a) + len(b)
    return 2 * n_both / n_spans if n_spans else None


def _read_pairs(transaction: Transaction) -> list[tuple[BoolArray, BoolArray]]:
    found = select(CASES.c.id).where(CASES.c.n_approvals >= 2).order_by(CASES.c.id)
    pairs = []
    for case_id in transaction.execute(found).scalars().all():
        content = read_content(transaction, case_id)
        first, second = replay_approved(transaction, case_id, content)[:2]
        pairs.append((first.keep, second.keep))
    return pairs


def _read_times(transaction: Transaction) -> tuple[ReviewerTime, ...]:
    found = select(USERS.c.name, LAYERS.c.seconds).join(LAYERS, LAYERS.c.user_id == USERS.c.id)
    found = found.where(LAYERS.c.approval.is_not(None), LAYERS.c.kind == LayerKind.REVIEW.value)
    seconds: dict[str, list[float]] = defaultdict(list)
    for row in transaction.execute(found):
        seconds[row.name].append(row.seconds)
    return tuple(
        ReviewerTime(name, len(spent), statistics.median(spent)) for name, spent in sorted(seconds.items())
    )


@dataclass(frozen=True, slots=True)
class Sample:
    """Cases to be read, of `n_released` released cases; nobody has read the `unread` ones yet."""

    id: int
    n_released: int
    case_ids: tuple[int, ...]
    unread: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SampleResult:
    """Result of reading a whole sample."""

    n_read: int
    n_leaking: int
    leak_rate_bound: float  # at most this share of the released cases leaks
    confidence: float  # of the bound, in (0, 1)

    @property
    def bound_percent(self) -> float:
        """The bound in percent, rounded up to two decimals."""
        return math.ceil(1e4 * self.leak_rate_bound) / 100


def draw_sample(store: ReviewStore, n_cases: int, *, seed: int | None = None, by: str = "command") -> Sample:
    """Draw released cases, each set of them with the same probability; `by` is for the trail.

    Raises:
        ReviewError: Fewer cases are released.
    """
    with store.writing() as transaction:
        found = select(CASES).where(CASES.c.state == CaseState.RELEASED.value).order_by(CASES.c.id)
        released = [case.id for case in transaction.read(found, CASES)]
        if not 1 <= n_cases <= len(released):
            raise ReviewError(
                _(
                    "{n_cases} cases cannot be drawn: {n_released} cases are released",
                    n_cases=n_cases,
                    n_released=len(released),
                )
            )
        rng = random.Random(secrets.randbits(64) if seed is None else seed)
        drawn = sorted(rng.sample(released, n_cases))
        row = {"drawn_at": store.now(), "n_released": len(released)}
        sample_id = transaction.insert(SAMPLES, row)
        rows = [{"sample_id": sample_id, "case_id": case_id} for case_id in drawn]
        transaction.insert_all(SAMPLE_CASES, rows)
        event = f"sample {sample_id} drawn: {n_cases} of {len(released)} released cases"
        transaction.record(TrailEvent(user=by, event=event))
    return Sample(sample_id, len(released), tuple(drawn), tuple(drawn))


def read_sample(store: ReviewStore) -> Sample:
    """Return the latest sample.

    Raises:
        ReviewError: No sample was drawn.
    """
    with store.reading() as transaction:
        return _read_sample(transaction)[0]


def _read_sample(transaction: Transaction) -> tuple[Sample, list[bool | None]]:
    # None = unread.
    rows = transaction.read(select(SAMPLES).order_by(SAMPLES.c.id.desc()).limit(1), SAMPLES)
    if not rows:
        raise ReviewError(_("no sample has been drawn yet. Draw one with inverse-deid review sample N"))
    (row,) = rows
    found = select(SAMPLE_CASES).where(SAMPLE_CASES.c.sample_id == row.id).order_by(SAMPLE_CASES.c.case_id)
    cases = transaction.read(found, SAMPLE_CASES)
    unread = tuple(case.case_id for case in cases if case.leaks is None)
    sample = Sample(row.id, row.n_released, tuple(case.case_id for case in cases), unread)
    return sample, [case.leaks for case in cases]


def list_unread(store: ReviewStore, user: User) -> tuple[int, ...]:
    """Return the unread cases of the latest sample that are still released and that a user may read for it.

    Raises:
        ReviewError: No sample was drawn.
    """
    with store.reading() as transaction:
        sample, _ = _read_sample(transaction)
        found = select(CASES.c.id).join(SAMPLE_CASES, SAMPLE_CASES.c.case_id == CASES.c.id)
        found = found.where(SAMPLE_CASES.c.sample_id == sample.id, SAMPLE_CASES.c.leaks.is_(None))
        found = found.where(CASES.c.state == CaseState.RELEASED.value, ~has_hand(user.id, *LayerKind))
        if read_limits(transaction).adders_stay_out:
            found = found.where(~added_by(user.id))
        return tuple(transaction.execute(found.order_by(CASES.c.id)).scalars())


def record_reading(store: ReviewStore, user: User, case_id: int, *, leaks: bool) -> None:
    """Record whether a case of the latest sample leaks; a case that leaks is withdrawn.

    Raises:
        NotAllowedError: The reader is not an adjudicator, or changed or approved the case.
        ReviewError: The case is not in the sample, or was already read.
    """
    if not user.role.includes(UserRole.ADJUDICATOR):
        raise NotAllowedError(_("only an adjudicator can read cases for a sample"))
    with store.writing() as transaction:
        case = lock_row(transaction, case_id)
        sample, _ignored = _read_sample(transaction)
        if case_id not in sample.unread:
            was = _("was already read") if case_id in sample.case_ids else _("is not in the sample")
            raise ReviewError(_("case {case_id} {was}", case_id=case_id, was=was))
        refuse_hand(transaction, user, case, "read", *LayerKind)
        refuse_adder(transaction, user.name, case)
        one = (SAMPLE_CASES.c.sample_id == sample.id) & (SAMPLE_CASES.c.case_id == case_id)
        transaction.update(SAMPLE_CASES, one, reader_id=user.id, leaks=leaks)
        if leaks and case.state == CaseState.RELEASED.value:
            reopen(transaction, case, user.id)
        event = f"read for sample {sample.id}: {'leaks' if leaks else 'no leak'}"
        transaction.record(TrailEvent(user=user.name, event=event, case=case_id, name=case.name))


def bound_leaks(store: ReviewStore, *, confidence: float = CONFIDENCE) -> SampleResult:
    """Return the exact upper bound of the share of released cases that leak, from the latest sample.

    Raises:
        ReviewError: Some of its cases are unread; part of a sample proves nothing.
        ConfigurationError: `confidence` is not in (0, 1).
    """
    check_confidence(confidence)
    with store.reading() as transaction:
        sample, leaks = _read_sample(transaction)
    if sample.unread:
        raise ReviewError(
            _(
                "{n_unread} of the {n_leaks} cases of the sample are unread. Read them first",
                n_unread=len(sample.unread),
                n_leaks=len(leaks),
            )
        )
    n_leaking = sum(map(bool, leaks))
    bound = provable_target(n_leaking, len(leaks), Aim(target=0.5, confidence=confidence))
    return SampleResult(len(leaks), n_leaking, bound, confidence)
