"""The tables of two tools on two documents, every number worked out by hand."""

import json

import pytest
from refusals import refuses
from two_documents import ALL, SOME, Scored, write_gold, write_masks

from inverse_deid.core.errors import OutputError, OutputExistsError
from inverse_deid_research.comparison import comparison as running
from inverse_deid_research.comparison.comparison import ComparisonSettings, compare
from inverse_deid_research.comparison.report import (
    check_folder,
    comparison_tables,
    masks_text,
    write_comparison,
)


def compared(folder, reference="all"):
    masks = {
        "some": write_masks(folder / "some.jsonl", SOME),
        "all": write_masks(folder / "all.jsonl", ALL),
    }
    gold = write_gold(folder / "gold.jsonl")
    return compare(ComparisonSettings(test=gold, systems=("patterns",), masks=masks, reference=reference))


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    return compared(tmp_path_factory.mktemp("compared"))


@pytest.fixture(scope="module")
def tables(comparison):
    return {table.name: table for table in comparison_tables(comparison)}


def column(table, title):
    frame = table.frame
    return dict(zip(frame.iloc[:, 0], frame[title], strict=True))


def test_methods_have_hipaa_recall_and_precision(tables):
    # patterns finds the date alone: 3 of 6 tokens, and nothing else
    assert column(tables["methods"], "HIPAA recall") == {"patterns": 3 / 6, "some": 4 / 6, "all": 1.0}
    assert column(tables["methods"], "precision") == {"patterns": 1.0, "some": 4 / 5, "all": 6 / 11}


def test_methods_are_tested_against_the_reference_on_whole_documents(tables):
    # some - all: 4/6 - 6/6; swapping a: 5/6 - 5/6, swapping b: 5/6 - 5/6, swapping both: 6/6 - 4/6
    # patterns - all: 3/6 - 6/6; a: 5 - 4, b: 4 - 5, both: 6 - 3
    assert column(tables["methods"], "p, HIPAA recall") == {"patterns": 0.5, "some": 0.5, "all": None}
    # some: 4/5 against 6/11; swapping a: (5 + 0)/(8 + 1) against (4 + 1)/(4 + 3), which is less apart
    assert column(tables["methods"], "p, precision")["some"] == 0.5


def test_intervals_hold_their_value_and_stay_in_range(tables):
    estimates = [
        cells
        for table in tables.values()
        for name in table.intervals
        for cells in table.frame[[f"{name} low", name, f"{name} high"]].itertuples(index=False, name=None)
        if cells[1] is not None
    ]
    assert len(estimates) > 20
    assert all(0 <= low <= value <= high <= 1 for low, value, high in estimates)
    assert any(low < value for low, value, _ in estimates)


def test_speed_is_given_for_what_ran_alone(tables):
    speed = column(tables["methods"], "tokens per second")
    assert speed["patterns"] > 0
    assert (speed["some"], speed["all"]) == (None, None)


def test_recall_by_category_has_the_fine_types_below(tables):
    table = tables["categories"]
    assert list(table.frame.columns) == ["category", "tokens", "patterns", "some", "all"]
    assert table.rows == [
        ("NAME", 2, 0.0, 0.5, 1.0),
        ("- PATIENT", 2, 0.0, 0.5, 1.0),
        ("PLACE", 1, 0.0, 0.0, 1.0),
        ("- CITY", 1, 0.0, 0.0, 1.0),
        ("DATE", 3, 1.0, 1.0, 1.0),
        ("all PHI", 6, 0.5, 4 / 6, 1.0),
    ]


def test_every_category_is_tested(tables):
    table = tables["category-intervals"]
    assert [row[:2] for row in table.rows[:4]] == [
        ("NAME", "patterns"),
        ("NAME", "some"),
        ("NAME", "all"),
        ("PLACE", "patterns"),
    ]
    p_values = {row[:2]: row[-1] for row in table.rows}
    # names: some misses b alone, so that it alone differs; both ways round are as far apart
    assert p_values["NAME", "some"] == 1.0
    assert p_values["NAME", "patterns"] == 0.5
    assert p_values["DATE", "some"] == 1.0
    assert p_values["all PHI", "all"] is None
    assert len(table.rows) == 4 * 3


def test_further_figures_and_systems_are_complete(tables):
    assert column(tables["further"], "some")["safe tokens kept"] == 4 / 5
    assert column(tables["further"], "all")["documents without a leak"] == 1.0
    assert column(tables["further"], "some")["documents without a leak"] == 0.0
    assert column(tables["systems"], "title")["patterns"] == "Regular expressions"
    assert column(tables["systems"], "learned from documents")["patterns"] is None


def test_the_notes_say_what_was_drawn_and_tested(tables):
    notes = " ".join(tables["methods"].notes)
    assert "2 documents (2 with PHI) are drawn 2,000 times" in notes
    assert "Only 2 documents with PHI: intervals by drawing fewer than 20 are too narrow." in notes
    assert "against all" in notes
    assert "not corrected" in notes


def test_without_a_reference_nothing_is_tested(tmp_path):
    methods = comparison_tables(compared(tmp_path, reference=None))[0]
    assert set(column(methods, "p, precision").values()) == {None}
    assert "No reference is compared: there are no tests." in methods.notes


@pytest.fixture
def with_scores(tmp_path, monkeypatch):
    """The tables of a system with scores beside the masks of a tool."""
    monkeypatch.setattr(running, "make_system", lambda name, n_epochs: Scored(name))
    masks = {"some": write_masks(tmp_path / "some.jsonl", SOME)}
    settings = ComparisonSettings(
        test=write_gold(tmp_path / "gold.jsonl"), systems=("network", "hybrid"), masks=masks
    )
    found = compare(settings)
    written = json.loads((write(tmp_path / "out", found) / "comparison.json").read_text())
    return {table.name: table for table in comparison_tables(found)}, written


def test_systems_with_scores_are_shown_at_equal_recall(with_scores):
    rows = with_scores[0]["equal-recall"].rows
    assert [row[:4] for row in rows] == [
        ("that of hybrid", "network", 5 / 6, 5 / 6),
        ("that of hybrid", "hybrid", 5 / 6, 5 / 6),
        *((recall, name, 1.0, 6 / 7) for recall in ("0.98", "0.99") for name in ("network", "hybrid")),
    ]
    assert rows[0][4:] == (0.0, 0.0, 0.0, "undecided")
    assert rows[1][4:] == (None,) * 4


def test_a_tool_without_scores_is_beside_the_reference_at_its_recall(with_scores):
    # the lowest threshold with 4 of 6 is below the rash
    (row,) = with_scores[0]["own-recall"].rows
    assert row[:5] == ("some", 4 / 6, 4 / 5, 4 / 6, 1.0)
    assert row[5] == pytest.approx(-1 / 5)
    assert row[6] <= row[5] <= row[7] and row[6] < row[7]


def test_own_thresholds_are_compared_by_paired_intervals(with_scores):
    rows = {row[0]: row for row in with_scores[0]["differences"].rows}
    assert set(rows) == {"network", "some"}
    assert rows["network"][1:5] == (0.0, 0.0, 0.0, "undecided")
    assert rows["some"][1] == pytest.approx(4 / 6 - 5 / 6)


def test_json_has_the_figures_at_equal_recall(with_scores):
    assert with_scores[1]["at_equal_recall"][0] == {
        "system": "network",
        "recall_of": "hybrid",
        "recall_hipaa": 5 / 6,
        "precision": 5 / 6,
    }


def write(folder, comparison, command="inverse-deid research compare"):
    write_comparison(folder, comparison, command=command, device="a processor", n_seconds=1.0)
    return folder


def test_the_folder_holds_report_tables_figures_and_masks_without_text(tmp_path, comparison):
    folder = write(tmp_path / "sub" / "out", comparison)
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()) == [
        "categories.csv",
        "category-intervals.csv",
        "comparison.json",
        "further.csv",
        "masks/all.jsonl",
        "masks/patterns.jsonl",
        "masks/some.jsonl",
        "methods.csv",
        "report.md",
        "systems.csv",
    ]
    for path in folder.rglob("*.*"):
        assert "Zorath" not in path.read_text()
        assert "Velmo" not in path.read_text()
    assert "inverse-deid research compare" in (folder / "report.md").read_text()
    assert not list(folder.parent.glob(".*"))


def test_json_has_all_figures_with_counts_and_intervals(tmp_path, comparison):
    found = json.loads((write(tmp_path / "out", comparison) / "comparison.json").read_text())
    assert (found["format"], found["version"]) == ("inverse-deid comparison", 1)
    assert (found["provenance"]["seed"], found["reference"]) == (1, "all")
    some = found["systems"][1]
    assert some["name"] == "some"
    assert some["evaluation"]["figures"]["recall_hipaa"] == {"share": 4 / 6, "part": 4, "whole": 6}
    assert "by_document" not in some["evaluation"]


def test_masks_are_sorted_offsets(comparison):
    some = comparison.results[1]
    assert masks_text(some) == (
        '{"id": "a", "masks": [[3, 9], [24, 32]]}\n{"id": "b", "masks": [[11, 15]]}\n'
    )


def test_only_an_earlier_comparison_is_replaced_and_only_when_asked(tmp_path, comparison):
    folder = write(tmp_path / "out", comparison)
    (folder / "masks" / "stale.jsonl").write_text("")
    with refuses(OutputExistsError, match="--force"):
        check_folder(folder, force=False)
    check_folder(folder, force=True)
    write(folder, comparison)
    assert not (folder / "masks" / "stale.jsonl").exists()
    assert not list(tmp_path.glob(".*"))


def test_other_folders_and_files_are_never_replaced(tmp_path):
    (tmp_path / "empty").mkdir()
    check_folder(tmp_path / "empty", force=False)
    check_folder(tmp_path / "new", force=False)
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "comparison.json").write_text('{"format": "something else"}')
    for name in ("file", "full"):
        with refuses(OutputExistsError, match="Choose another"):
            check_folder(tmp_path / name, force=True)


def test_a_folder_that_cannot_be_written_is_one_line_and_leaves_nothing(tmp_path, comparison, monkeypatch):
    folder = write(tmp_path / "out", comparison)
    before = (folder / "comparison.json").read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("inverse_deid_research.comparison.report.masks_text", full)
    with pytest.raises(OutputError, match="no space left"):
        write(folder, comparison, "another command")
    assert (folder / "comparison.json").read_bytes() == before
    assert not list(tmp_path.glob(".*"))
