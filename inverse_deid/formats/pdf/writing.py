"""A new PDF of plain text: a page for each page of the text, one font, and no trace of time or place.

The characters that the font does not have become □. The bytes depend on nothing but the text.

Source: ReportLab user guide, chapter 3 (fonts); DejaVu Sans 2.37 (`scripts/build_pdf_font.py`).
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from inverse_deid.core.extras import missing_extra
from inverse_deid.core.wording import _
from inverse_deid.text.rendering import GAP_MARK

if TYPE_CHECKING:
    from reportlab.pdfbase.ttfonts import TTFont

PAGE_BREAK = "\n\f\n"

_FONT_NAME = "DejaVuSans"
_PAGE_WIDTH, _PAGE_HEIGHT = 595.0, 842.0  # A4
_MARGIN = 48.0
_SIZES = (10.0, 9.0, 8.0)
_LINE, _PARAGRAPH = 1.25, 0.35
"""The distance of lines, and what is added between two lines of the text; unit: size of the font."""
_TAB = 36.0
_LEAST_TAB = 3.0
"""The least width of a tab; unit: size of the font."""
_MAX_FIRST_CELL = 40
"""A longer line without a tab is not a row of a table."""
_LEAST_COLUMN = 4.0
"""The least width of a column; unit: size of the font."""
_LOCK = Lock()

_Line = tuple[list[tuple[float, str]], bool]
"""Words with their distance from the margin, and whether a line of the text begins with them."""


def write_pdf(text: str) -> bytes:
    r"""Return a PDF file.

    Args:
        text: Pages are separated by form feeds; longer pages continue on the next one.

    Raises:
        ConfigurationError: ReportLab is not installed.
    """
    with _LOCK:
        font = _load_font()
        from reportlab.pdfgen.canvas import Canvas

        target = io.BytesIO()
        canvas = Canvas(target, pagesize=(_PAGE_WIDTH, _PAGE_HEIGHT), invariant=1, pageCompression=1)
        canvas.setTitle("Masked document")
        canvas.setAuthor("")
        canvas.setCreator("inverse-deid")
        canvas.setProducer("inverse-deid")
        canvas.setSubject("")
        for page in text.split("\f"):
            size, lines = _fit(page.strip("\n"), font)
            canvas.setFont(_FONT_NAME, size)
            y = _PAGE_HEIGHT - _MARGIN - size
            for words, is_first in lines:
                y -= _PARAGRAPH * size if is_first else 0.0
                if y < _MARGIN:
                    canvas.showPage()
                    canvas.setFont(_FONT_NAME, size)
                    y = _PAGE_HEIGHT - _MARGIN - size
                for x, word in words:
                    canvas.drawString(_MARGIN + x, y, word)
                y -= _LINE * size
            canvas.showPage()
        canvas.save()
        return target.getvalue()


@cache
def _load_font() -> TTFont:
    try:
        from reportlab.pdfbase import pdfmetrics
        from reportlab.pdfbase.ttfonts import TTFont
    except ImportError as error:
        raise missing_extra(_("writing PDF files"), error.name, "office") from error
    font = TTFont(_FONT_NAME, str(Path(__file__).with_name("DejaVuSans.ttf")))
    pdfmetrics.registerFont(font)
    return font


def _fit(page: str, font: TTFont) -> tuple[float, list[_Line]]:
    known = font.face.charToGlyph
    page = "".join(sign if ord(sign) in known or sign in "\n\t" else _replace(sign) for sign in page)
    size, lines = _SIZES[0], list[_Line]()
    for size in _SIZES:
        lines = list(_lay_out(page.split("\n"), font, size))
        height = sum(_LINE * size + (_PARAGRAPH * size if is_first else 0.0) for _, is_first in lines)
        if height <= _PAGE_HEIGHT - 2 * _MARGIN:
            break
    return size, lines


def _lay_out(texts: Sequence[str], font: TTFont, size: float) -> Iterator[_Line]:
    # The cells of a table are below each other.
    start = 0
    while start < len(texts):
        stop = start
        for i in range(start, len(texts) if "\t" in texts[start] else start):
            if "\t" in texts[i]:
                stop = i + 1
            elif not texts[i] or len(texts[i]) > _MAX_FIRST_CELL:
                break
        rows = [text.split("\t") for text in texts[start:stop]]
        widths = _choose_widths(rows, font, size) if len(rows) > 1 else None
        if widths is None:
            yield from _wrap(texts[start], font, size)
            start += 1
        else:
            for row in rows:
                yield from _wrap_row(row, widths, font, size)
            start = stop


def _choose_widths(rows: Sequence[Sequence[str]], font: TTFont, size: float) -> list[float] | None:
    # None = there are too many.
    n_columns = max(map(len, rows))
    wanted = [
        max(font.stringWidth(row[n], size) for row in rows if n < len(row)) + 0.5 for n in range(n_columns)
    ]
    room = _PAGE_WIDTH - 2 * _MARGIN - (n_columns - 1) * _LEAST_TAB * size
    if room < n_columns * _LEAST_COLUMN * size:
        return None
    widths, left = list(wanted), n_columns
    for n in sorted(range(n_columns), key=wanted.__getitem__):  # narrow columns get what they want
        widths[n] = min(wanted[n], room / left)
        room, left = room - widths[n], left - 1
    return widths


def _wrap_row(row: Sequence[str], widths: Sequence[float], font: TTFont, size: float) -> Iterator[_Line]:
    cells = [
        [" ".join(word for _, word in words) for words, _ in _wrap(text, font, size, width)]
        for text, width in zip(row, widths, strict=False)
    ]
    starts = [sum(widths[:n]) + n * _LEAST_TAB * size for n in range(len(cells))]
    for i in range(max(map(len, cells))):
        yield (
            [(x, cell[i]) for x, cell in zip(starts, cells, strict=True) if i < len(cell) and cell[i]],
            not i,
        )


def _replace(sign: str) -> str:
    return " " if sign.isspace() else GAP_MARK


def _wrap(text: str, font: TTFont, size: float, width: float = _PAGE_WIDTH - 2 * _MARGIN) -> Iterator[_Line]:
    words: list[tuple[float, str]] = []
    x, is_first = 0.0, True
    for n_tabs, cell in enumerate(text.split("\t")):
        if n_tabs:
            x = _TAB * ((x + _LEAST_TAB * size) // _TAB + 1)
        shown, start = "", x
        for word in cell.split(" "):
            longer = f"{shown} {word}" if shown else word
            if start + font.stringWidth(longer, size) <= width:
                shown = longer
                continue
            if shown:
                words.append((start, shown))
            if words:
                yield words, is_first
                words, is_first = [], False
            start, shown = 0.0, word
            while font.stringWidth(shown, size) > width:
                n_chars = next(
                    n for n in range(len(shown), 0, -1) if font.stringWidth(shown[:n], size) <= width
                )
                yield [(0.0, shown[:n_chars])], is_first
                is_first, shown = False, shown[n_chars:]
        if shown:
            words.append((start, shown))
        x = start + font.stringWidth(shown, size)
    yield words, is_first
