"""Cells of a sheet are where openpyxl reads them, or the sheet is refused: no text slides into a kept column."""

import io
import random

import openpyxl
import pytest
from excel_files import book, part
from word_files import zipped

from inverse_deid.core.errors import FormatError
from inverse_deid.formats.containers.office_package import open_package
from inverse_deid.formats.xlsx.package import EXCEL
from inverse_deid.formats.xlsx.sheets import open_workbook

N_ORDERLY, N_WILD = 80, 250
LETTERS = "ABCDEFGHIJ"
SHARED = part(
    "sst",
    "<si><t>shared</t></si><si><r><t>rich </t></r><r><t>text</t></r><rPh sb='0' eb='1'><t>reading</t></rPh></si>",
)


PACKAGE = "http://schemas.openxmlformats.org/package/2006/content-types"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
PARTS = {"workbook": "sheet.main", "worksheets/sheet1": "worksheet", "sharedStrings": "sharedStrings"}
TYPES = "".join(
    f'<Override PartName="/xl/{name}.xml" ContentType="{KIND}.{kind}+xml"/>' for name, kind in PARTS.items()
)


def workbook_of(rows, after="", shared=SHARED):
    """Return a workbook of one sheet that openpyxl reads as well."""
    parts = book(part("worksheet", f"<sheetData>{rows}</sheetData>{after}"), sharedStrings=shared)
    return zipped({**parts, "[Content_Types].xml": f'<Types xmlns="{PACKAGE}">{TYPES}</Types>'.encode()})


def ours(data):
    """Return the text of each cell with a value, by row and column from 1."""
    workbook = open_workbook(open_package(data, EXCEL))
    return {(row.number, cell.column + 1): cell.text for row in workbook.rows(0) for cell in row.cells}


def theirs(data):
    sheet = openpyxl.load_workbook(io.BytesIO(data), data_only=True).worksheets[0]
    cells = sheet._cells.values()  # iter_rows makes cells for all places up to the last
    return {(cell.row, cell.column): str(cell.value) for cell in cells if cell.value is not None}


def value(chosen, n):
    """Return the attributes and the content of a cell, and whether it has a value."""
    return chosen.choice(
        [
            (' t="inlineStr"', f"<is><t>inline {n}</t></is>"),
            (' t="inlineStr"', f"<is><r><t>in</t></r><r><t>line {n}</t></r></is>"),
            (' t="str"', f"<v>result {n}</v>"),
            (' t="str"', f"<f>A1</f><v>result {n}</v>"),
            (' t="s"', "<v>0</v>"),
            (' t="s"', "<v>1</v>"),
            ("", f"<v>{n}</v>"),
            (' t="n"', "<f>1+1</f><v></v>"),
            ("", "<f>1+1</f>"),
            ("", ""),
            (' s="0"', ""),
            (' t="s"', ""),
        ]
    )


def cell(chosen, n, address=""):
    kind, content = value(chosen, n)
    place = f' r="{address}"' if address else ""
    return f"<c{place}{kind}>{content}</c>" if content else f"<c{place}{kind}/>"


def orderly(chosen):
    """Return the rows of a sheet whose places are certain, though cells, rows and addresses are missing."""
    rows, number = [], 0
    for _ in range(chosen.randint(1, 6)):
        gap = chosen.choice([0, 0, 1, 3])
        number += 1 + gap
        has_number = gap > 0 or chosen.random() < 0.5
        cells, column = [], -1
        for _ in range(chosen.randint(0, 5)):
            step = chosen.choice([0, 0, 1, 2])
            column += 1 + step
            if column >= len(LETTERS):
                break
            address = f"{LETTERS[column]}{number}"
            address = chosen.choice([address, address, address.lower()])
            cells.append(
                cell(chosen, 100 * number + column, address if step or chosen.random() < 0.5 else "")
            )
        attributes = f' r="{number}"' if has_number else ""
        rows.append(f"<row{attributes} spans='1:3'>{''.join(cells)}</row>")
    return "".join(rows)


def wild(chosen):
    """Return rows with any numbers and cells with any addresses."""
    rows = []
    for n_row in range(1, chosen.randint(2, 6)):
        number = chosen.choice(["", "", n_row, n_row, 1, 3, 2, 0, "x", "2.0", " 2", 1048576, 1048577, "02"])
        cells = []
        for n in range(chosen.randint(0, 5)):
            row = chosen.choice([n_row, n_row, n_row, number or n_row, 1, 9])
            column = chosen.choice([LETTERS[n], LETTERS[n], LETTERS[chosen.randrange(10)], "XFD", "XFE", "a"])
            cells.append(cell(chosen, 100 * n_row + n, chosen.choice(["", "", f"{column}{row}"])))
        attributes = f' r="{number}"' if number != "" else ""
        rows.append(f"<row{attributes}>{''.join(cells)}</row>")
    return "".join(rows)


def test_a_sheet_whose_places_are_certain_is_read_as_openpyxl_reads_it():
    for seed in range(N_ORDERLY):
        data = workbook_of(orderly(random.Random(seed)))
        assert ours(data) == theirs(data), seed


def test_a_sheet_with_any_places_is_read_as_openpyxl_reads_it_or_refused():
    n_read = 0
    for seed in range(N_WILD):
        data = workbook_of(wild(random.Random(seed)))
        try:
            found = ours(data)
        except FormatError as error:
            assert "Save it again in Excel" in str(error)
            continue
        assert found == theirs(data), seed
        n_read += 1
    assert 0.05 * N_WILD < n_read < 0.9 * N_WILD


REFUSED = {
    "a row twice": '<row r="2"/><row r="2"><c t="str"><v>x</v></c></row>',
    "a row out of order": '<row r="3"/><row r="2"/>',
    "a row without a number after a later one": '<row r="1048576"/><row><c/></row>',
    "a row number that is none": '<row r="two"><c/></row>',
    "an empty row number": '<row r=""><c/></row>',
    "a row number with a point": '<row r="2.0"><c/></row>',
    "the row 0": '<row r="0"><c/></row>',
    "a cell of another row": '<row r="2"><c r="A3"/></row>',
    "a cell of another row, without a number of the row": '<row><c r="A3"/></row>',
    "a cell twice": '<row r="1"><c r="A1"/><c r="A1"/></row>',
    "a cell twice, once in lower case": '<row r="1"><c r="A1"/><c r="a1"/></row>',
    "an empty cell that takes the place of one before": '<row r="1"><c r="B1"/><c r="A1"/></row>',
    "a cell beyond the last column": '<row r="1"><c r="XFE1"/></row>',
    "a cell after the last column": '<row r="1"><c r="XFD1"/><c/></row>',
    "an address without a row": '<row r="1"><c r="A"/></row>',
    "an address without a column": '<row r="1"><c r="1"/></row>',
    "an empty address": '<row r="1"><c r=""/></row>',
    "an address with a space": '<row r="1"><c r=" B1"/></row>',
    "a fixed address": '<row r="1"><c r="$A$1"/></row>',
    "an address as in R1C1": '<row r="1"><c r="R1C2"/></row>',
    "an address with other digits": '<row r="1"><c r="A١"/></row>',
    "a range": '<row r="1"><c r="A1:B1"/></row>',
    "another element beside cells": '<row r="1"><x/><c/></row>',
    "another element around cells": '<row r="1"><x><c r="C1"/></x></row>',
    "a cell in a cell": '<row r="1"><c r="A1"><c r="B1"/></c></row>',
    "a row in a row": '<row r="1"><row r="2"/></row>',
    "a cell outside of rows": '<c r="A1"/>',
    "a row in another element": '<x><row r="1"/></x>',
}


@pytest.mark.parametrize("rows", REFUSED.values(), ids=REFUSED)
def test_a_sheet_with_a_place_in_doubt_is_refused(rows):
    with pytest.raises(FormatError, match=r"Save it again in Excel"):
        ours(workbook_of(rows))


def test_a_second_table_of_cells_in_a_sheet_is_refused():
    with pytest.raises(FormatError, match="Save it again in Excel"):
        ours(workbook_of("<row><c/></row>", "<sheetData><row><c/></row></sheetData>"))


def test_values_of_merged_cells_stay_where_they_are_stored():
    cells = "".join(f'<c r="{letter}1" t="str"><v>{letter}</v></c>' for letter in "ABCD")
    data = workbook_of(f'<row r="1">{cells}</row>', '<mergeCells><mergeCell ref="B1:C1"/></mergeCells>')
    assert theirs(data).items() <= ours(data).items()
    assert ours(data) == {(1, n): letter for n, letter in enumerate("ABCD", start=1)}


def test_a_shared_text_in_another_is_refused_since_all_after_it_would_move():
    shared = part("sst", "<si><t>a</t><si><t>b</t></si></si><si><t>c</t></si>")
    with pytest.raises(FormatError, match="damaged"):
        ours(workbook_of('<row><c t="s"><v>1</v></c></row>', shared=shared))
