"""`inverse-deid evaluate`: the real masking measured, and what is refused."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from fake_maskers import CANARY

ROOT = Path(__file__).parent.parent.parent
TEXT = f"Mrs. {CANARY} of Velmo took aspirin on 12 May 2019 and had a rash."
MARKED = ((CANARY, "NAME", "PATIENT"), ("Velmo", "LOCATION", "CITY"), ("12 May 2019", "DATE", "DATE"))
QUIET = "The patient took aspirin and had a rash."


def places(text):
    return [(text.index(p), text.index(p) + len(p), e, t, p) for p, e, t in MARKED if p in text]


def gold_line(doc_id, text):
    spans = [{"start": start, "end": end, "type": t} for start, end, _, t, _ in places(text)]
    return json.dumps({"id": doc_id, "text": text, "spans": spans}) + "\n"


def gold_xml(text):
    tags = "".join(
        f'<{element} id="P{i}" start="{start}" end="{end}" text={quoteattr(piece)} TYPE="{name}" comment="" />'
        for i, (start, end, element, name, piece) in enumerate(places(text))
    )
    return f'<?xml version="1.0"?><deIdi2b2><TEXT><![CDATA[{text}]]></TEXT><TAGS>{tags}</TAGS></deIdi2b2>'


@pytest.fixture
def gold(given):
    path = given / "gold.jsonl"
    path.write_text(gold_line("a", TEXT) + gold_line("b", QUIET))
    return path


@pytest.fixture
def masked(tmp_path):
    """Masks of another system: the name alone."""
    path = tmp_path / "masks.jsonl"
    start = TEXT.index(CANARY)
    lines = [{"id": "a", "masks": [[start, start + len(CANARY)]]}, {"id": "b", "masks": []}]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def inverse_deid(*args):
    command = [sys.executable, "-m", "inverse_deid.cli.main", *map(str, args)]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, check=False, env=env, capture_output=True, text=True, timeout=120)
    assert CANARY not in done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_masked_json_lines_are_measured(gold, out, tmp_path):
    inverse_deid("mask", gold, "--out", out, "--rules-only", "--explain", "-q")
    table = inverse_deid("evaluate", gold, out, "--json", tmp_path / "all.json")
    assert inverse_deid("evaluate", gold, out / "gold.jsonl") == table
    report = json.loads((tmp_path / "all.json").read_text())
    assert CANARY not in json.dumps(report)
    assert report["figures"]["recall_all"] == {"share": 1.0, "part": 5, "whole": 5}
    assert report["figures"]["documents_without_leak"] == {"share": 1.0, "part": 1, "whole": 1}
    assert report["tokens"] == 14 + 8
    assert "clinical" in report["over_masking"]
    assert "100.00 %" in table


def test_annotation_xml_is_measured_and_masked_xml_refused(command, given, out, tmp_path):
    (given / "sub").mkdir()
    (given / "110-01.xml").write_text(gold_xml(TEXT))
    (given / "sub" / "110-02.xml").write_text(gold_xml(QUIET))
    annotations = tmp_path / "annotations"
    assert command("mask", given, "--out", out, "--annotations", annotations).status == 0
    result = command("evaluate", given, annotations, "--json", tmp_path / "all.json")
    assert result.status == 0, result.stderr
    figures = json.loads((tmp_path / "all.json").read_text())["figures"]
    assert figures["recall_all"]["part"] == figures["recall_all"]["whole"] == 5
    result = command("evaluate", given, out)
    assert result.status == 2
    assert "110-01.xml" in result.stderr
    assert "--annotations" in result.stderr
    assert CANARY not in result.stdout + result.stderr


def test_gold_may_be_gzipped_and_other_systems_need_only_masks(command, gold, masked, tmp_path):
    packed = tmp_path / "gold.jsonl.gz"
    packed.write_bytes(gzip.compress(gold.read_bytes()))
    result = command("evaluate", packed, masked)
    assert result.status == 0, result.stderr
    assert CANARY not in result.stdout
    row = next(line for line in result.stdout.splitlines() if line.startswith("PHI masked, all"))
    assert row.split()[-4:] == ["20.00", "%", "1", "5"]


def test_missing_documents_are_refused_or_counted_as_unmasked(command, gold, masked, tmp_path):
    masked.write_text('{"id": "b", "masks": []}')
    result = command("evaluate", gold, masked, "--json", tmp_path / "all.json")
    assert (result.status, result.stdout) == (2, "")
    assert "not masked: document a;" in result.stderr
    assert not (tmp_path / "all.json").exists()
    result = command("evaluate", gold, masked, "--allow-missing")
    assert result.status == 0
    assert "Missing documents are counted as unmasked." in result.stdout


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            [{"id": "a", "masks": []}, {"id": "b", "masks": []}, {"id": "c", "masks": []}],
            "not in the gold: document c",
        ),
        ([{"id": "a", "masks": [[0, 999]]}, {"id": "b", "masks": []}], "mask 0-999"),
        ([{"id": "a", "masks": []}, {"id": "a", "masks": []}], "masked more than once: document a"),
        ([{"id": "a", "masks": [], "text": f"{CANARY} is ill"}, {"id": "b", "masks": []}], "does not fit"),
        ([{"id": "a", "text": TEXT, "spans": []}], 'line 1 has no "masks"'),
    ],
)
def test_masks_that_do_not_match_the_gold_are_refused_whole(command, gold, masked, tmp_path, lines, message):
    masked.write_text("\n".join(map(json.dumps, lines)))
    result = command("evaluate", gold, masked, "--json", tmp_path / "all.json", "--allow-missing")
    assert (result.status, result.stdout) == (2, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert CANARY not in result.stderr
    assert not (tmp_path / "all.json").exists()


def test_gold_ids_that_repeat_and_missing_files_are_refused(command, gold, masked):
    assert command("evaluate", gold, masked.with_name("none.jsonl")).status == 2
    assert command("evaluate", gold.with_name("none.jsonl"), masked).status == 2
    gold.write_text(gold_line("a", TEXT) * 2)
    result = command("evaluate", gold, masked)
    assert result.status == 2
    assert "more than once in the gold: document a" in result.stderr


def test_json_overwrites_an_evaluation_alone_and_only_when_asked(command, gold, masked, tmp_path):
    target = tmp_path / "all.json"
    assert command("evaluate", gold, masked, "--json", target).status == 0
    assert command("evaluate", gold, masked, "--json", target).status == 2
    assert command("evaluate", gold, masked, "--json", target, "--force").status == 0
    before = gold.read_bytes()
    assert command("evaluate", gold, masked, "--json", gold, "--force").status == 2
    assert gold.read_bytes() == before


def test_an_own_list_of_harmless_tokens_corrects_recall(command, gold, masked, tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('[harmless]\nDATE = ["may"]\n')
    report = tmp_path / "all.json"
    assert command("evaluate", gold, masked, "--harmless", mine, "--json", report).status == 0
    figures = json.loads(report.read_text())["figures"]
    assert (figures["recall_all"]["part"], figures["recall_all_corrected"]["part"]) == (1, 2)
    mine.write_text("may")
    assert command("evaluate", gold, masked, "--harmless", mine).status == 2
