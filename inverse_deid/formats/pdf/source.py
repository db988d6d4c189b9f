"""PDF files as a format: one file is one document, written into a new PDF (docs/office-files.md)."""

from __future__ import annotations

from functools import cache
from typing import BinaryIO

from inverse_deid.core.child_process import LimitedProcess
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.pdf.reading import PdfContent, read_pdf_text
from inverse_deid.formats.pdf.writing import write_pdf
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.rebuilt_file import RebuiltFile
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.scans.reading import join_pages


def read_pdf(stream: BinaryIO, options: ReadOptions, name: str) -> RebuiltFile:
    """Open a PDF file.

    Raises:
        FormatError: Not a PDF, damaged, encrypted, an XFA form, pages without text, or too large to read.
        UnreadableInputError: Empty or too large.
        ConfigurationError: The extra `office` is not installed.
    """
    content: PdfContent = _reader().call(read_pdf_text, read_whole(stream))
    text, unsure = join_pages(content.pages)
    return RebuiltFile(Document(name, text, unsure=unsure), _build, content.removed)


@cache
def _reader() -> LimitedProcess:
    # PDFium is large, and a hostile file can make it crash.
    return LimitedProcess()


def _build(masked: MaskedDocument) -> bytes:
    return write_pdf(masked.text)
