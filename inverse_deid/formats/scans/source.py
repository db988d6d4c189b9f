"""Scans as a format: one file is one document, written as plain text (docs/office-files.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import BinaryIO

from inverse_deid.core.child_process import LimitedProcess, ask_for_time
from inverse_deid.core.errors import FormatError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import _
from inverse_deid.formats.pdf.reading import name_pages
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.rebuilt_file import RebuiltFile
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.scans.pictures import count_left_out, read_pages
from inverse_deid.formats.scans.reading import check_reader, join_pages, read_page


@dataclass(frozen=True, slots=True)
class ScanContent:
    """What was read of a file."""

    text: str = field(repr=False)
    unsure: tuple[tuple[int, int], ...]  # half-open ranges of the text that were hard to read
    removed: Mapping[str, int]  # the parts that are not written, by kind


def read_scan(stream: BinaryIO, options: ReadOptions, name: str) -> RebuiltFile:
    """Open a picture of one or more pages.

    Raises:
        FormatError: Not such a picture, damaged, too large, or a page that cannot be read.
        UnreadableInputError: Empty or too large.
        ConfigurationError: The extra `scans` is not installed.
    """
    check_reader()
    content: ScanContent = reader_process().call(read_scan_text, read_whole(stream))
    doc = Document(name, content.text, unsure=content.unsure)
    return RebuiltFile(doc, _build, content.removed)


@cache
def reader_process() -> LimitedProcess:
    """Return the child process that reads scans: pictures of strangers can make libraries crash."""
    return LimitedProcess()


def read_scan_text(data: bytes) -> ScanContent:
    """Return the text of a picture file.

    Raises:
        FormatError: As `read_scan`.
    """
    n_left_out = count_left_out(data)
    pages = []
    for page in read_pages(data):
        ask_for_time()
        pages.append(read_page(page))
    problems: dict[str, list[int]] = {}
    for number, one in enumerate(pages, start=1):
        if one.problem:
            problems.setdefault(one.problem, []).append(number)
    if problems:
        raise FormatError(name_pages(problems))
    text, unsure = join_pages(pages)
    if not text.strip():
        raise FormatError(_("has no text. Give a picture of a page with text"))
    removed = {"image": len(pages) + n_left_out}
    return ScanContent(text, unsure, removed)


def _build(masked: MaskedDocument) -> bytes:
    return masked.text.encode()
