"""The child processes that read uploaded files: some at a time, so that many files cannot take all memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue

from inverse_deid.core.child_process import LimitedProcess

MAX_FILES_AT_ONCE = 2


@contextmanager
def borrow_worker() -> Iterator[LimitedProcess]:
    """Wait for a child process that nobody uses, and give it back at the end."""
    idle = _idle_workers()
    worker = idle.get()
    try:
        yield worker
    finally:
        idle.put(worker)


@cache
def _idle_workers() -> SimpleQueue[LimitedProcess]:
    found: SimpleQueue[LimitedProcess] = SimpleQueue()
    for _ in range(MAX_FILES_AT_ONCE):
        found.put(LimitedProcess())
    return found
