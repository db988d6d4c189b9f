"""What a training of the study is given, without training: characters, weights, corpora, weights to start from."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from inverse_deid.core.phi import PhiType
from inverse_deid.core.settings import change_settings
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.network.encoding import WordVectors
from inverse_deid.training.config import read_run_config
from inverse_deid_research.studies.records import write_arrays
from inverse_deid_research.studies.scoring import analyse_corpus
from inverse_deid_research.thesis import runs
from inverse_deid_research.thesis.runs import ThesisRun, train_thesis_run, weights_path

CONFIGS = Path(__file__).parents[3] / "configs"
VECTORS = WordVectors((), np.zeros((0, 100), np.int8), np.ones(100, np.float32))
GOLD = [Document("g", "ann " + "x " * 99, (PhiSpan(0, 3, PhiType.PATIENT),))]
CORPUS = analyse_corpus("validation", [Document("v", "Ann slept")])


@pytest.fixture
def given(monkeypatch, tmp_path):
    noted = {}

    def new_network(config, vectors, seed):
        noted.update(config=config, vectors=vectors, seed=seed)
        return "network"

    def fit_network(network, config, training, epochs, **watched):
        noted.update(training=training, examples=[epochs(epoch) for epoch in (0, 1)])
        noted["fitted"] = config

    monkeypatch.setattr(runs, "new_network", new_network)
    monkeypatch.setattr(runs, "assign_weights", lambda _network, weights: noted.update(start=weights))
    monkeypatch.setattr(runs, "fit_network", fit_network)
    config = read_run_config(CONFIGS / "thesis-d.toml")
    run = ThesisRun(
        name="d-1",
        network=config.network,
        training=change_settings(config.training, epochs=2, seed=7),
        gold=GOLD,
        vectors=VECTORS,
        corpora=(CORPUS,),
    )

    def train(**changes):
        record = train_thesis_run(dataclasses.replace(run, **changes), tmp_path, "key", lambda line: None)
        return noted | {"record": record}

    return train


def test_rare_types_weigh_more_in_every_epoch(given):
    for (example,) in given()["examples"]:
        assert example.weights[0] == 2.0  # a hundredth of the tokens; the product weighs all types by 3
        assert set(example.weights[1:].tolist()) == {1.0}


def test_the_characters_after_a_token_are_in_its_sequence_and_not_in_an_input_of_their_own(given):
    noted = given()
    assert noted["examples"][0][0].words[0] == "ann "
    assert not noted["config"].post_space
    assert noted["config"] == noted["fitted"]


def test_a_training_has_its_own_seed_and_settings(given):
    noted = given()
    assert (noted["seed"], noted["training"].epochs) == (7, 2)
    assert noted["vectors"] is VECTORS
    assert noted["record"]["files"] == ["d-1/epoch-1.npz", "d-1/epoch-2.npz"]


def test_only_fine_tuning_starts_from_weights(given, tmp_path):
    assert "start" not in given()
    path = weights_path(tmp_path / "a-1", 2)
    write_arrays(path, {"000": np.ones(3)})
    assert given(start=path)["start"]["000"].tolist() == [1.0] * 3


@pytest.mark.parametrize("variant", "abcd")
def test_the_variants_have_the_settings_of_the_thesis(variant):
    config = read_run_config(CONFIGS / f"thesis-{variant}.toml")
    network, training = config.network, config.training
    assert (network.targets, network.token_units, network.token_layers) == ("fine", 100, 1)
    assert (network.dropout, network.lstm_dropout, network.output) == (0.5, False, "softmax")
    assert (training.epochs, training.learning_rate) == (4, 0.001)
    assert (training.warm_up, training.final_rate, training.batch_tokens) == (0.0, 1.0, 512)
    assert (training.surrogates, training.synthetic, training.weak) == ("none", 0, 0)
    assert (training.word_dropout, training.dictionary_dropout) == (0.0, 0.0)
    assert training.clip_norm >= 1e9
