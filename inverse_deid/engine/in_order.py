"""Several calls at a time, results in the order of the items, a bounded number of items in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

ITEMS_A_THREAD = 2
"""One in work, and one that waits so that no thread is idle."""


def in_order(
    call: Callable[[Item], Result], items: Iterable[Item], n_at_once: int = 1
) -> Iterator[tuple[Item, Result]]:
    """Call for each item, and yield each item with its result, in the order of the items.

    With several calls at a time, at most `ITEMS_A_THREAD * n_at_once` items are taken and not yet
    yielded. An error of the items, or of a call, is raised in its place in the order: everything before
    it is yielded first. A caller that stops in the middle does not wait for running calls.

    Args:
        call: Must be safe to call from several threads, if there are several.
        items: Taken in this thread.
        n_at_once: Calls at a time, 1 or more; 1 calls in this thread and takes no item ahead.

    Example:
        >>> list(in_order(len, ["a", "bcd"], 2))
        [('a', 1), ('bcd', 3)]
    """
    if n_at_once == 1:
        for item in items:
            yield item, call(item)
        return
    threads = ThreadPoolExecutor(n_at_once, thread_name_prefix="in-order")
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    problems: list[Exception] = []
    try:
        for item in _until_error(items, problems):
            waiting.append((item, threads.submit(copy_context().run, call, item)))
            while waiting and (waiting[0][1].done() or len(waiting) >= ITEMS_A_THREAD * n_at_once):
                head, future = waiting.popleft()
                yield head, future.result()
        while waiting:
            head, future = waiting.popleft()
            yield head, future.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
    if problems:
        raise problems[0]


def _until_error(items: Iterable[Item], problems: list[Exception]) -> Iterator[Item]:
    """The items before the first error, which is put into `problems`."""
    try:
        yield from items
    except Exception as error:  # noqa: BLE001 - it is raised in its turn
        problems.append(error)
