"""PDF files: all text is read in order, pages without text are refused, and nothing else leaves."""

import io
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pypdfium2
import pytest
from fake_maskers import CANARY, FakeMasker, keep_all, mask_capitals
from hostile_files import numbered, others, write_masked
from libreoffice import OFFICE, convert
from pdf_files import (
    SCANNED,
    below,
    field,
    hostile,
    of_form,
    of_pages,
    of_text,
    shown,
    stream,
)
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from inverse_deid.core.errors import FormatError
from inverse_deid.core.extras import missing_extra
from inverse_deid.formats.pdf import FORMAT, reading
from inverse_deid.formats.pdf.layout import order_lines
from inverse_deid.formats.pdf.reading import MAX_STREAM_BYTES, read_pdf_text
from inverse_deid.formats.pdf.tables import Segment
from inverse_deid.formats.pdf.writing import write_pdf
from inverse_deid.formats.records import ReadOptions


def opened(data):
    return FORMAT.open(io.BytesIO(data), ReadOptions(), "case.pdf")


def text_of(data):
    return opened(data).doc.text


def through(data, masker):
    return write_masked(opened(data), masker)


def test_what_was_removed_is_counted_by_kind():
    (t, _), (h, _) = numbered(), numbered()
    assert opened(hostile(t, h)).removed == {
        "attachment": 2,
        "author of a note": 2,
        "bookmark": 1,
        "button": 1,
        "choice that was not selected": 1,
        "form field without a value": 1,
        "image": 1,
        "link": 1,
        "named destination": 1,
        "property": 6,
        "script": 1,
        "signature": 1,
    }


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="poppler-utils are not installed")
def test_another_reader_finds_the_masked_text_and_no_canary(tmp_path):
    (t, _), (h, _) = numbered(), numbered()
    path = tmp_path / "a.pdf"
    path.write_bytes(through(hostile(t, h), mask_capitals()))
    command = ["pdftotext", "-layout", path, "-"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "plain PHI was seen" in said.stdout
    assert CANARY not in said.stdout
    assert said.stderr == ""
    facts = subprocess.run(["pdfinfo", path], capture_output=True, text=True, check=True, timeout=60)
    assert CANARY not in facts.stdout


def reads_pdf_in_libreoffice():
    return OFFICE is not None and (Path(OFFICE).resolve().parent / "libsdlo.so").exists()


@pytest.mark.slow
@pytest.mark.skipif(not reads_pdf_in_libreoffice(), reason="LibreOffice Draw is not installed")
def test_libreoffice_opens_the_output(tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(through(hostile(others(), others()), mask_capitals()))
    (picture,) = convert([path], "png", tmp_path / "opened")
    assert picture.stat().st_size > 1000


def test_the_output_depends_on_the_text_alone():
    first = write_pdf("Pt well.\n\f\nRecovered.")
    assert first == write_pdf("Pt well.\n\f\nRecovered.")
    assert not re.search(
        rb"/home|/tmp|/work|20[1-9]\d|ReportLab PDF Library", first.replace(b"20000101000000", b"")
    )
    assert b"D:20000101000000" in first


SIGNS = "µ ° ± é ≥ ≤ → α β « » “quoted” ‘x’ – — … € ½ ² ™ Ł ő □"


def test_signs_of_medical_texts_are_shown_and_others_become_a_sign_of_their_own():
    assert text_of(write_pdf(SIGNS)) == SIGNS
    assert text_of(write_pdf("dose 日本 given")) == "dose □□ given"


def test_pages_stay_pages_and_a_page_that_grows_continues():
    pages = ["first page", "second page", "third page"]
    assert text_of(of_text(*pages)) == "\n\f\n".join(pages)
    with pypdfium2.PdfDocument(through(of_text(*pages), keep_all())) as pdf:
        assert len(pdf) == 3
    with pypdfium2.PdfDocument(write_pdf("\n".join(f"line {n}" for n in range(200)))) as pdf:
        assert len(pdf) > 1
        shown_lines = "\n".join(page.get_textpage().get_text_range() for page in pdf)
    assert "line 199" in shown_lines


def test_a_word_that_is_wider_than_the_page_is_divided_and_not_lost():
    word = "w" * 300
    assert text_of(write_pdf(f"a {word} b")).replace("\n", "").replace(" ", "") == f"a{word}b"


PROSE = (
    "The patient took the tablets for nine days\nand then had a rash on both arms that did\n"
    "not itch. The tablets were stopped and the\nrash resolved within three days without any\n"
    "treatment. The reporter thought that it was\nrelated to the tablets."
)
OTHER = (
    "On the tenth day the liver enzymes were\nraised to five times the upper limit and the\n"
    "patient was sent to the hospital where she\nstayed for a week. An ultrasound of the liver\n"
    "was normal. All values were normal again\nafter six weeks."
)


def joined(text):
    return text.replace("\n", " ")


def test_two_columns_are_read_one_after_the_other_even_if_the_file_has_them_line_by_line():
    title = [(200, 800, "A report that goes across both of the columns of the page")]
    left, right = below(PROSE, 50, 770), below(OTHER, 310, 770)
    footer = [(270, 690, "page 3 of 4 of this report")]
    mixed = [one for pair in zip(left, right, strict=True) for one in pair]
    for lines in (title + left + right + footer, footer + mixed + title):
        text = text_of(of_pages(shown(lines)))
        assert [part for part in text.split("\n") if part] == [
            title[0][2],
            joined(PROSE),
            joined(OTHER),
            footer[0][2],
        ]


def test_a_column_that_is_longer_than_the_other_is_not_divided():
    left = below(PROSE + "\n" + OTHER, 50, 770)
    right = below(OTHER, 310, 770)
    text = text_of(of_pages(shown([*left, *right])))
    assert text.index("after six weeks") < text.rindex("On the tenth day")


def test_three_columns_are_read_one_after_the_other():
    narrow = "the patient had a rash on\nboth arms that did not itch\nand that resolved without\nany treatment in a few days\nafter it had begun"
    lines = [one for i in range(3) for one in below(f"{narrow} {i}", 40 + 180 * i, 770)]
    lines.sort(key=lambda one: -one[1])
    text = text_of(of_pages(shown(lines)))
    assert [part[-1] for part in text.split("\n") if part] == ["0", "1", "2"]


def test_rows_of_a_table_are_lines_with_tabs():
    rows = [
        ("Test", "Result", "Unit"),
        ("alanine aminotransferase", "312", "U/l"),
        ("bilirubin, total", "4.1", "mg/dl"),
    ]
    rows += [("creatinine in the serum", "0.9", "mg/dl"), ("white blood cell count", "12.4", "10^9/l")]
    lines = [
        (x, 700 - 14 * i, cell)
        for i, row in enumerate(rows)
        for x, cell in zip((50, 250, 350), row, strict=True)
    ]
    assert text_of(of_pages(shown(lines))) == "\n".join("\t".join(row) for row in rows)
    written = through(of_pages(shown(lines)), keep_all())
    assert text_of(written) == "\n".join("\t".join(row) for row in rows)


def test_lines_of_a_paragraph_are_joined_and_others_are_not():
    address = "Dear colleague,\nWest Road\nThird floor"
    text = text_of(of_pages(shown(below(f"{address}\n\n{PROSE}\n\n- one\n- two"))))
    assert text == f"{address}\n\n{joined(PROSE)}\n\n- one\n- two"


def test_a_word_that_a_hyphen_breaks_is_left_to_the_reading_of_the_text():
    lines = "The tablets that the patient had taken for some days were dis-\ncontinued."
    assert text_of(of_pages(shown(below(lines)))) == lines


def test_ligatures_are_letters():
    assert "\ufb01" not in text_of(write_pdf("of\ufb01ce"))


def test_a_turned_page_is_read_as_it_is_shown():
    turned = f"q 0 1 -1 0 595 0 cm {shown(below(PROSE, 50, 500))} Q"
    assert text_of(of_pages(turned, page="/Rotate 90")) == joined(PROSE)


@pytest.mark.parametrize(
    "angle", ["0 1 -1 0 100 100", "0 -1 1 0 100 500", "0.7 0.7 -0.7 0.7 200 200", "-1 0 0 -1 400 400"]
)
def test_words_in_other_directions_are_not_divided(angle):
    text = text_of(
        of_pages(shown(below("upright")) + f"q {angle} cm {shown([(0, 0, 'Margin Zebulonova note')])} Q")
    )
    assert CANARY in text


def test_fields_of_a_form_are_read_with_their_labels_from_top_to_bottom():
    data = of_form(
        field("Tx", "form1[0].#subform[0].OnsetDate[0]", "(12-OCT-2019)", "50 500 200 520"),
        field("Tx", "a", "(A.B.)", "50 600 200 620", "/TU(1. Patient initials)"),
        field("Tx", "b", "(The patient\\rhad a rash.)", "50 300 400 400", "/TU(Describe reaction:)/Ff 4096"),
        field("Tx", "empty", "( )", "50 200 200 220"),
        field("Btn", "c", "/Yes", "50 450 60 460", "/TU(Serious)/AS/Yes/AP<</N<</Yes 4 0 R/Off 4 0 R>>>>"),
        field("Btn", "d", "/Off", "50 430 60 440", "/TU(Died)/AS/Off/AP<</N<</Yes 4 0 R/Off 4 0 R>>>>"),
        field(
            "Ch", "e", "(2)", "50 410 60 420", "/TU(Outcome)/Ff 131072/Opt[[(1)(unknown)][(2)(recovered)]]"
        ),
        content=shown(below("SUSPECT ADVERSE REACTION REPORT")),
    )
    assert text_of(data).split("\n") == [
        "SUSPECT ADVERSE REACTION REPORT",
        "",
        "1. Patient initials: A.B.",
        "Onset Date: 12-OCT-2019",
        "Serious: yes",
        "Outcome: recovered",
        "Describe reaction: The patient",
        "had a rash.",
    ]
    assert opened(data).removed == {
        "box that is not checked": 1,
        "choice that was not selected": 1,
        "form field without a value": 1,
    }


def test_a_form_without_printed_text_is_read():
    assert text_of(of_form(field("Tx", "a", "(only a value)", "50 600 200 620"))) == "a: only a value"


NO_TEXT = {
    "scan": (of_pages(shown(below("text")), SCANNED), "page 2 has no text. Recognise its text (OCR) first"),
    "several": (
        of_pages(SCANNED, shown(below("text")), SCANNED),
        "pages 1, 3 have no text. Recognise its text (OCR) first",
    ),
    "lines only": (of_pages("0 0 m 500 500 l S"), "page 1 has no text"),
    "inline picture": (
        of_pages("q 500 0 0 800 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID a EI Q"),
        "page 1 has no text",
    ),
    "scan with a stamp": (
        of_pages(SCANNED + shown(below("FAX 3/5 from a clinic"))),
        "page 1 has a picture and hardly any text. Recognise its text (OCR) first",
    ),
    "scan in strips": (
        of_pages(
            "".join(f"q 595 0 0 100 0 {y} cm /Im Do Q " for y in range(0, 800, 100)) + shown(below("stamp"))
        ),
        "hardly any text",
    ),
    "nothing at all": (of_pages(""), "has no text"),
}


@pytest.mark.parametrize(("data", "message"), NO_TEXT.values(), ids=NO_TEXT)
def test_a_page_without_text_is_refused_and_named(data, message, monkeypatch):
    def refuse():
        raise missing_extra("reading scans", "rapidocr", "scans")

    monkeypatch.setattr(reading, "check_reader", refuse)
    with pytest.raises(FormatError) as caught:
        read_pdf_text(data)
    assert message in str(caught.value)
    assert caught.value.__context__ is None


def test_a_scan_with_the_invisible_text_of_ocr_is_read():
    assert text_of(of_pages(SCANNED + shown(below("short letter"), mode=3))) == "short letter"


def test_a_page_with_a_logo_and_an_empty_page_are_read():
    logo = "q 80 0 0 80 500 750 cm /Im Do Q "
    assert text_of(of_pages(logo + shown(below("short letter")), "")) == "short letter\n\f\n"


def encrypted(**passwords):
    target = io.BytesIO()
    canvas = Canvas(target, encrypt=StandardEncryption(**passwords))
    canvas.drawString(50, 700, CANARY)
    canvas.save()
    return target.getvalue()


XFA = "/AcroForm<</Fields[]/XFA[(template)4 0 R]>>"
BAD = {
    "password": (encrypted(userPassword="secret"), "is encrypted"),
    "XFA": (of_pages(shown(below(f"Please wait {CANARY}")), catalog=f"{XFA}/NeedsRendering true"), "XFA"),
    "cut": (of_text(CANARY)[:-30], "damaged"),
    "text": (CANARY.encode(), "damaged"),
    "no pages": (
        of_text(CANARY).replace(b"/Kids", b"/Kid_").replace(b"/Count 1", b"/Count 0"),
        "damaged|0 pages|no text",
    ),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_a_file_that_cannot_be_used_is_an_error_with_a_remedy_and_without_text(data, message):
    with pytest.raises(FormatError, match=message) as caught:
        opened(data)
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_file_that_may_be_read_without_a_password_is_read():
    assert text_of(encrypted(userPassword="", ownerPassword="secret")) == CANARY


def test_a_form_with_values_beside_its_xfa_is_read(caplog):
    data = of_form(field("Tx", "a", "(typed)", "1 1 9 9")).replace(
        b"/AcroForm<<", b"/AcroForm<</XFA[(template)4 0 R]"
    )
    content = read_pdf_text(data)
    assert tuple(page.text for page in content.pages) == ("a: typed",)
    assert content.removed["XFA form"] == 1
    assert not caplog.records


@pytest.mark.parametrize("more", [f"/RV(<body>{CANARY}</body>)", "/Ff 33554432"])
def test_a_value_that_only_rich_text_has_is_counted(more):
    data = of_form(field("Tx", "a", "", "1 1 9 9", more), field("Tx", "b", "(typed)", "1 20 9 30", more))
    content = read_pdf_text(data)
    assert tuple(page.text for page in content.pages) == ("b: typed",)
    assert content.removed == {"rich text of a form field": 1}


def test_a_failed_document_is_masked_from_end_to_end():
    written = through(of_text("BROKENSTAGE seen", "today"), FakeMasker(lambda word: True))
    assert text_of(written) == "PHI\n\f\nPHI"


def test_a_segment_does_not_show_its_text():
    assert CANARY not in repr(Segment(CANARY, 0, 1, 0, 1, 1))


def test_a_page_of_very_many_rows_is_read_in_time():
    rows = [
        Segment(f"w{i}", 50 + 200 * (i % 2), 90 + 200 * (i % 2), -12.0 * i, 10 - 12.0 * i, 40)
        for i in range(20_000)
    ]
    assert len([line for line in order_lines(rows) if line]) == 20_000


@pytest.mark.parametrize("entries", ["", "/Filter/FlateDecode"])
def test_a_stream_that_unpacks_to_very_much_is_refused_before_it_is_unpacked(entries, monkeypatch):
    content = shown(below("seen")).encode() + b" " * MAX_STREAM_BYTES
    large = stream(zlib.compress(content) if entries else content, entries)
    data = of_pages("", others={11: large})
    monkeypatch.setattr(pypdfium2, "PdfDocument", None)  # is not reached
    with pytest.raises(FormatError, match="unpacks to more"):
        read_pdf_text(data)


def test_a_large_picture_is_no_reason_to_refuse_a_file():
    picture = stream(zlib.compress(bytes(MAX_STREAM_BYTES + 1)), "/Subtype/Image/Filter/FlateDecode")
    assert text_of(of_pages(shown(below("seen")), others={50: picture})) == "seen"


def test_a_page_of_too_many_letters_is_refused(monkeypatch):
    monkeypatch.setattr(reading, "MAX_PAGE_CHARS", 10)
    with pytest.raises(FormatError, match="too much content on page 1"):
        read_pdf_text(of_text("was seen by nobody"))
