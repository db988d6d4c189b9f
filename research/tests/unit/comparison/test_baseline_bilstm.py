"""The BiLSTMs, on networks of a few hundred weights."""

import pytest
import tiny_networks
from invented_notes import notes

pytest.importorskip("tensorflow")

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.values import Document
from inverse_deid.evaluation.evaluation import evaluate_masks
from inverse_deid_research.comparison.learning_systems import NETWORK, TRAINING, BiLstm
from inverse_deid_research.comparison.systems import make_system

pytestmark = pytest.mark.slow

TINY = tiny_networks.network_config(post_space=False, feature_set="none", targets="fine", dropout=0.0)
SHORT = tiny_networks.training_config(epochs=12, learning_rate=0.05, word_dropout=0.0)


def fitted(output):
    system = BiLstm(output, network=TINY, training=SHORT, vectors=tiny_networks.vectors(TINY))
    system.fit(notes(24), 3)
    return system


@pytest.fixture(scope="module", params=["softmax", "crf"])
def trained(request):
    return request.param, fitted(request.param)


def test_it_learns_and_masks_what_is_not_most_probably_safe(trained):
    output, system = trained
    unseen = notes(4, first=30)
    masks = system.masks(unseen)
    evaluation = evaluate_masks(unseen, {d.id: m for d, m in zip(unseen, masks, strict=True)})
    assert evaluation.value("recall_all") == 1.0
    assert evaluation.value("precision") > 0.9
    assert system.masks([Document("empty", "")]) == [[]]
    assert system.name == {"softmax": "bilstm", "crf": "bilstm-crf"}[output]


def test_the_same_seed_gives_the_same_masks(trained):
    output, system = trained
    docs = notes(6, first=40)
    assert fitted(output).masks(docs) == system.masks(docs)


def test_it_refuses_to_mask_before_it_has_learned():
    with pytest.raises(StageError, match="bilstm-crf has not learned anything"):
        BiLstm("crf").masks(notes(1))


def test_the_settings_are_those_of_the_paper():
    assert (NETWORK.token_units, NETWORK.token_layers, NETWORK.char_units, NETWORK.dropout) == (
        100,
        1,
        25,
        0.5,
    )
    assert (NETWORK.feature_set, NETWORK.post_space, NETWORK.targets) == ("none", False, "fine")
    assert (TRAINING.phi_weight, TRAINING.synthetic, TRAINING.surrogates) == (1.0, 0, "none")


def test_the_number_of_epochs_is_the_users():
    assert make_system("bilstm")._training.epochs == 10
    assert make_system("bilstm-crf", 3)._training.epochs == 3


def test_without_tensorflow_the_message_names_the_extra(monkeypatch):
    monkeypatch.setattr("inverse_deid_research.comparison.learning_systems.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"bilstm-crf needs the package tensorflow: .*\[train\]"):
        BiLstm("crf")
