"""`inverse-deid risk`: the estimate in words and as JSON, and what is refused."""

import hashlib
import json

import pytest
from fake_maskers import CANARY

TEXT = f"Mrs {CANARY} of Velmo had a rash on 12 May 2019."
MARKED = ((CANARY, "PATIENT"), ("Velmo", "CITY"), ("12 May 2019", "DATE"))


def place(piece):
    return [TEXT.index(piece), TEXT.index(piece) + len(piece)]


def lines(path, objects):
    path.write_text("\n".join(map(json.dumps, objects)))
    return path


def gold_and_masks(folder, *pieces):
    """Ten documents alike; in the first one only some pieces are masked."""
    spans = [
        dict(zip(("start", "end", "type"), (*place(piece), name), strict=True)) for piece, name in MARKED
    ]
    ids = [f"d{i}" for i in range(10)]
    everything = [place(piece) for piece, _ in MARKED]
    masks = {"d0": [place(piece) for piece in pieces]}
    return (
        lines(folder / "gold.jsonl", [{"id": i, "text": TEXT, "spans": spans} for i in ids]),
        lines(folder / "masks.jsonl", [{"id": i, "masks": masks.get(i, everything)} for i in ids]),
    )


def words(result):
    return " ".join(result.stdout.split())


def test_a_leaked_name_is_told_in_words_and_as_json(command, given, tmp_path):
    """1 of 10 by a name; upper end of the exact 95 % interval of 1 of 10 is 44.50 %, of 0 of 10 30.85 %."""
    gold, masked = gold_and_masks(given, "Velmo", "12 May 2019")
    result = command("risk", gold, masked, "--json", tmp_path / "risk.json")
    assert (result.status, result.stderr) == (0, "")
    said = words(result)
    assert "a direct identifier leaks 1 10.00 %" in said
    assert "2 or more quasi-identifiers leak 0 0.00 %" in said
    assert "by direct identifiers 10.00 % 44.51 %" in said
    assert "by quasi-identifiers 0.00 % 6.17 %" in said
    assert "by either 10.00 % 50.68 %" in said
    assert "The estimate is not below the threshold of 0.09." in said
    assert "1 of 10 documents alone reach the threshold" in said
    assert "an estimate under the assumptions given, not a proof" in said
    assert "persons_alike = 5" in said
    report = json.loads((tmp_path / "risk.json").read_text())
    assert report["overall"]["point"] == pytest.approx(0.1)
    assert report["overall"]["upper"] == pytest.approx(0.4450 + 0.3085 / 5, abs=1e-4)
    assert report["by_document"]["d0"] == 1
    assert (report["verdict"], report["missing"]) == ("above", [])
    assert {role: report["provenance"][role]["sha256"] for role in ("gold", "masked")} == {
        "gold": hashlib.sha256(gold.read_bytes()).hexdigest(),
        "masked": hashlib.sha256(masked.read_bytes()).hexdigest(),
    }
    assert CANARY not in result.stdout + json.dumps(report)


def test_none_seen_in_few_documents_is_not_below(command, given):
    result = command("risk", *gold_and_masks(given, *(piece for piece, _ in MARKED)))
    assert result.status == 0
    assert "by either 0.00 % 37.02 %" in words(result)
    assert "the upper bound is not" in words(result)


def test_assumptions_of_ones_own_are_used_and_printed(command, given, tmp_path):
    """Two quasi-identifiers leak and the reader is bound: 0.1 of 10 %, one of ten: 0.10 %; bounds 0.1 * 0.4450 / 10."""
    mine = tmp_path / "mine.toml"
    mine.write_text("deliberate = 0.1\nbreach = 0.1\nprevalence = 0.0\npersons_alike = 10\n")
    gold, masked = gold_and_masks(given, CANARY)
    result = command("risk", gold, masked, "--assumptions", mine)
    assert result.status == 0
    assert "by quasi-identifiers 0.10 % 0.45 %" in words(result)
    assert "The upper bound is below the threshold of 0.09." in words(result)
    assert "deliberate = 0.1" in words(result)
    mine.write_text("deliberate = 2")
    refused = command("risk", gold, masked, "--assumptions", mine)
    assert (refused.status, refused.stdout) == (2, "")
    assert f"{mine}: deliberate: expected" in refused.stderr


def test_what_evaluate_refuses_is_refused_and_nothing_is_written(command, given, tmp_path):
    gold, masked = gold_and_masks(given, CANARY)
    lines(masked, [{"id": f"d{i}", "masks": []} for i in range(9)])
    result = command("risk", gold, masked, "--json", tmp_path / "risk.json")
    assert result.status == 2
    assert "not masked: document d9." in result.stderr
    assert not (tmp_path / "risk.json").exists()
    result = command("risk", gold, masked, "--allow-missing")
    assert result.status == 0
    assert result.stdout.startswith("Missing documents, counted as unmasked: 1.")
    assert "by direct identifiers 100.00 %" in words(result)


def test_json_overwrites_an_estimate_alone_and_only_when_asked(command, given, tmp_path):
    gold, masked = gold_and_masks(given, CANARY)
    target = tmp_path / "risk.json"
    assert command("risk", gold, masked, "--json", target).status == 0
    assert command("risk", gold, masked, "--json", target).status == 2
    assert command("risk", gold, masked, "--json", target, "--force").status == 0
    before = gold.read_bytes()
    assert command("risk", gold, masked, "--json", gold, "--force").status == 2
    assert gold.read_bytes() == before
