"""Bad updates are named and left out; the mean of the others is theirs alone."""

import numpy as np
import pytest

from inverse_deid_research.federated.weights import Update, WeightLayout, average_weights

LAYOUT = WeightLayout(("kernel", "bias"), ((2, 2), (2,)))


def weights(value):
    return [np.full((2, 2), value, np.float32), np.full(2, value, np.float32)]


def update(value=1.0, n_tokens=10):
    return Update(weights(value), n_tokens)


BAD = {
    "shape": Update([weights(1.0)[0].T.reshape(4), weights(1.0)[1]], 10),
    "wrong shape": Update(weights(1.0)[:1], 10),
    "floating": Update([array.astype(np.int64) for array in weights(1.0)], 10),
    "finite": Update(weights(np.nan), 10),
    "finite number": Update(weights(np.inf), 10),
    "no token": Update(weights(1.0), 0),
}


@pytest.mark.parametrize("word", BAD)
def test_a_bad_update_is_named(word):
    assert word in (BAD[word].find_problem(LAYOUT) or "")


def test_good_updates_are_averaged():
    good = [update(), update(value=3.0)]
    assert [one.find_problem(LAYOUT) for one in good] == [None, None]
    assert np.array_equal(average_weights(good)[0], np.full((2, 2), 2.0))


def test_the_mean_weighs_by_tokens():
    found = average_weights([update(value=1.0, n_tokens=30), update(value=5.0, n_tokens=10)])
    assert np.array_equal(found[1], np.full(2, 2.0, np.float32))


def test_a_vector_and_its_arrays():
    vector = np.arange(6, dtype=np.float32)
    assert np.array_equal(LAYOUT.flatten(LAYOUT.split(vector)), vector)
    assert LAYOUT.n_numbers == 6
    assert LAYOUT.fingerprint != WeightLayout(("kernel", "bias"), ((4,), (2,))).fingerprint
