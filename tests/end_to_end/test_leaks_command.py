"""`inverse-deid leaks`: the list of leaks, where it may stand, and the grades that come back."""

import csv
import io
import json
import os
import stat

import pytest
from fake_maskers import CANARY

from inverse_deid.cli import leaks as leaks_cli
from inverse_deid.core import files

TEXT = f"Mrs {CANARY} of Velmo\nhad a rash on 12 May 2019 and left."
MARKED = ((CANARY, "PATIENT"), ("Velmo", "CITY"), ("12 May 2019", "DATE"))
HEADER = "number,leak,document,start,end,type,token,left,right,grade,note"


def place(piece):
    return [TEXT.index(piece), TEXT.index(piece) + len(piece)]


@pytest.fixture
def gold(given):
    spans = [
        dict(zip(("start", "end", "type"), (*place(piece), name), strict=True)) for piece, name in MARKED
    ]
    path = given / "gold.jsonl"
    lines = [{"id": "a", "text": TEXT, "spans": spans}, {"id": "b", "text": "Well.", "spans": []}]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.fixture
def masked(given):
    """Velmo and the year are masked; the name, the day and the month leak."""
    path = given / "masks.jsonl"
    lines = [{"id": "a", "masks": [place("Velmo"), place("2019")]}, {"id": "b", "masks": []}]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.fixture
def listed(command, gold, masked, tmp_path):
    path = tmp_path / "leaks.csv"
    result = command("leaks", "list", gold, masked, "--out", path)
    assert result.status == 0, result.stderr
    return path


def rows(path):
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def copy_of(listed, name, grades):
    """What a reviewer gives back."""
    table = [{**row, "grade": grade} for row, grade in zip(rows(listed), grades, strict=True)]
    path = listed.with_name(name)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, table[0], delimiter=";")
        writer.writeheader()
        writer.writerows(table)
    return path


def test_the_list_holds_every_missed_token_and_the_command_none(command, gold, masked, tmp_path):
    path = tmp_path / "new" / "leaks.csv"
    result = command("leaks", "list", gold, masked, "--out", path)
    assert (result.status, result.stderr) == (0, "")
    found = rows(path)
    assert ",".join(found[0]) == HEADER
    assert [(row["number"], row["token"], row["type"]) for row in found] == [
        ("1 of 3", CANARY, "PATIENT"),
        ("2 of 3", "12", "DATE"),
        ("3 of 3", "May", "DATE"),
    ]
    assert (found[0]["left"], found[0]["right"]) == ("Mrs", "of [...] had a rash on")
    assert (found[1]["left"], found[1]["right"]) == ("of [...] had a rash on", "May [...] and left")
    assert {(row["document"], row["grade"], row["note"]) for row in found} == {("a", "", "")}
    assert result.stdout.splitlines()[0] == "3 of 5 PHI tokens missed, documents with a leak: 1"
    assert f"{path} CONTAINS IDENTIFIERS" in result.stdout
    assert "Delete it" in result.stdout
    assert CANARY not in result.stdout


def test_the_context_is_as_long_as_asked(command, gold, masked, tmp_path):
    path = tmp_path / "leaks.csv"
    assert command("leaks", "list", gold, masked, "--out", path, "--context", "1").status == 0
    assert [(row["left"], row["right"]) for row in rows(path)] == [
        ("Mrs", "of"),
        ("on", "May"),
        ("12", "[...]"),
    ]


def test_only_the_owner_can_read_it_from_the_first_byte(command, gold, masked, tmp_path, monkeypatch):
    modes = []
    real = files.PartialFile.write

    def spying(self, data):
        modes.append(stat.S_IMODE(self.path.stat().st_mode))
        return real(self, data)

    monkeypatch.setattr(files.PartialFile, "write", spying)
    before = os.umask(0)
    try:
        assert command("leaks", "list", gold, masked, "--out", tmp_path / "leaks.csv").status == 0
    finally:
        os.umask(before)
    assert set(modes) == {0o600}
    assert stat.S_IMODE((tmp_path / "leaks.csv").stat().st_mode) == 0o600


def test_a_run_that_fails_leaves_nothing(command, gold, masked, tmp_path, monkeypatch):
    def broken(found):
        yield CANARY.encode()
        raise ValueError(CANARY)

    monkeypatch.setattr(leaks_cli, "write_leak_list", broken)
    out = tmp_path / "out"
    result = command("leaks", "list", gold, masked, "--out", out / "leaks.csv")
    assert result.status == 2
    assert CANARY not in result.stdout + result.stderr
    assert list(out.iterdir()) == []


def test_nothing_but_a_list_is_overwritten_and_that_only_when_asked(command, gold, masked, listed):
    listed.write_bytes(listed.read_bytes() + b"kept")
    result = command("leaks", "list", gold, masked, "--out", listed)
    assert result.status == 2
    assert "--force" in result.stderr
    assert listed.read_bytes().endswith(b"kept")
    assert command("leaks", "list", gold, masked, "--out", listed, "--force").status == 0
    assert not listed.read_bytes().endswith(b"kept")
    for path in (gold, masked):
        before = path.read_bytes()
        assert command("leaks", "list", gold, masked, "--out", path, "--force").status == 2
        assert path.read_bytes() == before


def test_leaks_never_lie_among_the_masked_files(command, gold, masked, tmp_path):
    folder = tmp_path / "masked"
    folder.mkdir()
    masked.rename(folder / "masks.jsonl")
    result = command("leaks", "list", gold, folder, "--out", folder / "deep" / "leaks.csv")
    assert result.status == 2
    assert "outside the folder of masked files" in result.stderr
    assert not (folder / "deep").exists()
    result = command("leaks", "list", gold, folder / "masks.jsonl", "--out", folder / "leaks.csv")
    assert result.status == 2
    assert "outside the folder of masked files" in result.stderr
    assert [path.name for path in folder.iterdir()] == ["masks.jsonl"]
    apart = folder / "private" / "leaks.csv"
    assert command("leaks", "list", gold, folder / "masks.jsonl", "--out", apart).status == 0
    apart.unlink()
    assert command("leaks", "list", gold, folder, "--out", tmp_path / "leaks.csv").status == 0


def test_a_folder_that_holds_the_gold_too_may_hold_the_leaks(command, gold, masked, given):
    assert masked.parent == gold.parent == given
    assert command("leaks", "list", gold, masked, "--out", given / "leaks.csv").status == 0


def test_what_evaluate_refuses_is_refused_and_nothing_is_written(command, gold, masked, tmp_path):
    path = tmp_path / "leaks.csv"
    masked.write_text('{"id": "b", "masks": []}')
    result = command("leaks", "list", gold, masked, "--out", path)
    assert result.status == 2
    assert "not masked: document a." in result.stderr
    assert not path.exists()
    assert command("leaks", "list", gold, masked, "--out", path, "--allow-missing").status == 0
    assert len(rows(path)) == 5


def test_two_reviewers_are_compared(command, listed, tmp_path):
    a, b = copy_of(listed, "a.csv", ["direct", "I", "none"]), copy_of(listed, "b.csv", ["D", "n", "n"])
    result = command("leaks", "grade", a, b, "--json", tmp_path / "grades.json", "--seed", "3")
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout.splitlines()[:3] == [f"A: {a}", f"B: {b}", "leaks: 3, documents with a leak: 1"]
    report = json.loads((tmp_path / "grades.json").read_text())
    assert report["seed"] == 3
    agreement = report["groups"]["ALL"]["agreement"]
    assert agreement["table"] == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    # Equal 2 of 3; by chance (1 * 1 + 1 * 0 + 1 * 2) / 9 = 1/3: (2/3 - 1/3) / (1 - 1/3).
    assert agreement["kappa"]["value"] == pytest.approx(0.5)
    assert report["groups"]["DATE"]["leaks"] == 2
    assert CANARY not in result.stdout + json.dumps(report)
    again = command("leaks", "grade", a, b, "--json", tmp_path / "grades.json")
    assert again.status == 2
    assert "--force" in again.stderr
    assert command("leaks", "grade", a, b, "--json", tmp_path / "grades.json", "--force").status == 0
    assert command("leaks", "grade", a, b, "--json", a, "--force").status == 2


def test_one_reviewer_is_counted(command, listed, tmp_path):
    a = copy_of(listed, "a.csv", ["d", "", "n"])
    refused = command("leaks", "grade", a)
    assert refused.status == 2
    assert "row 3: not graded" in refused.stderr
    result = command("leaks", "grade", a, "--allow-ungraded", "--json", tmp_path / "grades.json")
    assert result.status == 0
    assert "kappa" not in result.stdout
    everything = json.loads((tmp_path / "grades.json").read_text())["groups"]["ALL"]
    assert everything["by_reviewer"] == [{"direct": 1, "indirect": 0, "none": 1, "ungraded": 1}]
    assert everything["agreement"] is None


def test_grades_that_cannot_be_used_are_refused_by_row(command, gold, masked, listed, tmp_path):
    good, bad = copy_of(listed, "a.csv", "din"), copy_of(listed, "b.csv", ["d", CANARY, "n"])
    result = command("leaks", "grade", good, bad, "--json", tmp_path / "grades.json")
    assert (result.status, result.stdout) == (2, "")
    assert f"{bad}: row 3: unknown grade." in result.stderr
    assert CANARY not in result.stderr
    assert not (tmp_path / "grades.json").exists()
    assert "given twice" in command("leaks", "grade", good, good).stderr
    assert "none.csv" in command("leaks", "grade", good, tmp_path / "none.csv").stderr
    lines = good.read_text().splitlines(keepends=True)
    good.write_text("".join(lines[:-1]))
    assert "1 of 3 leaks are missing" in command("leaks", "grade", good).stderr
