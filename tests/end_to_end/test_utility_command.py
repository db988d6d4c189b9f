"""`inverse-deid utility`: utility and recall together, of the packaged set and of any system's masks."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_maskers import BROKEN_STAGE, CANARY

from inverse_deid.cli.main import main
from inverse_deid.core.files import sha256_of
from inverse_deid.evaluation.causality_set import packaged_causality_set

ROOT = Path(__file__).parent.parent.parent
TEXT = f"Mr {CANARY} took aspirin on 3 May and had a rash on 8 May."


def span(piece, **marks):
    start = TEXT.index(piece)
    return {"start": start, "end": start + len(piece), **marks}


def gold_line(doc_id, text=TEXT):
    return {
        "id": doc_id,
        "text": text,
        "spans": [
            span(CANARY, type="PATIENT"),
            span("3 May", type="DATE"),
            span("8 May", type="DATE"),
        ],
        "utility": [
            span("aspirin", kind="DRUG", role="suspect", item=1),
            span("rash", kind="REACTION", item=2),
            span("3 May", kind="ONSET", part="start", item=3),
            span("8 May", kind="ONSET", part="reaction", item=3, days=5),
        ],
    }


def write(path, *lines):
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def masks(*pieces):
    return [[TEXT.index(piece), TEXT.index(piece) + len(piece)] for piece in pieces]


@pytest.fixture
def gold(tmp_path):
    return write(tmp_path / "gold.jsonl", gold_line("a"), gold_line("b"))


@pytest.fixture
def masked(tmp_path):
    """a: name and drug masked; b: name masked, dates replaced by day numbers."""
    text = TEXT.replace(CANARY, "PHI").replace("3 May", "Day 1").replace("8 May", "Day 6")
    return write(
        tmp_path / "masks.jsonl",
        {"id": "a", "masks": masks(CANARY, "aspirin")},
        {"id": "b", "masks": masks(CANARY, "3 May", "8 May"), "text": text},
    )


def read(path):
    text = path.read_text()
    assert CANARY not in text
    assert "aspirin" not in text
    return json.loads(text)


def share(part, whole):
    return {"share": part / whole, "part": part, "whole": whole}


def test_any_systems_masks_are_measured(command, gold, masked, tmp_path):
    result = command("utility", masked, "--gold", gold, "--json", tmp_path / "u.json")
    assert result.status == 0, result.stderr
    assert CANARY not in result.stdout + result.stderr
    report = read(tmp_path / "u.json")
    assert report["documents"] == 2
    assert report["phi"]["recall_all"] == share(6, 10)
    assert report["phi"]["documents_without_leak"] == share(1, 2)
    everything = report["kept"]["ALL"]
    assert everything["items"] == share(5, 6)
    assert everything["items_at_best"] == share(4, 6)
    assert everything["tokens"] == share(7, 12)
    assert everything["narratives_at_best"] == share(0, 2)
    narratives = everything["narratives_without_loss"]
    assert {key: narratives[key] for key in ("share", "part", "whole")} == share(1, 2)
    # Clopper-Pearson of 1 in 2: both tails are 1 - sqrt(0.975).
    assert narratives["low"] == pytest.approx(1 - 0.975**0.5)
    assert narratives["high"] == pytest.approx(0.975**0.5)
    assert report["kept"]["ONSET"]["items"] == share(2, 2)
    assert report["kept"]["LAB"]["items"] == {"share": None, "part": 0, "whole": 0}
    assert report["kept"]["LAB"]["narratives_without_loss"]["low"] is None
    assert [row["kept"]["ALL"] for row in report["by_document"]] == [2, 3]
    assert report["thesis"]["narratives_without_loss"]["share"] == 0.52


def test_the_table_speaks_plainly(command, gold, masked):
    lines = command("utility", masked, "--gold", gold).stdout.splitlines()
    rows = {line.split("  ")[0]: line.split() for line in lines if line}
    assert rows["narratives"][-1] == "2"
    assert rows["identifying words masked (recall)"][-4:] == ["60.00", "%", "6", "10"]
    onset = [line.split()[3:] for line in lines if line.startswith("time to onset")]
    assert onset == [
        ["100.00", "%", "2", "2", "0.00", "%", "50.00", "%"],
        ["100.00", "%", "2", "2", "15.81", "to", "100.00", "0.00", "%"],
    ]
    assert not any(line.startswith("tests and measurements") for line in lines)
    assert any("52 %" in line for line in lines)
    assert any("not comparable" in line for line in lines)


def test_without_masks_the_packaged_set_is_masked(command, tmp_path):
    result = command("utility", "--json", tmp_path / "u.json")
    assert result.status == 0, result.stderr
    report = json.loads((tmp_path / "u.json").read_text())
    assert report["documents"] == 60
    assert report["kept"]["ALL"]["items"]["whole"] > 1_000
    assert 0 < report["kept"]["DRUG"]["items"]["share"] < 1
    assert len(report["by_document"]) == 60
    assert report["provenance"]["gold"]["sha256"] == sha256_of(packaged_causality_set())
    assert "manifest.json" in report["provenance"]["model"]["files"]


def test_documents_that_fail_are_named_and_lose_everything(command, gold, tmp_path):
    broken = gold_line("broken", TEXT.replace("took", BROKEN_STAGE))
    shift = len(BROKEN_STAGE) - len("took")
    for row in broken["spans"][1:] + broken["utility"]:
        row.update(start=row["start"] + shift, end=row["end"] + shift)
    write(gold, gold_line("a"), broken)
    result = command("utility", "--gold", gold, "--json", tmp_path / "u.json")
    assert result.status == 1
    assert "failed and masked whole: document broken" in result.stderr
    assert CANARY not in result.stdout + result.stderr
    assert [row["kept"]["ALL"] for row in read(tmp_path / "u.json")["by_document"]] == [2, 0]


@pytest.mark.parametrize("option", [("--model", "folder"), ("--operating-point", "strict")])
def test_options_of_masking_do_not_go_with_masks(command, gold, masked, option):
    result = command("utility", masked, "--gold", gold, *option)
    assert (result.status, result.stdout) == (2, "")
    assert "Leave it out, or MASKED" in result.stderr


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"id": "a", "masks": []}], "document b"),
        ([{"id": "a", "masks": []}, {"id": "b", "masks": []}, {"id": "c", "masks": []}], "document c"),
        ([{"id": "a", "masks": [[0, 999]]}, {"id": "b", "masks": []}], "mask 0-999"),
        ([{"id": "a", "masks": [], "text": f"{CANARY} is ill"}, {"id": "b", "masks": []}], "does not fit"),
        ([{"id": "a", "text": TEXT}], 'line 1 has no "masks"'),
    ],
)
def test_masks_that_do_not_fit_are_refused_whole(command, gold, masked, tmp_path, lines, message):
    write(masked, *lines)
    result = command("utility", masked, "--gold", gold, "--json", tmp_path / "u.json")
    assert (result.status, result.stdout) == (2, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert CANARY not in result.stderr
    assert not (tmp_path / "u.json").exists()


def test_gold_without_utility_marks_is_refused(command, gold, masked):
    write(gold, {key: value for key, value in gold_line("a").items() if key != "utility"})
    result = command("utility", masked, "--gold", gold)
    assert (result.status, result.stdout) == (2, "")
    assert "no utility marks found" in result.stderr


def test_json_overwrites_its_own_kind_alone_and_only_when_asked(command, gold, masked, tmp_path):
    target = tmp_path / "u.json"
    assert command("utility", masked, "--gold", gold, "--json", target).status == 0
    assert command("utility", masked, "--gold", gold, "--json", target).status == 2
    assert command("utility", masked, "--gold", gold, "--json", target, "--force").status == 0
    before = gold.read_bytes()
    assert command("utility", masked, "--gold", gold, "--json", gold, "--force").status == 2
    assert gold.read_bytes() == before


def test_the_packaged_model_keeps_most_and_its_output_file_measures_alike(tmp_path):
    def run(*args):
        done = CliRunner().invoke(main, list(map(str, args)))
        assert done.exit_code == 0, done.stderr
        return done.stdout

    table = run("utility", "--json", tmp_path / "u.json")
    kept = json.loads((tmp_path / "u.json").read_text())
    assert kept["phi"]["recall_all"]["share"] > 0.95
    assert kept["kept"]["DRUG"]["items"]["share"] > 0.9
    assert 0.3 < kept["kept"]["ONSET"]["items"]["share"] < 1
    run("mask", packaged_causality_set(), "--out", tmp_path / "out", "--offsets", "-q")
    assert run("utility", tmp_path / "out") == table
