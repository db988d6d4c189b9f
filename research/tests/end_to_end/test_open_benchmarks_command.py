"""`inverse-deid research open-benchmarks` from files to report."""

import csv
import json

import pytest
from click.testing import CliRunner

from inverse_deid.cli.main import main

CANARY = "Zebulonova"


def invoke(*arguments):
    return CliRunner().invoke(main, ["research", "open-benchmarks", *map(str, arguments)])


@pytest.fixture
def notes(tmp_path):
    text = f"Mrs. {CANARY} of the ward had a rash on 3 May 2021."
    spans = [{"start": 5, "end": 15, "label": "NAME"}, {"start": 42, "end": 52, "label": "DATE"}]
    assert text[42:52] == "3 May 2021"
    path = tmp_path / "validation.jsonl"
    path.write_text(json.dumps({"id": "v", "text": text, "spans": spans}))
    return path


def test_a_set_is_masked_scored_and_reported(notes, tmp_path):
    out = tmp_path / "out"
    result = invoke("--outis", notes, "--reading", "fast", "--out", out)
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader((out / "figures.csv").read_text().splitlines()))
    found = {(row["categories"], row["characters"], row["figure"]): row for row in rows}
    assert {row["reading"] for row in rows} == {"fast"}
    for choice in ("hipaa", "all"):
        row = found[choice, "letters and digits", "identifying characters masked"]
        assert (row["part"], row["of"]) == ("18", "18")
    text = (out / "report.md").read_text()
    assert "inverse-deid research open-benchmarks --outis" in text
    assert "revision" in text
    assert CANARY not in text + result.output + (out / "figures.csv").read_text()
    assert invoke("--outis", notes, "--out", out).exit_code == 2
    again = invoke("--outis", notes, "--reading", "fast", "--out", out, "--force")
    assert again.exit_code == 0, again.output


def test_without_a_set_nothing_is_written(tmp_path):
    result = invoke("--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "no benchmark is named" in result.output
    assert not (tmp_path / "out").exists()


def test_a_damaged_file_is_refused_before_anything_is_masked(notes, tmp_path):
    other = tmp_path / "queries.txt"
    other.write_text(CANARY)
    result = invoke("--outis", notes, "--asq-phi", other, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "queries.txt" in result.output
    assert CANARY not in result.output
    assert not (tmp_path / "out").exists()
