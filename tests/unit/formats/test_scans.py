"""Scans: pictures are read page by page, uncertain words are noted, and what cannot be read is refused."""

import io
import struct
import sys
import zlib
from pathlib import PurePath, PurePosixPath

import numpy as np
import pytest
from fake_maskers import CANARY, FakeMasker
from pdf_files import SCANNED, below, of_pages, shown

from inverse_deid.core.errors import ConfigurationError, FormatError
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import choose_format
from inverse_deid.formats.scans import FORMAT, reading

for package in ("rapidocr", "cv2", "pypdfium2", "reportlab"):
    pytest.importorskip(package, reason=f"no {package}; pip install '.[scans]'")

from make_scans import bleach, draw_stamp, list_cases, make_scan, render, spot, turn  # noqa: E402
from PIL import Image  # noqa: E402

from inverse_deid.formats.pdf.reading import read_pdf_text  # noqa: E402
from inverse_deid.formats.scans.cleaning import clean_page, measure_unread  # noqa: E402
from inverse_deid.formats.scans.pictures import MAX_PAGES, MAX_SIDE, count_left_out, read_pages  # noqa: E402
from inverse_deid.formats.scans.reading import PageText, join_pages, read_page  # noqa: E402
from inverse_deid.formats.scans.source import read_scan_text  # noqa: E402

LINES = ("Patient: José Weiß, Núñez Street 12", "The rash began after amoxicillin 500 mg.")


def write_lines(canvas, lines=LINES):
    canvas.setFont("Helvetica", 14)
    for number, line in enumerate(lines):
        canvas.drawString(60, 780 - 30 * number, line)


def page_of(lines=LINES, dpi=120):
    page, _text = render(lambda canvas: write_lines(canvas, lines), dpi)
    return page


def saved(page, kind="PNG", **options):
    target = io.BytesIO()
    picture = page if isinstance(page, Image.Image) else Image.fromarray(page)
    picture.save(target, kind, **options)
    return target.getvalue()


WORDS = [word for line in LINES for word in line.split()]


@pytest.fixture(scope="module")
def plain():
    return page_of()


@pytest.mark.parametrize("name", ["a.png", "A.JPG", "a.jpeg", "a.tif", "b.tiff"])
def test_the_suffix_tells_a_scan(name):
    assert choose_format(PurePath(name), b"") is FORMAT


def test_a_masked_scan_is_a_text():
    assert FORMAT.written_name(PurePosixPath("in/fax.tif")) == PurePosixPath("in/fax.tif.txt")


HARMS = {
    "none": lambda page: page,
    "askew": lambda page: turn(page, 2.0),
    "spots": lambda page: spot(page, np.random.default_rng(1), 0.05),
    "shade": lambda page: bleach(page, np.random.default_rng(1)),
    "on its side": np.rot90,
    "on its head": lambda page: np.rot90(page, 2),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_page_is_read_however_it_lies(harm, plain):
    found = read_page(np.ascontiguousarray(harm(plain)))
    assert found.text.split() == WORDS
    assert not found.problem


def test_uncertain_words_are_noted_with_their_places(monkeypatch, plain):
    monkeypatch.setattr(reading, "SURE", 1.1)
    monkeypatch.setattr(reading, "_MIN_SURE_SHARE", 0.0)
    found = read_page(plain)
    assert [found.text[start:end] for start, end in found.unsure] == WORDS


def test_ranges_move_with_their_pages():
    text, unsure = join_pages([PageText("one two", ((4, 7),)), PageText("", ()), PageText("six", ((0, 3),))])
    assert [text[start:end] for start, end in unsure] == ["two", "six"]


def test_a_page_of_which_most_words_are_uncertain_is_refused(monkeypatch, plain):
    monkeypatch.setattr(reading, "SURE", 1.1)
    assert "hard to read" in read_page(plain).problem


def test_a_page_with_more_ink_than_text_is_refused(plain):
    rng = np.random.default_rng(3)
    page = plain.copy()
    for _ in range(900):  # strokes as high as letters, which are no text
        x, y = rng.integers(20, page.shape[1] - 40), rng.integers(page.shape[0] // 3, page.shape[0] - 40)
        for step in range(14):
            page[y + step, x + step // 2 : x + step // 2 + 3] = 0
    assert "more ink than text" in read_page(page).problem


def test_ink_is_counted_inside_and_outside_of_words(plain):
    inside, outside = measure_unread(clean_page(plain), [(0, 0, plain.shape[1], plain.shape[0])])
    assert inside > 0 == outside
    assert measure_unread(clean_page(plain), []) == (0, inside)


def test_an_empty_page_has_no_text_and_no_problem():
    page = np.full((1400, 1000), 250, np.uint8)
    assert read_page(page) == PageText("")


def test_a_stamp_beside_the_text_is_read_with_it():
    def draw(canvas):
        write_lines(canvas)
        draw_stamp(canvas, 400, 400, 15)

    assert "RECEIVED" in read_page(render(draw, 120)[0]).text


def test_the_rows_of_a_form_keep_values_under_their_labels():
    page, _text = make_scan(6, list_cases()[6])
    lines = read_page(next(read_pages(saved(page)))).text.split("\n")
    label = next(i for i, line in enumerate(lines) if "PATIENT NAME" in line)
    assert lines[label + 1] == "Chiara Bellucci\t19/06/1990"


def test_all_pages_of_a_tiff_are_read_and_a_thumbnail_is_not(plain):
    target = io.BytesIO()
    small = Image.fromarray(plain).resize((100, 140))
    pages = [Image.fromarray(plain), Image.fromarray(page_of(("second page here",)))]
    small.encoderinfo = {"tiffinfo": {254: 1}}
    pages[0].save(target, "TIFF", save_all=True, append_images=[pages[1], small], compression="tiff_lzw")
    assert len(list(read_pages(target.getvalue()))) == 2
    assert count_left_out(target.getvalue()) == 1
    content = read_scan_text(target.getvalue())
    first, second = content.text.split("\n\f\n")
    assert (first.split(), second.split()) == (WORDS, ["second", "page", "here"])
    assert content.removed == {"image": 3}


def test_a_fax_of_half_resolution_gets_its_height():
    wide = Image.new("1", (1728, 1100), 1)
    (page,) = read_pages(saved(wide, "TIFF", dpi=(204, 98), compression="group4"))
    assert page.shape[1] / page.shape[0] == pytest.approx(1728 / (1100 * 204 / 98), rel=0.01)


PICTURES = {
    "transparent": Image.new("RGBA", (300, 400), (0, 0, 0, 0)),
    "transparent grey": Image.new("LA", (300, 400), (0, 0)),
    "16 bits": Image.fromarray(np.tile(np.linspace(0, 65535, 300).astype(np.uint16), (400, 1))),
    "palette": Image.new("RGB", (300, 400), "white").convert("P"),
    "colours": Image.new("RGB", (300, 400), "white"),
}


@pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES)
def test_every_kind_of_picture_becomes_grey_on_white(picture):
    (page,) = read_pages(saved(picture))
    assert page.dtype == np.uint8
    assert page.shape == (400, 300)
    assert page.max() == 255


def test_a_photo_is_turned_as_it_says_and_made_smaller():
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    (page,) = read_pages(saved(Image.new("L", (4000, 3000), 255), "JPEG", exif=exif))
    assert page.shape == (MAX_SIDE, MAX_SIDE * 3 // 4)


def png_that_says(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = zlib.compress(b"\0" * 10_000_000, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def many_pages():
    target = io.BytesIO()
    pages = [Image.new("1", (40, 40), 1)] * (MAX_PAGES + 2)
    pages[0].save(target, "TIFF", save_all=True, append_images=pages[1:], compression="group4")
    return target.getvalue()


HOSTILE = {
    "a text": (CANARY.encode(), "is not a PNG, JPEG or TIFF picture"),
    "another kind": (saved(Image.new("L", (50, 50)), "GIF"), "is not a PNG, JPEG or TIFF picture"),
    "cut": (saved(np.random.default_rng(0).integers(0, 255, (300, 300), np.uint8))[:-2000], "damaged"),
    "cut tiff": (saved(np.zeros((300, 300), np.uint8), "TIFF")[:-2000], "damaged"),
    "bomb": (png_that_says(60_000, 60_000), "picture"),
    "large": (png_that_says(9_000, 5_000), "has a page of more than 40 million pixels"),
    "long": (png_that_says(2**31 - 1, 1), "picture"),
    "tiny": (saved(Image.new("L", (8, 8))), "too small"),
    "many pages": (many_pages(), f"has more than {MAX_PAGES} pages"),
}


@pytest.mark.parametrize(("data", "message"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_picture_is_refused_in_the_child(data, message):
    with pytest.raises(FormatError) as caught:
        FORMAT.open(io.BytesIO(data), ReadOptions(), "fax.tif")
    assert message in str(caught.value)
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_blank_picture_is_refused():
    with pytest.raises(FormatError, match="has no text"):
        read_scan_text(saved(np.full((400, 300), 255, np.uint8)))


def test_the_masked_file_is_the_masked_text_alone(plain):
    source = FORMAT.open(io.BytesIO(saved(plain)), ReadOptions(), "fax.png")
    target = io.BytesIO()
    sink = source.sink(target)
    for record in source.records():
        sink.write(record, FakeMasker(lambda _text: False).mask_many(record.docs))
    sink.finish()
    assert set(target.getvalue().decode().split()) <= {"PHI", "PHI.", "PHI:", "PHI,"}
    assert source.removed == {"image": 1}


def test_without_the_extra_a_line_names_it(monkeypatch, plain):
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    reading._load_reader.cache_clear()
    try:
        with pytest.raises(ConfigurationError, match=r"rapidocr.*\[scans\]"):
            FORMAT.open(io.BytesIO(saved(plain)), ReadOptions(), "fax.png")
        with pytest.raises(
            FormatError, match=r"page 2 has no text\. Recognise its text \(OCR\) first, or .*\[scans\]"
        ):
            read_pdf_text(of_pages(shown(below("text")), SCANNED))
    finally:
        reading._load_reader.cache_clear()


def scanned_pdf(*pages):
    """Return a PDF of pictures, as scanners make it."""
    target = io.BytesIO()
    first, *others = (Image.fromarray(page) for page in pages)
    first.save(target, "PDF", save_all=True, append_images=others, resolution=120)
    return target.getvalue()


def test_the_pages_of_a_pdf_that_are_pictures_are_read(plain):
    content = read_pdf_text(scanned_pdf(plain, np.full_like(plain, 255)))
    assert [page.text.split() for page in content.pages] == [WORDS, []]
    assert content.removed["image"] == 2


def test_a_pdf_with_a_picture_that_cannot_be_read_is_refused(monkeypatch, plain):
    monkeypatch.setattr(reading, "SURE", 1.1)
    with pytest.raises(FormatError, match="page 1 has mostly words that are hard to read"):
        read_pdf_text(scanned_pdf(plain))


def test_nothing_is_fetched_and_nothing_logged(plain, capfd):
    import socket

    class NoSocket(socket.socket):
        def __init__(self, *given, **named):
            raise AssertionError("a socket was opened")

    original, socket.socket = socket.socket, NoSocket
    reading._load_reader.cache_clear()
    try:
        assert read_page(plain).text
    finally:
        socket.socket = original
        reading._load_reader.cache_clear()
    assert capfd.readouterr() == ("", "")
