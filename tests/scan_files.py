"""Small pictures with printed text, if the reader of scans is installed."""

from __future__ import annotations

import importlib.util
import io

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
