"""Elusion: released cases are drawn at random and read in full, to bound how many leak.

Source: Clopper and Pearson 1934 (the exact one-sided bound); drawing without replacement from
finitely many cases makes it only safer.
"""

from __future__ import annotations

import math
import random
import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.evaluation.guarantees import Aim, provable_target
from inverse_deid.evaluation.uncertainty import check_confidence
from inverse_deid.review.approval import approvers, reopen
from inverse_deid.review.layers import locked_case
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import CASES, LAYERS, SAMPLE_CASES, SAMPLES
from inverse_deid.review.trail import TrailEvent, append
from inverse_deid.review.values import CaseState, User

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Sample:
    """Cases to be read.

    Args:
        id: Number of the sample.
        n_released: Released cases that it was drawn from.
        case_ids: Those drawn.
        unread: Those that nobody read yet.
    """

    id: int
    n_released: int
    case_ids: tuple[int, ...]
    unread: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SampleResult:
    """What the reading of a whole sample shows.

    Args:
        n_read: Cases read.
        n_leaking: Cases in which the reader found an identifier.
        leak_rate_bound: With `confidence`, at most this share of the released cases leaks, in [0, 1].
        confidence: In (0, 1).
    """

    n_read: int
    n_leaking: int
    leak_rate_bound: float
    confidence: float

    @property
    def bound_percent(self) -> float:
        """The bound in percent of two digits, rounded up: never less than it is."""
        return math.ceil(1e4 * self.leak_rate_bound) / 100


def draw_sample(store: ReviewStore, n_cases: int, *, seed: int | None = None, by: str = "command") -> Sample:
    """Draw released cases, each set of them with the same probability.

    Args:
        store: The store.
        n_cases: At least 1; at most as many as are released.
        seed: None = a random one.
        by: Who draws, for the trail.

    Raises:
        ReviewError: There are not so many released cases.
    """
    with store.writing() as connection:
        found = select(CASES.c.id).where(CASES.c.state == CaseState.RELEASED.value).order_by(CASES.c.id)
        released = connection.execute(found).scalars().all()
        if not 1 <= n_cases <= len(released):
            raise ReviewError(f"{n_cases} cases cannot be drawn; {len(released)} are released")
        rng = random.Random(secrets.randbits(64) if seed is None else seed)
        drawn = sorted(rng.sample(released, n_cases))
        row = {"drawn_at": store.now(), "n_released": len(released)}
        made = connection.execute(insert(SAMPLES), row).inserted_primary_key
        sample_id = int(made[0]) if made else 0
        rows = [{"sample_id": sample_id, "case_id": case_id} for case_id in drawn]
        connection.execute(insert(SAMPLE_CASES), rows)
        event = f"sample {sample_id} drawn: {n_cases} of {len(released)} released cases"
        append(connection, store, [TrailEvent(user=by, event=event)])
    return Sample(sample_id, len(released), tuple(drawn), tuple(drawn))


def latest_sample(store: ReviewStore) -> Sample:
    """The sample that was drawn last.

    Raises:
        ReviewError: None was drawn.
    """
    with store.reading() as connection:
        return _latest(connection)


def _latest(connection: Connection) -> Sample:
    row = connection.execute(select(SAMPLES).order_by(SAMPLES.c.id.desc()).limit(1)).one_or_none()
    if row is None:
        raise ReviewError("no sample was drawn yet; draw one with inverse-deid review sample N")
    found = select(SAMPLE_CASES).where(SAMPLE_CASES.c.sample_id == row.id).order_by(SAMPLE_CASES.c.case_id)
    cases = connection.execute(found).all()
    unread = tuple(case.case_id for case in cases if case.leaks is None)
    return Sample(row.id, row.n_released, tuple(case.case_id for case in cases), unread)


def cases_to_read(store: ReviewStore, user: User) -> tuple[int, ...]:
    """The unread cases of the latest sample that a user may read: still released, not approved by him.

    Raises:
        ReviewError: No sample was drawn.
    """
    with store.reading() as connection:
        sample = _latest(connection)
        approved = select(LAYERS.c.case_id).where(LAYERS.c.user_id == user.id, LAYERS.c.approval.is_not(None))
        found = select(CASES.c.id).join(SAMPLE_CASES, SAMPLE_CASES.c.case_id == CASES.c.id)
        found = found.where(SAMPLE_CASES.c.sample_id == sample.id, SAMPLE_CASES.c.leaks.is_(None))
        found = found.where(CASES.c.state == CaseState.RELEASED.value, CASES.c.id.not_in(approved))
        return tuple(connection.execute(found.order_by(CASES.c.id)).scalars())


def record_reading(store: ReviewStore, user: User, case_id: int, *, leaks: bool) -> None:
    """Say what the reading of a case of the latest sample showed; a case that leaks is withdrawn.

    Raises:
        NotAllowedError: The reader is one of those who approved the case.
        ReviewError: The case is not in the sample, or was read already.
    """
    with store.writing() as connection:
        case = locked_case(connection, case_id)
        sample = _latest(connection)
        if case_id not in sample.unread:
            was = "was read already" if case_id in sample.case_ids else "is not in the sample"
            raise ReviewError(f"case {case_id} {was}")
        if user.id in approvers(connection, case_id):
            raise NotAllowedError(f"you approved case {case_id}; another user reads it")
        one = (SAMPLE_CASES.c.sample_id == sample.id) & (SAMPLE_CASES.c.case_id == case_id)
        connection.execute(update(SAMPLE_CASES).where(one).values(reader_id=user.id, leaks=leaks))
        if leaks and case.state == CaseState.RELEASED.value:
            reopen(connection, store, case, user.id)
        event = f"read for sample {sample.id}: {'leaks' if leaks else 'no leak'}"
        append(connection, store, [TrailEvent(user=user.name, event=event, case=case_id, name=case.name)])


def sample_result(store: ReviewStore, *, confidence: float = CONFIDENCE) -> SampleResult:
    """The exact upper bound of the share of released cases that leak, from the latest sample.

    Raises:
        ReviewError: Some of its cases are unread; a part of a sample proves nothing.
        ConfigurationError: `confidence` is not in (0, 1).
    """
    check_confidence(confidence)
    with store.reading() as connection:
        sample = _latest(connection)
        found = select(SAMPLE_CASES.c.leaks).where(SAMPLE_CASES.c.sample_id == sample.id)
        leaks = connection.execute(found).scalars().all()
    if sample.unread:
        raise ReviewError(
            f"{len(sample.unread)} of {len(leaks)} cases of the sample are not read yet; read them all"
        )
    n_leaking = sum(map(bool, leaks))
    bound = provable_target(n_leaking, len(leaks), Aim(target=0.5, confidence=confidence))
    return SampleResult(len(leaks), n_leaking, bound, confidence)
