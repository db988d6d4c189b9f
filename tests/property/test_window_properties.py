"""Properties of the windows that a second reader reads."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inverse_deid.network.doubt import CONTEXT_TOKENS, GRID_TOKENS, MOST_TOKENS, Windows, plan_windows


@st.composite
def documents(draw: st.DrawFn) -> list[np.ndarray]:
    """Draw the doubtful tokens of some documents, in bursts and alone."""
    found = []
    for n_tokens in draw(st.lists(st.integers(0, 400), max_size=5)):
        doubtful = np.zeros(n_tokens, np.bool_)
        for start in draw(st.lists(st.integers(0, 400), max_size=8)):
            doubtful[start : start + draw(st.sampled_from([1, 2, 9, 60, 200]))] = True
        found.append(doubtful)
    return found


def plan(docs: list[np.ndarray]) -> tuple[Windows, np.ndarray, list[int]]:
    doubtful = np.concatenate([np.zeros(0, np.bool_), *docs])
    bounds = np.cumsum([0, *map(len, docs)]).tolist()
    return plan_windows(doubtful, bounds), doubtful, bounds


def as_rows(windows: Windows, begin: int = 0) -> list[tuple[int, ...]]:
    columns = (windows.start, windows.end, windows.first, windows.last)
    return list(zip(*((column - begin).tolist() for column in columns), strict=True))


@given(documents())
def test_every_doubtful_token_is_the_own_token_of_one_window_with_context(docs):
    windows, doubtful, bounds = plan(docs)
    n_owners = np.zeros(len(doubtful), int)
    for doc, (start, end, first, last) in zip(windows.doc.tolist(), as_rows(windows), strict=True):
        begin, stop = bounds[doc], bounds[doc + 1]
        assert begin <= start <= first < last <= end <= stop
        n_owners[first:last] += 1
        own = first + np.flatnonzero(doubtful[first:last])
        assert len(own)
        assert start <= max(begin, own[0] - CONTEXT_TOKENS)
        assert end >= min(stop, own[-1] + 1 + CONTEXT_TOKENS)
    assert (n_owners[doubtful] == 1).all()
    assert (n_owners <= 1).all()


@given(documents())
def test_windows_have_a_limited_length_and_borders_on_the_grid(docs):
    windows, _, bounds = plan(docs)
    for doc, row in zip(windows.doc.tolist(), as_rows(windows), strict=True):
        assert row[1] - row[0] <= MOST_TOKENS
        for border in row:
            assert (border - bounds[doc]) % GRID_TOKENS == 0 or border == bounds[doc + 1]


@given(documents())
def test_the_windows_of_a_document_do_not_depend_on_other_documents(docs):
    windows, _, bounds = plan(docs)
    for row, doc in enumerate(docs):
        of_doc = [
            r for d, r in zip(windows.doc.tolist(), as_rows(windows, bounds[row]), strict=True) if d == row
        ]
        assert of_doc == as_rows(plan_windows(doc, [0, len(doc)]))


@given(documents().filter(lambda docs: any(map(len, docs))), st.data())
def test_one_more_doubtful_token_moves_no_window_that_it_is_not_in(docs, data):
    doubtful = data.draw(st.sampled_from([doc for doc in docs if len(doc)]))
    at = data.draw(st.integers(0, len(doubtful) - 1))
    more = doubtful.copy()
    more[at] = True
    before, after = (set(as_rows(plan_windows(one, [0, len(one)]))) for one in (doubtful, more))
    ((start, end),) = [row[:2] for row in after if row[2] <= at < row[3]]
    # What joins the new token, or its run of windows, is all that can change.
    for changed in before ^ after:
        assert changed[0] <= end + MOST_TOKENS
        assert changed[1] >= start - MOST_TOKENS
    assert len(before ^ after) <= 6
