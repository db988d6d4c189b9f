"""`inverse-deid evaluate --html` and `--add`: one page of all measurements, and what is refused."""

import json

import pytest
from click.testing import CliRunner
from fake_maskers import CANARY

from inverse_deid.cli.main import main

TEXT = f"Mrs. {CANARY} took aspirin."


@pytest.fixture
def gold(given):
    path = given / "gold.jsonl"
    start = TEXT.index(CANARY)
    span = {"start": start, "end": start + len(CANARY), "type": "PATIENT"}
    path.write_text(json.dumps({"id": "a", "text": TEXT, "spans": [span]}) + "\n")
    return path


@pytest.fixture
def masked(tmp_path):
    path = tmp_path / "masks.jsonl"
    path.write_text(json.dumps({"id": "a", "masks": []}) + "\n")
    return path


def run(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert CANARY not in result.output
    return result


def test_the_page_holds_the_figures_and_what_was_added(gold, masked, tmp_path):
    assert run("risk", gold, masked, "--json", tmp_path / "risk.json").exit_code == 0
    page = tmp_path / "page.html"
    files = ("--html", page, "--json", tmp_path / "all.json", "--add", tmp_path / "risk.json")
    result = run("evaluate", gold, masked, *files)
    assert result.exit_code == 0, result.output
    html = page.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert "0.09" in html
    assert CANARY not in html
    report = json.loads((tmp_path / "all.json").read_text())
    assert report["risk"] == json.loads((tmp_path / "risk.json").read_text())
    assert report["figures"]["recall_all"] == {"share": 0.0, "part": 0, "whole": 1}


def test_only_an_earlier_page_is_overwritten_and_only_when_asked(gold, masked, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<!doctype html>mine")
    for options in ((), ("--force",)):
        result = run("evaluate", gold, masked, "--html", page, *options)
        assert (result.exit_code, page.read_text()) == (2, "<!doctype html>mine")
    page.unlink()
    assert run("evaluate", gold, masked, "--html", page).exit_code == 0
    assert run("evaluate", gold, masked, "--html", page).exit_code == 2
    assert run("evaluate", gold, masked, "--html", page, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "one.json"),
        ("{", "not a report that can be added"),
        ("[1]", "not a report that can be added"),
        ('{"format": "inverse-deid evaluation"}', "not a report that can be added"),
        ('{"format": ["inverse-deid risk"]}', "not a report that can be added"),
    ],
)
def test_what_is_no_report_is_not_added(gold, masked, tmp_path, content, complaint):
    if content is not None:
        (tmp_path / "one.json").write_text(content)
    result = run("evaluate", gold, masked, "--html", tmp_path / "p.html", "--add", tmp_path / "one.json")
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert not (tmp_path / "p.html").exists()


def test_two_reports_of_a_kind_and_a_report_without_a_page_are_refused(gold, masked, tmp_path):
    one = tmp_path / "one.json"
    assert run("risk", gold, masked, "--json", one).exit_code == 0
    twice = run("evaluate", gold, masked, "--html", tmp_path / "p.html", "--add", one, "--add", one)
    assert "the second report of risk" in twice.stderr
    assert "--add needs a report to add to" in run("evaluate", gold, masked, "--add", one).stderr
    assert not (tmp_path / "p.html").exists()


def test_both_files_under_one_name_are_refused(gold, masked, tmp_path):
    result = run(
        "evaluate", gold, masked, "--html", tmp_path / "all", "--json", tmp_path / "x" / ".." / "all"
    )
    assert result.exit_code == 2
    assert "name the same file" in result.stderr
    assert not (tmp_path / "all").exists()


def graded(gold, masked, tmp_path):
    """The JSON of a list of leaks that was graded."""
    path = tmp_path / "leaks.csv"
    assert run_with_text("leaks", "list", gold, masked, "--out", path).exit_code == 0
    path.write_text(path.read_text(encoding="utf-8-sig").replace(",,\n", ",d,\n").replace(",,\r", ",d,\r"))
    assert run("leaks", "grade", path, "--json", tmp_path / "grades.json").exit_code == 0
    return tmp_path / "grades.json"


def run_with_text(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_risk_and_grades_of_other_masks_or_documents_are_refused(gold, masked, tmp_path):
    assert run("risk", gold, masked, "--json", tmp_path / "risk.json").exit_code == 0
    reports = {"risk": tmp_path / "risk.json", "grades": graded(gold, masked, tmp_path)}
    page = tmp_path / "p.html"
    added = [argument for path in reports.values() for argument in ("--add", path)]
    result = run("evaluate", gold, masked, "--html", page, *added)
    assert result.exit_code == 0, result.output
    page.unlink()
    start = TEXT.index(CANARY)
    masked.write_text(json.dumps({"id": "a", "masks": [[start, start + len(CANARY)]]}) + "\n")
    for name, path in reports.items():
        result = run("evaluate", gold, masked, "--html", page, "--add", path)
        assert result.exit_code == 2
        assert f"the {name} report is of other documents or other masks" in result.stderr
    masked.write_text(json.dumps({"id": "b", "masks": []}) + "\n")
    gold.write_text(gold.read_text().replace('"id": "a"', '"id": "b"'))
    result = run("evaluate", gold, masked, "--html", page, "--add", reports["risk"])
    assert (result.exit_code, "the risk report is of other documents" in result.stderr) == (2, True)
    assert not page.exists()


@pytest.mark.parametrize(
    "content", ["{}", '{"by_document": [], "types": {}}', '{"types": {"X": 1}, "groups": 3}']
)
@pytest.mark.parametrize("name", ["risk", "leak grades"])
def test_a_report_that_is_not_whole_is_not_added(gold, masked, tmp_path, content, name):
    one = tmp_path / "one.json"
    one.write_text(json.dumps({**json.loads(content), "format": f"inverse-deid {name}"}))
    result = run("evaluate", gold, masked, "--html", tmp_path / "p.html", "--add", one)
    assert result.exit_code == 2
    assert "not a report that can be added" in result.stderr
    assert not (tmp_path / "p.html").exists()
