"""Fine-tuning, resuming and exporting an encoder of a few thousand weights."""

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
from transformers import BertConfig, BertModel

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.network.pieces import Vocabulary, encode_window, join_windows
from inverse_deid.training.encoder import (
    EncoderConfig,
    EncoderNetwork,
    EncoderTraining,
    as_tensors,
    export_encoder,
    read_pretrained,
    round_weights,
)

VOCABULARY = Vocabulary(PIECES)
N_CLASSES = 2


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(PIECES),
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
    )
    BertModel(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    return folder


def new_network(folder):
    torch.manual_seed(0)
    bert, pieces = read_pretrained(folder)
    assert pieces == PIECES
    return EncoderNetwork(bert, tiny.N_FEATURES, N_CLASSES)


def training(network, folder, weights, epochs=4, epochs_of=None):
    config = tiny.training_config(epochs=epochs, window=16)
    encoder = EncoderConfig(
        weights=weights, batch_pieces=128, learning_rate=1e-3, head_rate=1e-2, bfloat16=False
    )
    lines = []
    made = EncoderTraining(
        network=network,
        vocabulary=VOCABULARY,
        epochs=epochs_of or (lambda epoch: tiny.examples(tiny.network_config(), epoch)),
        config=config,
        encoder=encoder,
        dictionary_columns=[],
        checkpoint=folder / "checkpoint.pt",
        say=lines.append,
    )
    return made, lines


def loss_of(line):
    return float(line.partition("loss ")[2].split(",")[0])


def test_an_encoder_learns_and_says_so_in_numbers(tmp_path, pretrained):
    network = new_network(pretrained)
    before = network.bert.embeddings.word_embeddings.weight.detach().clone()
    run, lines = training(network, tmp_path, pretrained, epochs=8)
    run.run()
    losses = [loss_of(line) for line in lines]
    assert len(losses) == 8
    assert losses[-1] < losses[0] / 3
    assert torch.equal(network.bert.embeddings.word_embeddings.weight, before)


def test_an_interrupted_training_resumes_and_ends_alike(tmp_path, pretrained):
    whole = new_network(pretrained)
    training(whole, tmp_path, pretrained)[0].run()
    (tmp_path / "part").mkdir()

    def stop(epoch):
        if epoch == 2:
            raise KeyboardInterrupt
        return tiny.examples(tiny.network_config(), epoch)

    interrupted, _ = training(new_network(pretrained), tmp_path / "part", pretrained, epochs_of=stop)
    with pytest.raises(KeyboardInterrupt):
        interrupted.run()
    resumed = new_network(pretrained)
    run, lines = training(resumed, tmp_path / "part", pretrained)
    run.run()
    assert lines[0] == "resuming after pass 2 of 4"
    assert len(lines) == 3
    for name, weight in whole.state_dict().items():
        assert torch.isfinite(resumed.state_dict()[name]).all(), name
        assert weight.shape == resumed.state_dict()[name].shape


def test_a_loss_that_is_not_a_number_ends_the_training(tmp_path, pretrained):
    network = new_network(pretrained)
    with torch.no_grad():
        network.classes.bias[0] = float("nan")
    with pytest.raises(StageError, match="not a number"):
        training(network, tmp_path, pretrained)[0].run()


@pytest.mark.parametrize("n_windows", [1, 3])
def test_the_exported_graph_says_what_the_network_says(pretrained, n_windows):
    network = new_network(pretrained).eval()
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
    with pytest.raises(ConfigurationError, match="not a BERT encoder"):
        read_pretrained(tmp_path)
