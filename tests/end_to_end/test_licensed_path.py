"""The path of a user with a licence: own records in 2014 i2b2 XML, train, fine-tune, mask, evaluate.

The records are invented here; nothing of the real corpora is needed.
"""

import json

import gold_files
import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("tensorflow")

from inverse_deid.cli.main import main
from inverse_deid.network.folder import read_model

POINTS = ("strict", "balanced", "lenient")


def run(*arguments):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.output


def masked_places(folder):
    """Every masked token: file and offset."""
    found = set()
    for path in folder.glob("*.explain.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            tokens = json.loads(line)["tokens"]
            found |= {(path.name, token["start"]) for token in tokens if token["decision"] == "mask"}
    return found


@pytest.mark.slow
def test_train_fine_tune_mask_evaluate(tmp_path):
    records, own, held = tmp_path / "i2b2", tmp_path / "own" / "narratives.jsonl", tmp_path / "theirs"
    gold_files.write_xml_records(records, gold_files.invented_documents(60, seed=1))
    gold_files.write_json_lines(own, gold_files.invented_documents(60, seed=2, prefix="own"))
    gold_files.write_xml_records(held, gold_files.invented_documents(8, seed=3), first_patient=300)
    config = tmp_path / "tiny.toml"
    config.write_text(gold_files.TINY_CONFIG)
    first, second = tmp_path / "model", tmp_path / "tuned"

    said = run("train", "--config", config, "--gold", records, "--out", first)
    assert "held out: recall/precision strict " in said
    said = run(
        "fine-tune", "--config", config, "--model", first, "--gold", own, "--compare", held,
        "--freeze", "characters", "--out", second,
    )  # fmt: skip
    measured = [line.split(": ")[0] for line in said.splitlines() if "recall/precision" in line]
    corpora = ("own/narratives", f"{tmp_path.name}/theirs")
    assert measured == [f"{name}, {when}" for when in ("before", "held out") for name in corpora]
    at_one_recall = [line.split(": ")[0] for line in said.splitlines() if "precision at recall" in line]
    assert at_one_recall == list(corpora)

    before, after = read_model(first), read_model(second)
    assert after.provenance["started_from"]
    for path, weight in after.weights.items():
        is_frozen = path.startswith("character_")
        assert np.array_equal(weight, before.weights[path]) == is_frozen, path
    assert any(path.startswith("character_") for path in after.weights)
    assert after.provenance["type_mapping"] == {}
    assert set(after.provenance["at_one_recall"]) == set(corpora)
    assert set(after.provenance["held_out_before"]) == set(after.provenance["held_out"]) == set(corpora)

    places, recalls = [], []
    for point in POINTS:
        out, tags = tmp_path / point, tmp_path / f"{point}-tags"
        options = ("--operating-point", point, "--explain", "--with-text", "--annotations", tags)
        run("mask", held, "--model", second, "--out", out, *options)
        places.append(masked_places(out))
        table = run("evaluate", held, tags, "--json", tmp_path / f"{point}.json")
        assert "PHI masked, all" in table
        report = json.loads((tmp_path / f"{point}.json").read_text(encoding="utf-8"))
        recalls.append(report["figures"]["recall_all"]["share"])
    assert places[0] >= places[1] >= places[2]
    assert recalls == sorted(recalls, reverse=True)
    assert recalls[0] > 0.5
    assert len(list((tmp_path / "strict").glob("*.xml"))) == 8
