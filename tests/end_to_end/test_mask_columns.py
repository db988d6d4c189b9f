"""Columns of tables: what is not named does not leave, whatever the command and the format."""

import csv
import io
import json
import sys

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_maskers import masker_of, spans_by
from fake_maskers import CANARY, FakeMasker

NOTE = f"seen by {CANARY} today"
MASKED = "seen by PHI today"
ROW = {
    "id": "7",
    "narrative": NOTE,
    "reporter_name": f"Ann {CANARY}",
    "reporter_email": f"ann@{CANARY}.example",
    "dob": "1980-05-12",
    "company_comment": f"told {CANARY} so",
    "country": "FI",
}
SECRETS = (CANARY, "1980-05-12", "FI")
FORMATS = ("csv", "tsv", "parquet", "jsonl")


def write(path, rows=(ROW,)):
    """A file of the rows, in the format of its suffix; a data frame leaves its metadata in Parquet."""
    frame = pd.DataFrame(rows)
    match path.suffix:
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case ".parquet":
            frame.set_index("narrative", drop=False).rename_axis("row").to_parquet(path)
        case suffix:
            frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    return path


def read(path):
    """Its rows as they were written, a Parquet file's whole content beside them."""
    match path.suffix:
        case ".jsonl":
            return [json.loads(line) for line in path.read_text().splitlines()]
        case ".parquet":
            return pq.read_table(path).to_pylist()
        case suffix:
            frame = pd.read_csv(path, dtype=str, sep="\t" if suffix == ".tsv" else ",", keep_default_na=False)
            return frame.to_dict("records")


def texts_of(line, columns=("narrative",)):
    """The row of a JSON line under the names of a table."""
    found = {name: value for name, value in line.items() if name != "masks"}
    if columns == ("narrative",) and "text" in found:
        found["narrative"] = found.pop("text")
    return found


@pytest.mark.parametrize("kind", FORMATS)
def test_columns_that_nobody_named_are_dropped(command, given, out, kind):
    write(given / f"a.{kind}")
    result = command("mask", given, "--out", out, "--text-column", "narrative")
    assert result.status == 0, result.stderr
    written = (out / f"a.{kind}").read_bytes()
    assert [secret for secret in SECRETS if secret.encode() in written] == []
    assert [texts_of(row) for row in read(out / f"a.{kind}")] == [{"id": "7", "narrative": MASKED}]
    lines = [line.strip() for line in result.stderr.splitlines()]
    assert "Columns masked: narrative" in lines
    assert "Columns kept (unmasked): id (the id)" in lines
    (dropped,) = [line for line in lines if line.startswith("Columns dropped: ")]
    assert all(name in dropped for name in ("reporter_name", "reporter_email", "dob", "company_comment"))


@pytest.mark.parametrize("kind", FORMATS)
def test_named_columns_are_masked_or_kept(command, given, out, kind):
    write(given / f"a.{kind}")
    columns = ("narrative", "company_comment")
    options = [part for name in columns for part in ("--text-column", name)]
    result = command("mask", given, "--out", out, *options, "--keep-column", "country")
    assert result.status == 0, result.stderr
    expected = {"id": "7", "narrative": MASKED, "company_comment": "told PHI so", "country": "FI"}
    assert [texts_of(row, columns) for row in read(out / f"a.{kind}")] == [expected]
    assert CANARY.encode() not in (out / f"a.{kind}").read_bytes()
    assert "Columns masked: company_comment, narrative" in result.stderr
    assert "Columns kept (unmasked): country, id (the id)" in result.stderr


@pytest.mark.parametrize("kind", FORMATS)
def test_all_columns_are_kept_only_when_asked_for_and_with_a_warning(command, given, out, kind):
    write(given / f"a.{kind}")
    options = ("--text-column", "narrative", "--keep-all-columns", "--quiet")
    refused = command("mask", given, "--out", out, *options)
    assert (refused.status, (out / f"a.{kind}").exists()) == (2, False)
    assert "--keep-unchecked" in refused.stderr
    unchecked = [name for name in ROW if name not in ("id", "narrative", "country")]
    unchecked += ["row"] if kind == "parquet" else []
    options = (*options, *(part for name in unchecked for part in ("--keep-unchecked", name)))
    result = command("mask", given, "--out", out, *options)
    assert result.status == 0, result.stderr
    (row,) = read(out / f"a.{kind}")
    assert {name: texts_of(row)[name] for name in ROW} == {**ROW, "narrative": MASKED}
    (warning,) = result.stderr.splitlines()
    assert warning.startswith("WARNING: columns copied unmasked: ")
    assert all(name in warning for name in ROW if name != "narrative")
    assert CANARY not in result.stderr


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    ("option", "name"),
    [("--text-column", "narativ"), ("--keep-column", "contry"), ("--id-column", "case_id")],
)
def test_a_named_column_that_is_not_there_is_an_error_that_lists_those_that_are(
    command, given, out, kind, option, name
):
    write(given / f"a.{kind}")
    options = ["--text-column", "narrative"] if option != "--text-column" else []
    result = command("mask", given, "--out", out, *options, option, name)
    assert result.status == 2
    assert not list(out.rglob("a.*"))
    assert f"no column named {name!r}. It has: " in result.stderr
    assert "company_comment" in result.stderr
    assert f"Use {option}." in result.stderr
    assert CANARY not in result.stderr


def test_a_first_row_that_is_no_header_is_not_shown(command, given, out):
    (given / "a.csv").write_text(f"7,{NOTE},Ann {CANARY}\n8,well,Bo\n")
    result = command("mask", given, "--out", out)
    assert result.status == 2
    assert "no column named 'text'" in result.stderr
    assert CANARY not in result.stderr


def test_keys_of_json_lines_that_look_like_data_are_not_shown(command, given, out):
    (given / "a.jsonl").write_text(json.dumps({"id": 1, "text": NOTE, f"{CANARY}, 48 y, F": "x"}))
    result = command("mask", given, "--out", out)
    assert result.status == 0, result.stderr
    assert CANARY not in result.stderr + (out / "a.jsonl").read_text()
    assert "dropped: (others)" in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--text-column", "narrative", "--text-column", "narrative"),
        ("--keep-column", "country", "--keep-column", "country"),
        ("--text-column", "narrative", "--keep-column", "narrative"),
        ("--text-column", "narrative", "--text-column", "id", "--id-column", "id"),
        ("--text-column", ""),
    ],
)
def test_columns_that_contradict_each_other_are_refused(command, given, out, options):
    write(given / "a.csv")
    result = command("mask", given, "--out", out, *options)
    assert (result.status, len(result.stderr.splitlines())) == (2, 1)
    assert not out.exists()


def test_standard_input_drops_columns_as_files_do(command, monkeypatch):
    given = f"id,text,dob\n7,{NOTE},1980-05-12\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    result = command("mask", "-", "--format", "csv")
    assert (result.status, result.stdout) == (0, f"id,text\n7,{MASKED}\n")
    assert "dropped: dob" in result.stderr


def test_nothing_of_the_metadata_of_a_parquet_file_travels(command, given, out):
    inner = pa.field("a", pa.string(), metadata={"by": f"{CANARY} inner"})
    schema = pa.schema(
        [
            pa.field("text", pa.string(), metadata={"note": f"{CANARY} field"}),
            pa.field("site", pa.dictionary(pa.int8(), pa.string())),
            pa.field("deep", pa.struct([inner]), metadata={"note": f"{CANARY} deep"}),
        ],
        metadata={"pandas": f'{{"{CANARY}": 1}}', "export": CANARY},
    )
    sites = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), ["north", f"{CANARY} clinic"])
    table = pa.Table.from_arrays(
        [pa.array([NOTE, "well"]), sites, pa.array([{"a": "x"}, None], schema.field("deep").type)],
        schema=schema,
    )
    pq.write_table(table, given / "a.parquet")
    result = command("mask", given, "--out", out, "--keep-all-columns")
    assert result.status == 0, result.stderr
    assert CANARY.encode() not in (out / "a.parquet").read_bytes()
    written = pq.read_table(out / "a.parquet")
    assert written["site"].to_pylist() == ["north", "north"]
    assert written["deep"].to_pylist() == [{"a": "x"}, None]
    assert written.schema.metadata is None


@pytest.mark.parametrize(
    "line", ['{"id": 1, "text": "ok", "text": "X"}', '{"text": "ok", "m": {"a": 1, "a": 2}}']
)
def test_a_line_with_a_key_twice_is_left_out(command, given, out, line):
    (given / "a.jsonl").write_text(f'{line.replace("X", NOTE)}\n{{"id": 2, "text": "fine"}}\n')
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert "a.jsonl line 1: has the same key twice" in result.stderr
    assert [row["id"] for row in read(out / "a.jsonl")] == [2]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_two_columns_of_one_name_are_refused(command, given, out, kind):
    if kind == "csv":
        (given / "a.csv").write_text(f"text,note,note\n{NOTE},x,y\n")
    else:
        table = pa.Table.from_arrays([pa.array([NOTE])] * 3, names=["text", "note", "note"])
        pq.write_table(table, given / "a.parquet")
    result = command("mask", given, "--out", out, "--keep-all-columns")
    assert result.status == 2
    assert "two columns have the same name" in result.stderr


FORMULAS = [
    "=cmd",
    "+x",
    "-x",
    "@x",
    "\tx",
    "\rx",
    "\nx",
    " =x",
    "'=x",
    "\uff1dx",
    "\uff0bx",
    "\uff0dx",
    "\uff20x",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_cells_that_a_spreadsheet_would_run_are_neutralised(command, given, out, formula):
    with (given / "a.csv").open("w", newline="") as stream:
        rows = [["text", "=note", "n"], [formula, formula, "-5"], ["well", "", "+3.2"]]
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows(rows)
    options = ("--keep-column", "=note", "--keep-column", "n")
    result = command("mask", given, "--out", out, *options)
    assert result.status == 0, result.stderr
    with (out / "a.csv").open(newline="") as stream:
        header, row, plain = csv.reader(stream)
    text = f"'{formula}" if formula.isascii() else "\u25a1x"
    assert (header, row) == (["text", "'=note", "n"], [text, f"'{formula}", "-5"])
    assert plain == ["well", "", "+3.2"]


def test_the_run_report_names_what_became_of_every_column(command, given, out, tmp_path):
    write(given / "a.csv")
    report = tmp_path / "report.json"
    options = ("--text-column", "narrative", "--keep-column", "country", "--run-report", report)
    assert command("mask", given, "--out", out, *options).status == 0
    found = json.loads(report.read_text())
    columns = {
        "masked": ["narrative"],
        "id": ["id"],
        "kept": ["country"],
        "kept unchecked": [],
        "dropped": ["company_comment", "dob", "reporter_email", "reporter_name"],
    }
    assert found["total"]["columns"] == found["files"][0]["columns"] == columns
    assert found["settings"]["text_columns"] == ["narrative"]
    assert found["settings"]["keep_columns"] == ["country"]
    assert found["settings"]["keep_all_columns"] is False


@pytest.mark.parametrize("kind", FORMATS)
def test_reveal_gives_all_masked_columns_back(command, given, out, tmp_path, kind):
    rows = [
        {"id": "7", "narrative": f"=1 {NOTE}", "comment": f"'- {CANARY}", "country": "+FI"},
        {"id": "8", "narrative": "well", "comment": f"{CANARY}", "country": "-5"},
    ]
    write(given / f"a.{kind}", rows)
    (tmp_path / "key").write_bytes(b"an invented key of 27 bytes")
    columns = ("--text-column", "narrative", "--text-column", "comment")
    secret = ("--map", tmp_path / "maps", "--key", tmp_path / "key")
    result = command("mask", given, "--out", out, *columns, *secret, "--keep-unchecked", "country")
    assert result.status == 0, result.stderr
    assert CANARY.encode() not in (out / f"a.{kind}").read_bytes()
    secret = ("--map", tmp_path / "maps" / f"a.{kind}.map", "--key", tmp_path / "key")
    result = command("reveal", out / f"a.{kind}", *columns, *secret, "--out", tmp_path / "back")
    assert result.status == 0, result.stderr
    assert [texts_of(row, columns) for row in read(tmp_path / "back" / f"a.{kind}")] == rows


class KnownMasker(FakeMasker):
    """Masks the words of known values alone."""

    def mask_many(self, docs):
        known = {value.value for doc in docs for value in doc.known}
        self._keeps = lambda word: not any(word in value.split() for value in known)
        return [self._mask(doc) for doc in docs]


def test_known_values_count_for_all_texts_of_a_row(command, fake_assemble, given, out, tmp_path):
    fake_assemble[0] = KnownMasker(str.islower)
    (given / "a.csv").write_text("id,text,comment\n7,seen by Okonkwo,Okonkwo again\n")
    (tmp_path / "known.csv").write_text("id,name\n7,Amara Okonkwo\n")
    columns = ("--text-column", "text", "--text-column", "comment")
    options = (*columns, "--known", tmp_path / "known.csv", "--explain")
    result = command("mask", given, "--out", out, *options)
    assert result.status == 0, result.stderr
    assert (out / "a.csv").read_text() == "id,text,comment\n7,seen by PHI,PHI again\n"
    explained = [json.loads(line) for line in (out / "a.csv.explain.jsonl").read_text().splitlines()]
    assert [(line["id"], line["column"]) for line in explained] == [("7", "text"), ("7", "comment")]


def test_the_dates_of_a_row_are_those_of_one_case(command, fake_assemble, given, out):
    fake_assemble[0] = masker_of(spans_by(DATE=r"(\d+ March \d+)"))
    (given / "a.csv").write_text("text,comment\nrash on 3 March 2021,well on 10 March 2021\n")
    columns = ("--text-column", "text", "--text-column", "comment", "--dates", "relative-day")
    assert command("mask", given, "--out", out, *columns).status == 0
    (row,) = read(out / "a.csv")
    assert "Day 0" in row["text"]
    assert "Day +7" in row["comment"]


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_a_text_that_is_not_there_stays_away(command, given, out, kind):
    rows = [{"id": "1", "a": NOTE, "b": None}, {"id": "2", "a": None, "b": NOTE}]
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), given / "a.parquet")
    else:
        write(given / "a.jsonl", rows)
    result = command("mask", given, "--out", out, "--text-column", "a", "--text-column", "b")
    assert result.status == 0, result.stderr
    expected = [{"id": "1", "a": MASKED, "b": None}, {"id": "2", "a": None, "b": MASKED}]
    assert [texts_of(row, ("a", "b")) for row in read(out / f"a.{kind}")] == expected


@pytest.mark.parametrize("columns", [("text",), ("text", "other")], ids=["one text", "two texts"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "parquet", "xlsx"])
def test_a_row_without_text_stays_as_a_row_with_an_empty_text(command, given, out, kind, columns):
    rows = [{"id": "1", "text": None, "other": None}, {"id": "2", "text": NOTE, "other": NOTE}]
    path = given / f"a.{kind}"
    if kind == "csv":
        path.write_text(f"id,text,other\n1,,\n2,{NOTE},{NOTE}\n")
    elif kind == "jsonl":
        write(path, rows)
    elif kind == "json":
        path.write_text(json.dumps(rows))
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        workbook = openpyxl.Workbook()
        for row in (list(rows[0]), *(list(row.values()) for row in rows)):
            workbook.active.append(row)
        workbook.save(path)
    options = [word for column in columns for word in ("--text-column", column)]
    result = command("mask", given, "--out", out, *options)
    assert result.status == 0, result.stderr
    if kind == "json":
        written = json.loads((out / "a.json").read_text())
    elif kind == "xlsx":
        names, *cells = openpyxl.load_workbook(out / "a.xlsx").active.iter_rows(values_only=True)
        written = [dict(zip(names, row, strict=True)) for row in cells]
    else:
        written = read(out / f"a.{kind}")
    assert [row["id"] for row in written] == ["1", "2"]
    assert [[row[column] or "" for column in columns] for row in written] == [
        [""] * len(columns),
        [MASKED] * len(columns),
    ]
