"""Items in batches of bounded size, in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

FIRST_BATCH_CHARS = 8_000
"""Of a run: the first batch is small so that output appears at once."""
BATCH_CHARS = 400_000
BATCH_RECORDS = 256

Item = TypeVar("Item")


def cut_batches(
    items: Iterable[Item],
    size_of: Callable[[Item], int],
    *,
    most: int,
    first: int | None = None,
    n_items: float = math.inf,
) -> Iterator[list[Item]]:
    """Yield items in batches that depend on the items alone, so that a resumed run has the same.

    Args:
        items: In order; no more of them is read than is yielded.
        size_of: Returns the size of an item, in characters or bytes.
        most: Size with which a batch ends; the item that reaches it is its last.
        first: Size with which the first batch ends; None = `most`.
        n_items: Number of items with which a batch ends.

    Example:
        >>> list(cut_batches(["a", "bcd", "e", "f", "g"], len, most=3, n_items=2))
        [['a', 'bcd'], ['e', 'f'], ['g']]
    """
    batch: list[Item] = []
    size, limit = 0, most if first is None else first
    for item in items:
        batch.append(item)
        size += size_of(item)
        if size >= limit or len(batch) >= n_items:
            yield batch
            batch, size, limit = [], 0, most
    if batch:
        yield batch
