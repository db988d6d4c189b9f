"""The one table, the report, and the files that are written whole."""

import csv
import io
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from inverse_deid_research.studies.figures import chart_from_zero, curve_of, logarithmic_chart, panels
from inverse_deid_research.studies.records import write_text
from inverse_deid_research.studies.report import Provenance, Report
from inverse_deid_research.studies.tables import Table, TableForm, frame_of

TABLE = Table(
    "recall",
    "Recall by run",
    frame_of(
        ("run", "tokens", "recall", "difference"),
        (("a-1", 12345, 0.98765, 0.01), ("b|2", 7, None, -0.02)),
    ),
    notes=("A note.",),
    digits=3,
    signed=True,
)
ESTIMATES = Table(
    "t",
    "Two | rows",
    frame_of(
        ("system", "recall", "recall low", "recall high", "n"),
        (("a|b", 0.25, 0.125, 0.5, 1200), ("c", None, None, None, None)),
    ),
    ("A note.",),
    digits=2,
    intervals=frozenset({"recall"}),
    exact_ends=True,
)


def read_csv(table):
    return list(csv.reader(io.StringIO(table.csv())))


def test_markdown_rounds_and_shows_what_is_absent():
    assert TABLE.markdown().splitlines() == [
        "### Recall by run",
        "",
        "| run | tokens | recall | difference |",
        "|---|---:|---:|---:|",
        "| a-1 | 12,345 | +0.988 | +0.010 |",
        "| b\\|2 | 7 | - | -0.020 |",
        "",
        "A note.",
    ]


def test_markdown_shows_intervals_and_escapes_bars():
    assert ESTIMATES.markdown().splitlines() == [
        "### Two | rows",
        "",
        "| system | recall | n |",
        "|---|---:|---:|",
        "| a\\|b | 0.25 (0.12 to 0.50) | 1,200 |",
        "| c | - | - |",
        "",
        "A note.",
    ]


@pytest.mark.parametrize(
    ("estimate", "digits", "shown"),
    [
        ((0.99996, 0.98765, 0.99999), 4, "0.9999 (0.9876 to 1.0000)"),
        ((1.0, 1 / 3, 1.0), 2, "1.00 (0.33 to 1.00)"),
        ((0.0, 0.0, 0.0001), 2, "0.00 (0.00 to 0.01)"),
        ((0.5, None, None), 2, "0.50"),
    ],
)
def test_nothing_is_rounded_to_all_or_none_and_bounds_go_outwards(estimate, digits, shown):
    frame = frame_of(("system", "r", "r low", "r high"), [("a", *estimate)])
    table = Table("t", "", frame, digits=digits, intervals=frozenset({"r"}), exact_ends=True)
    assert f"| a | {shown} |" in table.markdown().splitlines()


def test_plain_text_is_aligned():
    assert list(ESTIMATES.plain_lines()) == [
        "Two | rows",
        "system               recall      n",
        "a|b     0.25 (0.12 to 0.50)  1,200",
        "c                         -      -",
    ]


def test_csv_has_everything_unrounded():
    assert read_csv(TABLE) == [
        ["run", "tokens", "recall", "difference"],
        ["a-1", "12345", "0.98765", "0.01"],
        ["b|2", "7", "", "-0.02"],
    ]
    assert read_csv(ESTIMATES) == [
        ["system", "recall", "recall low", "recall high", "n"],
        ["a|b", "0.25", "0.125", "0.5", "1200"],
        ["c", "", "", "", ""],
    ]


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="every row has 2 cells"):
        frame_of(("a", "b"), (("one",),))


@pytest.mark.parametrize(
    ("now", "made_at", "clean"),
    [
        ("a1", [], True),
        ("a1", ["a1", "a1"], True),
        ("a1", ["b2"], False),
        ("a1", ["a1", ""], False),
        ("a1+", [], False),
        ("", [], False),
    ],
)
def test_a_title_says_if_a_report_is_not_of_one_clean_revision(monkeypatch, now, made_at, clean):
    monkeypatch.setattr("inverse_deid_research.studies.report.revision", lambda: now)
    made = Provenance(
        command="x", device="d", seeds=[1], hashes={}, settings={}, n_seconds={}, made_at=made_at
    )
    assert made.title("Title") == ("Title" if clean else "Title, not of one clean revision")


def test_a_report_has_its_provenance_first_and_a_file_for_each_table(tmp_path, monkeypatch):
    monkeypatch.setattr("inverse_deid_research.studies.report.revision", lambda: "a1")
    made = Provenance(command="x", device="d", seeds=[1], hashes={}, settings={"a": "b"}, n_seconds={"t": 1})
    report = Report(
        title="Title",
        provenance=made,
        text=["", "A sentence."],
        sections={"Section": [TABLE]},
        charts={"a.svg": "<svg/>"},
    )
    report.write(tmp_path)
    lines = (tmp_path / "report.md").read_text(encoding="utf-8").splitlines()
    assert lines[:6] == ["# Title", "", "Made by", "", "```", "x"]
    assert "- a: b" in lines
    assert lines.index("A sentence.") < lines.index("## Section")
    assert (tmp_path / "recall.csv").read_text(encoding="utf-8") == TABLE.csv()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svg", "recall.csv", "report.md"]


def test_parts_of_a_study_that_run_side_by_side_may_write_the_same_file(tmp_path):
    path, texts = tmp_path / "report.md", [str(i) * 10_000 for i in range(10)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write_text, [path] * 200, texts * 20))
    assert path.read_text(encoding="utf-8") in texts
    assert list(tmp_path.iterdir()) == [path]


def test_a_curve_leaves_absent_points_out():
    frame = frame_of(("n", "f1", "low", "high"), [(10, 0.9, 0.8, 1.0), (100, None, None, None)])
    curve = curve_of("ours", "#111", frame, ("n", "f1", "low", "high"))
    assert (curve.x, curve.middle, curve.low, curve.high) == ([10], [0.9], [0.8], [1.0])


def test_charts_are_drawn_even_without_points():
    empty = frame_of(("n", "f1", "low", "high"), [])
    curves = [curve_of("ours", "#111", empty, ("n", "f1", "low", "high"))]
    charts = [chart_from_zero("F1", "n", curves, 0.5), logarithmic_chart("F1", "n", curves, 0.5)]
    assert panels("All", charts).startswith("<svg")


def test_a_declared_table_is_filled_with_rows_and_values():
    form = TableForm(
        name="of-{which}",
        title="Recall of {which}",
        columns=("run", "recall ±", "{sites}, n"),
        notes=("At most {most:.1f}.",),
        digits=2,
    )
    table = form.fill([("a", 0.5, 0.4, 0.6, 1, 2)], which="b", sites=("east", "west"), most=0.123)
    assert table.csv() == 'run,recall,recall low,recall high,"east, n","west, n"\na,0.5,0.4,0.6,1,2\n'
    assert (table.name, table.title, table.notes) == ("of-b", "Recall of b", ("At most 0.1.",))
    assert "| a | 0.50 (0.40 to 0.60) | 1 | 2 |" in table.markdown()


def test_an_unknown_setting_of_a_declared_table_is_refused():
    with pytest.raises(msgspec.ValidationError, match="unknown field `colums`"):
        msgspec.convert({"name": "a", "title": "A", "columns": [], "colums": []}, TableForm)
