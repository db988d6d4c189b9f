"""Fine-tuning, resuming and exporting an encoder of a few thousand weights."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import keras
import onnxruntime as ort
import tiny_networks as tiny
from reference_encoders import MPNET_PIECES, write_tiny
from tiny_encoders import PIECES

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.batches import windows
from inverse_deid.network.checkpoints import Checkpoints
from inverse_deid.network.config import TrainingConfig
from inverse_deid.network.pieces import Vocabulary, encode_window, join_windows
from inverse_deid.network.second_reader import read_encoder, write_encoder
from inverse_deid.training.config import EncoderConfig, RunConfig
from inverse_deid.training.encoders.encoder import build_encoder, read_pretrained, write_pretrained
from inverse_deid.training.encoders.export import export_encoder, round_weights
from inverse_deid.training.encoders.passes import gather
from inverse_deid.training.encoders.run import (
    EncoderSurroundings,
    TrainedEncoder,
    read_further,
    train_encoder,
)
from inverse_deid.training.encoders.training import (
    ClassBatches,
    EncoderTraining,
    HiddenWords,
    StoredOpinions,
    gather_windows,
    read_texts,
)

pytestmark = pytest.mark.slow

VOCABULARY = Vocabulary(PIECES)
N_CLASSES = 2
ENCODER = EncoderConfig(batch_pieces=128, learning_rate=1e-3, head_rate=1e-2, bfloat16=False)


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("encoder"), scale=0.1)


@pytest.fixture(scope="module")
def pretrained_mpnet(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("encoder"), "mpnet", scale=0.1)


def new_network(folder, dtype="float32"):
    keras.utils.set_random_seed(0)
    body, _ = read_pretrained(folder, dtype=dtype)
    return build_encoder(body, tiny.N_FEATURES, N_CLASSES)


def words_of(network):
    return np.asarray(network.get_layer("body").words.embeddings).copy()


def pass_of(epoch, vocabulary=VOCABULARY):
    cut = windows(tiny.examples(tiny.network_config(), epoch), 16, None)
    encoded = [encode_window(e.words, e.gaps, e.features, vocabulary) for e in cut]
    return gather(encoded, [e.labels for e in cut], [e.weights for e in cut])


class Losses(keras.callbacks.Callback):
    """Keeps the loss of each pass, and stops after one as if the machine went down."""

    def __init__(self, stop_after=None):
        super().__init__()
        self.found, self.stop_after = [], stop_after

    def on_epoch_end(self, epoch, logs=None):
        self.found.append(logs["loss"])
        if epoch + 1 == self.stop_after:
            raise KeyboardInterrupt


def training(network, epochs=4, stop_after=None, **given):
    losses = Losses(stop_after)
    given = {"passes": pass_of, "vocabulary": VOCABULARY, "encoder": ENCODER, **given}
    config = tiny.training_config(epochs=epochs, window=16, seed=given.pop("seed", 1))
    EncoderTraining(network=network, config=config, callbacks=[losses], **given).run()
    return losses.found


def probabilities(network, one, vocabulary):
    """Class probabilities of all tokens of a pass, gathered a few windows at a time."""
    found = np.zeros((len(one.labels), N_CLASSES), np.float32)
    for start in range(0, one.n_windows, 5):
        group = np.arange(start, min(start + 5, one.n_windows))
        inputs, tokens = gather_windows(one, group, vocabulary.pad)
        found[tokens] = network.predict_on_batch(inputs)
    return found


def test_an_encoder_learns_and_says_so_in_numbers(pretrained):
    network = new_network(pretrained)
    before = words_of(network)
    losses = training(network, epochs=8)
    assert len(losses) == 8
    assert losses[-1] < losses[0] / 3
    assert np.array_equal(words_of(network), before)


def test_an_interrupted_training_resumes_and_ends_with_the_same_bits(tmp_path, pretrained):
    whole = new_network(pretrained)
    training(whole)
    with pytest.raises(KeyboardInterrupt):
        training(new_network(pretrained), stop_after=2, checkpoints=Checkpoints(tmp_path, "run"))
    resumed = new_network(pretrained)
    assert len(training(resumed, checkpoints=Checkpoints(tmp_path, "run"))) == 2
    assert all(np.array_equal(a, b) for a, b in zip(resumed.get_weights(), whole.get_weights(), strict=True))
    other = new_network(pretrained)
    training(other, seed=2)
    assert not np.array_equal(other.get_weights()[0], whole.get_weights()[0])


def test_a_checkpoint_of_another_run_or_a_damaged_one_is_refused(tmp_path, pretrained):
    with pytest.raises(KeyboardInterrupt):
        training(new_network(pretrained), stop_after=1, checkpoints=Checkpoints(tmp_path, "run"))
    with pytest.raises(ConfigurationError, match="another configuration"):
        training(new_network(pretrained), checkpoints=Checkpoints(tmp_path, "other"))
    (tmp_path / "checkpoint.npz").write_bytes(b"no checkpoint")
    with pytest.raises(ConfigurationError, match="damaged"):
        training(new_network(pretrained), checkpoints=Checkpoints(tmp_path, "run"))


def test_a_loss_that_is_not_a_number_ends_the_training(pretrained):
    network = new_network(pretrained)
    network.get_layer("classes").bias.assign([np.nan, 0.0])
    with pytest.raises(StageError, match="not a number"):
        training(network)


def test_layers_beside_the_body_have_a_rate_of_their_own(pretrained):
    network = new_network(pretrained)
    before = network.get_weights()
    encoder = EncoderConfig(batch_pieces=128, learning_rate=1e-9, head_rate=1e-2, bfloat16=False)
    training(network, epochs=1, encoder=encoder)
    moved = {}
    for variable, old in zip(network.weights, before, strict=True):
        part = "body" if variable.path.startswith("body/") else "heads"
        moved[part] = max(moved.get(part, 0), float(np.abs(np.asarray(variable) - old).max()))
    assert moved["body"] < 1e-6
    assert moved["heads"] > 1e-3


def test_half_precision_learns_too(pretrained):
    losses = training(new_network(pretrained, "mixed_bfloat16"), epochs=6)
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_a_batch_of_a_pass_is_what_the_windows_are_one_by_one(kind, pretrained, pretrained_mpnet):
    folder, vocabulary = (
        (pretrained, VOCABULARY) if kind == "bert" else (pretrained_mpnet, Vocabulary(MPNET_PIECES))
    )
    network = new_network(folder)
    cut = windows(tiny.examples(tiny.network_config(), 0), 16, None)
    encoded = [encode_window(e.words, e.gaps, e.features, vocabulary) for e in cut]
    expected = [network.predict_on_batch(join_windows([window], vocabulary.pad)) for window in encoded]
    found = probabilities(network, gather(encoded), vocabulary)
    assert np.abs(found - np.concatenate(expected)).max() < 2e-3  # features of a pass have half precision


def test_every_pass_has_as_many_batches_and_every_token_once():
    data = ClassBatches(pass_of, VOCABULARY, tiny.training_config(), ENCODER, n_classes=N_CLASSES)
    data.begin(0)
    n_batches = data.num_batches
    data.on_epoch_begin()
    for number in (0, 1, 2):
        data.begin(number)
        batches = [data[i] for i in range(data.num_batches)]
        assert len(batches) == n_batches
        assert sum(len(weights) for _, _, weights in batches) == len(pass_of(number).labels)
        assert all((targets.sum(axis=1) == 1).all() for _, targets, _ in batches)


def test_an_encoder_learns_from_a_teacher_what_labels_do_not_say(tmp_path, pretrained, pretrained_mpnet):
    vocabulary = Vocabulary(MPNET_PIECES)
    teacher = new_network(pretrained_mpnet)
    training(teacher, epochs=8, passes=lambda epoch: pass_of(epoch, vocabulary), vocabulary=vocabulary)

    def unlabelled(epoch):
        one = pass_of(epoch)
        one.labels[:] = 0
        one.weights[:] = 0
        return one

    numbers = VOCABULARY.numbers_in(vocabulary)
    opinions = StoredOpinions(teacher, numbers, VOCABULARY.pad, tmp_path, "teacher")
    student = new_network(pretrained)
    training(student, epochs=8, passes=unlabelled, opinions=opinions)
    one = pass_of(99)
    found = probabilities(student, one, VOCABULARY).argmax(axis=1)
    assert (found == one.labels).mean() > 0.95
    assert 0 < one.labels.mean() < 1


def test_a_teacher_is_asked_once_about_a_pass(tmp_path, pretrained):
    one, numbers = pass_of(0), np.arange(len(PIECES), dtype=np.int32)
    teacher = new_network(pretrained)
    first = StoredOpinions(teacher, numbers, VOCABULARY.pad, tmp_path, "a")(0, one)
    expected = probabilities(teacher, one, VOCABULARY)
    np.testing.assert_allclose(first, expected, atol=2e-3)  # they are kept in half precision
    (path,) = tmp_path.iterdir()

    class Asked:
        output_shape = teacher.output_shape

    silent = StoredOpinions(Asked(), numbers, VOCABULARY.pad, tmp_path, "a")
    np.testing.assert_array_equal(silent(0, one), first)
    with pytest.raises(AttributeError):  # another teacher has its own
        StoredOpinions(Asked(), numbers, VOCABULARY.pad, tmp_path, "b")(0, one)
    path.write_bytes(path.read_bytes()[:100])
    again = StoredOpinions(teacher, numbers, VOCABULARY.pad, tmp_path, "a")(0, one)
    np.testing.assert_array_equal(again, first)


def test_guesses_of_hidden_words_get_better_and_word_vectors_stay(tmp_path, pretrained):
    config = EncoderConfig(batch_pieces=128, reading_passes=6, reading_rate=5e-3, bfloat16=False)

    def read(stop_after=None, **given):
        keras.utils.set_random_seed(1)  # of dropout
        body, _ = read_pretrained(pretrained)
        before, losses = np.asarray(body.words.embeddings).copy(), Losses(stop_after)
        try:
            read_texts(body, pass_of(0), VOCABULARY, config, 1, callbacks=[losses], **given)
        except KeyboardInterrupt:
            assert stop_after
        assert np.array_equal(np.asarray(body.words.embeddings), before)
        return body, losses.found

    whole, losses = read()
    assert len(losses) == 6
    assert losses[-1] < losses[0]
    read(stop_after=2, checkpoints=Checkpoints(tmp_path, "run"))
    resumed, rest = read(checkpoints=Checkpoints(tmp_path, "run"))
    assert rest == losses[2:]
    assert all(np.array_equal(a, b) for a, b in zip(resumed.get_weights(), whole.get_weights(), strict=True))


def test_hidden_pieces_are_those_of_whole_words():
    data = HiddenWords(pass_of(0), VOCABULARY, ENCODER, 1)
    data.begin(0)
    data.on_epoch_begin()
    n_hidden = n_pieces = 0
    for index in range(data.num_batches):
        inputs, targets, weights = data[index]
        assert len(inputs["places"]) == len(targets) == len(weights) > 0
        given = inputs["pieces"].ravel()[inputs["places"]]
        n_hidden += int((given == VOCABULARY.hidden).sum())
        n_pieces += len(given)
        assert VOCABULARY.begin not in targets
        assert VOCABULARY.pad not in targets
    assert 0.6 < n_hidden / n_pieces < 0.95


def test_only_the_windows_that_are_asked_for_are_in_a_batch():
    one = pass_of(0)
    inputs, tokens = gather_windows(one, np.array([2, 0]), VOCABULARY.pad)
    n_2, n_0 = np.diff(one.token_bounds)[[2, 0]]
    assert tokens.tolist() == [*range(one.token_bounds[2], one.token_bounds[3]), *range(n_0)]
    assert len(inputs["first"]) == n_2 + n_0
    assert inputs["lengths"].tolist() == np.diff(one.piece_bounds)[[2, 0]].tolist()


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
@pytest.mark.parametrize("n_windows", [1, 3])
def test_the_exported_graph_says_what_the_network_says(pretrained, pretrained_mpnet, n_windows, kind):
    network = new_network(pretrained if kind == "bert" else pretrained_mpnet)
    rng = np.random.default_rng(1)
    windows = []
    for n_tokens in (7, 1, 30)[:n_windows]:
        features = rng.normal(size=(n_tokens, tiny.N_FEATURES)).astype(np.float32)
        windows.append(
            encode_window(["rashes"] * n_tokens, np.zeros((n_tokens, 3), np.int32), features, VOCABULARY)
        )
    inputs = join_windows(windows, VOCABULARY.pad)
    expected = network.predict_on_batch(inputs)
    graph = export_encoder(network)
    assert str(Path(__file__).parents[3]).encode() not in graph  # no path of the machine
    exact = ort.InferenceSession(graph).run(None, inputs)[0]
    assert np.abs(exact - expected).max() < 1e-5
    rounded = ort.InferenceSession(round_weights(graph)).run(None, inputs)[0]
    assert np.abs(rounded - expected).max() < 0.05
    assert rounded.sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_a_run_from_documents_to_an_encoder_folder(tmp_path):
    """The whole way: read texts, train a teacher, train another one from it, export."""
    write_tiny(tmp_path / "weights")
    write_tiny(tmp_path / "mpnet", "mpnet")
    text = "Mr. Okonkwo had a rash on 3/4/1999. Rashes went - he is well."
    gold = [
        {
            "id": str(i),
            "text": f"{i} {text}",
            "spans": [{"start": len(str(i)) + 5, "end": len(str(i)) + 12, "type": "PATIENT"}],
        }
        for i in range(12)
    ]
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in gold))
    config = RunConfig(
        gold=(tmp_path / "gold.jsonl",),
        training=TrainingConfig(
            epochs=2, synthetic=2, weak=0, surrogates="none", validation_share=0.3, repeats=2
        ),
        encoder=EncoderConfig(batch_pieces=256, reading_passes=1, bfloat16=False),
    )
    lines = []
    around = EncoderSurroundings(say=lines.append, passes=tmp_path / "passes")
    read_further(config, tmp_path / "mpnet", tmp_path / "read", around)
    assert lines[-1].startswith("epoch 1/1: loss ")
    train_encoder(config, tmp_path / "read", tmp_path / "teacher", around)
    trained = tmp_path / "teacher.training/trained"
    student = train_encoder(
        config, tmp_path / "weights", tmp_path / "student", dataclasses.replace(around, teacher=trained)
    )
    assert student.provenance["encoder"]["teacher"] == TrainedEncoder.hash_of(trained)
    assert student.provenance["encoder"]["read"] is None
    assert TrainedEncoder.read(trained).provenance["encoder"]["read"]["passes"] == 1
    write_encoder(TrainedEncoder.read(tmp_path / "student.training/trained").parts(), tmp_path / "student")
    assert read_encoder(tmp_path / "student").feature_names == feature_names("all")
    assert "Okonkwo" not in "".join(lines)
    with pytest.raises(ConfigurationError, match="not an encoder that has read texts"):
        read_further(config, tmp_path / "mpnet", tmp_path / "weights", around)
    with pytest.raises(ConfigurationError, match="another configuration"):
        train_encoder(config, tmp_path / "weights", tmp_path / "student", around)  # without the teacher
    alone = dataclasses.replace(around, passes=None)
    train_encoder(config, tmp_path / "weights", tmp_path / "alone", alone)
    assert sorted(path.name for path in (tmp_path / "alone.training").iterdir()) == [
        "checkpoint.npz",
        "log.csv",
        "tensorboard",
        "trained",
    ]


def test_a_folder_without_a_trained_encoder_is_refused(tmp_path, pretrained):
    with pytest.raises(ConfigurationError, match="not a"):
        TrainedEncoder.read(tmp_path)
    write_pretrained(read_pretrained(pretrained)[0], PIECES, tmp_path / "body")
    with pytest.raises(ConfigurationError, match="not a trained encoder"):
        TrainedEncoder.read(tmp_path)
