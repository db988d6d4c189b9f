"""`inverse-deid train` with documents and settings that cannot be used: one clear line, and no model folder."""

import json

import gold_files
import pytest
from click.testing import CliRunner
from fake_maskers import CANARY

pytest.importorskip("tensorflow")

from inverse_deid.cli.main import main
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan

TEXT = f"Mrs. {CANARY} of Velmo had a rash."
NAME, CITY = (5, 15, "PATIENT"), (19, 24, "CITY")


def line(*spans, repeated=None):
    more = {} if repeated is None else {"text": repeated}
    listed = [{"start": start, "end": end, "type": kind, **more} for start, end, kind in spans]
    return json.dumps({"id": "case-7", "text": TEXT, "spans": listed})


def xml(*tags, text=TEXT):
    listed = "".join(
        f'<T id="P0" start="{start}" end="{end}" text="{repeated}" TYPE="{kind}" comment="" />'
        for start, end, kind, repeated in tags
    )
    return f"<deIdi2b2><TEXT><![CDATA[{text}]]></TEXT><TAGS>{listed}</TAGS></deIdi2b2>"


JSON_LINES = {
    "overlapping": (line((5, 15, "PATIENT"), (10, 17, "CITY")), ["document case-7", "span 10-17", "overlap"]),
    "out of range": (line((19, 99, "CITY")), ["document case-7", "span 19-99", "code points"]),
    "reversed": (line((24, 19, "CITY")), ["document case-7", "span 24-19", "half-open"]),
    "empty span": (line((19, 19, "CITY")), ["document case-7", "span 19-19", "half-open"]),
    "negative": (line((-5, 3, "CITY")), ["document case-7", "span -5-3", "half-open"]),
    "not whole": (line((5, 15.0, "PATIENT")), ["document case-7", "span 1", "whole numbers"]),
    "offset in text": (line(("5", "15", "PATIENT")), ["document case-7", "span 1", "whole numbers"]),
    "truth as offset": (line((True, 15, "PATIENT")), ["document case-7", "span 1", "whole numbers"]),
    "other text": (line(NAME, repeated="Zebulon"), ["document case-7", "span 5-15", "code points"]),
    "unknown type": (line((5, 15, "PLANET")), ["document case-7", "span 5-15", "mapping file"]),
    "no type": ('{"id": "case-7", "text": "Ann", "spans": [{"start": 0, "end": 3}]}', ["case-7", "mapping"]),
    "spans no list": ('{"id": "case-7", "text": "Ann", "spans": "none"}', ["case-7", "must be a list"]),
    "no text": ('{"id": "case-7"}', ["line 2", "no text"]),
    "no json": (f'{{"id": "case-7", "text": "{CANARY}', ["line 2", "one JSON object per line"]),
}

XML = {
    "out of range": (xml((19, 99, "CITY", "Velmo")), ["110-01.xml", "line 1", "Check the offsets"]),
    "reversed": (xml((24, 19, "CITY", "Velmo")), ["110-01.xml", "Check the offsets"]),
    "not whole": (xml(("x", 15, "PATIENT", CANARY)), ["110-01.xml", "Check the offsets"]),
    "other text": (xml((5, 15, "PATIENT", "Zebulon")), ["110-01.xml", "5-15", "Check the offsets"]),
    "unknown type": (xml((5, 15, "PLANET", CANARY)), ["110-01.xml", "mapping file"]),
    "broken": (f"<deIdi2b2><TEXT>{CANARY}", ["110-01.xml", "broken XML at line 1"]),
    "no text": ("<deIdi2b2><TAGS/></deIdi2b2>", ["110-01.xml", "one <TEXT>"]),
    "empty": ("", ["110-01.xml", "is empty"]),
}


def train(*arguments):
    result = CliRunner().invoke(main, ["train", *map(str, arguments)])
    assert CANARY not in result.output
    return result


def refused(tmp_path, *arguments):
    """The one line on standard error."""
    result = train(*arguments, "--out", tmp_path / "out" / "model")
    assert result.exit_code == 2, result.output
    (complaint,) = result.stderr.splitlines()
    assert complaint.startswith("inverse-deid: ")
    assert "unforeseen" not in complaint
    assert not (tmp_path / "out").exists()
    return complaint


@pytest.mark.parametrize("case", JSON_LINES)
def test_json_lines(tmp_path, case):
    bad, fragments = JSON_LINES[case]
    gold = tmp_path / "mine.jsonl"
    gold.write_text(line(NAME, CITY) + "\n" + bad + "\n", encoding="utf-8")
    complaint = refused(tmp_path, "--gold", gold)
    assert [piece for piece in (str(gold), *fragments) if piece not in complaint] == []


@pytest.mark.parametrize("case", XML)
def test_xml(tmp_path, case):
    bad, fragments = XML[case]
    folder = tmp_path / "records"
    folder.mkdir()
    (folder / "109-01.xml").write_text(xml((*NAME, CANARY)), encoding="utf-8")
    (folder / "110-01.xml").write_text(bad, encoding="utf-8")
    complaint = refused(tmp_path, "--gold", folder)
    assert [piece for piece in (str(folder / "110-01.xml"), *fragments) if piece not in complaint] == []


@pytest.mark.parametrize(
    ("name", "data", "fragments"),
    [
        ("mine.jsonl", b"", ["mine.jsonl", "no documents", "JSON Lines"]),
        ("mine.jsonl", b"\n\n", ["mine.jsonl", "no documents"]),
        ("mine.jsonl", b'{"id": "1", "text": "\xff"}', ["mine.jsonl", "line 1", "UTF-8"]),
        ("mine.jsonl.gz", b"\x1f\x8b\x08", ["mine.jsonl.gz", "not a complete gzip file", "copy it again"]),
        ("mine.xml", b"", ["mine.xml", "is empty"]),
    ],
)
def test_files_without_documents(tmp_path, name, data, fragments):
    (tmp_path / name).write_bytes(data)
    complaint = refused(tmp_path, "--gold", tmp_path / name)
    assert [piece for piece in fragments if piece not in complaint] == []


def test_what_is_not_there_or_holds_nothing(tmp_path):
    assert "none.jsonl" in refused(tmp_path, "--gold", tmp_path / "none.jsonl")
    assert "none.xml" in refused(tmp_path, "--gold", tmp_path / "none.xml")
    (tmp_path / "empty").mkdir()
    assert "empty: no documents" in refused(tmp_path, "--gold", tmp_path / "empty")
    assert "nothing to train on" in refused(tmp_path)


@pytest.mark.parametrize(
    ("docs", "complaint"),
    [
        ([Document(f"s{i}", f"{CANARY} was well on day {i}") for i in range(20)], "have no PHI"),
        (
            [Document(f"p{i}", CANARY, (PhiSpan(0, len(CANARY), PhiType.PATIENT),)) for i in range(20)],
            "nothing but PHI",
        ),
    ],
)
def test_one_class_alone(tmp_path, docs, complaint):
    gold = gold_files.write_json_lines(tmp_path / "own" / "mine.jsonl", docs)
    found = refused(tmp_path, "--gold", gold)
    assert "own/mine: " in found
    assert complaint in found
    assert "Give" in found


def test_a_mapping_without_one_of_their_types_names_the_document(tmp_path):
    gold, mapping = tmp_path / "mine.jsonl", tmp_path / "types.toml"
    gold.write_text(line((5, 15, "Person"), (19, 24, "Ort")), encoding="utf-8")
    mapping.write_text('[types]\nPerson = "PATIENT"\n')
    complaint = refused(tmp_path, "--gold", gold, "--mapping", mapping)
    assert f"{gold}: line 1, document case-7: span 19-24" in complaint
    mapping.write_text('[types]\nPerson = "PATIENT"\nOrt = "STADT"\n')
    assert f"{mapping}: STADT: unknown types" in refused(tmp_path, "--gold", gold, "--mapping", mapping)


@pytest.mark.parametrize(
    ("config", "fragment"),
    [
        ("[data]\n", "names no annotated corpus"),
        ('[data]\ngold = ["no.jsonl"]\n', "no.jsonl: does not exist"),
        ('[data]\ngold = "mine.jsonl"\n', "data.gold: expected `array`, got `str`"),
        ("[data]\ngold = [3]\n", "data.gold[0]: expected a path in quotation marks"),
        ('[data]\ngold = ["mine.jsonl"]\nmapping = 3\n', "data.mapping: expected a path"),
        ('[data]\ngold = ["mine.jsonl"]\nrecall = 0.9\n', "data has no setting 'recall'. It has: gold"),
        ('[data]\ngold = ["mine.jsonl"]\n[network]\nlayers = 3\n', "network has no setting 'layers'"),
        ('[data]\ngold = ["mine.jsonl"]\n[network]\nword_dim = 7\n', "network.word_dim must be 100"),
        ('[data]\ngold = ["mine.jsonl"]\n[training]\nepochs = 0\n', "training.epochs: expected `int` >= 1"),
        ('[data]\ngold = ["mine.jsonl"]\n[training]\npatience = -1\n', "training.patience: expected"),
        (
            '[data]\ngold = ["mine.jsonl"]\n[calibration]\nstrict_recall = 2\n',
            "calibration.strict_recall: expected",
        ),
        (
            '[data]\ngold = ["mine.jsonl"]\n[calibration]\nstrict_recall = "all"\n',
            "calibration.strict_recall: expected",
        ),
        ("data = 3\n", "data: expected `object`, got `int`"),
        ("[[network]]\n", "network: expected `object`, got `array`"),
        ("[data\n", "not valid TOML"),
    ],
)
def test_settings(tmp_path, config, fragment):
    gold_files.write_json_lines(tmp_path / "mine.jsonl", gold_files.invented_documents(60, seed=1))
    path = tmp_path / "own.toml"
    path.write_text(config, encoding="utf-8")
    complaint = refused(tmp_path, "--config", path)
    assert fragment in complaint


def test_a_part_that_cannot_be_frozen_is_refused_first(tmp_path):
    arguments = ["fine-tune", "--gold", "none.jsonl", "--freeze", "letters", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "cannot freeze letters. Choose from characters" in result.stderr


def test_another_folder_is_not_replaced(tmp_path):
    (tmp_path / "notes").mkdir()
    gold = gold_files.write_json_lines(tmp_path / "mine.jsonl", gold_files.invented_documents(20, seed=4))
    result = train("--gold", gold, "--out", tmp_path / "notes")
    assert result.exit_code == 2
    assert "notes: exists and is not a model folder. Choose another name" in result.stderr
    assert not list((tmp_path / "notes").iterdir())


def test_a_run_that_is_stopped_says_how_to_go_on(tmp_path, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    gold = gold_files.write_json_lines(tmp_path / "mine.jsonl", gold_files.invented_documents(20, seed=4))
    monkeypatch.setattr("inverse_deid.training.run.read_documents", stopped)
    result = train("--gold", gold, "--out", tmp_path / "model")
    assert result.exit_code == 130
    assert result.stderr == "inverse-deid: stopped. Run the same command with --resume to continue\n"


def test_an_interrupted_run_is_not_thrown_away(tmp_path):
    gold = gold_files.write_json_lines(tmp_path / "mine.jsonl", gold_files.invented_documents(20, seed=4))
    checkpoint = tmp_path / "model.training" / "checkpoint.npz"
    checkpoint.parent.mkdir()
    checkpoint.write_bytes(b"of an earlier run")
    result = train("--gold", gold, "--out", tmp_path / "model")
    assert result.exit_code == 2
    assert "checkpoint.npz: left by an interrupted run. Resume it with --resume" in result.stderr
    assert checkpoint.read_bytes() == b"of an earlier run"


def test_a_configuration_without_documents_takes_those_of_the_command_line(tmp_path):
    (tmp_path / "own.toml").write_text(gold_files.TINY_CONFIG)
    complaint = refused(tmp_path, "--config", tmp_path / "own.toml", "--gold", tmp_path / "none.jsonl")
    assert "none.jsonl: does not exist" in complaint
    assert "own.toml: [data] gold names no" in refused(tmp_path, "--config", tmp_path / "own.toml")
