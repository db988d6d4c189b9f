"""`inverse-deid research compare` from annotated documents to report."""

import csv
import json

import pytest
from click.testing import CliRunner
from invented_corpora import words_of, write_corpus

from inverse_deid.cli.main import main

CANARY = "Zebulonova"


def invoke(*arguments):
    return CliRunner().invoke(main, ["research", "compare", *map(str, arguments)])


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora")
    write_corpus(folder / "train.jsonl", 30, 1)
    write_corpus(folder / "test.jsonl", 8, 2)
    text = f"Mrs. {CANARY} of the ward had a rash."
    line = {"id": "canary", "text": text, "spans": [{"start": 5, "end": 15, "type": "PATIENT"}]}
    with (folder / "test.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    return folder


@pytest.fixture(scope="module")
def compared(corpora, tmp_path_factory):
    out = tmp_path_factory.mktemp("compared") / "out"
    test = corpora / "test.jsonl"
    first = [test, "--system", "patterns", "--out", out.with_name("first")]
    assert invoke(*first).exit_code == 0
    arguments = [
        test,
        *("--train", corpora / "train.jsonl"),
        *("--system", "svm", "--system", "rules", "--system", "hybrid"),
        *("--masks", f"tool-1={out.with_name('first') / 'masks' / 'patterns.jsonl'}"),
        *("--seed", 5, "--out", out),
    ]
    return out, arguments, invoke(*arguments)


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_all_systems_are_measured_and_shown(compared):
    out, _, result = compared
    assert result.exit_code == 0, result.output
    found = {row["system"]: row for row in rows(out / "methods.csv")}
    assert list(found) == ["svm", "rules", "hybrid", "tool-1"]
    assert all(0 <= float(row["HIPAA recall low"]) <= float(row["HIPAA recall"]) for row in found.values())
    assert float(found["hybrid"]["HIPAA recall"]) > float(found["tool-1"]["HIPAA recall"])
    assert found["hybrid"]["p, precision"] == ""
    assert 0 < float(found["rules"]["p, precision"]) <= 1
    assert int(found["svm"]["tokens per second"]) > 0
    assert found["tool-1"]["tokens per second"] == ""
    for text in ("Comparison of methods", "Recall by category", "svm", "tool-1", "report.md"):
        assert text in result.stdout
    assert "svm: learns from 30 documents" in result.stderr


def test_masks_that_were_read_are_measured_as_when_they_were_made(compared):
    out = compared[0]
    made = rows(out.with_name("first") / "methods.csv")[0]
    read = rows(out / "methods.csv")[-1]
    for column in ("HIPAA recall", "precision"):
        assert made[column] == read[column]


def test_the_report_names_command_seed_and_data(compared, corpora):
    head = (compared[0] / "report.md").read_text().partition("###")[0]
    assert "inverse-deid research compare" in head
    assert "--system svm --system rules" in head
    assert "--masks tool-1=" in head
    assert "--seed 5" in head
    assert "- seeds: 5" in head
    assert "- revision" in head
    for name in ("test.jsonl", "train.jsonl", "patterns.jsonl"):
        assert f"{name}` sha256 `" in head
    assert "packaged model: sha256" in head
    found = json.loads((compared[0] / "comparison.json").read_text())
    assert found["provenance"]["seed"] == 5
    assert len(found["provenance"]["data_sha256"]) == 3


def test_the_masks_hold_offsets_alone_and_can_be_evaluated(compared, corpora):
    masks = compared[0] / "masks" / "svm.jsonl"
    lines = [json.loads(line) for line in masks.read_text().splitlines()]
    assert len(lines) == 9
    assert all(set(line) == {"id", "masks"} for line in lines)
    result = CliRunner().invoke(main, ["evaluate", str(corpora / "test.jsonl"), str(masks)])
    assert result.exit_code == 0, result.output


def test_no_text_of_a_document_is_shown_anywhere(compared, corpora):
    out, _, result = compared
    words = words_of(corpora / "test.jsonl") | words_of(corpora / "train.jsonl") | {CANARY}
    assert len(words) > 10
    shown = result.output + result.stderr
    shown += "".join(path.read_text() for path in out.rglob("*") if path.is_file())
    assert not [word for word in words if word in shown]


def test_a_comparison_is_replaced_only_when_asked(compared):
    out, arguments, _ = compared
    before = (out / "report.md").read_bytes()
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert "learns" not in result.stderr
    assert (out / "report.md").read_bytes() == before
    masks = {path.name: path.read_bytes() for path in (out / "masks").iterdir()}
    assert invoke(*arguments, "--force").exit_code == 0
    assert {path.name: path.read_bytes() for path in (out / "masks").iterdir()} == masks


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--system", "crf"], "crf: needs annotated documents to learn from. Give them with --train"),
        (["--system", "magic"], "Invalid value for '--system'"),
        (["--masks", "no-file"], "give NAME=FILE"),
        (["--masks", "../x=masks.jsonl"], "give NAME=FILE"),
        (["--masks", "x=."], "not a folder"),
        (["--masks", "x=gone.jsonl"], "gone.jsonl"),
        (["--masks", "x=a.jsonl", "--masks", "x=b.jsonl"], "a different name"),
        (["--system", "rules", "--reference", "crf"], "--reference: crf is not among the compared systems"),
        (["--system", "rules", "--train", "gone.jsonl", "--system", "svm"], "gone.jsonl"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_nothing_written(corpora, tmp_path, arguments, message):
    out = tmp_path / "out"
    result = invoke(corpora / "test.jsonl", *arguments, "--out", out)
    assert result.exit_code == 2
    assert message in result.stderr
    assert CANARY not in result.output + result.stderr
    assert not out.exists()


def test_the_test_file_cannot_be_learned_from(corpora, tmp_path):
    test = corpora / "test.jsonl"
    result = invoke(test, "--train", test, "--system", "svm", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "has the content of the test file" in result.stderr
    assert not (tmp_path / "out").exists()
