import csv
import io
from concurrent.futures import ThreadPoolExecutor

import pytest

from inverse_deid.research.studies.tables import Table, csv_text, markdown, write_report, write_text

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


def test_parts_of_an_experiment_that_run_side_by_side_may_write_the_same_file(tmp_path):
    path, texts = tmp_path / "report.md", [str(i) * 10_000 for i in range(10)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write_text, [path] * 200, texts * 20))
    assert path.read_text(encoding="utf-8") in texts
    assert list(tmp_path.iterdir()) == [path]
