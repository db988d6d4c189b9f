"""The database of a review: SQLite in a file, or PostgreSQL by URL.

SQLite runs with a write-ahead log and `synchronous=FULL`: what a function returned from is on the
disk, whatever happens to the program or the power. A writing transaction is short and takes the one
write lock of SQLite at its beginning, so that two of them queue up and cannot deadlock; in PostgreSQL
they lock the row of the case first and the head of the trail last.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from inverse_deid.review.keys import ReviewKey
from inverse_deid.review.values import ReviewPolicy

SCHEMA_VERSION = 1

Clock = Callable[[], float]
"""Seconds since 1970, UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingFacts:
    """What the cases of a store were masked with.

    Args:
        fingerprint: Changes with anything that can change a decision.
        model_sha256: None = without the network.
        lexicon_sha256: Of the dictionaries.
        low: Threshold where the rules say safe; None = without the network.
        high: Threshold where they do not.
        density_slope: By how much they move with the density of PHI.
        marker: Stands for masked text.
        category_markers: The category stands for it instead.
    """

    fingerprint: str
    model_sha256: str | None = None
    lexicon_sha256: str = ""
    low: float | None = None
    high: float | None = None
    density_slope: float = 0.0
    marker: str = "PHI"
    category_markers: bool = False


class ReviewStore:
    """An open store; safe to share between threads.

    Get one with `create_store` or `open_store`. Use it in a `with` block, or `close` it.
    """

    policy: ReviewPolicy
    facts: MaskingFacts

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that only reads."""
        raise NotImplementedError

    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction that writes; it is on the disk when the block ends without an error."""
        raise NotImplementedError

    def now(self) -> float:
        """The time, as the store's clock says."""
        raise NotImplementedError

    def close(self) -> None:
        """Close all connections."""
        raise NotImplementedError


def store_url(address: str | Path) -> str:
    """The URL of a store: itself, or that of an SQLite file.

    Example:
        >>> store_url("postgresql+psycopg://db/review"), store_url("review.db")
        ('postgresql+psycopg://db/review', 'sqlite+pysqlite:///review.db')
    """
    raise NotImplementedError


def open_store(address: str | Path, key: ReviewKey, *, clock: Clock | None = None) -> ReviewStore:
    """Open a store.

    Args:
        address: Path of an SQLite file, or a URL of SQLAlchemy.
        key: Of the store.
        clock: None = the system's.

    Raises:
        UnreadableInputError: No such store, no database, or of another version.
        ConfigurationError: The key is not that of the store.
    """
    raise NotImplementedError
