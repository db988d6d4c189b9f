"""Training: the loss, patience, resuming to the last bit, and what goes wrong."""

import dataclasses
import json

import numpy as np
import pytest
from refusals import refuses

pytest.importorskip("tensorflow")

import keras
import tensorflow as tf
import tiny_networks as tiny

from inverse_deid.core.errors import ConfigurationError, OutputError, StageError
from inverse_deid.network.checkpoints import Checkpoints
from inverse_deid.network.training import TokenBatches, WarmUpThenDecay, fit, probabilities

pytestmark = pytest.mark.slow

CONFIG = tiny.network_config()


class Stopped(Exception):  # noqa: N818 - no error of ours: the machine went down
    """The run is interrupted here."""


class Reports(keras.callbacks.Callback):
    """Keeps the logs of each epoch, and stops where it is told to, as if the machine went down."""

    def __init__(self, stop_after=None, stop_within=None):
        super().__init__()
        self.logs, self.now, self.stop_after, self.stop_within = [], 0, stop_after, stop_within

    def on_epoch_begin(self, epoch, logs=None):
        self.now = epoch + 1

    def on_train_batch_end(self, batch, logs=None):
        if self.now == self.stop_within and batch == 1:
            raise Stopped

    def on_epoch_end(self, epoch, logs=None):
        self.logs.append(dict(logs))
        if epoch + 1 == self.stop_after:
            raise Stopped


def run(network, config, *, data=None, stop=None, **watched):
    reports = Reports(**stop or {})
    data = data or (lambda epoch: tiny.examples(CONFIG, epoch))
    fit(network, data, config, dictionary_columns=[1], callbacks=[reports], **watched)
    return reports.logs


@pytest.mark.parametrize("output", ["softmax", "crf"])
def test_the_loss_falls_and_what_was_learned_is_right(output):
    asked = []

    def data(epoch):
        asked.append(epoch)
        return tiny.examples(CONFIG, epoch)

    config = tiny.network_config(output=output, dropout=0.0)
    network = tiny.new_network(config, 1)
    reports = run(network, tiny.training_config(epochs=12), data=data)
    assert asked == list(range(12))  # every epoch is made once
    assert len(reports) == 12
    assert reports[-1]["loss"] < 0.2 * reports[0]["loss"]
    assert reports[0]["tokens"] == sum(map(len, tiny.examples(CONFIG, 0)))
    assert all(set(report) == {"loss", "tokens", "tokens_per_second"} for report in reports)
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
    found = [(report["validation_recall"], report["best"]) for report in reports]
    assert found == [(0.1, 1), (0.5, 1), (0.5, 0), (0.4, 0)]
    assert tiny.are_equal(tiny.weights_of(network), validation.seen[1])


def test_without_patience_the_last_epoch_stays():
    validation, network = ScriptedValidation(0.9, 0.1, 0.0), tiny.new_network(CONFIG, 1)
    run(network, tiny.training_config(epochs=3), validate=validation)
    assert tiny.are_equal(tiny.weights_of(network), validation.seen[2])


def test_patience_without_validation_is_refused():
    with pytest.raises(ConfigurationError, match="patience"):
        run(tiny.new_network(CONFIG), tiny.training_config(epochs=3, patience=1))


# Batches and rates ------------------------------------------------------------------------------


def test_every_epoch_has_as_many_batches_and_every_token_once():
    network, config = tiny.new_network(CONFIG), tiny.training_config()
    data = TokenBatches(lambda epoch: tiny.examples(CONFIG, epoch, 24 + epoch), network, config)
    data.begin(0)
    n_batches = data.n_batches
    data.on_epoch_begin()
    for epoch in (0, 1, 5):
        data.begin(epoch)
        batches = [data[i] for i in range(data.num_batches)]
        n_tokens = sum(map(len, tiny.examples(CONFIG, epoch, 24 + epoch)))
        assert data.n_batches == len(batches) == n_batches
        assert sum(inputs["valid"].sum() for inputs, _, _ in batches) == data.n_tokens == n_tokens
        for inputs, targets, weights in batches:
            assert (targets.sum(axis=-1) == inputs["valid"]).all()
            assert ((weights > 0) == inputs["valid"]).all()


def test_keras_learns_that_lengths_vary_even_from_one_window():
    """Keras looks at two batches before it begins, and refuses others if these are alike."""
    network = tiny.new_network(CONFIG, 1)
    rng = np.random.default_rng(0)
    lengths = [5, 3, 9]

    def data(epoch):
        return [tiny.examples(CONFIG, int(rng.integers(99)), 1)[0].window(0, lengths[epoch])]

    assert len(run(network, tiny.training_config(epochs=3), data=data)) == 3


def test_the_rate_rises_and_falls():
    rate = WarmUpThenDecay(2.0, 100, warm_up=0.1, final_rate=0.5)
    found = [float(rate(step)) for step in (0, 4, 9, 10, 55, 100, 200)]
    assert found == pytest.approx([0.2, 1.0, 2.0, 2.0, 1.5, 1.0, 1.0])
    assert float(WarmUpThenDecay.from_config(rate.get_config())(4)) == pytest.approx(1.0)


# Resuming ---------------------------------------------------------------------------------------


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
        (CONFIG, (), {"stop_within": 3}),
        (tiny.network_config(output="crf", learn_words=True), ("unknown_word",), {"stop_after": 2}),
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
        run(stopped, config, checkpoints=Checkpoints(tmp_path, "run"), stop=stop)
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
        run(
            stopped,
            config,
            validate=ScriptedValidation(*gains[:3]),
            checkpoints=first,
            stop={"stop_after": 3},
        )
    resumed = tiny.new_network(CONFIG, 2)
    run(resumed, config, validate=ScriptedValidation(*gains[3:]), checkpoints=Checkpoints(tmp_path, "run"))
    assert tiny.are_equal(tiny.weights_of(resumed), tiny.weights_of(whole))


# What goes wrong --------------------------------------------------------------------------------


def test_a_loss_that_is_no_number_is_an_error_and_is_not_saved(tmp_path):
    def data(epoch):
        (first, *rest) = tiny.examples(CONFIG, epoch)
        return [dataclasses.replace(first, features=first.features * np.float32(np.nan)), *rest]

    with pytest.raises(StageError, match=r"epoch 1 is not a number\. Lower the learning rate"):
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
    network = tiny.new_network(CONFIG)
    monkeypatch.setattr(type(network), "train_step", out_of_memory)
    with pytest.raises(StageError, match=r"out of memory in training\. Lower") as caught:
        run(network, tiny.training_config(epochs=2))
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
            stop={"stop_after": 1},
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
