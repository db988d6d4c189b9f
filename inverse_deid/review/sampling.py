"""Elusion: released cases are drawn at random and read in full, to bound how many leak.

Source: Clopper and Pearson 1934 (the exact one-sided bound); drawing without replacement from
finitely many cases makes it only safer.
"""

from __future__ import annotations

from dataclasses import dataclass

from inverse_deid.review.store import ReviewStore
from inverse_deid.review.values import User

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
    raise NotImplementedError


def latest_sample(store: ReviewStore) -> Sample:
    """The sample that was drawn last.

    Raises:
        ReviewError: None was drawn.
    """
    raise NotImplementedError


def record_reading(store: ReviewStore, user: User, case_id: int, *, leaks: bool) -> None:
    """Say what the reading of a case of the latest sample showed; a case that leaks is withdrawn.

    Raises:
        NotAllowedError: The reader is one of those who approved the case.
        ReviewError: The case is not in the sample, or was read already.
    """
    raise NotImplementedError


def sample_result(store: ReviewStore, *, confidence: float = CONFIDENCE) -> SampleResult:
    """The exact upper bound of the share of released cases that leak, from the latest sample.

    Raises:
        ReviewError: Some of its cases are unread; a part of a sample proves nothing.
        ConfigurationError: `confidence` is not in (0, 1).
    """
    raise NotImplementedError
