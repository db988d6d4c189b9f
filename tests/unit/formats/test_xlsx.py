"""Excel files: nothing of the file leaves but masked texts, kept values and a layout without text."""

import io
import itertools
import zipfile
from dataclasses import replace
from datetime import date, datetime, time, timedelta

import openpyxl
import pytest
from excel_files import MAIN, SAFE, book, hostile, inline, part, sheet, workbook_of
from fake_maskers import FakeMasker, keep_all, mask_all, mask_capitals
from hypothesis import given
from hypothesis import strategies as st
from libreoffice import OFFICE, convert
from openpyxl.comments import Comment
from refusals import refuses
from word_files import unpacked, zipped

from inverse_deid.core.errors import (
    ConfigurationError,
    FormatError,
    InputError,
    RefusedRecordError,
    StageError,
)
from inverse_deid.engine.masker import mask_records
from inverse_deid.files.survey import survey_file
from inverse_deid.formats.containers.office_package import MAX_PARTS
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.xlsx import FORMAT, sheets
from inverse_deid.formats.xlsx.source import BLOCK_CHARS

CANARY = "Zebulonova"
ALL = ReadOptions(all_cells=True)


def opened(data, options=None):
    return FORMAT.open(io.BytesIO(data), options or ReadOptions(), "cases.xlsx")


def masked(data, options=None, masker=None):
    source = opened(data, options)
    target = io.BytesIO()
    sink = source.sink(target)
    records = list(source.records())
    for record, result in zip(records, mask_records(masker or mask_capitals(), records), strict=True):
        sink.write(record, result)
    sink.finish()
    return target.getvalue()


def saved(workbook):
    target = io.BytesIO()
    workbook.save(target)
    return target.getvalue()


def cells_of(data):
    workbook = openpyxl.load_workbook(io.BytesIO(data))
    return [[list(row) for row in one.iter_rows(values_only=True)] for one in workbook.worksheets]


def numbered():
    numbers = itertools.count()
    return lambda: f"{CANARY}{next(numbers)}"


def text_of(data):
    parts = unpacked(data)
    return "\n".join([*parts, *(one.decode() for one in parts.values())])


KEEPS = ReadOptions(keep_unchecked=("age",))


@pytest.mark.parametrize("options", [ReadOptions(), KEEPS, ALL], ids=["columns", "kept", "all cells"])
def test_no_canary_of_any_place_is_in_the_unpacked_file(options):
    data = masked(zipped(hostile(numbered()), CANARY.encode()), options)
    assert CANARY not in text_of(data)
    assert CANARY.encode() not in data
    shown = str(cells_of(data))
    assert all(word in shown for word in SAFE)


def places():
    count = itertools.count()
    hostile(lambda: f"x{next(count)}")
    return range(next(count))


@pytest.mark.parametrize(
    "place", [pytest.param(n, marks=[pytest.mark.slow] if n % 3 else []) for n in places()]
)
def test_each_place_alone_leaves_nothing(place):
    """A single canary, so that no fault elsewhere hides it; its neighbours are harmless."""
    count = itertools.count()
    parts = hostile(lambda: CANARY if next(count) == place else "calm")
    assert len(parts) == len(hostile(numbered()))
    for options in (ReadOptions(), ALL):
        data = masked(zipped(parts), options, FakeMasker(lambda word: CANARY not in word))
        assert CANARY not in text_of(data)


def test_real_files_of_openpyxl_lose_everything_that_is_not_a_column():
    workbook = openpyxl.Workbook()
    one = workbook.active
    one.title = CANARY
    one.append(["id", "text", "note"])
    one.append([1, f"{CANARY} fell", CANARY])
    one["B2"].comment = Comment(CANARY, CANARY)
    one["B2"].hyperlink = f"https://example.org/{CANARY}"
    one.oddHeader.center.text = CANARY
    allowed = openpyxl.worksheet.datavalidation.DataValidation("list", formula1=f'"{CANARY},b"')
    allowed.add("B2")
    one.add_data_validation(allowed)
    one.add_table(openpyxl.worksheet.table.Table(displayName=CANARY, ref="A1:C2"))
    chart = openpyxl.chart.BarChart()
    chart.title = CANARY
    one.add_chart(chart)
    workbook.defined_names[CANARY] = openpyxl.workbook.defined_name.DefinedName(
        CANARY, attr_text="Sheet!$A$1"
    )
    workbook.properties.creator = workbook.properties.title = CANARY
    workbook.custom_doc_props.append(openpyxl.packaging.custom.StringProperty(name=CANARY, value=CANARY))
    data = masked(saved(workbook))
    assert CANARY not in text_of(data)
    assert cells_of(data) == [[["id", "text"], [1, "PHI fell"]]]
    removed = opened(saved(workbook))
    list(removed.records())
    kinds = set(removed.removed)
    assert {
        "comments",
        "link",
        "page header or footer",
        "list of allowed values",
        "table name",
        "chart",
    } <= kinds
    assert {"name of a range", "properties"} <= kinds
    assert CANARY not in str(removed.removed)


def test_columns_are_masked_kept_and_dropped():
    rows = [
        ["id", "text", "dob", "age"],
        ["c1", "Ann fell", date(1980, 5, 12), 43],
        ["c2", "well", None, None],
    ]
    source = opened(workbook_of(*rows), KEEPS)
    assert source.columns == {"id": "id", "text": "masked", "dob": "dropped", "age": "kept unchecked"}
    assert cells_of(masked(workbook_of(*rows), KEEPS)) == [
        [["id", "text", "age"], ["c1", "PHI fell", 43], ["c2", "well", None]]
    ]


def test_several_text_columns_are_one_case():
    data = workbook_of(["id", "a", "b"], [1, "Ann fell", "Bob saw"], [2, None, "well"])
    options = ReadOptions(text_columns=("b", "a"))
    assert [record.columns for record in opened(data, options).records()] == [("b", "a")] * 2
    assert cells_of(masked(data, options))[0] == [
        ["id", "a", "b"],
        [1, "PHI fell", "PHI saw"],
        [2, None, "well"],
    ]


def test_numbers_and_dates_in_a_text_column_are_masked_as_they_are_shown():
    values = [
        43,
        38.9,
        0.385,
        date(2019, 10, 12),
        datetime(2019, 10, 12, 14, 5),
        time(14, 5),
        timedelta(hours=36),
        True,
        "x",
    ]
    workbook = openpyxl.Workbook()
    for row in [["text"], *([value] for value in values)]:
        workbook.active.append(row)
    workbook.active["A4"].number_format = "0.0%"
    texts = [record.doc.text for record in opened(saved(workbook)).records()]
    assert texts == [
        "43",
        "38.9",
        "38.5%",
        "2019-10-12",
        "2019-10-12 14:05",
        "14:05:00",
        "1 day, 12:00:00",
        "TRUE",
        "x",
    ]
    shown = cells_of(masked(saved(workbook), masker=mask_all()))[0][1:]
    assert not any(set(text) & set("0123456789") for (text,) in shown)


def test_kept_values_keep_their_type_and_look():
    workbook = openpyxl.Workbook()
    one = workbook.active
    one.append(["text", "when", "dose"])
    one.append(["x", datetime(2019, 10, 12), 0.5])
    one["C2"].number_format = "0.00%"
    one["A1"].font = openpyxl.styles.Font(bold=True, name=CANARY)
    one["A2"].alignment = openpyxl.styles.Alignment(wrap_text=True)
    one.column_dimensions["A"].width = 60
    one.row_dimensions[2].height = 45
    data = masked(saved(workbook), ReadOptions(keep_unchecked=("when", "dose")))
    new = openpyxl.load_workbook(io.BytesIO(data)).active
    assert (new["B2"].value, new["B2"].is_date, new["C2"].value) == (datetime(2019, 10, 12), True, 0.5)
    assert (new["C2"].number_format, new["A1"].font.b, new["A2"].alignment.wrap_text) == ("0.00%", True, True)
    assert (new.column_dimensions["A"].width, new.row_dimensions[2].height) == (60, 45)
    assert new.title == "Sheet1"


@pytest.mark.parametrize(
    "code", [f'"{CANARY}" 0', f"[$-{CANARY}]0", f"[{CANARY}]0", f"0\\{CANARY}", "yyyy" * 30, "mmdd@h;\\Z\\e"]
)
def test_a_number_format_with_text_is_not_written(code):
    workbook = openpyxl.Workbook()
    workbook.active.append(["text", "n"])
    workbook.active.append(["x", 5])
    workbook.active["B2"].number_format = code
    shown = text_of(masked(saved(workbook), ReadOptions(keep_unchecked=("n",))))
    assert CANARY not in shown
    assert code not in shown


def test_a_formula_is_never_written_but_its_result_counts_as_a_value():
    cell = f'<c r="A2" t="str"><f>"{CANARY}"&amp;A1</f><v>Ann fell</v></c><c r="B2"><f>40+3</f><v>43</v></c>'
    data = zipped(book(sheet(inline("A1", "text") + inline("B1", "age"), cell)))
    written = masked(data, KEEPS)
    assert cells_of(written) == [[["text", "age"], ["PHI fell", 43]]]
    assert b"<f" not in unpacked(written)["xl/worksheets/sheet1.xml"]


NO_RESULT = "formula without a stored result (its cell is empty)"
RESULT = "formula (its result counts as a value)"
FORMULAS = {
    '<c r="A2"><f>B1</f><v></v></c>': ("", NO_RESULT),
    '<c r="A2"><f>B1</f><v/></c>': ("", NO_RESULT),
    '<c r="A2"><f>B1</f></c>': ("", NO_RESULT),
    '<c r="A2" t="str"><f>B1</f></c>': ("", NO_RESULT),
    '<c r="A2"><f t="shared" si="0"/></c>': ("", NO_RESULT),
    '<c r="A2"><f t="array" ref="A2:A9">B1</f><v></v></c>': ("", NO_RESULT),
    '<c r="A2" t="str"><f>B1</f><v></v></c>': ("", RESULT),
    '<c r="A2" t="str"><v>well</v><f>B1</f></c>': ("well", RESULT),
    '<c r="A2" t="e"><f>1/0</f><v>#DIV/0!</v></c>': ("#DIV/0!", RESULT),
    '<c r="A2"><f>B1</f><v>0</v></c>': ("0", RESULT),
}


@pytest.mark.parametrize("options", [ReadOptions(), ALL], ids=["columns", "all cells"])
@pytest.mark.parametrize(("cell", "expected"), FORMULAS.items(), ids=FORMULAS)
def test_a_formula_without_a_stored_result_is_counted_apart(cell, expected, options):
    text, kind = expected
    row = cell + inline("B2", "c1")
    source = opened(zipped(book(sheet(inline("A1", "text") + inline("B1", "id"), row))), options)
    texts = [record.doc.text for record in source.records()]
    assert options is ALL or texts == [text]
    assert {kind: n for kind, n in source.removed.items() if kind.startswith("formula")} == {kind: 1}


HIDDEN = {
    "value alone": (' t="inlineStr"><v>lost</v>', ""),
    "text alone": (' t="str"><is><t>lost</t></is>', ""),
    "value beside text": (' t="inlineStr"><v>lost</v><is><t>seen</t></is>', "seen"),
    "text beside value": (' t="str"><v>seen</v><is><t>lost</t></is>', "seen"),
}


@pytest.mark.parametrize(("cell", "shown"), HIDDEN.values(), ids=HIDDEN)
def test_a_value_that_the_type_of_its_cell_hides_is_counted(cell, shown):
    row = f'<c r="A2"{cell}</c>{inline("B2", "c1")}'
    source = opened(zipped(book(sheet(inline("A1", "text") + inline("B1", "id"), row))))
    assert [record.doc.text for record in source.records()] == [shown]
    assert source.removed["value of another type than its cell says"] == 1


def test_reading_aids_are_counted():
    aid = '<rPh sb="0" eb="1"><t>lost</t></rPh>'
    row = f'<c r="A2" t="inlineStr"><is><t>seen</t>{aid}</is></c>{inline("B2", "c1")}'
    source = opened(zipped(book(sheet(inline("A1", "text") + inline("B1", "id"), row))))
    assert [record.doc.text for record in source.records()] == ["seen"]
    assert source.removed["reading aid"] == 1


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@x", "=cmd|' /C calc'!A0", "#N/A", "\tx", "1e5", "TRUE"]
)
def test_a_text_stays_a_text_whatever_it_begins_with(text):
    data = zipped(book(sheet(inline("A1", "text"), inline("A2", text))))
    new = openpyxl.load_workbook(io.BytesIO(masked(data, masker=keep_all()))).active
    raw = unpacked(masked(data, masker=keep_all()))["xl/worksheets/sheet1.xml"]
    assert new["A2"].value == text
    assert b't="inlineStr"' in raw
    assert b"<v>" not in raw


TEXTS = ["a\rb", "a\r\nb", "_x000D_", "_x005F_", "  x  ", "a\tb\nc", "<&>\"'", "x\x07y", "𝔘 ☺", "_x0041_"]


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_is_read_as_it_was_written(text):
    from xml.sax.saxutils import escape as for_xml

    from inverse_deid.formats.xlsx.cells import escape

    raw = f'<c r="A2" t="inlineStr"><is><t xml:space="preserve">{for_xml(escape(text))}</t></is></c>'
    data = zipped(book(sheet(inline("A1", "text"), raw)))
    assert next(iter(opened(data).records())).doc.text == text
    written = masked(
        zipped(
            book(
                sheet(
                    inline("A1", "text") + inline("B1", "n"),
                    "<c r='A2'><v>1</v></c>" + raw.replace("A2", "B2"),
                )
            )
        ),
        ReadOptions(keep_unchecked=("n",)),
    )
    again = [
        cell for row in sheets.open_workbook(opened(written).workbook.package).rows(0) for cell in row.cells
    ]
    assert again[-1].text == text


def test_the_header_may_follow_other_rows_and_those_are_dropped():
    data = workbook_of([CANARY], [], ["id", "text"], [1, "well"])
    source = opened(data)
    assert [(record.number, record.place) for record in source.records()] == [(4, "row 4")]
    assert source.removed["row above the header"] == 1
    assert cells_of(masked(data))[0][2:] == [["id", "text"], [1, "well"]]


def test_sheets_without_the_column_are_dropped_and_listed():
    data = workbook_of(
        ["id", "text"], [1, "well"], other=[["a"], [CANARY]], more=[["text", "id"], ["Ann fell", 5]]
    )
    source = opened(data)
    records = list(source.records())
    assert [(record.doc.id, record.place) for record in records] == [("1", "row 2"), ("5", "sheet 3 row 2")]
    assert len({record.number for record in records}) == len(records)
    assert source.removed["sheet without the text column"] == 1
    assert cells_of(masked(data)) == [[["id", "text"], [1, "well"]], [["text", "id"], ["PHI fell", 5]]]


def test_a_sheet_without_the_id_column_is_named_and_its_rows_are_numbered():
    options = ReadOptions(text_columns=("note",), id_column="case id", keep_unchecked=("age",))
    rows = [["case id", "note", "age"], ["c7", "Ann fell", 43]]
    data = workbook_of(*rows, other=[["id", "note"], [CANARY, "Bob fell"]], third=[["x"]], fourth=rows)
    source = opened(data, options)
    found = [(record.doc.id, record.is_numbered) for record in source.records()]
    assert found == [("c7", False), ("2:2", True), ("c7", False)]
    assert source.warnings == {"sheet 2": "has no column 'case id'. The numbers of its rows are the ids"}
    assert cells_of(masked(data, options)) == [
        [["case id", "note", "age"], ["c7", "PHI fell", 43]],
        [["note"], ["PHI fell"]],
        [["case id", "note", "age"], ["c7", "PHI fell", 43]],
    ]
    with refuses(FormatError, match=r"no column named 'case no'.*--id-column"):
        opened(data, replace(options, id_column="case no"))


def test_no_sheet_is_named_if_no_id_column_was():
    data = workbook_of(["id", "text"], [1, "well"], other=[["text"], ["well"]])
    assert opened(data).warnings == {}


@pytest.mark.parametrize("name", [" note", "note ", "no\nte", "\u200bnote"])
def test_a_column_is_found_if_its_name_only_looks_the_same(name):
    wanted = "no te" if "\n" in name else "note"
    data = workbook_of(["id", name, "sex "], [1, "Ann fell", "f"])
    written = masked(data, ReadOptions(text_columns=(wanted,), keep_unchecked=(" sex",)))
    assert cells_of(written) == [[["id", name.strip(), "sex"], [1, "PHI fell", "f"]]]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (["Case", "Remark", "text", "Remark"], r"the same name 'Remark' \(columns B and D\). Rename one"),
        (["text", "a", " a ", "b", "a"], r"several columns have the same name 'a' \(columns B, C and E\)"),
    ],
)
def test_a_column_that_is_there_twice_is_named_before_anything_is_masked(header, message):
    with pytest.raises(FormatError, match=message):
        opened(workbook_of(header, ["x"] * len(header)))


def test_a_missing_column_names_those_there_are():
    with refuses(
        FormatError, match=r"no column named 'text'. It has: id, narrative, country. Use --text-column."
    ):
        opened(workbook_of(["id", "narrative", "country"], [1, "x", "y"]))
    with refuses(FormatError, match="--keep-unchecked"):
        opened(workbook_of(["id", "text"], [1, "x"]), KEEPS)
    with pytest.raises(FormatError, match="two columns have the same name"):
        opened(workbook_of(["text", "text"], [1, "x"]))
    with pytest.raises(FormatError, match="no values"):
        opened(workbook_of())
    with pytest.raises(FormatError) as caught:
        opened(workbook_of([CANARY, "1980-05-12"], ["x", "y"]))
    assert CANARY not in str(caught.value)


def test_all_cells_mask_every_text_and_date_and_hide_numbers():
    data = workbook_of(["Name", "Ann Lee"], ["dose", 5, "mg daily", date(2019, 10, 12)], third=[["Bob fell"]])
    assert [record.doc.text for record in opened(data, ALL).records()] == [
        "Name\tAnn Lee\ndose\tmg daily\t2019-10-12",
        "Bob fell",
    ]
    assert cells_of(masked(data, ALL)) == [
        [["PHI", "PHI", None, None], ["dose", "□", "mg daily", "PHI"]],
        [["PHI fell"]],
    ]
    assert cells_of(masked(data, ALL, mask_all()))[0][1] == ["PHI", "□", "PHI", "PHI"]


def test_a_column_can_be_kept_of_all_cells_if_the_first_row_names_it():
    data = workbook_of([], ["age", "who"], [43, "Ann"], other=[["Ann", 7], ["age", 8], ["Bob", 9]])
    shown = cells_of(masked(data, ReadOptions(all_cells=True, keep_unchecked=("age",))))
    assert shown[0][1:] == [["age", "who"], [43, "PHI"]]
    assert shown[1] == [["PHI", "□"], ["age", "□"], ["PHI", "□"]]
    with pytest.raises(FormatError, match="no column named 'weight'"):
        opened(data, ReadOptions(all_cells=True, keep_unchecked=("weight",)))


def test_dates_that_count_from_1904_stay_the_same_days():
    workbook = openpyxl.Workbook()
    workbook.epoch = openpyxl.utils.datetime.MAC_EPOCH
    for row in (["text", "when"], [date(2019, 10, 12), datetime(2020, 1, 2)]):
        workbook.active.append(row)
    source = opened(saved(workbook), ReadOptions(keep_unchecked=("when",)))
    assert [record.doc.text for record in source.records()] == ["2019-10-12"]
    assert cells_of(masked(saved(workbook), ReadOptions(keep_unchecked=("when",))))[0][1][1] == datetime(
        2020, 1, 2
    )


@pytest.mark.parametrize("more", [{"text_columns": ("a",)}, {"id_column": "a"}, {"keep_all_columns": True}])
def test_all_cells_and_columns_contradict_each_other(more):
    with refuses(ConfigurationError, match="--all-cells"):
        ReadOptions(all_cells=True, **more)


def test_a_long_sheet_is_several_documents_of_one_case():
    row = ["word " * 1000]
    data = workbook_of(*[row] * 45)
    records = list(opened(data, ALL).records())
    assert len(records) == 3
    assert {record.case_id for record in records} == {"cases.xlsx"}
    assert len({record.doc.id for record in records}) == 3
    assert all(len(record.doc.text) < 2 * BLOCK_CHARS for record in records)
    assert cells_of(masked(data, ALL)) == [[row] * 45]


def test_a_mask_across_cells_goes_into_the_first():
    record = next(iter(opened(workbook_of(["ab", "cd", "ef"]), ALL).records()))
    (one,) = mask_records(keep_all(), [record])[0]
    across = replace(one, text="aX\tef", masks=((1, 5),), replaced=((1, 2),))
    rows = record.carried[0].fill(record, [across])
    assert [cell.text for cell in rows[0].cells] == ["aX", "", "ef"]
    with pytest.raises(StageError):
        record.carried[0].fill(record, [replace(one, text="zz")])


def test_a_text_too_long_for_a_cell_is_refused_whole():
    source = opened(workbook_of(["text"], ["x " * 10], ["y"]))
    sink = source.sink(io.BytesIO())
    record = next(iter(source.records()))
    (one,) = mask_records(keep_all(), [record])[0]
    with pytest.raises(RefusedRecordError, match="32,767"):
        sink.write(record, [replace(one, text="x" * 40_000)])


def test_a_resumed_run_begins_again_and_the_bytes_are_the_same():
    data = zipped(hostile(numbered()))
    assert not opened(data).resumable
    assert masked(data) == masked(data)


def test_hidden_sheets_rows_and_columns_are_said():
    source = opened(zipped(hostile(numbered())))
    list(source.records())
    assert source.removed["hidden sheet, shown now"] == 2
    assert source.removed["hidden row, shown now"] == 1
    assert source.removed["hidden columns, shown now"] == 1
    assert "formula (its result counts as a value)" in source.removed
    assert "macro" in source.removed


DOCTYPE = f'<!DOCTYPE x [<!ENTITY e "{CANARY}">]>'


def with_part(name, data):
    return zipped({**book(sheet(inline("A1", "text"), inline("A2", CANARY))), name: data})


def many_cells(n):
    return sheet(inline("A1", "text"), "".join(f'<c r="A2"><v>{i}</v></c>' for i in range(n)))


STRICT = part("workbook", "<sheets/>").replace(
    MAIN.encode(), b"http://purl.oclc.org/ooxml/spreadsheetml/main"
)
HARMFUL = {
    "no zip": b"PK" + CANARY.encode(),
    "old": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + CANARY.encode(),
    "cut": workbook_of(["text"], [CANARY])[:-40],
    "no workbook": with_part("xl/workbook.xml", b"<x/>"),
    "strict": with_part("xl/workbook.xml", STRICT),
    "no sheets": with_part("xl/workbook.xml", part("workbook", "<sheets/>")),
    "entities in a sheet": with_part(
        "xl/worksheets/sheet1.xml", DOCTYPE.encode() + sheet("<c t='str'><v>&e;</v></c>").split(b"?>", 1)[1]
    ),
    "entities in texts": with_part("xl/sharedStrings.xml", DOCTYPE.encode() + b"<sst/>"),
    "entities in styles": with_part("xl/styles.xml", DOCTYPE.encode() + b"<styleSheet/>"),
    "broken sheet": with_part("xl/worksheets/sheet1.xml", sheet(inline("A1", "text"))[:-20]),
    "same cell twice": with_part("xl/worksheets/sheet1.xml", many_cells(2)),
    "same row twice": with_part(
        "xl/worksheets/sheet1.xml",
        part("worksheet", f'<sheetData><row r="1">{inline("A1", "text")}</row><row r="1"/></sheetData>'),
    ),
    "a column beyond": with_part("xl/worksheets/sheet1.xml", sheet(inline("ZZZ1", "text"))),
    "a row beyond": with_part(
        "xl/worksheets/sheet1.xml", part("worksheet", '<sheetData><row r="9999999"/></sheetData>')
    ),
    "no such text": with_part("xl/worksheets/sheet1.xml", sheet('<c r="A1" t="s"><v>9</v></c>')),
    "negative text": with_part("xl/worksheets/sheet1.xml", sheet('<c r="A1" t="s"><v>-1</v></c>')),
    "deep": with_part("xl/worksheets/sheet1.xml", part("worksheet", "<a>" * 5000)),
    "bomb": with_part(
        "xl/worksheets/sheet1.xml", sheet(inline("A1", "text"), inline("A2", "a" * 30_000_000))
    ),
    "many parts": zipped({**book(sheet(inline("A1", "text"))), **{f"p{n}": b"" for n in range(MAX_PARTS)}}),
    "leaves its folder": with_part("../x.xml", b"<x/>"),
    "long cell": with_part(
        "xl/worksheets/sheet1.xml",
        sheet(inline("A1", "text"), inline("A2", "".join(f"{n} " for n in range(300_000)))),
    ),
}


@pytest.mark.parametrize("data", HARMFUL.values(), ids=HARMFUL)
def test_a_harmful_or_damaged_file_is_refused_with_a_remedy(data):
    with pytest.raises(InputError) as caught:
        list(opened(data).records())
    message = str(caught.value)
    assert "." in message
    assert CANARY not in message
    assert caught.value.__context__ is None


def test_a_file_with_a_password_is_refused():
    data = bytearray(workbook_of(["text"], ["x"]))
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        offset = archive.infolist()[0].header_offset
    data[offset + 6] |= 1
    position = bytes(data).rfind(b"PK\x01\x02", 0, bytes(data).find(b"PK\x01\x02") + 4)
    data[position + 8] |= 1
    with pytest.raises(FormatError, match="password"):
        opened(bytes(data))


@given(st.data())
def test_a_file_with_changed_bytes_never_raises_anything_else(data):
    parts = hostile(numbered())
    name = data.draw(
        st.sampled_from(
            [
                "xl/workbook.xml",
                "xl/worksheets/sheet1.xml",
                "xl/sharedStrings.xml",
                "xl/styles.xml",
                "xl/_rels/workbook.xml.rels",
            ]
        )
    )
    whole = bytearray(parts[name])
    for _ in range(data.draw(st.integers(1, 5))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.sampled_from(b'<>/"= 0a9&-'))
    try:
        written = masked(
            zipped({**parts, name: bytes(whole)}),
            data.draw(st.sampled_from([ReadOptions(without_id=True), ALL])),
        )
    except InputError as error:
        assert CANARY not in str(error).partition("It has:")[0]  # names of columns may be shown
    else:
        assert CANARY not in text_of(written)


def test_the_survey_finds_the_columns_of_all_sheets():
    story = "The patient had a rash two hours after the first dose and was given an antihistamine."
    data = workbook_of(
        ["Cases of 2021"],
        ["id", "text", "when"],
        [7, story, date(2019, 10, 12)],
        more=[["text", "note"], [story, "a"]],
    )
    found = survey_file("a.xlsx", data).columns
    assert [(one.name, one.is_narrative) for one in found] == [
        ("id", False),
        ("text", True),
        ("when", False),
        ("note", False),
    ]
    assert found[2].values == ("2019-10-12",)


@pytest.mark.slow
@pytest.mark.skipif(OFFICE is None, reason="LibreOffice is not installed")
@pytest.mark.parametrize("options", [KEEPS, ALL], ids=["columns", "all cells"])
def test_libreoffice_opens_the_new_file(tmp_path, options):
    (tmp_path / "new.xlsx").write_bytes(masked(zipped(hostile(numbered())), options))
    (written,) = convert([tmp_path / "new.xlsx"], "csv", tmp_path / "opened")
    shown = written.read_text()
    assert all(word in shown for word in ("plain", "shared", "rich", "inline", "computed"))
    assert CANARY not in shown


def test_a_second_header_in_another_order_is_refused_so_that_no_text_is_kept():
    data = workbook_of(["text", "sex"], ["well", "f"], ["sex", "text"], ["m", f"{CANARY} fell"])
    with pytest.raises(FormatError, match="second header"):
        masked(data, ReadOptions(keep_unchecked=("sex",)))


def test_an_empty_cell_without_an_address_keeps_a_narrative_out_of_the_columns_that_are_kept():
    def row(*texts):
        cells = (f'<c t="inlineStr"><is><t>{text}</t></is></c>' if text else "<c/>" for text in texts)
        return f"<row>{''.join(cells)}</row>"

    rows = row("id", "sex", "drug", "text") + row("7", "", "warfarin", f"{CANARY} fell")
    data = zipped(book(part("worksheet", f"<sheetData>{rows}</sheetData>")))
    written = masked(data, ReadOptions(keep_unchecked=("sex", "drug")))
    assert cells_of(written) == [[["id", "sex", "drug", "text"], ["7", None, "warfarin", "PHI fell"]]]


MERGED = {  # in a table with the columns text, by, sex, drug and x, of which sex and drug are kept
    "over the kept columns alone": ("C2:D2", False),
    "over rows alone": ("C2:C9", False),
    "beside the kept columns": ("A2:B2", False),
    "over rows above": ("A1:E1", False),
    "from a masked column": ("A2:D2", True),
    "from a dropped column": ("B2:C2", True),
    "in the other direction": ("E2:C2", True),
    "with fixed places": (" $c$2:$E$9 ", True),
    "in a row without a value": ("C3:E3", False),
    "to a dropped column": ("C2:E2", True),
    "to a column without a heading": ("D2:F2", True),
    "over rows and columns": ("D2:E4", True),
    "not a range": (CANARY, False),
    "one cell": ("C2", False),
}


@pytest.mark.parametrize(("merged_cells", "is_left_out"), MERGED.values(), ids=MERGED)
def test_a_kept_cell_that_covers_other_columns_is_left_out_with_its_row(merged_cells, is_left_out):
    header = "".join(
        inline(f"{place}1", name)
        for place, name in zip("ABCDE", ["text", "by", "sex", "drug", "x"], strict=True)
    )
    row = "".join(inline(f"{place}2", f"of {place}") for place in "ABCDE")
    after = f'<mergeCells><mergeCell ref="{merged_cells}"/></mergeCells>'
    source = opened(zipped(book(sheet(header, row, after=after))), ReadOptions(keep_columns=("sex", "drug")))
    (record,) = source.records()
    assert bool(record.problem) is is_left_out
    assert record.place == "row 2"
    assert "of C" not in record.problem


def test_a_kept_cell_that_covers_other_columns_is_masked_if_all_cells_are():
    header, row = (
        inline("A1", "who") + inline("B1", "sex") + inline("C1", "by"),
        inline("B2", f"told by {CANARY}"),
    )
    after = (
        '<mergeCells><mergeCell ref="B1:C1"/><mergeCell ref="B2:C2"/><mergeCell ref="B3:D3"/></mergeCells>'
    )
    rows = (header, row, row.replace("B2", "B3"))
    written = masked(
        zipped(book(sheet(*rows, after=after))), ReadOptions(all_cells=True, keep_unchecked=("sex",))
    )
    assert [line[1] for line in cells_of(written)[0]] == ["sex", f"told by {CANARY}", "told by PHI"]


def test_very_many_merged_cells_over_each_other_are_refused():
    rows = inline("A1", "text") + inline("B1", "sex"), inline("A2", "well")
    after = "<mergeCells>" + 1001 * '<mergeCell ref="A1:B9999"/>' + "</mergeCells>"
    with pytest.raises(FormatError, match="merged cells in a row"):
        masked(zipped(book(sheet(*rows, after=after))), ReadOptions(keep_columns=("sex",)))


def test_a_cell_that_is_merged_as_its_heading_is_belongs_to_its_column():
    header = inline("A1", "text") + inline("B1", "sex") + inline("D1", "by")
    row = inline("A2", "well") + inline("B2", "f") + inline("D2", CANARY)
    merges = '<mergeCells><mergeCell ref="B1:C1"/><mergeCell ref="B2:C2"/></mergeCells>'
    data = zipped(book(sheet(header, row, after=merges)))
    assert cells_of(masked(data, ReadOptions(keep_unchecked=("sex",)))) == [[["text", "sex"], ["well", "f"]]]


def test_cells_in_columns_without_a_name_are_counted():
    source = opened(workbook_of(["id", "text"], [1, "well", "lost"]))
    assert [record.doc.text for record in source.records()] == ["well"]
    assert source.removed["cell in a column without a name"] == 1


def test_a_shared_text_in_very_many_cells_is_refused(monkeypatch):
    monkeypatch.setattr(sheets, "MAX_CHARS", 50_000)
    cells = ['<c r="A1" t="s"><v>0</v></c>'.replace("A1", f"A{n}") for n in range(1, 9)]
    data = zipped(book(sheet(*cells), sharedStrings=part("sst", f"<si><t>{'x' * 10_000}</t></si>")))
    with pytest.raises(FormatError, match="MiB of text"):
        masked(data, ALL)
