"""The studies of shared representations and of extraction, from documents to a report, on the smallest scale."""

import json
from xml.etree import ElementTree

import pytest
import tiny_representations as tiny
from click.testing import CliRunner
from tiny_extractors import documents

pytest.importorskip("tensorflow")
pytest.importorskip("sklearn")
pytest.importorskip("seqeval")

from inverse_deid.cli.main import main
from inverse_deid_research.extraction.readers import render_json_line

pytestmark = pytest.mark.slow

SHARING = """
[study]
neighbours = [3]
attacked = 3
strengths = [0.1]
adversary_epochs = 1
inverse_epochs = 1
learned_dim = 6
[[corpora]]
name = "invented"
train = "train.jsonl"
test = "test.jsonl"
word_vectors = "learned"
[representation]
dim = 4
units = 3
pre_training = 1
[adversary]
units = 2
epochs = 1
passes = 1
[tagger]
units = 2
layers = 1
[learning]
epochs = 1
batch = 64
validation_share = 0.3
"""
EXTRACTION = """
[english]
train = "train.jsonl"
dev = "dev.jsonl"
test = "test.jsonl"
types = ["Drug", "Effect"]
[extractor]
char_dim = 3
char_units = 3
token_units = 3
[training]
epochs = 1
pretraining = 1
"""


def invoke(*arguments):
    result = CliRunner().invoke(main, ["research", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.slow
def test_the_study_of_shared_representations(tmp_path):
    for seed, (name, size) in enumerate({"train": 16, "test": 5}.items(), start=1):
        docs = tiny.documents(size, seed)
        spans = ([{"start": s.start, "end": s.end, "type": s.type} for s in doc.spans] for doc in docs)
        lines = (
            json.dumps({"id": d.id, "text": d.text, "spans": s}) for d, s in zip(docs, spans, strict=True)
        )
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "study.toml").write_text(SHARING, encoding="utf-8")
    out = tmp_path / "out"
    given = ["share", "study", tmp_path / "study.toml", "--out", out, "--seeds", "1", "--only", "reversal"]
    told = invoke(*given)
    for line in ("reversal 1", "adversary, further epoch 1", "inverse model"):
        assert line in told
    record = json.loads((out / "runs" / "invented-reversal-3-1.json").read_text(encoding="utf-8"))
    attacked = record["attacks"]
    assert len(attacked) == 8
    assert record["attacks"]["inverse model (A1), safe words"]["chance"] > 0
    stages = ["representation", "network", "adversary", "new-adversaries", "inverse", "look-ups"]
    assert list(record["cpu_seconds"]) == stages
    report = (out / "report.md").read_text(encoding="utf-8")
    assert "not done yet" in report
    assert not [name for name in tiny.NAMES if name in report.lower()]
    for name in ("figure-4.svg", "figure-5.svg"):
        assert f"]({name})" in report
        ElementTree.parse(out / name)
    assert "reversal 1" not in invoke(*given)

    told = invoke(*given[:-1], "noise alone")
    assert ("pre-training 1" in told, "alternating" in told) == (True, False)
    (path,) = (out / "runs").glob("invented-noise-alone-*.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    assert 0 <= record["f1"] <= 1
    assert set(record["attacks"]) < set(attacked)

    more = SHARING.replace("strengths = [0.1]", "strengths = [0.1, 0.2]")
    (tmp_path / "study.toml").write_text(more, encoding="utf-8")
    assert invoke(*given[:-1], "noise alone").count("1 of 1 runs") == 1


@pytest.mark.slow
def test_the_study_of_extraction(tmp_path):
    for part, numbers in (("train", (0, 12)), ("dev", (12, 15)), ("test", (15, 18))):
        (tmp_path / f"{part}.jsonl").write_bytes(b"".join(map(render_json_line, documents(*numbers))))
    (tmp_path / "study.toml").write_text(EXTRACTION, encoding="utf-8")
    given = ["extraction", "study", tmp_path / "study.toml", "--out", tmp_path / "out", "--seeds", "1"]
    chosen = ["--only", "stacked", "--only", "concepts-relative-dates"]
    assert "stacked-1: training" in invoke(*given, *chosen)
    record = json.loads((tmp_path / "out" / "runs" / "concepts-relative-dates-1.json").read_text("utf-8"))
    assert set(record["test"]["concepts"]) == {"original", "predicted", "gold", "marker", "relative-dates"}
    assert "not done yet" in (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "training" not in invoke(*given, *chosen)
