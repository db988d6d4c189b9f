"""The report of the facts that are kept, with a masker that hides nothing or all."""

import json

import pytest
import report_utility as report

from inverse_deid.evaluation.causality_set import read_causality_set
from inverse_deid.evaluation.utility import COLUMNS


@pytest.fixture(scope="module")
def reports():
    """Everything is kept with care, and by default the shorthand is masked whole."""

    def measured(gold, careful):
        rows = []
        for doc in read_causality_set(gold):
            n_items = len(doc.items)
            is_kept = careful or not doc.doc.id.startswith("shorthand")
            rows.append({"id": doc.doc.id, "kept": {"ALL": n_items * is_kept}, "items": {"ALL": n_items}})
        part, whole = (sum(row[name]["ALL"] for row in rows) for name in ("kept", "items"))
        items = {"share": part / whole, "part": part, "whole": whole}
        lost_none = {"share": 0.8, "part": 48, "whole": 60}
        kept = {column: {"items": items, "narratives_without_loss": lost_none} for column in COLUMNS}
        phi = {"recall_all": {"share": 0.5}, "precision": {"share": None}}
        return {"kept": kept, "phi": phi, "by_document": rows}

    return {
        (name, dates, reader): measured(gold, reader == "careful")
        for name, gold in report.SETS.items()
        for dates in report.DATES
        for reader in report.READERS
    }


def test_kinds_of_documents_and_intervals_are_shown(reports):
    text = report.render_report(reports, "report_utility.py", "none")
    assert "| second, relative-day, careful | 100.0 | 80.0 | 67.66 to 89.22 | 50.0 | - |" in text
    assert "| shorthand | 100.0 | 12 of 12 | 0.0 | 0 of 12 |" in text
    assert "| call | 100.0 | 6 of 6 | 100.0 | 6 of 6 |" in text
    assert all(f"| {kind} |" in text for kind in report.KINDS)


def test_every_kind_of_fact_is_in_the_table(reports, tmp_path):
    report.write_csv(tmp_path / "utility.csv", reports)
    lines = (tmp_path / "utility.csv").read_text().splitlines()
    assert len(lines) == 1 + len(reports) * len(COLUMNS)
    assert lines[1].startswith("packaged,masked,careful,ALL,")


def test_sets_are_masked_and_measured_with_the_command(monkeypatch, tmp_path):
    asked = []

    def mask(gold, folder, options):
        asked.append((gold, tuple(options)))
        return folder

    def run(*arguments):
        json_path = arguments[arguments.index("--json") + 1]
        json_path.write_text(json.dumps({"gold": str(arguments[arguments.index("--gold") + 1])}))

    monkeypatch.setattr(report, "mask", mask)
    monkeypatch.setattr(report, "run_python", run)
    gold = report.SETS["second"]
    assert report.measure(gold, ["--fast"]) == {"gold": str(gold)}
    assert asked == [(gold, ("--fast",))]
