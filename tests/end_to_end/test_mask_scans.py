"""Scans are masked into texts: pictures, faxes of several pages, and PDF files without text."""

import io
import json
from pathlib import Path

import pytest

for package in ("rapidocr", "cv2", "pypdfium2", "reportlab"):
    pytest.importorskip(package, reason=f"no {package}; pip install '.[scans]'")

from make_scans import list_cases, make_scan  # noqa: E402
from PIL import Image  # noqa: E402

from inverse_deid.formats.pdf.reading import read_pdf_text  # noqa: E402

CASE = list_cases()[1]
NAMES = ("Greta", "Weiß", "Gießen", "07.11.1948", "555 0178", "Groß")


@pytest.fixture(scope="module")
def picture():
    return Image.fromarray(make_scan(1, CASE)[0])


def files_of(picture):
    target = io.BytesIO()
    picture.save(target, "PDF", resolution=200)
    files = {"letter.pdf": target.getvalue()}
    for name, kind in {"letter.png": "PNG", "fax.tif": "TIFF"}.items():
        target = io.BytesIO()
        picture.save(target, kind)
        files[name] = target.getvalue()
    return files


def test_scans_become_masked_texts_and_pdf_files(command, given, out, tmp_path, picture):
    for name, data in files_of(picture).items():
        (given / name).write_bytes(data)
    (given / "broken.png").write_bytes(files_of(picture)["letter.png"][:5000])
    report = tmp_path / "report.json"
    result = command("mask", given, "--out", out, "--fast", "--explain", "--run-report", report)
    assert result.status == 1
    assert "broken.png: is not a PNG, JPEG or TIFF picture, or is damaged" in result.stderr
    masked = {one.name: one for one in out.iterdir() if one.suffix in (".txt", ".pdf", ".png", ".tif")}
    assert sorted(masked) == ["fax.tif.txt", "letter.pdf", "letter.png.txt"]
    texts = [masked[name].read_text("utf-8") for name in ("fax.tif.txt", "letter.png.txt")]
    texts += [page.text for page in read_pdf_text(masked["letter.pdf"].read_bytes()).pages]
    for text in texts:
        assert not [name for name in NAMES if name in text]
        assert "warfarin" in text
        assert "epistaxis" in text
    assert b"/Subtype /Image" not in masked["letter.pdf"].read_bytes()
    assert json.loads(Path(report).read_text())["total"]["removed_parts"]["image"] == 3
    assert "image (3)" in result.stderr
