"""PowerPoint files: the text of slides in their order, tables, notes, and nothing else."""

import io

import pytest
from fake_maskers import CANARY, mask_capitals
from hostile_files import write_masked
from slide_files import paragraph, parts_of, presentation_of
from word_files import zipped

from inverse_deid.core.errors import FormatError
from inverse_deid.formats.pptx import FORMAT
from inverse_deid.formats.records import ReadOptions

TABLE = (
    "<a:tbl><a:tr><a:tc><a:txBody>{}</a:txBody></a:tc><a:tc><a:txBody>{}</a:txBody></a:tc></a:tr></a:tbl>"
).format(paragraph("Drug"), paragraph("5", " mg") + paragraph("daily"))


def opened(data):
    return FORMAT.open(io.BytesIO(data), ReadOptions(), "case.pptx")


def text_of(slides, notes=""):
    return opened(zipped(parts_of(slides, notes))).doc.text


def test_slides_are_read_in_their_order_with_their_notes():
    assert text_of([paragraph("one"), paragraph("two")], paragraph("said")) == "one\n\f\ntwo\n\nsaid"


def test_runs_of_a_paragraph_are_one_line_and_breaks_are_kept():
    broken = "<a:p><a:r><a:t>a</a:t></a:r><a:br/><a:r><a:t>b</a:t></a:r></a:p>"
    assert text_of([paragraph("Zeb", "ulonova") + broken]) == "Zebulonova\na\nb"


def test_a_row_of_a_table_is_a_line_with_tabs():
    assert text_of([paragraph("Doses") + TABLE]) == "Doses\nDrug\t5 mg daily"


def test_a_shape_that_is_there_twice_is_read_once():
    both = f"<mc:AlternateContent><mc:Choice>{paragraph('new')}</mc:Choice><mc:Fallback>{paragraph('old')}"
    assert text_of([f"{both}</mc:Fallback></mc:AlternateContent>"]) == "new"


def test_all_other_parts_are_removed_and_counted():
    parts = parts_of([paragraph("seen by Okonkwo")])
    parts |= {
        "ppt/media/image1.png": b"x",
        "ppt/comments/comment1.xml": CANARY.encode(),
        "docProps/core.xml": CANARY.encode(),
        "ppt/slideLayouts/slideLayout1.xml": CANARY.encode(),
        "odd.bin": CANARY.encode(),
    }
    source = opened(zipped(parts))
    assert source.removed == {
        "comments": 1,
        "image": 1,
        "layout of slides": 1,
        "other part": 1,
        "properties": 1,
    }
    assert write_masked(source, mask_capitals()) == b"seen by PHI"


WITHOUT_MAIN = {k: v for k, v in parts_of([paragraph("a")]).items() if k != "ppt/presentation.xml"}
DOCTYPE = parts_of(["<a:p/>"]) | {"ppt/slides/slide1.xml": b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'}
REFUSED = {
    "no zip": (CANARY.encode(), "is not a PowerPoint file"),
    "cut": (presentation_of("well")[:-30], "is not a PowerPoint file"),
    "old or encrypted": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + CANARY.encode(), "is encrypted or an old"),
    "no presentation": (zipped(WITHOUT_MAIN), "is not a PowerPoint file"),
    "a slide that is missing": (
        zipped({k: v for k, v in parts_of([paragraph("a")]).items() if "slide1" not in k}),
        "is not a PowerPoint file",
    ),
    "a document type": (zipped(DOCTYPE), "document type declaration"),
    "no text": (presentation_of(" "), "has no text"),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused(data, message):
    with pytest.raises(FormatError, match=message) as caught:
        opened(data)
    assert CANARY not in str(caught.value)
