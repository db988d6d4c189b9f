"""Pictures of scanned pages beside the text: for readers alone, drawn anew, and stored nowhere."""

import io
import zipfile
from email.message import EmailMessage

import pytest
from review_stores import json_lines, review, store_of
from review_visitors import Visitor, account, visitor
from scan_files import HAS_READER, picture_of, scanned_pdf

from inverse_deid.core.child_process import LimitedProcess
from inverse_deid.core.errors import FormatError
from inverse_deid.files.pictures import ScanFile, check_picture, draw_scan, list_scans, may_have_scans
from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.people.accounts import find_user
from inverse_deid.review.store.deletion import delete_source
from inverse_deid.review.store.trail import TrailFilter, list_entries
from inverse_deid.review.store.values import UserRole

pytestmark = pytest.mark.skipif(not HAS_READER, reason="no rapidocr; pip install '.[scans]'")

PNG = picture_of("seen by Okonkwo today", "well since then")


def tiff(*pages):
    from PIL import Image

    frames = [Image.open(io.BytesIO(page)) for page in pages]
    target = io.BytesIO()
    frames[0].save(target, "TIFF", save_all=True, append_images=frames[1:])
    return target.getvalue()


def size_of(data):
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=["JPEG"]) as picture:
        picture.load()
        return picture.size


def scan(data, kind="scan", name="a.png", document=None):
    return ScanFile(kind, name, document or name, data)


@pytest.fixture
def scanned(tmp_path):
    path = tmp_path / "fax.png"
    path.write_bytes(PNG)
    with store_of(tmp_path, inputs=[path, json_lines(tmp_path / "other.jsonl", ["well"])]) as store:
        yield store


def test_a_page_is_drawn_anew_without_anything_else_of_the_file():
    from PIL import Image, PngImagePlugin

    said = PngImagePlugin.PngInfo()
    said.add_text("Comment", "Okonkwo")
    target = io.BytesIO()
    Image.open(io.BytesIO(PNG)).save(target, "PNG", pnginfo=said, dpi=(200, 200))
    data = target.getvalue() + b"<script>Okonkwo</script>"
    assert list_scans(scan(data)) == [1]
    drawn = draw_scan(scan(data), 1)
    assert size_of(drawn) == (700, 180)
    assert check_picture(drawn) == drawn
    assert b"Okonkwo" not in drawn


@pytest.mark.parametrize("page", [0, -1, 2, 10**6])
def test_only_pages_that_are_there_are_drawn(page):
    with pytest.raises(FormatError, match="has no page"):
        draw_scan(scan(PNG), page)


def test_each_page_of_a_fax_is_drawn():
    data = tiff(picture_of("one line"), picture_of("two", "lines"), picture_of("three", "lines", "here"))
    file = scan(data, name="a.tif")
    assert list_scans(file) == [1, 2, 3]
    assert [size_of(draw_scan(file, n))[1] for n in (1, 2, 3)] == [130, 180, 230]


def test_of_a_pdf_only_pages_without_text_are_drawn():
    data = scanned_pdf([None, PNG, None, PNG])
    file = scan(data, "pdf", "a.pdf")
    assert list_scans(file) == [2, 4]
    assert size_of(draw_scan(file, 4))[1] > 100
    for page in (1, 3, 5, 0):
        with pytest.raises(FormatError, match="that is a picture"):
            draw_scan(file, page)


def test_a_scan_inside_a_mail_in_an_archive_is_found():
    mail = EmailMessage()
    mail.set_content("see the fax")
    pdf = scanned_pdf([PNG])
    mail.add_attachment(pdf, maintype="application", subtype="pdf", filename="Okonkwo.pdf")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        made.writestr("in/fax.png", PNG)
        made.writestr("m.eml", mail.as_bytes())
        made.writestr("a.txt", "well")
    data = packed.getvalue()
    inside = {"z.zip/in/fax.png": True, "z.zip/m.eml/attachment-01.pdf": True, "z.zip/a.txt": False}
    for document, has in inside.items():
        assert may_have_scans("zip", "z.zip", document) is has
        if has:
            file = scan(data, "zip", "z.zip", document)
            assert list_scans(file) == [1]
            assert size_of(draw_scan(file, 1))[0] > 100
    for document in ("z.zip/none.png", "z.zip", "z.zip/m.eml/attachment-09.pdf", "../z.png"):
        with pytest.raises(FormatError, match="does not have this document"):
            list_scans(scan(data, "zip", "z.zip", document))


def test_a_name_that_two_documents_of_an_archive_have_shows_neither():
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w") as made:
        made.writestr("a.png", picture_of("another case of Okonkwo"))
        made.writestr("b.png", PNG)
    with zipfile.ZipFile(outer, "w") as made:
        made.writestr("b.zip", inner.getvalue())
        made.writestr("b.zip/a.png", PNG)
        made.writestr("b.zip/c.png", PNG)
    data = outer.getvalue()
    with pytest.raises(FormatError, match="does not have this document"):
        draw_scan(scan(data, "zip", "z.zip", "z.zip/b.zip/a.png"), 1)
    for document in ("z.zip/b.zip/b.png", "z.zip/b.zip/c.png"):
        assert size_of(draw_scan(scan(data, "zip", "z.zip", document), 1))[0] > 100


@pytest.mark.parametrize(
    "data",
    [b"", b"\x89PNG", PNG[: len(PNG) // 2], b"\0" * 5_000, b"<svg xmlns='http://www.w3.org/2000/svg'/>"],
)
def test_broken_pictures_are_refused_and_a_child_survives_them(data):
    process = LimitedProcess()
    try:
        for work in (list_scans, draw_scan):
            given = (scan(data),) if work is list_scans else (scan(data), 1)
            try:
                found = process.call(work, *given)
            except FormatError:
                continue
            assert found == [1]  # a picture that was cut says how many pages it has
        assert process.call(list_scans, scan(PNG)) == [1]
    finally:
        process.end()


def test_a_page_of_too_many_dots_is_refused():
    from PIL import Image

    target = io.BytesIO()
    Image.new("1", (10_000, 10_000)).save(target, "PNG")
    with pytest.raises(FormatError, match="million pixels"):
        draw_scan(scan(target.getvalue()), 1)


@pytest.mark.parametrize("drawn", [b"", b"<html>", b"\x89PNG\r\n", b"\xff\xd8\xff" + bytes(17 << 20)])
def test_what_a_child_sends_that_is_not_a_picture_is_not_shown(drawn):
    with pytest.raises(FormatError, match="cannot be shown"):
        check_picture(drawn)


def test_whoever_reads_the_original_sees_its_pages_and_the_trail_says_so(scanned):
    ann = visitor(scanned, "ann")
    opened = ann.ask("/cases/1/open").json()
    assert opened["has_scans"] is True
    assert ann.ask("/cases/2/open").json()["has_scans"] is False
    assert ann.ask("/cases/1/pictures").json() == {"pages": [1]}
    shown = ann.get("/cases/1/pictures/1")
    assert (shown.status_code, shown.headers["content-type"]) == (200, "image/jpeg")
    assert size_of(shown.content) == (700, 180)
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert shown.headers["cache-control"] == "no-store"
    assert "img-src 'self'" in shown.headers["content-security-policy"]
    said = [
        (one.event.user, one.event.event, one.event.new) for one in list_entries(scanned, TrailFilter())[0]
    ]
    assert said.count(("ann", "original shown", "pictures of pages")) == 1
    assert ann.get("/cases/1/pictures/2").status_code >= 400
    assert ann.get("/cases/2/pictures/1").status_code >= 400


def test_nobody_else_sees_them(scanned):
    ann, bea = visitor(scanned, "ann"), visitor(scanned, "bea")
    carl = visitor(scanned, "carl", UserRole.ADJUDICATOR)
    dora = visitor(scanned, "dora", UserRole.ADMIN)
    ann.ask("/cases/1/open")
    for who, status in ((bea, 403), (carl, 403), (dora, 403)):
        assert who.get("/cases/1/pictures/1").status_code == status
        assert who.ask("/cases/1/pictures").status_code == status
    assert Visitor(scanned).get("/cases/1/pictures/1").status_code == 303
    ann.ask("/cases/1/close")
    assert ann.get("/cases/1/pictures/1").status_code == 423
    ann.ask("/cases/1/open")
    ann.token = ""
    assert ann.ask("/cases/1/pictures").status_code == 403
    said = [one.event.new for one in list_entries(scanned, TrailFilter())[0] if one.event.user == "dora"]
    assert "pictures of pages" not in said


def test_a_picture_is_in_no_output_and_on_no_other_page(scanned, tmp_path):
    account(scanned, "ann")
    account(scanned, "bea")
    ann = Visitor(scanned)
    ann.log_in("ann")
    ann.ask("/cases/1/open")
    assert "<img" not in ann.get("/cases/1/print").text
    for name in ("ann", "bea"):
        for case_id in (1, 2):
            review(scanned, find_user(scanned, name), case_id)
    assert "picture" not in ann.get("/cases/1/finished").text.lower()
    out = tmp_path / "out"
    assert export_released(scanned, out).problems == ()
    written = {path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert sorted(written) == ["fax.png.txt", "other.jsonl"]
    assert not any(b"\xff\xd8\xff" in data or b"PNG" in data for data in written.values())


def test_pictures_go_with_their_file(scanned):
    ann = visitor(scanned, "ann")
    ann.ask("/cases/1/open")
    assert ann.get("/cases/1/pictures/1").status_code == 200
    delete_source(scanned, 1, by="dora")
    assert ann.get("/cases/1/pictures/1").status_code in (400, 403)
