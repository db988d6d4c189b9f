"""What is measured of a network, on hand-counted tokens."""

import numpy as np
import pytest
from tiny_networks import examples, network_config

from inverse_deid.research.federated.study import ScoredTokens, measure_tokens, score_tokens


def tokens(is_phi, p_safe, masked=None, lengths=None):
    p = np.array(p_safe, np.float32)
    chosen = p < 0.5 if masked is None else np.array(masked)
    return ScoredTokens(np.array(is_phi), p, chosen, lengths or (len(is_phi),))


def test_f1_counts_tokens():
    found = measure_tokens(tokens([True, True, True, False, False], [0.1, 0.2, 0.9, 0.3, 0.8]), 0.9)
    assert found["precision"] == found["recall"] == pytest.approx(2 / 3)
    assert found["f1"] == pytest.approx(2 / 3)


def test_recall_at_precision_takes_the_best_threshold():
    found = measure_tokens(tokens([True, True, True, False], [0.1, 0.2, 0.9, 0.8]), 0.75)
    assert found["recall_at_precision"] == 1.0
    assert measure_tokens(tokens([True, True, True, False], [0.1, 0.2, 0.9, 0.8]), 0.9)[
        "recall_at_precision"
    ] == pytest.approx(2 / 3)


def test_nothing_to_find_is_undefined():
    found = measure_tokens(tokens([False], [0.9]), 0.9)
    assert (found["f1"], found["recall"], found["recall_at_precision"]) == (None, None, None)


def test_some_documents():
    whole = tokens([True, False, True, True], [0.1, 0.9, 0.2, 0.9], lengths=(2, 1, 1))
    part = whole.select([2, 0])
    assert part.lengths == (2, 1)
    assert part.p_safe.tolist() == pytest.approx([0.1, 0.9, 0.9])


def test_a_row_without_a_number_is_masked():
    some = examples(network_config(), 0, 1)
    rows = np.full((len(some[0]), 2), [0.9, 0.1], np.float32)
    rows[0] = np.nan
    found = score_tokens(some, [rows])
    assert found.is_masked.tolist() == [True] + [False] * (len(some[0]) - 1)
