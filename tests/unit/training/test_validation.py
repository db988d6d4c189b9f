import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("tensorflow")

import tiny_networks as tiny

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.lexicon import load_lexicon
from inverse_deid.training.calibration import recall_at_precision
from inverse_deid.training.examples import ExampleMaker
from inverse_deid.training.run import validator

CONFIG = tiny.network_config(feature_set="none")


def recall(is_phi, p_safe, precision):
    return recall_at_precision(np.array(is_phi, bool), np.array(p_safe, np.float32), precision)


@pytest.mark.parametrize(
    ("is_phi", "p_safe", "precision", "expected"),
    [
        ([1, 1, 0], [0.1, 0.9, 0.5], 1.0, 1 / 2),
        ([1, 1, 0], [0.1, 0.9, 0.5], 0.6, 1.0),
        ([1, 1, 0], [0.1, 0.9, 0.5], 0.7, 1 / 2),
        ([0, 1, 1, 1, 1], [0.0, 0.1, 0.2, 0.3, 0.4], 0.8, 1.0),  # 0/1, 1/2, 2/3, 3/4, 4/5
        ([0, 1, 1, 1, 0], [0.0, 0.1, 0.2, 0.3, 0.4], 0.8, 0.0),
        ([0, 0], [0.1, 0.2], 0.5, 0.0),
        ([], [], 0.5, 0.0),
        ([1, 0, 0], [0.1, 0.2, 0.3], 0.0, 1.0),
    ],
)
def test_by_hand(is_phi, p_safe, precision, expected):
    assert recall(is_phi, p_safe, precision) == pytest.approx(expected)


@pytest.mark.parametrize("is_phi", [[1, 0], [0, 1]])
def test_equal_values_are_masked_together_whatever_their_order(is_phi):
    assert recall(is_phi, [0.5, 0.5], 1.0) == 0
    assert recall(is_phi, [0.5, 0.5], 0.5) == 1


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])), max_size=12),
    st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]),
)
def test_it_is_the_best_of_all_thresholds(tokens, precision):
    is_phi = np.array([phi for phi, _ in tokens], bool)
    p_safe = np.array([p for _, p in tokens], np.float32)
    best = 0.0
    for limit in (0.05, 0.2, 0.4, 0.6, 0.9, 1.1):
        masked = p_safe < limit
        if masked.any() and is_phi.any() and is_phi[masked].mean() >= precision:
            best = max(best, is_phi[masked].sum() / is_phi.sum())
    assert recall_at_precision(is_phi, p_safe, precision) == pytest.approx(best)


def docs(*texts):
    return [Document(str(i), text, (PhiSpan(0, 5, PhiType.CITY),)) for i, text in enumerate(texts)]


def test_corpora_without_phi_measure_nothing():
    maker = ExampleMaker(CONFIG, load_lexicon(), tiny.vectors(CONFIG))
    safe = [Document("s", "no rash")]
    assert validator([safe], maker, CONFIG, 0.5) is None
    assert validator([[], []], maker, CONFIG, 0.5) is None
    measure = validator([safe, docs("Velmo rash")], maker, CONFIG, 0.5)
    assert measure is not None
    assert measure(tiny_unsure_network()) == 1


def test_precision_is_asked_of_each_corpus_and_the_mean_is_taken():
    maker = ExampleMaker(CONFIG, load_lexicon(), tiny.vectors(CONFIG))
    half, tenth = docs("Velmo rash"), docs("Velmo " + "rash " * 9)
    both = validator([half, tenth], maker, CONFIG, 0.5)
    network = tiny_unsure_network()
    assert both is not None
    assert both(network) == pytest.approx(0.5)  # all values are equal: masking all has precision 1/2 and 1/10


def tiny_unsure_network():
    from inverse_deid.network.network import build_network

    network = build_network(CONFIG, 0, tiny.vectors(CONFIG).matrix())
    for variable in network.get_layer("classes").weights:
        variable.assign(np.zeros(variable.shape))
    return network
