"""Tables in PDF files: every value is under its heading, also beside and below empty cells."""

import io

import pytest
from fake_maskers import keep_all
from hostile_files import write_masked
from pdf_files import of_pages, shown
from reportlab.lib import colors
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

from inverse_deid.formats.pdf import FORMAT
from inverse_deid.formats.pdf.reading import read_pdf_text
from inverse_deid.formats.pdf.writing import write_pdf
from inverse_deid.formats.records import ReadOptions

HEAD = ["Drug", "Dose", "Start date", "Stop date", "Outcome"]
FULL = ["Metformin", "850 mg", "03/02/2021", "continuing", "unchanged"]
LONG = "nausea and vomiting with severe abdominal pain and fever that lasted for three days"
PROSE = (
    "The patient was treated with the drugs in the table, and had several reactions that are described "
    "there with their dates and their outcomes, as far as the reporter knew of them."
)


def cell(text):
    return Paragraph(text, getSampleStyleSheet()["BodyText"])


def table(*rows, looks=(), **options):
    made = Table([list(row) for row in rows], **options)
    made.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black), *looks]))
    return made


def pdf(*parts):
    target = io.BytesIO()
    SimpleDocTemplate(target).build(list(parts))
    return target.getvalue()


def cells_of(data):
    (page,) = read_pdf_text(data).pages
    return [line.split("\t") for line in page.text.split("\n") if line]


def trimmed(rows):
    """Return rows without empty cells at their ends."""
    return ["\t".join(row).rstrip("\t").split("\t") for row in rows]


EMPTY = {
    "first": [HEAD, FULL, ["", "5 mg", "1 May 2021", "2 May 2021", "not recovered"]],
    "middle": [HEAD, FULL, ["Lisinopril", "5 mg", "", "2 May 2021", "not recovered"]],
    "before the last": [HEAD, FULL, ["Lisinopril", "5 mg", "1 May 2021", "", "not recovered"]],
    "last": [HEAD, FULL, ["Lisinopril", "5 mg", "1 May 2021", "2 May 2021", ""]],
    "several": [HEAD, ["Lisinopril", "", "", "", ""], ["", "", "", "", "fatal"], ["", "5 mg", "", "x", ""]],
    "the first heading": [["", "Day 1", "Day 2"], ["ALT", "", "40"], ["AST", "10", ""]],
    "in every row": [["", "Day 1", "Day 2"], ["ALT", "", "40"], ["", "10", "20"]],
    "but for one": [["Drug", "Stop"], ["", "12 May"]],
    "short words": [["A", "B", "C"], ["1", "", "3"], ["", "2", "3"], ["1", "2", ""]],
}
LOOKS = {
    "left": [],
    "centred": [("ALIGN", (0, 0), (-1, -1), "CENTER")],
    "right": [("ALIGN", (0, 0), (-1, -1), "RIGHT")],
    "wide": [("LEFTPADDING", (0, 0), (-1, -1), 20), ("BOTTOMPADDING", (0, 0), (-1, -1), 9)],
}


@pytest.mark.parametrize("looks", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("rows", EMPTY.values(), ids=EMPTY)
def test_values_beside_empty_cells_are_under_their_headings(rows, looks):
    data = pdf(table(*rows, looks=looks))
    assert cells_of(data) == trimmed(rows)
    written = write_masked(FORMAT.open(io.BytesIO(data), ReadOptions(), "a.pdf"), keep_all())
    assert cells_of(written) == trimmed(rows)


@pytest.mark.parametrize("place", ["TOP", "MIDDLE", "BOTTOM"])
def test_lines_of_a_cell_are_one_cell(place):
    rows = [
        ["Drug", "Reaction", "Stop date", "Outcome"],
        ["Metformin", cell(LONG), "12 May", "recovered"],
        ["Lisinopril", cell("cough"), "", "unknown"],
        ["", cell(LONG), "13 May", ""],
    ]
    looks = [("VALIGN", (0, 0), (-1, -1), place)]
    data = pdf(table(*rows, looks=looks, colWidths=[90, 150, 90, 90]))
    assert cells_of(data) == [
        ["Drug", "Reaction", "Stop date", "Outcome"],
        ["Metformin", LONG, "12 May", "recovered"],
        ["Lisinopril", "cough", "", "unknown"],
        ["", LONG, "13 May"],
    ]


def test_lines_of_cells_that_cannot_be_told_from_rows_stay_in_their_columns():
    rows = [
        ["Drug", "Reaction", "Outcome"],
        [cell("a long name of a drug, insulin glargine"), cell(LONG), "recovered"],
    ]
    found = cells_of(pdf(table(*rows, colWidths=[90, 150, 90])))
    drug, reaction, outcome = (
        " ".join(row[n] for row in found[1:] if n < len(row) and row[n]) for n in range(3)
    )
    assert (drug, reaction, outcome) == ("a long name of a drug, insulin glargine", LONG, "recovered")


def test_tables_beside_each_other_keep_their_columns():
    left = table(["Drug", "Stop"], ["apixaban", ""], ["", "12 May"])
    right = table(["Test", "Result"], ["ALT", ""], ["", "40"])
    assert cells_of(pdf(Table([[left, right]]))) == [
        ["Drug", "Stop", "Test", "Result"],
        ["apixaban", "", "ALT"],
        ["", "12 May", "", "40"],
    ]


def test_tables_below_each_other_have_columns_of_their_own():
    first, second = (
        table(HEAD, FULL, ["Lisinopril", "", "", "", "fatal"]),
        table(["A", "B"], ["", "x"], ["y"]),
    )
    found = cells_of(pdf(first, Spacer(1, 30), second))
    assert found == trimmed([HEAD, FULL, ["Lisinopril", "", "", "", "fatal"], ["A", "B"], ["", "x"], ["y"]])


def drawn(rows, places, top=800, leading=12.0):
    """Return what is drawn for rows that are close to each other, as in tables without lines."""
    return [
        (x, top - leading * i, text)
        for i, row in enumerate(rows)
        for x, text in zip(places, row, strict=True)
    ]


@pytest.mark.parametrize("gap", [0, 8, 20])
def test_close_rows_are_not_lines_of_one_cell(gap):
    head, rows = ["Drug", "Stop", "Outcome"], [["apixaban", "", "recovered"], ["", "12 May", "fatal"]]
    places = (50, 150, 250)
    lines = drawn([head], places) + drawn(rows, places, 788 - gap)
    found = cells_of(of_pages(shown([one for one in lines if one[2]])))
    assert found == trimmed([head, *rows])


def test_close_tables_with_other_columns_are_apart():
    first = [["A", "B", "C"], ["one", "", "three"]]
    second = [["Drug", "Stop"], ["", "May"]]
    lines = drawn(first, (50, 150, 250)) + drawn(second, (50, 200), 762)
    assert cells_of(of_pages(shown([one for one in lines if one[2]]))) == trimmed([*first, *second])


def test_prose_around_a_table_is_no_part_of_it():
    rows = [HEAD, FULL, ["Lisinopril", "", "", "", "fatal"]]
    for space in (0, 12):
        found = cells_of(pdf(cell(PROSE), Spacer(1, space), table(*rows), Spacer(1, space), cell(PROSE)))
        assert found == [[PROSE], *rows, [PROSE]]


def test_a_cell_over_several_columns_is_in_the_first_or_nearest_of_them():
    rows = [["Medication", "", "", ""], ["Drug", "Dose", "Start", "Stop"], ["apixaban", "", "1 May", ""]]
    looks = [("SPAN", (0, 0), (-1, 0)), ("ALIGN", (0, 0), (-1, 0), "CENTER")]
    assert cells_of(pdf(table(*rows, looks=looks)))[1:] == trimmed(rows[1:])
    rows = [["", "Laboratory results", "", "Comment"], ["Test", "Day 1", "Day 2", ""], ["ALT", "", "40", "x"]]
    looks = [("SPAN", (1, 0), (2, 0)), ("ALIGN", (1, 0), (2, 0), "CENTER")]
    assert cells_of(pdf(table(*rows, looks=looks, colWidths=[80, 80, 80, 120])))[1:] == trimmed(rows[1:])


def test_a_form_without_lines_keeps_values_beside_their_labels():
    rows = [["Name:", "Ann Lee", "DOB:", "1/1/1970"], ["Phone:", "", "Mail:", "a@b.org"]]
    assert cells_of(pdf(Table(rows))) == rows


def test_a_table_that_is_wider_than_a_page_is_written_with_lines_in_its_cells():
    rows = [["Drug", "Reaction", "Stop date", "Outcome"], ["", LONG, "", "recovered"], ["x", "", "", LONG]]
    text = "\n".join("\t".join(row) for row in rows)

    found = cells_of(write_pdf(text))
    for n, words in ((1, LONG.rsplit(maxsplit=1)[-1]), (3, "recovered"), (3, LONG.rsplit(maxsplit=1)[-1])):
        assert any(len(row) > n and words in row[n] for row in found)
    assert found[0] == rows[0]
