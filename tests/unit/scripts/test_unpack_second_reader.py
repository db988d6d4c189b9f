"""From an exported encoder back to a trained one."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("tensorflow")

import tiny_networks as tiny
import unpack_second_reader
from reference_encoders import write_tiny
from tiny_encoders import PIECES

from inverse_deid.network.pieces import Vocabulary, encode_window, join_windows
from inverse_deid.network.second_reader import write_encoder
from inverse_deid.training.encoders.encoder import build_encoder, read_pretrained
from inverse_deid.training.encoders.run import TrainedEncoder

pytestmark = pytest.mark.slow


def test_an_unpacked_encoder_says_what_the_packed_one_said(tmp_path, monkeypatch):
    body, pieces = read_pretrained(write_tiny(tmp_path / "tiny", scale=0.1))
    names = tuple(f"feature-{i}" for i in range(tiny.N_FEATURES))
    trained = TrainedEncoder(
        network=build_encoder(body, len(names), 3),
        pieces=pieces,
        class_names=("SAFE", "NAME", "DATE"),
        feature_names=names,
        provenance={"revision": "abc"},
    )
    write_encoder(trained.parts(), tmp_path / "packed")
    monkeypatch.setattr(
        unpack_second_reader, "_HEAD_SIZE", body.shape.hidden_size // body.shape.num_attention_heads
    )
    result = CliRunner().invoke(
        unpack_second_reader.main,
        [str(tmp_path / "packed"), str(tmp_path / "unpacked")],
        catch_exceptions=False,
    )
    assert result.exit_code == 0
    again = TrainedEncoder.read(tmp_path / "unpacked")
    assert (again.pieces, again.class_names, again.feature_names) == (PIECES, trained.class_names, names)
    assert again.provenance == {"revision": "abc", "unpacked": "from weights of 8 bits"}
    for ours, theirs in zip(again.network.weights, trained.network.weights, strict=True):
        spread = float(np.abs(theirs).max()) or 1.0
        assert np.abs(np.asarray(ours) - np.asarray(theirs)).max() <= spread / 60
    vocabulary = Vocabulary(pieces)
    words = ("Rash", "and", "fever")
    features = np.random.default_rng(0).random((3, len(names))).astype(np.float32)
    window = join_windows(
        [encode_window(words, np.zeros((3, 3), np.int32), features, vocabulary)], vocabulary.pad
    )
    one, other = (np.asarray(each.network.predict_on_batch(window)) for each in (again, trained))
    assert np.abs(one - other).max() < 0.05
