import csv
import io

import pytest

from inverse_deid.experiments.tables import Table, csv_text, markdown, write_report

TABLE = Table(
    "recall",
    "Recall by run",
    ("run", "tokens", "recall", "difference"),
    (("a-1", 12345, 0.98765, 0.01), ("b|2", 7, None, -0.02)),
    notes=("A note.",),
    digits=3,
    signed=True,
)


def test_markdown_rounds_and_shows_what_is_absent():
    assert markdown(TABLE).splitlines() == [
        "### Recall by run",
        "",
        "| run | tokens | recall | difference |",
        "|---|---:|---:|---:|",
        "| a-1 | 12,345 | +0.988 | +0.010 |",
        "| b\\|2 | 7 | - | -0.020 |",
        "",
        "A note.",
    ]


def test_csv_has_everything_unrounded():
    read = list(csv.reader(io.StringIO(csv_text(TABLE))))
    assert read == [
        ["run", "tokens", "recall", "difference"],
        ["a-1", "12345", "0.98765", "0.01"],
        ["b|2", "7", "", "-0.02"],
    ]


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="2 cells"):
        Table("x", "x", ("a", "b"), (("one",),))


def test_a_report_has_its_head_first_and_a_file_for_each_table(tmp_path):
    write_report(tmp_path, "Title", ["Made by", "x"], {"Section": [TABLE]})
    lines = (tmp_path / "report.md").read_text(encoding="utf-8").splitlines()
    assert lines[:3] == ["# Title", "", "Made by"]
    assert "## Section" in lines
    assert (tmp_path / "recall.csv").read_text(encoding="utf-8") == csv_text(TABLE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recall.csv", "report.md"]
