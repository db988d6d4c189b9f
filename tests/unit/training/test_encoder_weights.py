"""Weights of BERT and MPNet give the vectors that the papers define; what is written is read again."""

import json

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import keras
from reference_encoders import MOST, MPNET_PIECES, SIZE, encode, read_plainly, write_tiny
from tiny_encoders import PIECES

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.training.config import EncoderConfig
from inverse_deid.training.encoders.encoder import distance_bins, read_pretrained, write_pretrained
from inverse_deid.training.encoders.weights import read_tensors, write_tensors


def windows(n_pieces, lengths=(50, 9, 1)):
    rng = np.random.default_rng(5)
    pieces = rng.integers(0, n_pieces, (len(lengths), max(lengths))).astype(np.int32)
    return pieces, np.array(lengths, np.int32)


@pytest.mark.parametrize(("kind", "known"), [("bert", PIECES), ("mpnet", MPNET_PIECES)])
def test_a_pass_is_that_of_the_reference(tmp_path, kind, known):
    folder = write_tiny(tmp_path, kind)
    body, pieces = read_pretrained(folder)
    assert pieces == known
    given, lengths = windows(len(known))
    added = np.random.default_rng(6).normal(size=(*given.shape, SIZE)).astype(np.float32)
    found = [keras.ops.convert_to_numpy(state) for state in body.states(given, lengths, added)]
    for row, length in enumerate(lengths):
        expected = encode(folder, given[row, :length].tolist(), added[row, :length])
        assert len(found) == len(expected) == 3
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours[row, :length], theirs, atol=1e-4)


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_what_is_written_is_read_again(tmp_path, kind):
    body, pieces = read_pretrained(write_tiny(tmp_path / "one", kind))
    write_pretrained(body, pieces, tmp_path / "two")
    again, same = read_pretrained(tmp_path / "two")
    given, lengths = windows(len(pieces))
    assert same == pieces
    assert again.shape == body.shape
    np.testing.assert_array_equal(again(given, lengths), body(given, lengths))
    theirs, ours = (read_plainly(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert {name: values.shape for name, values in ours.items()} == {
        name: values.shape for name, values in theirs.items()
    }


def test_names_may_begin_with_that_of_the_model_and_be_old(tmp_path):
    folder = write_tiny(tmp_path)
    body, _ = read_pretrained(folder)
    tensors = read_tensors(folder / "model.safetensors")
    renamed = {
        "bert."
        + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v
        for name, v in tensors.items()
    }
    write_tensors({**renamed, "cls.predictions.bias": np.zeros(3, np.float32)}, folder / "model.safetensors")
    again, _ = read_pretrained(folder)
    given, lengths = windows(len(PIECES))
    np.testing.assert_array_equal(again(given, lengths), body(given, lengths))


def test_the_layers_to_keep_are_named(tmp_path):
    folder = write_tiny(tmp_path)
    body, _ = read_pretrained(folder, EncoderConfig(layers=(1,)))
    whole, _ = read_pretrained(folder)
    assert len(body.parts) == body.shape.num_hidden_layers == 1
    np.testing.assert_array_equal(body.parts[0].query.kernel, whole.parts[1].query.kernel)
    with pytest.raises(ConfigurationError, match="has 2 layers"):
        read_pretrained(folder, EncoderConfig(layers=(0, 2)))


def test_the_strongest_units_of_the_dense_part_are_kept(tmp_path):
    folder = write_tiny(tmp_path)
    whole, _ = read_pretrained(folder)
    body, _ = read_pretrained(folder, EncoderConfig(wide=3))
    assert body.shape.intermediate_size == 3
    for part, of in zip(body.parts, whole.parts, strict=True):
        wide, narrow = np.asarray(of.wide.kernel), np.asarray(of.narrow.kernel)
        strength = np.linalg.norm(wide, axis=0) * np.linalg.norm(narrow, axis=1)
        units = sorted(np.argsort(strength)[-3:])
        np.testing.assert_array_equal(part.wide.kernel, wide[:, units])
        np.testing.assert_array_equal(part.wide.bias, np.asarray(of.wide.bias)[units])
        np.testing.assert_array_equal(part.narrow.kernel, narrow[units])
        np.testing.assert_array_equal(part.query.kernel, of.query.kernel)


def test_more_units_than_there_are_change_nothing(tmp_path):
    folder = write_tiny(tmp_path)
    body, _ = read_pretrained(folder, EncoderConfig(wide=10_000))
    whole, _ = read_pretrained(folder)
    given, lengths = windows(len(PIECES))
    np.testing.assert_array_equal(body(given, lengths), whole(given, lengths))


def halves(values):
    return values.astype("<f2").tobytes()


def brain_halves(values):
    return (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()


@pytest.mark.parametrize(("kind", "pack"), [("F16", halves), ("BF16", brain_halves)])
def test_half_precision_is_read(tmp_path, kind, pack):
    values = np.array([[1.5, -2.0, 0.25]], np.float32)
    whole = {"dtype": "I64", "shape": [1], "data_offsets": [6, 14]}
    header = json.dumps({"a": {"dtype": kind, "shape": [1, 3], "data_offsets": [0, 6]}, "n": whole}).encode()
    (tmp_path / "a").write_bytes(len(header).to_bytes(8, "little") + header + pack(values) + bytes(8))
    (name,) = found = read_tensors(tmp_path / "a")
    assert name == "a"
    np.testing.assert_array_equal(found["a"], values)


@pytest.mark.parametrize("keep", [0, 5, 40, 2000])
def test_a_damaged_file_is_refused(tmp_path, keep):
    folder = write_tiny(tmp_path)
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ConfigurationError, match="not a BERT or MPNet encoder"):
        read_pretrained(folder)


@pytest.mark.parametrize("change", [{"model_type": "gpt2"}, {"hidden_act": "relu"}, {"hidden_size": 12}])
def test_another_architecture_is_refused(tmp_path, change):
    folder = write_tiny(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(ConfigurationError, match="not a BERT or MPNet encoder"):
        read_pretrained(folder)


def test_a_folder_without_an_encoder_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="not a BERT or MPNet encoder"):
        read_pretrained(tmp_path)


def test_far_pieces_share_a_bin():
    bins = distance_bins(32, MOST)
    middle = MOST - 1
    assert bins[middle] == 0
    assert bins[middle - 3] == 3
    assert bins[middle + 3] == 19
    assert set(bins[: middle - 128].tolist()) == {15}
    assert set(bins[middle + 128 :].tolist()) == {31}
