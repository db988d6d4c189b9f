"""A run of the study of shared representations goes on behind the last stage that is done."""

import dataclasses

import numpy as np
import pytest
import tiny_representations as tiny

pytest.importorskip("tensorflow")
pytest.importorskip("sklearn")

import keras

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.research.representations.attacks.outcome import Outcome
from inverse_deid.research.representations.sharing import SplitSentences
from inverse_deid.research.representations.steps import EpochRecord
from inverse_deid.research.representations.tagger import build_tagger
from inverse_deid.research.studies import sharing, sharing_runs
from inverse_deid.research.studies.records import write_record
from inverse_deid.research.studies.sharing import SharingSettings, run_sharing
from inverse_deid.research.studies.sharing_config import read_study_config, runs_of
from inverse_deid.research.studies.stages import Stages

pytestmark = pytest.mark.slow

STUDY = """
[study]
neighbours = [3, 4]
attacked = 3
[[corpora]]
name = "invented"
train = "train.jsonl"
test = "test.jsonl"
[representation]
dim = 4
[adversary]
units = 2
[tagger]
units = 2
layers = 1
"""
STAGES = ["pre-trained", "representation", "network", "adversary", "new-adversaries", "inverse", "look-ups"]
PRE_TRAINED = ["pre-training", "same sentence", "look-up", "look-up"]
"""What happens before the representation learns to deceive."""


FIGURES = {"f1": 0.9, "recall at threshold": 0.99, "precision at threshold": 0.5}
READINGS = {"without noise": FIGURES, "with noise": FIGURES}
NOISE = {name: [0.1, 0.2, 0.3] for name in ("noise_in", "noise_out")}


@pytest.fixture
def config(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    for name in ("train", "test"):
        (tmp_path / f"{name}.jsonl").write_text(f"{name}\n", encoding="utf-8")
    return read_study_config(tmp_path / "study.toml")


def network():
    keras.utils.set_random_seed(1)
    return keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(3)])


def test_a_stage_is_not_repeated_and_its_weights_come_back(tmp_path):
    calls = []

    def trains(own):
        def train():
            calls.append("train")
            own.set_weights([np.full_like(weight, 7) for weight in own.get_weights()])
            return {"epochs": 2}

        return train

    for _ in range(2):
        own, stages = network(), Stages(tmp_path, "run", "key")
        record = stages.trained("first", {"own": own}, trains(own))
        assert all((weight == 7).all() for weight in own.get_weights())
        assert record["epochs"] == 2
        assert record["cpu_seconds"] >= 0
    assert calls == ["train"]
    own = network()
    Stages(tmp_path, "run", "other key").trained("first", {"own": own}, trains(own))
    assert len(calls) == 2
    stages.forget_weights()
    assert not (tmp_path / "models" / "run").exists()
    own = network()
    stages.trained("first", {"own": own}, trains(own))
    assert len(calls) == 3


def test_an_interrupted_run_goes_on_behind_its_last_stage(config, tmp_path, monkeypatch):
    done = []

    def outcome(name):
        def attack(*_, **__):
            done.append(name)
            if done == [*PRE_TRAINED, "representation", "network", "same sentence"]:
                raise KeyboardInterrupt
            return Outcome(name, np.array([1]), np.array([2]), 0.5)

        return attack

    def pre_trains(networks, *_):
        done.append("pre-training")
        for network in (networks.representer, networks.tagger):
            network.set_weights([np.full_like(weight, 0.25) for weight in network.get_weights()])
        return [EpochRecord("pre-training", 1, 0.5, 0.5)]

    def trains(networks, *_):
        done.append("representation")
        assert all((weight == 0.25).all() for weight in networks.tagger.get_weights())
        for weight in networks.representer.trainable_variables:
            weight.assign(np.full(weight.shape, 0.5))
        return []

    def trained(sentences, held_out, tagger, learning, say):
        done.append("network")
        assert len(sentences(1)) == len(split.train)
        return build_tagger(tagger, held_out[0].vectors.shape[1]), [EpochRecord("network", 1, 0.5, 0.5)]

    monkeypatch.setattr(sharing_runs, "pre_train", pre_trains)
    monkeypatch.setattr(sharing_runs, "train_against_adversaries", trains)
    monkeypatch.setattr(sharing_runs, "train_tagger", trained)
    monkeypatch.setattr(sharing_runs, "continued_adversary", outcome("same sentence"))
    monkeypatch.setattr(sharing_runs, "inverse_model", lambda *_, **__: [outcome("inverse")()])
    monkeypatch.setattr(sharing_runs, "look_up", outcome("look-up"))
    monkeypatch.setattr(sharing_runs, "nearest_token", outcome("nearest"))
    split = SplitSentences(tiny.sentences(4, 1), tiny.sentences(2, 2))
    vectors = tiny.vectors()
    data = sharing_runs.StudyData(split, tiny.sentences(2, 3), vectors, vectors.matrix())
    one, other = (run for run in runs_of(config, (1,)) if run.kind == "adversarial")

    def executed(run):
        return sharing_runs.execute(run, data, config, Stages(tmp_path, run.name, "key"), lambda line: None)

    with pytest.raises(KeyboardInterrupt):
        executed(one)
    record = executed(one)
    begun = len(PRE_TRAINED) + 3
    assert done[begun:] == [*["same sentence"] * 3, "inverse", *["look-up"] * 2, "nearest"]
    assert list(record["readings"]) == ["without noise", "with noise"]
    assert record["f1"] == record["readings"]["without noise"]["f1"]
    assert list(record["attacks"]) == [
        "same sentence, before adversarial training",
        "look-up, before adversarial training",
        "same sentence",
        "same sentence, new adversary",
        "same sentence, new adversary, without noise",
        "inverse",
        "look-up",
        "nearest",
    ]
    assert list(record["cpu_seconds"]) == STAGES
    assert set(record["noise"]) == {"noise_in", "noise_out"}
    assert [phase["phase"] for phase in record["phases"]] == ["pre-training"]
    assert executed(one) == record
    assert len(done) == begun + 7
    executed(other)  # whose first phase is that of the other N
    assert done[begun + 7 :] == ["representation", "network", "same sentence"]
    (alone,) = (run for run in runs_of(config, (1,)) if run.kind == "noise alone")
    found = executed(alone)  # on the same first phase, without adversaries
    assert done[begun + 10 :] == ["network"]
    assert found["f1"] == found["readings"]["without noise"]["f1"]
    assert "attacks" not in found


def test_a_run_that_is_done_is_not_repeated(config, tmp_path, monkeypatch):
    done = []

    def executes(run, data, config, stages, say):
        done.append(run.name)
        write_record(stages.folder / "models" / run.name / "x.npz", "key", {})
        share = {"hits": [1], "trials": [2], "chance": 0.5, "share": 0.5}
        counts = dict.fromkeys(("n_tokens", "n_unknown", "n_same", "n_part", "neighbours_with_original"), 1)
        attacks = {"same sentence or moved twin": share}
        return {
            "f1": 0.9,
            "seconds": 1.0,
            "survival": counts,
            "attacks": attacks,
            "phases": [],
            "noise": NOISE,
            "readings": READINGS,
        }

    monkeypatch.setattr(sharing, "execute", executes)
    monkeypatch.setattr(sharing, "read_study_data", lambda corpus, config: None)

    def study(**given):
        settings = SharingSettings(
            config=config, config_path=tmp_path / "study.toml", folder=tmp_path / "out", **given
        )
        run_sharing(settings, lambda line: None)

    study(seeds=(2,), only=("reversal",))
    assert done == ["invented-reversal-3-2"]
    assert not (tmp_path / "out" / "models").exists()
    weights = tmp_path / "out" / "models"
    for seed in (1, 2, 3):  # 3 goes on side by side
        write_record(weights / f"invented-pre-training-{seed}" / "pre-training.npz", "key", {})
    study(seeds=(1, 2))
    assert [path.name for path in weights.iterdir()] == ["invented-pre-training-3"]
    assert len(done) == len(set(done)) == 2 * 8
    assert "not done yet" not in (tmp_path / "out" / "report.md").read_text()
    with pytest.raises(ConfigurationError, match="no runs other; known: non-private"):
        study(only=("other",))


@pytest.mark.parametrize("change", ["swapped", "mapping", "learned"])
def test_other_data_are_another_study(config, tmp_path, monkeypatch, change):
    monkeypatch.setattr(sharing, "_records", lambda *_: {})

    def study(config):
        run_sharing(
            SharingSettings(config=config, config_path=tmp_path / "study.toml", folder=tmp_path / "out"),
            lambda line: None,
        )

    study(config)
    (corpus,) = config.corpora
    changed = {
        "swapped": {"train": corpus.test, "test": corpus.train},
        "mapping": {"mapping": corpus.train},
        "learned": {"learned": True},
    }[change]
    other = dataclasses.replace(config, corpora=(dataclasses.replace(corpus, **changed),))
    with pytest.raises(ConfigurationError, match="study with other data"):
        study(other)
    study(config)
