"""The child processes that read uploaded files: some at a time, so that many files cannot take all memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from queue import Empty, SimpleQueue

from inverse_deid.core.child_process import LimitedProcess
from inverse_deid.core.errors import StageError
from inverse_deid.core.wording import _
from inverse_deid.formats.converted import convert

MAX_FILES_AT_ONCE = 2
_POLL_SECONDS = 0.1


@contextmanager
def borrow_worker(is_stopped: Callable[[], bool] = lambda: False) -> Iterator[LimitedProcess]:
    """Wait for a child process that nobody uses, and give it back at the end.

    Raises:
        StageError: Nobody waits any more.
    """
    idle = _idle_workers()
    worker: LimitedProcess | None = None
    while worker is None:
        if is_stopped():
            raise StageError(_("the time of the request is over"))
        with suppress(Empty):
            worker = idle.get(timeout=_POLL_SECONDS)
    try:
        yield worker
    finally:
        idle.put(worker)


@cache
def _idle_workers() -> SimpleQueue[LimitedProcess]:
    found: SimpleQueue[LimitedProcess] = SimpleQueue()
    for _number in range(MAX_FILES_AT_ONCE):
        found.put(LimitedProcess(convert))
    return found
