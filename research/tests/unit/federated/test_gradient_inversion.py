"""One step on one text gives its words away; an epoch over many does not; dropout blurs."""

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from tiny_networks import N_FEATURES, network_config

from inverse_deid.network.batches import Example
from inverse_deid.network.encoding import quantise, word_numbers
from inverse_deid.network.network import build_network
from inverse_deid_research.federated.attacks import InversionAttack, name_words
from inverse_deid_research.federated.documents import EncodedSite
from inverse_deid_research.federated.network import LocalTrainer
from inverse_deid_research.federated.settings import EpochSettings, SelectiveSettings
from inverse_deid_research.federated.weights import copy_weights

pytestmark = pytest.mark.slow

DIM = 24
WORDS = [a + b + c for a in "bdfgk" for b in "aeiou" for c in "lmnrs"]
VECTORS = quantise(WORDS, np.random.default_rng(1).normal(size=(len(WORDS), DIM)).astype(np.float32))
SGD = EpochSettings(learning_rate=0.1, batch_tokens=64, window=64)


def text(rng, n_tokens):
    words = [WORDS[i] for i in rng.integers(0, len(WORDS), n_tokens)] + ["Zyx"]
    return Example(
        words=words,
        word_rows=word_numbers(words, VECTORS.numbers()),
        gaps=np.ones((len(words), 3), np.int32),
        features=rng.random((len(words), N_FEATURES)).astype(np.float32),
        labels=rng.integers(0, 2, len(words)).astype(np.int32),
        weights=np.ones(len(words), np.float32),
    )


def attempt(n_documents, n_tokens, **changed):
    config = network_config(**{"word_dim": DIM, "token_units": 16, "dropout": 0.0, **changed})
    network = build_network(config, N_FEATURES, VECTORS.matrix())
    rng = np.random.default_rng(4)
    site = EncodedSite("east", [text(rng, n_tokens) for _ in range(n_documents)], [])
    made = InversionAttack(config, VECTORS.matrix(), copy_weights(network), [site], 1, 64)
    return made, LocalTrainer(network, config, SGD)


@pytest.mark.parametrize("characters", [{}, {"characters": "one-hot", "char_dim": 128}])
def test_one_step_on_one_text_gives_its_words_and_characters_away(characters):
    made, trainer = attempt(3, 9, **characters)
    found = made.attack_steps(trainer)
    assert found["n"] == 3
    assert found["words"]["precision"] == 1.0
    assert found["words"]["recall"] > 0.9
    assert found["characters"]["precision"] == found["characters"]["recall"] == 1.0


def test_an_epoch_over_many_words_names_none():
    made, trainer = attempt(12, 12)
    found, _ = made.attack_epochs(trainer, SelectiveSettings())
    assert found["words"] == {"precision": None, "recall": 0.0, "there": found["words"]["there"]}
    assert found["words"]["there"] > DIM
    assert found["characters"]["precision"] == 1.0


def test_selected_changes_name_no_word():
    made, trainer = attempt(1, 9)
    whole, selected = made.attack_epochs(trainer, SelectiveSettings(upload=0.5, tau=0.0))
    assert whole["words"]["recall"] > 0.9
    assert not selected["words"]["recall"]
    assert selected["characters"]["precision"] == 1.0


def test_dropout_hides_words():
    made, trainer = attempt(3, 9, dropout=0.5)
    assert (made.attack_steps(trainer)["words"]["recall"] or 0.0) < 0.5


def test_no_change_names_nothing():
    made, trainer = attempt(1, 9)
    still = [np.zeros_like(array) for array in made.start]
    assert name_words(still, trainer.layout, made.config, made.matrix) == set()
