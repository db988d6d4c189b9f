import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inverse_deid.engine.in_order import ITEMS_A_THREAD, in_order


@given(st.lists(st.integers(0, 3), max_size=20), st.integers(1, 4))
def test_results_stand_in_the_order_of_the_items(milliseconds, n_at_once):
    def call(item):
        time.sleep(item[1] / 2000)
        return item[0]

    items = list(enumerate(milliseconds))
    assert list(in_order(call, items, n_at_once)) == [(item, item[0]) for item in items]


@pytest.mark.parametrize("n_at_once", [1, 2, 3])
def test_only_so_many_items_are_taken_ahead(n_at_once):
    n_taken = 0

    def endless():
        nonlocal n_taken
        while True:
            n_taken += 1
            yield n_taken

    ahead = []
    for n_given, _ in enumerate(in_order(lambda item: item, endless(), n_at_once)):
        ahead.append(n_taken - n_given)
        if n_given == 50:
            break
    assert max(ahead) <= (1 if n_at_once == 1 else ITEMS_A_THREAD * n_at_once)


def test_a_slow_first_item_does_not_let_the_others_run_away():
    go, n_called = threading.Event(), 0

    def call(item):
        nonlocal n_called
        n_called += 1
        if item == 0:
            go.wait(60)
        return item

    found = in_order(call, range(100), 2)
    opener = threading.Timer(0.3, lambda: (counts.append(n_called), go.set()))
    counts: list[int] = []
    opener.start()
    assert next(found) == (0, 0)
    assert counts[0] <= ITEMS_A_THREAD * 2
    assert [item for item, _ in found] == list(range(1, 100))


def test_several_calls_run_at_the_same_time():
    both = threading.Barrier(2, timeout=60)
    assert len(list(in_order(lambda _: both.wait(), range(4), 2))) == 4


def test_one_at_a_time_calls_in_this_thread():
    names = {name for _, name in in_order(lambda _: threading.current_thread(), range(3))}
    assert names == {threading.current_thread()}


@pytest.mark.parametrize("n_at_once", [1, 3])
def test_what_comes_before_an_error_of_the_items_is_given_back(n_at_once):
    def broken():
        yield from range(5)
        raise OSError("cut off")

    found = []
    with pytest.raises(OSError, match="cut off"):
        for item, _ in in_order(lambda item: item, broken(), n_at_once):
            found.append(item)
    assert found == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("n_at_once", [1, 3])
def test_an_error_of_a_call_is_raised_in_its_turn(n_at_once):
    def call(item):
        if item == 3:
            raise ValueError(item)
        return item

    found = []
    with pytest.raises(ValueError, match="3"):
        for item, _ in in_order(call, range(10), n_at_once):
            found.append(item)
    assert found == [0, 1, 2]


def test_whoever_stops_does_not_wait_for_running_calls():
    go = threading.Event()
    found = in_order(lambda item: item and go.wait(30), range(4), 2)
    next(found)
    started = time.monotonic()
    found.close()
    assert time.monotonic() - started < 5
    go.set()
