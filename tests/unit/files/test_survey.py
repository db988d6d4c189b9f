"""What is found in a file: its columns, their first values, its documents and what would be left out."""

import io
import json
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fake_maskers import CANARY, mask_capitals

from inverse_deid.core.errors import InputError
from inverse_deid.files.survey import MAX_VALUE_CHARS, MAX_VALUES, survey_file
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import FORMATS

LONG = "The patient had a rash two hours after the first dose and was given an antihistamine with relief."
ROWS = [{"case": f"C{n}", "country": "Norway", "what": f"{LONG} {n}", "comment": "ok"} for n in range(9)]


def as_csv(rows):
    return "\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]).encode()


def as_jsonl(rows):
    return "\n".join(map(json.dumps, rows)).encode()


def as_parquet(rows):
    target = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), target)
    return target.getvalue()


def as_json(rows):
    return json.dumps(rows).encode()


def as_xlsx(rows):
    openpyxl = pytest.importorskip("openpyxl", reason="no openpyxl; pip install '.[office]'")
    workbook = openpyxl.Workbook()
    for n, part in enumerate((rows[: len(rows) // 2], rows[len(rows) // 2 :])):
        sheet = workbook.create_sheet(f"s{n}")
        for line in (list(rows[0]), *(list(row.values()) for row in part)):
            sheet.append(line)
    target = io.BytesIO()
    workbook.save(target)
    return target.getvalue()


TABLES = [("csv", as_csv), ("jsonl", as_jsonl), ("parquet", as_parquet)]


def survey(kind, data):
    return survey_file(f"cases.{kind}", data)


@pytest.mark.parametrize(("kind", "write"), TABLES)
def test_columns_values_and_narratives_are_found(kind, write):
    found = survey(kind, write(ROWS)).columns
    assert [column.name for column in found] == ["case", "country", "what", "comment"]
    assert [column.is_narrative for column in found] == [False, False, True, False]
    assert [column.is_unique for column in found] == [True, False, True, False]
    assert found[0].values == tuple(f"C{n}" for n in range(MAX_VALUES))


@pytest.mark.parametrize(("kind", "write"), TABLES)
def test_long_values_are_cut_and_all_rows_are_counted(kind, write):
    rows = [{"id": str(n), "text": "word\n" * 900 if kind != "csv" else "word " * 900} for n in range(999)]
    found = survey(kind, write(rows))
    text = found.columns[1]
    assert found.facts.n_documents == len(rows)
    assert {len(value) for value in text.values} == {MAX_VALUE_CHARS}
    assert "\n" not in "".join(text.values)


@pytest.mark.parametrize(("kind", "write"), [*TABLES, ("json", as_json), ("xlsx", as_xlsx)])
def test_all_rows_are_there_for_who_counts_them(kind, write):
    rows = [{"id": str(n), "text": f"word {n}"} for n in range(333)]
    head = FORMATS[kind].look(io.BytesIO(write(rows)), ReadOptions(), f"a.{kind}")
    assert sorted(row["text"] for row in head.rows) == sorted(row["text"] for row in rows)


def test_json_lines_have_the_fields_of_all_their_first_lines():
    lines = b'{"a": 1}\nno JSON\n{"b": {"c": [null]}, "a": null}\n'
    found = survey("jsonl", lines).columns
    assert [(column.name, column.values) for column in found] == [("a", ("1",)), ("b", ('{"c": [null]}',))]


def test_a_short_column_is_no_narrative_whatever_its_name():
    found = survey("csv", b"narrative,text\nyes,The patient had a rash.\n").columns
    assert [column.is_narrative for column in found] == [False, True]


def test_a_text_has_no_columns_and_one_document():
    found = survey("txt", b"Pt well.")
    assert (found.format, found.columns, found.facts.n_documents) == ("text", (), 1)


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("a.csv", b"id,text\n", "has no rows below its header"),
        ("a.jsonl", b"", "is empty. Give a file with text"),
        ("a.csv", b"", "is empty. Give a file with text"),
        ("a.csv", b"\xef\xbb\xbf\n \n", "is empty. Give a file with text"),
        ("a.csv", b"\nid,text\n7,well\n", "has no header"),
        ("a.gz", b"", "file type that is not known"),
        ("a.csv.gz", b"id,text\n7,well\n", "not a complete gzip file"),
    ],
)
def test_a_file_without_documents_is_refused(name, data, problem):
    with pytest.raises(InputError, match=problem):
        survey_file(name, data)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl"])
@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_table_in_an_archive_is_named_as_empty(name, data):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("note.txt", "Pt well.")
        archive.writestr(name, data)
    found = survey_file("cases.zip", packed.getvalue())
    assert found.columns == ()
    assert [(one.where, one.reason) for one in found.facts.failures] == [
        (f"cases.zip file 2 ({name})", "is empty. Give a file with text")
    ]


def test_records_that_would_be_left_out_are_facts():
    found = survey("jsonl", b'{"text": "The patient had a rash."}\n["no object"]\n').facts
    assert [one.where for one in found.failures] == ["cases.jsonl line 2"]
    assert found.n_failures == 1


def test_no_repr_shows_a_value():
    assert CANARY not in repr(survey("csv", f"text\n{CANARY}\n".encode()))


@pytest.mark.parametrize(("kind", "write"), TABLES)
def test_a_column_named_id_leaves_only_if_it_was_chosen(kind, write):
    data = write([{"id": CANARY, "text": "well"}])
    written = {}
    for without_id in (True, False):
        source = FORMATS[kind].open(io.BytesIO(data), ReadOptions(without_id=without_id), "cases")
        target = io.BytesIO()
        sink = source.sink(target)
        for record in source.records():
            sink.write(record, mask_capitals().mask_many(record.docs))
        sink.finish()
        written[without_id] = CANARY.encode() in target.getvalue()
    assert written == {True: False, False: True}


@pytest.mark.parametrize("header", ["id,text,country,country", "id,text,text,country"])
def test_a_doubled_column_is_named_before_anything_is_chosen(header):
    doubled = "country' (columns 3 and 4" if header.endswith("country,country") else "text' (columns 2 and 3"
    with pytest.raises(InputError, match="two columns") as raised:
        survey_file("a.csv", f"{header}\n7,seen by {CANARY},{CANARY},no\n".encode())
    assert doubled in str(raised.value)
    assert CANARY not in str(raised.value)
