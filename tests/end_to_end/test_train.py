"""From annotated documents to masked text with one's own model, on a small scale."""

import json
import random

import pytest
from click.testing import CliRunner

pytest.importorskip("tensorflow")

from inverse_deid.cli.main import main
from inverse_deid.corpora.surrogates import SurrogateMaker
from inverse_deid.corpora.synthetic import synthetic_document
from inverse_deid.deep.folder import read_model

CONFIG = """
[data]
gold = ["gold.jsonl"]
recall = 0.95
[network]
token_units = 16
token_layers = 1
feature_units = 16
[training]
epochs = 2
batch_tokens = 1024
synthetic = 40
validation_share = 0.3
seed = 3
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train")
    rng = random.Random(1)
    maker = SurrogateMaker(rng)
    with (folder / "gold.jsonl").open("w", encoding="utf-8") as file:
        for i in range(60):
            doc = synthetic_document(rng, maker)
            spans = [{"start": s.start, "end": s.end, "type": s.type} for s in doc.spans]
            file.write(json.dumps({"id": f"d{i}", "text": doc.text, "spans": spans}) + "\n")
    (folder / "train.toml").write_text(CONFIG, encoding="utf-8")
    result = CliRunner().invoke(
        main, ["train", "--config", str(folder / "train.toml"), "--out", str(folder / "model")]
    )
    assert result.exit_code == 0, result.output
    return folder, result.output


def test_the_run_says_what_it_does_and_shows_no_text(trained):
    _, output = trained
    assert "training on" in output
    assert "epoch 2/2" in output
    assert "held out: recall" in output


def test_the_model_masks(trained):
    folder, _ = trained
    source = folder / "case.txt"
    source.write_text("Seen on 12/03/2019. Call 555-010-9999.\n", encoding="utf-8")
    out = folder / "out"
    arguments = ["mask", str(source), "--out", str(out), "--model", str(folder / "model")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    masked = (out / "case.txt").read_text(encoding="utf-8")
    assert not any(piece in masked for piece in ("2019", "555", "9999"))


def test_the_manifest_says_where_the_model_comes_from(trained):
    parts = read_model(trained[0] / "model")
    assert 0 <= parts.thresholds["low"] <= parts.thresholds["high"] <= 1
    assert parts.provenance["training"]["seed"] == 3
    assert set(parts.provenance["data_sha256"]) == {"gold.jsonl"}
    assert sum(sum(counts) for counts in parts.provenance["n_documents"].values()) == 60


@pytest.mark.parametrize("name", ["tokens.onnx", "words.txt", "manifest.json"])
def test_an_altered_model_is_refused(trained, tmp_path, name):
    import shutil

    copy = tmp_path / "model"
    shutil.copytree(trained[0] / "model", copy)
    with (copy / name).open("ab") as file:
        file.write(b" x")
    source = tmp_path / "case.txt"
    source.write_text("well", encoding="utf-8")
    arguments = ["mask", str(source), "--out", str(tmp_path / "out"), "--model", str(copy)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "altered" in result.output or "damaged" in result.output
    assert not (tmp_path / "out" / "case.txt").exists()


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ("[data]\n", "names no annotated corpus"),
        ('[data]\ngold = ["no.jsonl"]\n', "no.jsonl"),
        ('[data]\ngold = ["gold.jsonl"]\n[network]\nlayers = 3\n', "no setting layers"),
        ('[data]\ngold = ["gold.jsonl"]\n[training]\nepochs = 0\n', "at least 1"),
        ("[data\n", "not valid TOML"),
    ],
)
def test_bad_configuration_is_named_in_one_line(trained, config, complaint):
    path = trained[0] / "bad.toml"
    path.write_text(config, encoding="utf-8")
    result = CliRunner().invoke(main, ["train", "--config", str(path), "--out", str(trained[0] / "x")])
    assert result.exit_code == 2
    assert complaint in result.output
    assert not (trained[0] / "x").exists()
