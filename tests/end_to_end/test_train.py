"""From annotated documents to masked text with one's own model, on a small scale."""

import json
import re
import shutil

import gold_files
import pytest
from click.testing import CliRunner

pytest.importorskip("tensorflow")

from inverse_deid.cli.main import main
from inverse_deid.core.seals import seal
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.network.folder import read_model

pytestmark = pytest.mark.slow

CONFIG = (
    """
[data]
gold = ["gold.jsonl"]
[calibration]
strict_recall = 0.99
balanced_recall = 0.95
lenient_precision = 0.5
"""
    + gold_files.TINY_CONFIG
    + "seed = 3\n"
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train")
    gold_files.write_json_lines(folder / "gold.jsonl", gold_files.invented_documents(60, seed=1))
    (folder / "train.toml").write_text(CONFIG, encoding="utf-8")
    result = CliRunner().invoke(
        main, ["train", "--config", str(folder / "train.toml"), "--out", str(folder / "model")]
    )
    assert result.exit_code == 0, result.output
    return folder, result.output


def test_the_run_says_what_it_does_and_shows_no_text(trained):
    folder, output = trained
    assert "training on" in output
    assert "epoch 2/2" in output
    assert f"{folder.name}/gold, held out: recall/precision strict " in output
    assert "model written to" in output


def test_log_and_events_stay_and_the_checkpoint_goes(trained):
    folder, _ = trained
    training = folder / "model.training"
    header, *lines = (training / "log.csv").read_text(encoding="utf-8").splitlines()
    assert header == "epoch,loss,tokens,tokens_per_second,validation_recall,best"
    assert [line.split(",")[0] for line in lines] == ["1", "2"]
    assert sorted(path.name for path in training.iterdir()) == ["log.csv", "tensorboard"]
    assert list((training / "tensorboard").iterdir())


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
    points = [parts.operating_points[name] for name in ("strict", "balanced", "lenient")]
    assert points == sorted(points, key=lambda pair: -pair.high)
    assert all(0 <= pair.low <= pair.high <= 1 for pair in points)
    assert parts.provenance["training"]["seed"] == 3
    assert set(parts.provenance["data_sha256"]) == {f"{trained[0].name}/gold"}
    assert set(parts.provenance["held_out"][f"{trained[0].name}/gold"]) == {"strict", "balanced", "lenient"}
    assert sum(sum(counts) for counts in parts.provenance["n_documents"].values()) == 60


def test_a_few_documents_do_not_take_the_safety_margin_away(trained, tmp_path):
    folder, _ = trained
    copy = tmp_path / "start"
    shutil.copytree(folder / "model", copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    high = Thresholds(0.96, 0.99, 0.3)
    manifest["operating_points"] = dict.fromkeys(("strict", "balanced", "lenient"), high.as_json())
    manifest["provenance"]["calibration"] |= {"balanced_recall": 0.97, "density_slope": 0.3}
    (copy / "manifest.json").write_text(json.dumps(seal(manifest)))
    gold = gold_files.write_json_lines(tmp_path / "gold.jsonl", gold_files.invented_documents(20, seed=4))
    (tmp_path / "tiny.toml").write_text(gold_files.TINY_CONFIG + "[calibration]\nlenient_precision = 0.4\n")
    given = ["--gold", gold, "--config", tmp_path / "tiny.toml", "--model", copy, "--out", tmp_path / "tuned"]
    result = CliRunner().invoke(main, ["fine-tune", *map(str, given)])
    assert result.exit_code == 0, result.output
    assert re.search(r"calibrated on \d documents, \d+ identifiers", result.output)
    assert "strict: not below the thresholds of the model to start from" in result.output
    tuned = read_model(tmp_path / "tuned")
    assert tuned.operating_points
    for pair in tuned.operating_points.values():
        assert pair.density_slope == 0.3
        assert (pair.low >= 0.96, pair.high >= 0.99) == (True, True)
    aims = {"strict_recall": 0.99, "balanced_recall": 0.97, "lenient_precision": 0.4, "density_slope": 0.3}
    assert tuned.provenance["calibration"] == aims
    assert 0 < tuned.provenance["calibrated_on"]["documents"] < 10


@pytest.mark.parametrize("name", ["tokens.onnx", "words.txt", "manifest.json"])
def test_an_altered_model_is_refused(trained, tmp_path, name):
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
        ('[data]\ngold = ["gold.jsonl"]\n[network]\nlayers = 3\n', "no setting 'layers'"),
        ('[data]\ngold = ["gold.jsonl"]\n[training]\nepochs = 0\n', "expected `int` >= 1"),
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
