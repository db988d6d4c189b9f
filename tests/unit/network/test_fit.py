"""Training: the loss, patience, resuming to the last bit, and what goes wrong."""

import dataclasses
import json

import numpy as np
import pytest
from refusals import refuses

pytest.importorskip("tensorflow")

import tensorflow as tf
import tiny_networks as tiny

from inverse_deid.core.errors import ConfigurationError, OutputError, StageError
from inverse_deid.network import training
from inverse_deid.network.checkpoints import Checkpoints
from inverse_deid.network.training import Watch, fit, probabilities

pytestmark = pytest.mark.slow

CONFIG = tiny.network_config()


class Stopped(Exception):  # noqa: N818 - no error of ours: the machine went down
    """The run is interrupted here."""


def run(network, config, *, data=None, **watched):
    reports = []
    watch = Watch(on_epoch=watched.pop("on_epoch", reports.append), **watched)
    fit(
        network,
        data or (lambda epoch: tiny.examples(CONFIG, epoch)),
        config,
        dictionary_columns=[1],
        watch=watch,
    )
    return reports


@pytest.mark.parametrize("output", ["softmax", "crf"])
def test_the_loss_falls_and_what_was_learned_is_right(output):
    asked = []

    def data(epoch):
        asked.append(epoch)
        return tiny.examples(CONFIG, epoch)

    config = tiny.network_config(output=output, dropout=0.0)
    network = tiny.new_network(config, 1)
    reports = run(network, tiny.training_config(epochs=12), data=data)
    assert asked == [report.epoch - 1 for report in reports] == list(range(12))  # every epoch is made once
    assert reports[-1].loss < 0.2 * reports[0].loss
    assert reports[0].n_tokens == sum(map(len, tiny.examples(CONFIG, 0)))
    assert all(report.gain is None and not report.best for report in reports)
    docs = tiny.examples(config, 77)
    for example, rows in zip(docs, probabilities(network, docs, config), strict=True):
        assert np.allclose(rows.sum(axis=1), 1, atol=1e-5)
        assert np.array_equal(rows[:, 0] < 0.5, example.labels > 0)


def test_the_seed_decides_the_weights():
    ends = []
    for _ in range(2):
        network = tiny.new_network(CONFIG, 5)
        run(network, tiny.training_config(epochs=1, seed=9))
        ends.append(tiny.weights_of(network))
    assert tiny.are_equal(*ends)


class ScriptedValidation:
    """Gives the gains in order and keeps the weights of each epoch."""

    def __init__(self, *gains):
        self.gains, self.seen = list(gains), []

    def __call__(self, network):
        self.seen.append(tiny.weights_of(network))
        return self.gains[len(self.seen) - 1]


def test_patience_stops_and_restores_the_best_epoch():
    validation, network = ScriptedValidation(0.1, 0.5, 0.5, 0.4, 0.9), tiny.new_network(CONFIG, 1)
    reports = run(network, tiny.training_config(epochs=5, patience=2), validate=validation)
    assert [(r.gain, r.best) for r in reports] == [(0.1, True), (0.5, True), (0.5, False), (0.4, False)]
    assert tiny.are_equal(tiny.weights_of(network), validation.seen[1])


def test_without_patience_the_last_epoch_stays():
    validation, network = ScriptedValidation(0.9, 0.1, 0.0), tiny.new_network(CONFIG, 1)
    run(network, tiny.training_config(epochs=3), validate=validation)
    assert tiny.are_equal(tiny.weights_of(network), validation.seen[2])


def test_patience_without_validation_is_refused():
    with pytest.raises(ConfigurationError, match="patience"):
        run(tiny.new_network(CONFIG), tiny.training_config(epochs=3, patience=1))


# Resuming ---------------------------------------------------------------------------------------


def stop_after(n_epochs):
    """As if the machine went down right after an epoch was saved."""

    def on_epoch(report):
        if report.epoch == n_epochs:
            raise Stopped

    return {"on_epoch": on_epoch}


def stop_within(epoch):
    """As if the machine went down in the second batch of an epoch."""

    def on_batch(now, done, n_batches, loss):
        if (now, done) == (epoch, 2):
            raise Stopped

    return {"on_batch": on_batch}


def new(network_config, seed, frozen):
    """A network with a part whose weights are not trained and always the same."""
    network = tiny.new_network(network_config, seed)
    for layer in map(network.get_layer, frozen):
        layer.trainable = False
        layer.set_weights([np.full(weight.shape, 0.25) for weight in layer.get_weights()])
    return network


@pytest.mark.parametrize(
    ("network_config", "frozen", "stop"),
    [
        (CONFIG, (), stop_within(3)),
        (tiny.network_config(output="crf", learn_words=True), ("unknown_word",), stop_after(2)),
    ],
    ids=["within epoch 3", "crf, learned words, a frozen part"],
)
def test_a_resumed_run_ends_with_the_weights_of_one_that_was_not_interrupted(
    tmp_path, network_config, frozen, stop
):
    config = tiny.training_config(epochs=4)
    whole = new(network_config, 1, frozen)
    run(whole, config)
    stopped = new(network_config, 1, frozen)
    with pytest.raises(Stopped):
        run(stopped, config, checkpoints=Checkpoints(tmp_path, "run"), **stop)
    assert not tiny.are_equal(tiny.weights_of(stopped), tiny.weights_of(whole))
    resumed = new(network_config, 2, frozen)
    run(resumed, config, checkpoints=Checkpoints(tmp_path, "run"))
    assert tiny.are_equal(tiny.weights_of(resumed), tiny.weights_of(whole))
    for layer in map(whole.get_layer, frozen):
        assert all((weight == 0.25).all() for weight in layer.get_weights())


def test_a_complete_run_is_not_trained_further(tmp_path):
    config = tiny.training_config(epochs=2)
    network = tiny.new_network(CONFIG, 1)
    run(network, config, checkpoints=Checkpoints(tmp_path, "run"))
    again = tiny.new_network(CONFIG, 2)
    assert run(again, config, checkpoints=Checkpoints(tmp_path, "run")) == []
    assert tiny.are_equal(tiny.weights_of(again), tiny.weights_of(network))


def test_the_best_epoch_survives_an_interruption(tmp_path):
    config, gains = tiny.training_config(epochs=4, patience=3), (0.1, 0.8, 0.3, 0.2)
    whole = tiny.new_network(CONFIG, 1)
    run(whole, config, validate=ScriptedValidation(*gains))
    stopped = tiny.new_network(CONFIG, 1)
    with pytest.raises(Stopped):
        first = Checkpoints(tmp_path, "run")
        run(stopped, config, validate=ScriptedValidation(*gains[:3]), checkpoints=first, **stop_after(3))
    resumed = tiny.new_network(CONFIG, 2)
    run(resumed, config, validate=ScriptedValidation(*gains[3:]), checkpoints=Checkpoints(tmp_path, "run"))
    assert tiny.are_equal(tiny.weights_of(resumed), tiny.weights_of(whole))


# What goes wrong --------------------------------------------------------------------------------


def test_a_loss_that_is_no_number_is_an_error_and_is_not_saved(tmp_path):
    def data(epoch):
        (first, *rest) = tiny.examples(CONFIG, epoch)
        return [dataclasses.replace(first, features=first.features * np.float32(np.nan)), *rest]

    with pytest.raises(StageError, match=r"epoch 1 is not a number\. Lower training\.learning_rate"):
        run(
            tiny.new_network(CONFIG),
            tiny.training_config(epochs=2),
            data=data,
            checkpoints=Checkpoints(tmp_path, "run"),
        )
    assert not list(tmp_path.iterdir())


def out_of_memory(*_):
    raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor with shape[4096,128]")


def test_a_device_out_of_memory_is_one_line_with_a_remedy(monkeypatch):
    monkeypatch.setattr(training, "training_step", lambda network, optimizer: out_of_memory)
    with pytest.raises(StageError, match=r"out of memory on a batch of \d+x\d+ tokens\. Lower") as caught:
        run(tiny.new_network(CONFIG), tiny.training_config(epochs=2))
    assert "training.batch_tokens" in str(caught.value)
    assert "tensor" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_device_out_of_memory_in_validation_is_one_line_too():
    with pytest.raises(StageError, match=r"out of memory on the held-out documents\. Lower"):
        run(tiny.new_network(CONFIG), tiny.training_config(epochs=2), validate=out_of_memory)


# Checkpoints ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A checkpoint after the first epoch, as bytes."""
    folder = tmp_path_factory.mktemp("saved")
    with pytest.raises(Stopped):
        checkpoints = Checkpoints(folder, "run")
        run(
            tiny.new_network(CONFIG, 1),
            tiny.training_config(epochs=2),
            checkpoints=checkpoints,
            **stop_after(1),
        )
    return (folder / "checkpoint.npz").read_bytes()


def resume_from(folder, data, name="run", config=CONFIG):
    (folder / "checkpoint.npz").write_bytes(data)
    run(tiny.new_network(config), tiny.training_config(epochs=2), checkpoints=Checkpoints(folder, name))


def test_a_checkpoint_of_another_run_is_refused(tmp_path, saved):
    with pytest.raises(
        ConfigurationError, match=r"checkpoint\.npz: made with another configuration.*delete the file"
    ):
        resume_from(tmp_path, saved, name="another")


def test_a_checkpoint_of_another_network_is_refused(tmp_path, saved):
    with pytest.raises(
        ConfigurationError, match=r"checkpoint\.npz: made for another network.*delete the file"
    ):
        resume_from(tmp_path, saved, config=tiny.network_config(token_units=7))


def archive(tmp_path, **arrays):
    np.savez(tmp_path / "made.npz", **arrays)
    return (tmp_path / "made.npz").read_bytes()


def state(**changed):
    known = {"run": "run", "n_batches": 3, "epoch": 1, "best_epoch": 0, "best_gain": 0.0, "n_best": 0}
    return np.array(json.dumps({**known, **changed}))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data, folder: b"",
        lambda data, folder: data[: len(data) // 2],
        lambda data, folder: b"not an archive",
        lambda data, folder: data[:2000] + bytes(64) + data[2064:],
        lambda data, folder: archive(folder, other=np.zeros(2)),
        lambda data, folder: archive(folder, state=np.array("[1]")),
        lambda data, folder: archive(folder, state=np.array("{broken")),
        lambda data, folder: archive(folder, state=state(n_best=1)),
        lambda data, folder: archive(folder, state=state(from_the_future=1)),
        lambda data, folder: archive(folder, state=np.array([{}], object)),
    ],
    ids=["empty", "half", "text", "zeros", "no state", "list", "no json", "no best", "newer", "pickled"],
)
def test_a_damaged_checkpoint_is_refused(tmp_path, saved, damage):
    with pytest.raises(
        ConfigurationError, match=r"checkpoint\.npz: damaged\. To start again, delete the file"
    ):
        resume_from(tmp_path, damage(saved, tmp_path))


def test_a_checkpoint_that_lacks_weights_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"made for another network.*delete the file"):
        resume_from(tmp_path, archive(tmp_path, state=state()))


def test_a_full_disk_leaves_the_older_checkpoint(tmp_path, monkeypatch, saved):
    def full_disk(path, **arrays):
        path.write_bytes(saved[:2000])
        raise OSError(28, "No space left on device")

    (tmp_path / "checkpoint.npz").write_bytes(saved)
    monkeypatch.setattr("inverse_deid.network.checkpoints.np.savez", full_disk)
    checkpoints = Checkpoints(tmp_path, "run")
    with refuses(OutputError, match=r"checkpoint\.npz: cannot be written \(No space left .*--resume"):
        run(tiny.new_network(CONFIG), tiny.training_config(epochs=3), checkpoints=checkpoints)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.npz"]
    assert Checkpoints(tmp_path, "run").read().epoch == 1
