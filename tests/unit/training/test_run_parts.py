"""Pieces of a training run: what is frozen, which run a checkpoint belongs to, learned words, the logs."""

import dataclasses

import pytest
from refusals import refuses

pytest.importorskip("tensorflow")

import tensorflow as tf
import tiny_networks as tiny

from inverse_deid.core.errors import ConfigurationError, OutputError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.training import run
from inverse_deid.training.config import RunConfig
from inverse_deid.training.documents import Corpus, RunDocuments
from inverse_deid.training.logs import Events, TrainingLog

DOC = Document("1", "Velmo rash rash", (PhiSpan(0, 5, PhiType.CITY),))


# Freezing ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def network():
    return tiny.new_network(tiny.network_config(output="crf", learn_words=True, token_layers=2))


@pytest.mark.parametrize(
    ("part", "n_frozen"),
    [("characters", 7), ("words", 2), ("gaps", 1), ("features", 2), ("tokens", 12), ("classes", 3)],
)
def test_a_frozen_part_is_frozen_whole(network, part, n_frozen):
    n_all = len(network.trainable_variables)
    run.freeze(network, [part])
    try:
        assert n_all - len(network.trainable_variables) == n_frozen
    finally:
        for layer in network.layers:
            layer.trainable = True


def test_all_or_unknown_parts_are_refused():
    network = tiny.new_network(tiny.network_config())
    with pytest.raises(ConfigurationError, match=r"cannot freeze letters\. Choose from characters, words"):
        run.freeze(network, ["letters"])
    with pytest.raises(ConfigurationError, match="all parts are frozen"):
        run.freeze(network, iter(run.PARTS))


# Which run a checkpoint belongs to --------------------------------------------------------------


def key(config=None, hashes="a", seed=1, freeze=(), words=None):
    docs = RunDocuments([Corpus("c", [DOC], [DOC])], [], [], {"c": hashes})
    config = config or RunConfig(gold=(), training=tiny.training_config(seed=seed))
    vectors = words or tiny.vectors(tiny.network_config())
    return run._run_key(config, docs, vectors, run.Surroundings(freeze=freeze))


def test_a_checkpoint_belongs_to_all_that_decides_the_weights(tmp_path):
    mapping = tmp_path / "types.toml"
    mapping.write_text('[types]\nPerson = "PATIENT"\n')
    mapped = RunConfig(gold=(), training=tiny.training_config(seed=1), mapping=mapping)
    keys = [
        key(),
        key(hashes="b"),
        key(seed=2),
        key(freeze=("words",)),
        key(
            words=dataclasses.replace(
                tiny.vectors(tiny.network_config()), words=("a", "b", "c", "d", "e", "f")
            )
        ),
        key(mapped),
    ]
    mapping.write_text('[types]\nPerson = "DOCTOR"\n')
    keys.append(key(mapped))
    assert len(set(keys)) == len(keys)
    assert key(freeze=("gaps", "words")) == key(freeze=("words", "gaps"))


# Words that are learned -------------------------------------------------------------------------


def test_words_that_stand_twice_get_a_vector_of_their_own():
    config = RunConfig(gold=(), network=tiny.network_config(learn_words=True))
    vectors = run._vectors(config, [DOC, Document("2", "Rash, 7 7 velmo")])
    assert vectors.words == ("rash", "velmo")
    assert vectors.matrix().shape == (3, 6)
    assert run._vectors(config, [Document("2", "no word twice")]).matrix().shape == (1, 6)


# Logs -------------------------------------------------------------------------------------------


LOGS = {"loss": 0.5, "tokens": 1000, "tokens_per_second": 500.2}


def written(folder, said=None, n_done=0, **logs):
    """A log that got the first epoch of three after those that are done."""
    one = TrainingLog(folder, (said if said is not None else []).append, n_done=n_done, show=False)
    one.set_params({"epochs": 3, "steps": 7})
    one.on_train_begin()
    one.on_epoch_begin(n_done)
    one.on_train_batch_end(0, {"loss": 0.7})
    one.on_epoch_end(n_done, {**LOGS, **logs})
    one.on_train_end()


def test_lines_of_an_interrupted_run_are_kept(tmp_path):
    said = []
    written(tmp_path, said, validation_recall=0.75, best=1)
    written(tmp_path, said, n_done=1, loss=0.25)
    written(tmp_path, said, n_done=2)
    assert (tmp_path / "log.csv").read_text().split() == [
        "epoch,loss,tokens,tokens_per_second,validation_recall,best",
        "1,0.50000,1000,500,0.7500,1",
        "2,0.25000,1000,500,,0",
        "3,0.50000,1000,500,,0",
    ]
    assert said == [
        "epoch 1/3: loss 0.5000, 1000 tokens, 500 tokens/s, validation recall 0.7500 (best), about 0 s left",
        "epoch 2/3: loss 0.2500, 1000 tokens, 500 tokens/s, about 0 s left",
        "epoch 3/3: loss 0.5000, 1000 tokens, 500 tokens/s",
    ]


def events(folder):
    network = tiny.new_network(tiny.network_config())
    network.compile(optimizer="adam", loss="categorical_crossentropy")
    made = Events(folder)
    made.set_model(network)
    made.on_train_begin()
    return made


def test_a_new_run_begins_a_new_log(tmp_path):
    for _ in range(2):
        written(tmp_path)
        one = events(tmp_path)
        one.on_epoch_end(0, dict(LOGS))
        one.on_train_end()
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 2
    assert len(list((tmp_path / "tensorboard" / "train").iterdir())) == 1


def no_space(*_, **__):
    raise tf.errors.ResourceExhaustedError(None, None, "events; No space left on device")


def test_events_that_cannot_be_written_are_one_line(tmp_path, monkeypatch):
    one = events(tmp_path)
    monkeypatch.setattr("tensorflow.summary.scalar", no_space)
    with refuses(OutputError, match=r"tensorboard: cannot be written .*Free disk space .* --resume"):
        one.on_epoch_end(0, dict(LOGS))


def test_a_folder_that_is_a_file_is_one_line(tmp_path):
    (tmp_path / "model.training").write_text("mine")
    with pytest.raises(OutputError, match=r"model\.training: cannot be written \(File exists\)"):
        written(tmp_path / "model.training")
