"""Fine-tuning, resuming and exporting an encoder of a few thousand weights."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("onnxscript")

import onnxruntime as ort
import tiny_networks as tiny
import torch
from tiny_encoders import PIECES
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.batches import windows
from inverse_deid.network.config import TrainingConfig
from inverse_deid.network.pieces import Vocabulary, encode_window, join_windows
from inverse_deid.network.second_reader import read_encoder, write_encoder
from inverse_deid.training.config import EncoderConfig, RunConfig
from inverse_deid.training.encoders.encoder import (
    EncoderNetwork,
    as_tensors,
    export_encoder,
    read_pretrained,
    round_weights,
    write_pretrained,
)
from inverse_deid.training.encoders.passes import gather
from inverse_deid.training.encoders.run import (
    EncoderSurroundings,
    TrainedEncoder,
    read_further,
    train_encoder,
)
from inverse_deid.training.encoders.training import (
    EncoderTeacher,
    EncoderTraining,
    PassOnDevice,
    read_texts,
)

VOCABULARY = Vocabulary(PIECES)
N_CLASSES = 2
MPNET_PIECES = ("<s>", "<pad>", "</s>", "<unk>", *PIECES, "<mask>")


def write_tiny(folder, kind="bert"):
    torch.manual_seed(0)
    shape = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    if kind == "bert":
        write_pretrained(BertModel(BertConfig(vocab_size=len(PIECES), **shape)), PIECES, folder)
    else:
        config = MPNetConfig(vocab_size=len(MPNET_PIECES), **shape)
        write_pretrained(MPNetModel(config), MPNET_PIECES, folder)
    return folder


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def pretrained_mpnet(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("encoder"), "mpnet")


def new_network(folder):
    torch.manual_seed(0)
    body, _ = read_pretrained(folder)
    return EncoderNetwork(body, tiny.N_FEATURES, N_CLASSES)


def pass_of(epoch, vocabulary=VOCABULARY):
    cut = windows(tiny.examples(tiny.network_config(), epoch), 16, None)
    encoded = [encode_window(e.words, e.gaps, e.features, vocabulary) for e in cut]
    return gather(encoded, [e.labels for e in cut], [e.weights for e in cut])


def training(network, folder, epochs=4, passes=pass_of, vocabulary=VOCABULARY, teacher=None):
    lines = []
    made = EncoderTraining(
        network=network,
        vocabulary=vocabulary,
        passes=passes,
        config=tiny.training_config(epochs=epochs, window=16),
        encoder=EncoderConfig(batch_pieces=128, learning_rate=1e-3, head_rate=1e-2, bfloat16=False),
        checkpoint=folder / "checkpoint.pt",
        say=lines.append,
        teacher=teacher,
    )
    return made, lines


def probabilities(network, one, vocabulary):
    """Class probabilities of all tokens of a pass, gathered batch by batch."""
    there = PassOnDevice(one, vocabulary.pad, torch.device("cpu"))
    found = np.zeros((len(one.labels), N_CLASSES), np.float32)
    with torch.no_grad():
        for group in there.groups(128, np.random.default_rng(0)):
            inputs, tokens = there.batch(group)
            found[tokens] = torch.softmax(network(inputs), dim=-1).numpy()
    return found


def loss_of(line):
    return float(line.partition("loss ")[2].split(",")[0])


def test_an_encoder_learns_and_says_so_in_numbers(tmp_path, pretrained):
    network = new_network(pretrained)
    before = network.body.embeddings.word_embeddings.weight.detach().clone()
    run, lines = training(network, tmp_path, epochs=8)
    run.run()
    losses = [loss_of(line) for line in lines]
    assert len(losses) == 8
    assert losses[-1] < losses[0] / 3
    assert torch.equal(network.body.embeddings.word_embeddings.weight, before)


def test_an_interrupted_training_resumes_and_ends_alike(tmp_path, pretrained):
    whole = new_network(pretrained)
    training(whole, tmp_path)[0].run()
    (tmp_path / "part").mkdir()

    def stop(epoch):
        if epoch == 2:
            raise KeyboardInterrupt
        return pass_of(epoch)

    interrupted, _ = training(new_network(pretrained), tmp_path / "part", passes=stop)
    with pytest.raises(KeyboardInterrupt):
        interrupted.run()
    resumed = new_network(pretrained)
    run, lines = training(resumed, tmp_path / "part")
    run.run()
    assert lines[0] == "resuming after pass 2 of 4"
    assert len(lines) == 3
    for name, weight in whole.state_dict().items():
        assert torch.allclose(resumed.state_dict()[name], weight, atol=1e-6), name


def test_a_checkpoint_of_another_run_or_a_damaged_one_is_refused(tmp_path, pretrained):
    training(new_network(pretrained), tmp_path, epochs=1)[0].run()
    other, _ = training(new_network(pretrained), tmp_path, epochs=2)
    with pytest.raises(ConfigurationError, match="another configuration"):
        dataclasses.replace(other, key="other").run()
    whole = (tmp_path / "checkpoint.pt").read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"no checkpoint"):
        (tmp_path / "checkpoint.pt").write_bytes(damaged)
        with pytest.raises(ConfigurationError, match="damaged"):
            training(new_network(pretrained), tmp_path, epochs=2)[0].run()


def test_a_loss_that_is_not_a_number_ends_the_training(tmp_path, pretrained):
    network = new_network(pretrained)
    with torch.no_grad():
        network.classes.bias[0] = float("nan")
    with pytest.raises(StageError, match="not a number"):
        training(network, tmp_path)[0].run()


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_a_batch_of_a_pass_is_what_the_windows_are_one_by_one(kind, pretrained, pretrained_mpnet):
    folder, vocabulary = (
        (pretrained, VOCABULARY) if kind == "bert" else (pretrained_mpnet, Vocabulary(MPNET_PIECES))
    )
    network = new_network(folder).eval()
    cut = windows(tiny.examples(tiny.network_config(), 0), 16, None)
    encoded = [encode_window(e.words, e.gaps, e.features, vocabulary) for e in cut]
    expected = []
    with torch.no_grad():
        for window in encoded:
            inputs = as_tensors(join_windows([window], vocabulary.pad))
            expected.append(torch.softmax(network(inputs), dim=-1).numpy())
    found = probabilities(network, gather(encoded), vocabulary)
    assert np.abs(found - np.concatenate(expected)).max() < 2e-3  # features of a pass have half precision


def test_an_encoder_learns_from_a_teacher_what_labels_do_not_say(tmp_path, pretrained, pretrained_mpnet):
    vocabulary = Vocabulary(MPNET_PIECES)
    teacher = new_network(pretrained_mpnet)

    def mpnet_pass(epoch):
        return pass_of(epoch, vocabulary)

    training(teacher, tmp_path, epochs=8, passes=mpnet_pass, vocabulary=vocabulary)[0].run()
    (tmp_path / "student").mkdir()

    def unlabelled(epoch):
        one = pass_of(epoch)
        one.labels[:] = 0
        one.weights[:] = 0
        return one

    to_teacher = torch.from_numpy(VOCABULARY.numbers_in(vocabulary).astype(np.int64))
    student = new_network(pretrained)
    training(
        student,
        tmp_path / "student",
        epochs=8,
        passes=unlabelled,
        teacher=EncoderTeacher(network=teacher.eval(), numbers=to_teacher, share=0.5),
    )[0].run()
    one = pass_of(99)
    found = probabilities(student.eval(), one, VOCABULARY).argmax(axis=1)
    assert (found == one.labels).mean() > 0.95
    assert 0 < one.labels.mean() < 1


def test_guesses_of_hidden_words_get_better_and_word_vectors_stay(pretrained):
    body, _ = read_pretrained(pretrained)
    before = body.embeddings.word_embeddings.weight.detach().clone()
    lines = []
    config = EncoderConfig(batch_pieces=128, reading_passes=6, reading_rate=5e-3, bfloat16=False)
    read_texts(body, pass_of(0), VOCABULARY, config, 1, lines.append)
    losses = [loss_of(line) for line in lines]
    assert len(losses) == 6
    assert losses[-1] < losses[0]
    assert torch.equal(body.embeddings.word_embeddings.weight, before)


def test_only_the_windows_that_are_asked_for_are_in_a_batch(pretrained):
    one = pass_of(0)
    inputs, tokens = PassOnDevice(one, VOCABULARY.pad, torch.device("cpu")).batch(np.array([2, 0]))
    n_2, n_0 = np.diff(one.token_bounds)[[2, 0]]
    assert tokens.tolist() == [*range(one.token_bounds[2], one.token_bounds[3]), *range(n_0)]
    assert len(inputs["first"]) == n_2 + n_0
    assert inputs["lengths"].tolist() == np.diff(one.piece_bounds)[[2, 0]].tolist()


def test_the_layers_to_keep_are_named(pretrained):
    body, _ = read_pretrained(pretrained, layers=(1,))
    assert len(body.encoder.layer) == 1
    with pytest.raises(ConfigurationError, match="has 2 layers"):
        read_pretrained(pretrained, layers=(0, 2))


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
@pytest.mark.parametrize("n_windows", [1, 3])
def test_the_exported_graph_says_what_the_network_says(pretrained, pretrained_mpnet, n_windows, kind):
    network = new_network(pretrained if kind == "bert" else pretrained_mpnet).eval()
    rng = np.random.default_rng(1)
    windows = []
    for n_tokens in (7, 1, 30)[:n_windows]:
        features = rng.normal(size=(n_tokens, tiny.N_FEATURES)).astype(np.float32)
        windows.append(
            encode_window(["rashes"] * n_tokens, np.zeros((n_tokens, 3), np.int32), features, VOCABULARY)
        )
    inputs = join_windows(windows, VOCABULARY.pad)
    with torch.no_grad():
        expected = torch.softmax(network(as_tensors(inputs)), dim=-1).numpy()
    graph = export_encoder(network, VOCABULARY)
    assert str(Path(__file__).parents[3]).encode() not in graph  # no path of the machine
    exact = ort.InferenceSession(graph).run(None, inputs)[0]
    assert np.abs(exact - expected).max() < 1e-5
    rounded = ort.InferenceSession(round_weights(graph)).run(None, inputs)[0]
    assert np.abs(rounded - expected).max() < 0.05
    assert rounded.sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_a_folder_without_an_encoder_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="not a BERT or MPNet encoder"):
        read_pretrained(tmp_path)


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
    assert lines[-1].startswith("reading pass 1 of 1: loss ")
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
        "checkpoint.pt",
        "trained",
    ]


def test_a_folder_without_a_trained_encoder_is_refused(tmp_path, pretrained):
    with pytest.raises(ConfigurationError, match="not a"):
        TrainedEncoder.read(tmp_path)
    write_pretrained(read_pretrained(pretrained)[0], PIECES, tmp_path / "body")
    with pytest.raises(ConfigurationError, match="not a trained encoder"):
        TrainedEncoder.read(tmp_path)
