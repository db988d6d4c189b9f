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
        ("{", "no report that can be added"),
        ("[1]", "no report that can be added"),
        ('{"format": "inverse-deid evaluation"}', "no report that can be added"),
        ('{"format": ["inverse-deid risk"]}', "no report that can be added"),
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
    one.write_text('{"format": "inverse-deid risk"}')
    twice = run("evaluate", gold, masked, "--html", tmp_path / "p.html", "--add", one, "--add", one)
    assert "second report of risk" in twice.stderr
    assert "nothing to go into" in run("evaluate", gold, masked, "--add", one).stderr
    assert not (tmp_path / "p.html").exists()
