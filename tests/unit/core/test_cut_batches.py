"""Batches depend on the items alone, and no more is in memory than one of them."""

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from inverse_deid.core.batches import cut_batches


def sizes(items: list[str], **limits: int) -> list[int]:
    return [len(batch) for batch in cut_batches(items, len, **limits)]


def test_the_first_batch_is_small():
    assert sizes(["x" * 5] * 6, first=10, most=15) == [2, 3, 1]


def test_a_long_item_is_a_batch_of_its_own():
    assert sizes(["x" * 500, "x", "x"], most=10) == [1, 2]


def test_items_without_text_count_as_items():
    assert sizes([""] * 5, most=10, n_items=2) == [2, 2, 1]


@given(st.lists(st.text("x", max_size=30), max_size=40))
def test_batches_lose_and_reorder_nothing(items):
    found = list(cut_batches(items, len, first=10, most=25, n_items=4))
    assert [item for batch in found for item in batch] == items
    assert all(found)


def test_memory_is_bounded_by_one_batch():
    read = []
    stream = cut_batches(
        (read.append(n) or n for n in count()), lambda _: 100, first=100, most=1000, n_items=50
    )
    for _ in range(5):
        next(stream)
    assert len(read) == 1 + 4 * 10
