"""`inverse-deid mask` and `review init` with Excel files."""

import contextlib
import io
import json
import re
import zipfile
from datetime import date

import openpyxl
import pytest
from case_maskers import masker_of, spans_by
from click.testing import CliRunner
from excel_files import workbook_of
from fake_maskers import CANARY
from review_stores import FACTS, KEY, review, store_of, user
from test_real_pipeline import finish_within
from test_real_pipeline import start as start_real

from inverse_deid.cli.main import main
from inverse_deid.formats.records import ReadOptions
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.files.loading import LoadSettings
from inverse_deid.review.store.values import ReviewPolicy

TABLE = workbook_of(["id", "text", "age"], [1, f"seen by {CANARY}", 43], [2, "well", 44])


def cells_of(path):
    workbook = openpyxl.load_workbook(path)
    return [[list(row) for row in one.iter_rows(values_only=True)] for one in workbook.worksheets]


def with_and_without_ids():
    others = {CANARY: (["text"], [f"told by {CANARY}"])}
    return workbook_of(["case id", "text"], ["c7", f"seen by {CANARY}"], **others)


def zip_of(name, data):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(name, data)
    return target.getvalue()


WARNING = "has no column 'case id'. The numbers of its rows are the ids"


@pytest.mark.parametrize("renames", [False, True])
def test_a_sheet_without_the_id_column_is_named_on_the_command_line_and_in_the_report(
    command, given, out, tmp_path, renames
):
    (given / "a.xlsx").write_bytes(with_and_without_ids())
    (given / "b.zip").write_bytes(zip_of("c.xlsx", with_and_without_ids()))
    report = tmp_path / "report.json"
    more = ["--rename", tmp_path / "names.csv"] if renames else []
    result = command("mask", given, "--out", out, "--id-column", "case id", "--run-report", report, *more)
    assert result.status == 0, result.stderr
    assert f"WARNING: {given / 'a.xlsx'} sheet 2: {WARNING}" in result.stderr
    assert len(re.findall(f"^WARNING: .*b.zip file 1 .*sheet 2: {WARNING}", result.stderr, re.MULTILINE)) == 1
    noted = json.loads(report.read_text())
    for warnings in (
        noted["total"]["warnings"],
        [one for file in noted["files"] for one in file["warnings"]],
    ):
        assert [one["reason"] for one in warnings] == [WARNING] * 2
        assert all(one["where"].endswith("sheet 2") for one in warnings)
        assert not (renames and any("a.xlsx" in one["where"] for one in warnings))
    assert CANARY not in result.stderr + report.read_text()


def test_the_review_says_so_of_a_sheet_without_the_id_column(command, given, tmp_path):
    (given / "a.xlsx").write_bytes(with_and_without_ids())
    result = command("review", "init", given, "--store", tmp_path / "a.review", "--id-column", "case id")
    assert result.status == 0, result.stderr
    assert f"WARNING: {given / 'a.xlsx'} sheet 2: {WARNING}" in result.stderr


def test_all_cells_are_masked_on_request(command, given, out):
    (given / "form.xlsx").write_bytes(workbook_of(["Name", CANARY], ["course", "well since", 4711]))
    assert command("mask", given, "--out", out, "--all-cells").status == 0
    assert cells_of(out / "form.xlsx") == [[["PHI", "PHI", None], ["course", "well since", "□"]]]


def test_dates_ages_and_surrogates_agree_within_a_row(command, given, out, fake_assemble, tmp_path):
    fake_assemble[0] = masker_of(spans_by(NAME=r"\b(Zebulonova)", DATE=r"(\d{4}-\d\d-\d\d)"))
    (tmp_path / "key").write_text("0123456789abcdef0123456789abcdef\n")
    (given / "a.xlsx").write_bytes(
        workbook_of(["text", "onset"], ["Zebulonova fell on 2019-10-12", date(2019, 10, 14)])
    )
    options = (
        "--key",
        tmp_path / "key",
        "--dates",
        "shift",
        "--text-column",
        "text",
        "--text-column",
        "onset",
    )
    assert command("mask", given, "--out", out, *options).status == 0
    _, (text, onset) = cells_of(out / "a.xlsx")[0]
    shown = re.search(r"\d{4}-\d\d-\d\d", text)[0]
    assert shown != "2019-10-12"
    assert (date.fromisoformat(onset) - date.fromisoformat(shown)).days == 2


def test_the_real_rules_mask_a_name_in_one_cell_and_its_other_mention_in_another(tmp_path):
    rows = [["Reporter", "Mrs. Zebulonova"], ["Course", "Zebulonova took aspirin and had a rash."]]
    (tmp_path / "a.xlsx").write_bytes(workbook_of(*rows))
    order = ("mask", tmp_path / "a.xlsx", "--out", tmp_path / "out", "--rules-only", "--all-cells")
    done = CliRunner().invoke(main, list(map(str, order)))
    assert done.exit_code == 0, done.stderr
    shown = cells_of(tmp_path / "out" / "a.xlsx")[0]
    assert CANARY not in str(shown)
    assert "aspirin" in shown[1][1]
    assert "rash" in shown[1][1]


MAX_MIB = 500
"""What masking 10,000 rows may take; without the network, which takes about 100 MiB more."""


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--all-cells",)], ids=["by column", "all cells"])
def test_ten_thousand_rows_take_little_memory(tmp_path, options):
    story = "The patient had a rash after the second dose, was given cetirizine 10 mg and recovered. " * 18
    workbook = openpyxl.Workbook(write_only=True)
    one = workbook.create_sheet()
    one.append(["id", "text", "onset"])
    for number in range(10_000):
        one.append([number, f"Case {number}: {story}", date(2019, 1, 1)])
    workbook.save(tmp_path / "a.xlsx")
    process = start_real(tmp_path / "a.xlsx", "--out", tmp_path / "out", "--rules-only", *options)
    finish_within(process, MAX_MIB)
    with contextlib.closing(openpyxl.load_workbook(tmp_path / "out" / "a.xlsx", read_only=True)) as written:
        assert sum(1 for _ in written.active.iter_rows()) == 10_001


@pytest.mark.parametrize("all_cells", [False, True])
def test_an_excel_file_is_reviewed_and_released(tmp_path, all_cells):
    (tmp_path / "a.xlsx").write_bytes(TABLE)
    settings = LoadSettings(
        policy=ReviewPolicy(approvals=1),
        facts=FACTS,
        cases=CaseSettings(today=date(2024, 1, 1), key=KEY.secret),
        read_options=ReadOptions(all_cells=all_cells),
    )
    with store_of(tmp_path, inputs=[tmp_path / "a.xlsx"], settings=settings) as store:
        review(store, user(store, "ann"), mask=[])
        exported = export_released(store, tmp_path / "out")
        assert exported.problems == ()
    shown = cells_of(tmp_path / "out" / "a.xlsx")
    assert CANARY not in str(shown)
    assert "seen by PHI" in str(shown)
