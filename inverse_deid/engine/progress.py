"""How far a run is, and how long the rest will take.

The unit is a byte of an input as it is on the disk (compressed, if it is), or a partition on a cluster.
"""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable
from typing import IO, BinaryIO, Protocol, cast, runtime_checkable

from inverse_deid.core.wording import _
from inverse_deid.formats.records import Source

OnAdvance = Callable[[int, bool], None]
"""Told how much more of the inputs is done, and whether an earlier run had done it."""


@runtime_checkable
class CountsRecords(Protocol):
    """A source that knows how many records it has; its reader need not go through the file in order."""

    @property
    def n_records(self) -> int:
        """How many records `records` yields."""
        ...


class RunProgress:
    """Counts what is done of a run; safe to call from several threads.

    Args:
        total: Size of all inputs, 0 = unknown.
        clock: Seconds that only increase.

    Example:
        >>> seconds = iter([0.0, 30.0])
        >>> progress = RunProgress(1000, clock=lambda: next(seconds))
        >>> progress.add(2, 90)
        >>> progress.advance(250, False)
        >>> progress.n_documents, progress.share, progress.estimate_seconds_left()
        (2, 0.25, 90.0)
    """

    def __init__(self, total: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = total
        self.done = 0
        self.n_documents = 0
        self.n_tokens = 0
        self._done_before = 0
        self._clock = clock
        self._started = clock()
        self._counting = threading.Lock()

    def expect(self, total: int) -> None:
        """Note the size of all inputs, once it is known."""
        self.total = total

    def add(self, n_documents: int, n_tokens: int) -> None:
        """Count a batch (an `OnProgress`)."""
        with self._counting:
            self.n_documents += n_documents
            self.n_tokens += n_tokens

    def advance(self, amount: int, was_done: bool) -> None:
        """Count a part of the inputs (an `OnAdvance`)."""
        with self._counting:
            self.done += amount
            self._done_before += amount if was_done else 0

    @property
    def share(self) -> float | None:
        """The share of the inputs that is done, in [0, 1], None = unknown."""
        return min(self.done / self.total, 1.0) if self.total else None

    @property
    def seconds_spent(self) -> float:
        """The time since the beginning, in seconds."""
        return self._clock() - self._started

    def estimate_seconds_left(self) -> float | None:
        """Return the seconds that the rest takes at the pace of this run so far, None = unknown."""
        with self._counting:
            done_now = self.done - self._done_before
            left = max(self.total - self.done, 0)
        return self.seconds_spent * left / done_now if done_now and self.total else None


def format_seconds(seconds: float) -> str:
    """Return a time as people say it.

    Example:
        >>> [format_seconds(seconds) for seconds in (0.4, 48, 200, 5400)]
        ['1 s', '48 s', '3 min', '1 h 30 min']
    """
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return (
        _("{minutes} min", minutes=minutes)
        if minutes < 60
        else _("{minutes} h {minutes_2} min", minutes=minutes // 60, minutes_2=minutes % 60)
    )


class FileMeter:
    """Measures how much of one file is done, and tells it.

    A source that `CountsRecords` is measured by its records, any other by its place in the file.

    Args:
        n_bytes: Size of the file on the disk.
        on_advance: Told of every step.
    """

    def __init__(self, n_bytes: int, on_advance: OnAdvance) -> None:
        self._n_bytes = n_bytes
        self._on_bytes = on_advance
        self._n_told = 0
        self._file: IO[bytes] | None = None

    def watch(self, stream: BinaryIO | gzip.GzipFile) -> None:
        """Measure by the place in this stream, as `formats.registry.open_input` opens it."""
        self._file = cast(IO[bytes], stream.fileobj) if isinstance(stream, gzip.GzipFile) else stream

    def place(self, source: Source, n_records: int) -> int:
        """Return how many bytes were read once the source has yielded `n_records` records."""
        if isinstance(source, CountsRecords):
            n_all = source.n_records
            return self._n_bytes * n_records // n_all if n_all else self._n_bytes
        return 0 if self._file is None else self._file.tell()

    def reach(self, place: int, *, was_done: bool = False) -> None:
        """Tell that the file is done up to a place; it never goes back."""
        more = min(place, self._n_bytes) - self._n_told
        if more > 0:
            self._n_told += more
            self._on_bytes(more, was_done)

    def finish(self, *, was_done: bool = False) -> None:
        """Tell that nothing of the file is left to do, also if it failed."""
        self.reach(self._n_bytes, was_done=was_done)
