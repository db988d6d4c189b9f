"""Attacks: each wins where nothing is hidden, and stays near chance where nothing is left to find."""

import numpy as np
import pytest
import tiny_representations as tiny

pytest.importorskip("tensorflow")
pytest.importorskip("sklearn")

from inverse_deid.core.errors import ConfigurationError
from inverse_deid_research.representations.attacks import (
    Scene,
    Targets,
    blind_chance,
    continue_adversary,
    count_outcome,
    find_nearest_tokens,
    find_targets,
    invert,
    look_up,
)
from inverse_deid_research.representations.config import (
    AdversaryConfig,
    LearningConfig,
    RepresentationConfig,
    SharingConfig,
    TaggerConfig,
)
from inverse_deid_research.representations.networks import build_networks, weights_by_path
from inverse_deid_research.representations.pseudonyms import Neighbours
from inverse_deid_research.representations.sentences import Sentence

pytestmark = pytest.mark.slow

MATRIX = tiny.vectors().matrix()
KNOWN, HELD_OUT = tiny.sentences(12, 1), tiny.sentences(5, 2)
LEARNING = LearningConfig(learning_rate=0.02, batch=16)


def networks(noise):
    config = SharingConfig(
        representation=RepresentationConfig(
            dim=8, units=0, normalise="never", neighbours=4, noise_in=noise, noise_out=noise
        ),
        adversary=AdversaryConfig(units=6),
        tagger=TaggerConfig(units=2, layers=1),
        learning=LearningConfig(seed=3),
    )
    return build_networks(config, tiny.DIM)


def scene(noise):
    return Scene(networks(noise).representer, KNOWN, HELD_OUT, MATRIX)


@pytest.fixture(scope="module")
def given():
    return tiny.material(KNOWN, HELD_OUT, 4)


def test_an_attacker_gets_the_better_the_oftener_a_sentence_was_shared(given):
    """With some noise he does what the nearest of clean templates can, and the mean of many is clean."""
    found = [
        look_up(scene(0.2), given.table, np.random.default_rng(1), n_encodings).share
        for n_encodings in (1, 16, 1024)
    ]
    assert found == sorted(found)
    assert 0.25 < found[0] < found[2] - 0.2
    assert found[2] > 0.9


def test_every_dimension_counts_in_units_of_its_noise(given):
    """One dimension says all, the others are full of noise."""
    one = networks(1e-3).representer
    strength = np.full(8, 40.0, np.float32)
    strength[3] = -7.0
    one.get_layer("noise_out").strength.assign(strength)
    found = look_up(Scene(one, KNOWN, HELD_OUT, MATRIX), given.table, np.random.default_rng(1))
    assert found.share > 0.9


def near_chance(found):
    return found.share < found.chance + 0.3


def test_look_up_finds_sentences_without_noise_and_not_behind_much(given):
    rng = np.random.default_rng(1)
    bare = look_up(scene(1e-3), given.table, rng)
    hidden = look_up(scene(50.0), given.table, rng)
    assert bare.share > 0.95
    assert bare.chance == hidden.chance == 0.25
    assert near_chance(hidden)


def test_the_nearest_token_is_found_without_noise_and_not_behind_much():
    rng = np.random.default_rng(1)
    bare = find_nearest_tokens(scene(1e-3), rng)
    hidden = find_nearest_tokens(scene(50.0), rng)
    assert bare.share > 0.8
    assert near_chance(hidden)
    assert bare.trials.sum() == len(find_targets(HELD_OUT).rows)


def test_the_inverse_model_learns_the_way_back():
    phi, safe = invert(scene(1e-3), LEARNING, lambda line: None, n_epochs=60)
    assert phi.share > phi.chance + 0.3
    assert safe.share > safe.chance + 0.3
    assert safe.trials.sum() == len(find_targets(HELD_OUT, safe=True).rows)
    assert safe.name == "inverse model (A1), safe words"


def test_the_adversary_wins_where_nothing_is_hidden(given):
    bare, hidden = (
        continue_adversary(networks(noise), given, LEARNING, lambda line: None, n_epochs=40)
        for noise in (1e-3, 50.0)
    )
    assert bare.share > 0.8
    assert near_chance(hidden)


def test_the_adversary_is_trained_further_and_the_representation_is_not(given):
    some = networks(0.1)
    before = {name: weights_by_path(getattr(some, name)) for name in ("representer", "adversary")}
    found = continue_adversary(some, given, LEARNING, lambda line: None, n_epochs=1)
    for name, is_frozen in (("representer", True), ("adversary", False)):
        after = weights_by_path(getattr(some, name))
        same = [np.array_equal(after[path], before[name][path]) for path in after]
        assert all(same) if is_frozen else not any(same)
    assert found.trials.sum() == 2 * sum(sentence.movable.any() for sentence in HELD_OUT)
    assert found.chance == 0.5


def test_hits_are_counted_by_document():
    found = count_outcome("x", np.array([True, False, True, True]), [7, 7, 2, 7], 0.1)
    assert found.hits.tolist() == [1, 2]
    assert found.trials.tolist() == [1, 3]
    assert found.share == 0.75


def test_nothing_to_attack_is_refused():
    with pytest.raises(ConfigurationError, match="Nothing to attack"):
        count_outcome("x", np.zeros(0, np.bool_), [], 0.5)


def test_chance_is_the_most_frequent_word_of_the_class_of_the_attacker():
    known = Targets(np.array([5, 5, 6, 9]), np.array([1, 1, 1, 2]), np.zeros(4, int))
    wanted = Targets(np.array([5, 6, 9, 9, 7]), np.array([1, 1, 2, 1, 3]), np.zeros(5, int))
    assert blind_chance(known, wanted) == pytest.approx(2 / 5)
    assert blind_chance(known, find_targets([])) == 0


def test_targets_are_phi_or_safe_tokens_with_a_vector():
    one = Sentence(np.array([3, 0, 4, 5]), np.zeros(4, np.uint8), np.array([1, 1, 0, 2]), 7)
    other = Sentence(np.array([6, 0]), np.zeros(2, np.uint8), np.array([0, 0]), 8)
    phi, safe = (find_targets([one, other], safe=safe) for safe in (False, True))
    assert (phi.rows.tolist(), phi.classes.tolist(), phi.documents.tolist()) == ([3, 5], [1, 2], [7, 7])
    assert (safe.rows.tolist(), safe.documents.tolist()) == ([4, 6], [7, 8])


def test_the_margin_is_that_of_documents():
    one = count_outcome("x", np.array([True, False] * 50), list(range(100)), 0.5)
    assert one.margin == pytest.approx(1.96 * 0.05, rel=0.02)
    clustered = count_outcome("x", np.array([True] * 50 + [False] * 50), [i // 10 for i in range(100)], 0.5)
    assert clustered.margin > 3 * one.margin
    assert count_outcome("x", np.array([True]), [4], 0.5).margin == 1


def test_a_table_of_neighbours_is_looked_up_by_row():
    table = Neighbours(np.array([2, 5], np.int32), np.array([[2, 9], [5, 4]], np.int32))
    assert table.of(np.array([5, 2, 5])).tolist() == [[5, 4], [2, 9], [5, 4]]
