"""Small pictures with printed text, if the reader of scans is installed."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence

HAS_READER = importlib.util.find_spec("rapidocr") is not None


def picture_of(*lines: str) -> bytes:
    """Return a PNG file of a page with some lines."""
    from PIL import Image, ImageDraw, ImageFont

    page = Image.new("L", (700, 80 + 50 * len(lines)), 255)
    for number, line in enumerate(lines):
        ImageDraw.Draw(page).text((30, 30 + 50 * number), line, fill=0, font=ImageFont.load_default(28))
    target = io.BytesIO()
    page.save(target, "PNG")
    return target.getvalue()


def scanned_pdf(pages: Sequence[bytes | None]) -> bytes:
    """Return a PDF file with a page for each picture; None = a page with text."""
    import pypdfium2
    from pdf_files import of_text
    from PIL import Image

    made = pypdfium2.PdfDocument.new()
    for page in pages:
        data = of_text("A page of text that says that the patient was well.")
        if page is not None:
            target = io.BytesIO()
            Image.open(io.BytesIO(page)).save(target, "PDF", resolution=100)
            data = target.getvalue()
        made.import_pages(pypdfium2.PdfDocument(data))
    written = io.BytesIO()
    made.save(written)
    return written.getvalue()
