"""The report of the development sets, with a masker that hides what it is told to."""

import json

import pytest
import report_dev_sets as report

from inverse_deid.core.revision import revision

TEXT = "Mr Orvik of Oslo was well"
DOC = {"id": "a", "text": TEXT, "spans": [{"start": 3, "end": 8, "type": "PATIENT"}]}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Letters alone. The masker hides the name, and also the town unless it is lenient; it reads no capitals."""

    def mask(gold, folder, options):
        text = json.loads(gold.read_text("utf-8"))["text"]
        masks = [[12, 16]] if "lenient" not in options else []
        masks += [] if text.isupper() else [[3, 8]]
        (folder / gold.name).write_text(json.dumps({"id": "a", "masks": masks}))
        return folder / gold.name

    monkeypatch.setattr(report, "mask", mask)
    systems = {"balanced (default)": [], "lenient": ["--operating-point", "lenient"]}
    monkeypatch.setattr(report, "SYSTEMS", systems)
    monkeypatch.setattr(report, "UNDER_CHANGES", tuple(systems))
    monkeypatch.setattr(report, "CHANGED", {"unchanged": None, "all upper case": "upper"})
    monkeypatch.setattr(report, "report_utility", lambda: None)
    (tmp_path / "letters.jsonl").write_text(json.dumps(DOC))
    return {"adr": tmp_path / "missing.jsonl", "letters": tmp_path / "letters.jsonl"}


def test_changed_copies_are_scored_for_some_systems(files, capsys):
    report.main(files, report.ROOT / "scripts" / "score.py")
    printed = capsys.readouterr().out
    assert "| balanced (default) | 100.0 | 100.0 | 50.0 | 80.0 | 100.0 | - |" in printed
    # One document: the intervals are those of one trial.
    assert "| balanced (default) | 2.5 to 100.0 | 0.0 to 100.0 | 0.8 to 100.0 | 2.5 to 100.0 |" in printed
    assert "| letters/dev, unchanged | 100.0 / 50.0 | 100.0 / 100.0 |" in printed
    assert "| letters/dev, all upper case | 0.0 / 0.0 | 0.0 / - |" in printed
    assert f"\nat revision {revision()}.\n" in printed
    assert "Orvik" not in printed


def test_a_missing_file_is_reported_as_not_measured(files, capsys):
    report.main(files, report.ROOT / "scripts" / "score.py")
    printed = capsys.readouterr().out
    assert "## adverse-event narratives (adr/dev)\n\nNot measured: the file does not exist." in printed
    assert "| adr/dev" not in printed
