"""Small PDF files that unpack to far more than a page can show are refused before their text is read."""

import zlib

import pytest

from inverse_deid.core.errors import FormatError
from inverse_deid.formats.pdf import reading
from inverse_deid.formats.pdf.reading import read_pdf_text


def pdf_of(operators):
    """Return a PDF whose only page shows the text of these operators."""
    content = zlib.compress(b"BT /F1 12 Tf 10 10 Td " + operators + b" ET", 9)
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n" % len(content) + content + b"\nendstream",
        font,
    ]
    out, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + table
    return out + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % start


@pytest.mark.parametrize(
    "operators",
    [b"(a) Tj " * 100_001, b"(" + b"ab " * 200 + b") Tj " + (b"(" + b"ab " * 2000 + b") Tj ") * 90],
)
def test_a_page_with_more_than_it_can_show_is_refused_before_its_words_are_read(monkeypatch, operators):
    def fail(*_):
        raise AssertionError("the words were read")

    monkeypatch.setattr(reading._Reader, "_read_words", fail)
    with pytest.raises(FormatError, match="too much content on page 1"):
        read_pdf_text(pdf_of(operators))


def test_an_ordinary_page_is_read():
    (page,) = read_pdf_text(pdf_of(b"(Seen by Okonkwo) Tj")).pages
    assert page.text == "Seen by Okonkwo"
