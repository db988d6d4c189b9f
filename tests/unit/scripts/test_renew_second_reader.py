"""Encoder folders of an earlier format are rewritten, and stay what they were."""

import json

import pytest
from renew_second_reader import renew
from tiny_encoders import PIECES, graph_of_one_feature, tiny_encoder

from inverse_deid.core.errors import ModelError
from inverse_deid.network.folder import write_manifest
from inverse_deid.network.second_reader import read_encoder, write_encoder


@pytest.fixture
def old(tmp_path):
    """A folder of format 1."""
    folder = tmp_path / "old"
    folder.mkdir()
    parts = tiny_encoder()
    config = {
        "class_names": parts.class_names,
        "feature_names": parts.feature_names,
        "doubtful": [0.02, 0.9998],
        "weight": 0.8,
        "first_reader": "abc",
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "pieces.txt").write_text("\n".join(PIECES) + "\n")
    (folder / "encoder.onnx").write_bytes(parts.graph)
    point = {"low": 0.8, "high": 0.9, "density_slope": 0.4}
    manifest = {
        "format": "inverse-deid encoder 1",
        "operating_points": {"balanced": point},
        "provenance": {"training": {"seed": 3}, "held_out": {"x": 1}, "calibration": {"y": 2}},
    }
    write_manifest(folder, manifest, ("config.json", "pieces.txt", "encoder.onnx"))
    return folder


def test_graph_pieces_and_training_stay_and_what_old_windows_gave_goes(old, tmp_path):
    renew(old, tmp_path / "new")
    parts = read_encoder(tmp_path / "new")
    assert parts.graph == tiny_encoder().graph == graph_of_one_feature(0.01, 0.99)
    assert (parts.pieces, parts.weight, parts.first_reader) == (PIECES, 0.8, "abc")
    assert (dict(parts.doubtful), dict(parts.operating_points)) == ({}, {})
    assert parts.provenance == {"training": {"seed": 3}}


def test_an_altered_folder_and_one_of_today_are_refused(old, tmp_path):
    write_encoder(tiny_encoder(), tmp_path / "today")
    (old / "pieces.txt").write_text("[PAD]\n")
    for folder, problem in ((old, "altered or missing"), (tmp_path / "today", "not of model format")):
        with pytest.raises(ModelError, match=problem):
            renew(folder, tmp_path / "new")
    assert not (tmp_path / "new").exists()
