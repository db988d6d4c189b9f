"""A run of the study of private representations resumes after its last finished stage."""

import numpy as np
import pytest
import tiny_representations as tiny

pytest.importorskip("tensorflow")
pytest.importorskip("sklearn")

import keras
import msgspec

from inverse_deid.core.errors import ConfigurationError
from inverse_deid_research.representations import runs, study
from inverse_deid_research.representations.attacks import AttackOutcome
from inverse_deid_research.representations.config import read_study_config
from inverse_deid_research.representations.networks import build_tagger
from inverse_deid_research.representations.runs import FinishedStages, list_runs
from inverse_deid_research.representations.training import EpochRecord
from inverse_deid_research.studies.records import write_record
from inverse_deid_research.studies.study import StudyOptions

pytestmark = pytest.mark.slow

STUDY = """
[study]
neighbours = [3, 4]
attacked = 3
strengths = [0.1, 0.2]
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
        own, stages = network(), FinishedStages(tmp_path, "run", "key")
        record = stages.train("first", {"own": own}, trains(own))
        assert all((weight == 7).all() for weight in own.get_weights())
        assert record["epochs"] == 2
        assert record["cpu_seconds"] > 0
    assert calls == ["train"]
    own = network()
    FinishedStages(tmp_path, "run", "other key").train("first", {"own": own}, trains(own))
    assert len(calls) == 2
    stages.forget_weights()
    assert not (tmp_path / "models" / "run").exists()
    own = network()
    stages.train("first", {"own": own}, trains(own))
    assert len(calls) == 3


def test_an_interrupted_run_resumes_after_its_last_stage(config, tmp_path, monkeypatch):
    done = []

    def outcome(name):
        def attack(*_, **__):
            done.append(name)
            if done == [*PRE_TRAINED, "representation", "network", "same sentence"]:
                raise KeyboardInterrupt
            return AttackOutcome(name, np.array([1]), np.array([2]), 0.5, np.array([0]))

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
        assert len(sentences) == len(split[0])
        return build_tagger(tagger, held_out[0].vectors.shape[1]), [EpochRecord("network", 1, 0.5, 0.5)]

    monkeypatch.setattr(runs, "pre_train", pre_trains)
    monkeypatch.setattr(runs, "train_against_adversaries", trains)
    monkeypatch.setattr(runs, "train_tagger", trained)
    monkeypatch.setattr(runs, "continue_adversary", outcome("same sentence"))
    monkeypatch.setattr(runs, "invert", lambda *_, **__: [outcome("inverse")()])
    monkeypatch.setattr(runs, "look_up", outcome("look-up"))
    monkeypatch.setattr(runs, "find_nearest_tokens", outcome("nearest"))
    split = (tiny.sentences(4, 1), tiny.sentences(2, 2))
    vectors = tiny.vectors()
    data = runs.StudyData(*split, tiny.sentences(2, 3), vectors, vectors.matrix())
    one, other = (run for run in list_runs(config, (1,)) if run.kind == "adversarial")

    def executed(run):
        stages = FinishedStages(tmp_path, run.name, str(config.study.controls))
        return runs.do_run(run, data, config, stages, lambda line: None)

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
    alone = next(run for run in list_runs(config, (1,)) if run.kind == "noise alone")
    found = executed(alone)  # its own first phase, with noise that is held
    assert done[begun + 10 :] == ["pre-training", "network", "same sentence", "look-up", "look-up"]
    assert found["f1"] == found["readings"]["without noise"]["f1"]
    assert list(found["attacks"]) == ["same sentence, new adversary", "look-up"]
    begun = len(done)
    config = msgspec.structs.replace(config, study=msgspec.structs.replace(config.study, controls=False))
    told = [list(executed(run)["attacks"]) for run in (one, other)]
    assert told == [["same sentence, new adversary", "look-up"]] * 2  # every N is attacked alike
    stages = ["representation", "network", "same sentence", "look-up", "look-up"]
    assert done[begun:] == ["pre-training", *stages, *stages]


def test_attacks_are_judged_on_test_documents_and_thresholds_are_set_on_others(config, tmp_path, monkeypatch):
    judged, calibrated_on = [], []
    calibrate = runs.calibrate

    def attack(networks, given, *_, **__):
        judged.append(given.validation)
        return AttackOutcome("same sentence", np.array([1]), np.array([2]), 0.5, np.array([0]))

    def note(corpora, recall):
        calibrated_on.append(sum(len(one.is_phi) for one in corpora))
        return calibrate(corpora, recall)

    monkeypatch.setattr(runs, "pre_train", lambda *_: [])
    monkeypatch.setattr(
        runs,
        "train_tagger",
        lambda train, held_out, tagger, *_: (build_tagger(tagger, config.representation.dim), []),
    )
    monkeypatch.setattr(runs, "continue_adversary", attack)
    monkeypatch.setattr(runs, "calibrate", note)
    train, held_out, test = (tiny.sentences(size, size) for size in (4, 2, 3))
    vectors = tiny.vectors()
    data = runs.StudyData(train, held_out, test, vectors, vectors.matrix())
    alone = next(run for run in list_runs(config, (1,)) if run.kind == "noise alone")
    stages = FinishedStages(tmp_path, alone.name, "key")
    runs.do_run(alone, data, config, stages, lambda line: None)
    assert judged == [test]
    assert calibrated_on == [sum(len(one.rows) for one in held_out)]


def test_a_run_that_is_done_is_not_repeated(config, tmp_path, monkeypatch):
    done = []

    def executes(run, data, config, stages, say):
        done.append(run.name)
        write_record(stages.folder / "models" / run.name / "x.npz", "key", {})
        share = {"hits": [1], "trials": [2], "chance": 0.5, "share": 0.5, "documents": [0]}
        counts = dict.fromkeys(("n_tokens", "n_unknown", "n_same", "n_part", "neighbours_with_original"), 1)
        attacks = {"same sentence or moved twin": share}
        return {
            "f1": 0.9,
            "documents": [[1], [1], [1]],
            "seconds": 1.0,
            "survival": counts,
            "attacks": attacks,
            "phases": [],
            "noise": NOISE,
            "readings": READINGS,
        }

    monkeypatch.setattr(study, "do_run", executes)
    monkeypatch.setattr(study, "read_study_data", lambda corpus, config: None)

    def do_study(**given):
        options = StudyOptions(folder=tmp_path / "out", say=lambda line: None, **given)
        study.run_sharing(config, tmp_path / "study.toml", options)

    do_study(seeds=(2,), only=("reversal",))
    assert done == ["invented-reversal-3-2"]
    assert not (tmp_path / "out" / "models").exists()
    weights = tmp_path / "out" / "models"
    for seed in (1, 2, 3):  # 3 goes on side by side
        write_record(weights / f"invented-pre-training-{seed}" / "pre-training.npz", "key", {})
    do_study(seeds=(1, 2))
    assert [path.name for path in weights.iterdir()] == ["invented-pre-training-3"]
    assert len(done) == len(set(done)) == 2 * 11
    assert "not done yet" not in (tmp_path / "out" / "report.md").read_text()
    with pytest.raises(ConfigurationError, match="no runs named other"):
        do_study(seeds=(1, 2), only=("other",))


@pytest.mark.parametrize("change", ["swapped", "mapping", "learned"])
def test_other_data_are_another_study(config, tmp_path, monkeypatch, change):
    monkeypatch.setattr(study, "list_runs", lambda *_: [])

    def do_study(config):
        options = StudyOptions(folder=tmp_path / "out", seeds=(1,), say=lambda line: None)
        study.run_sharing(config, tmp_path / "study.toml", options)

    do_study(config)
    (corpus,) = config.corpora
    changed = {
        "swapped": {"train": corpus.test, "test": corpus.train},
        "mapping": {"mapping": corpus.train},
        "learned": {"learned": True},
    }[change]
    other = msgspec.structs.replace(config, corpora=(msgspec.structs.replace(corpus, **changed),))
    with pytest.raises(ConfigurationError, match="study with other data"):
        do_study(other)
    do_study(config)
