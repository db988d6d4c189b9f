"""The text of a PowerPoint file, slide by slide: shapes, tables, diagrams, and the notes after them.

Slides that are hidden are read as all others. The masked file is a text, with slides separated as pages are.

Source: ECMA-376 part 1, sections 19 (PresentationML) and 21.1 (DrawingML, text).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from lxml import etree

from inverse_deid.core.errors import FormatError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.containers.office_package import Package, Program, open_package
from inverse_deid.formats.pdf.writing import PAGE_BREAK
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.rebuilt_file import RebuiltFile
from inverse_deid.formats.records import ReadOptions

POWERPOINT = Program(
    "PowerPoint",
    N_("a PowerPoint file (.pptx)"),
    N_("an old PowerPoint file (.ppt)"),
    ".pptx",
    (
        ("ppt/media/", "image"),
        ("ppt/charts/", "chart"),
        ("ppt/diagrams/", "diagram"),
        ("ppt/drawings/", "drawing"),
        ("ppt/embeddings/", N_("embedded object")),
        ("ppt/comments/", "comments"),
        ("ppt/comments", "comments"),
        ("ppt/commentauthors", N_("list of people")),
        ("ppt/authors", N_("list of people")),
        ("ppt/slidelayouts/", N_("layout of slides")),
        ("ppt/slidemasters/", N_("layout of slides")),
        ("ppt/notesmasters/", N_("layout of slides")),
        ("ppt/handoutmasters/", N_("layout of slides")),
        ("ppt/theme/", "theme"),
        ("ppt/tags/", N_("data of programs")),
        ("ppt/vba", "macro"),
        ("docprops/thumbnail", "thumbnail"),
        ("docprops/", "properties"),
        ("customxml/", N_("custom XML")),
        ("_xmlsignatures/", "signature"),
    ),
)

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_REFERENCE = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_ROOTS = (f"{_P}presentation", f"{_P}sld")
_MORE_TEXT = ("diagramData", "notesSlide")
"""Parts of a slide that have text, in the order in which they follow it."""


def read_pptx(stream: BinaryIO, options: ReadOptions, name: str) -> RebuiltFile:
    """Open a PowerPoint file.

    Raises:
        FormatError: Not a PowerPoint file, encrypted, damaged, made to do harm, or without text.
        UnreadableInputError: Empty or too large.
    """
    package = open_package(read_whole(stream), POWERPOINT)
    slides: list[str] = []
    kept: set[str] = set()
    for slide in _list_slides(package, kept):
        related = [one for one in package.related(slide) if one.target and one.kind in _MORE_TEXT]
        parts = [slide, *(one.target for one in sorted(related, key=lambda one: _MORE_TEXT.index(one.kind)))]
        texts = ("\n".join(_read_lines(package.parse(part))) for part in parts)
        slides.append("\n\n".join(filter(None, texts)))
        kept.update(parts)
    if not any(slides):
        raise FormatError(_("has no text. Give a file with text"))
    return RebuiltFile(
        Document(name, PAGE_BREAK.join(slides)), _build, package.count_removed(frozenset(kept))
    )


def _list_slides(package: Package, kept: set[str]) -> Iterator[str]:
    """Yield the parts of the slides in their order, and note those that say it."""
    main = next((one.target for one in package.related("") if one.kind == "officeDocument"), "")
    presentation = package.parse(main) if main else None
    if presentation is None or presentation.tag != _ROOTS[0]:
        raise FormatError(package.program.damaged)
    kept.add(main)
    targets = {one.id: one.target for one in package.related(main) if one.kind == "slide"}
    for node in presentation.iter(f"{_P}sldId"):
        target = targets.get(node.get(_REFERENCE, ""), "")
        if not target:
            raise FormatError(package.program.damaged)
        yield target


def _read_lines(root: etree._Element) -> Iterator[str]:
    """Yield the paragraphs of a part that have text; rows of tables are one line, with tabs between cells."""
    done: set[etree._Element] = set()
    for node in root.iter(f"{_A}tr", f"{_A}p"):
        if node in done or next(node.iterancestors(_FALLBACK), None) is not None:
            continue
        if node.tag == f"{_A}p":
            line = _read_paragraph(node)
        else:
            cells = [list(cell.iter(f"{_A}p")) for cell in node.iter(f"{_A}tc")]
            done.update(paragraph for cell in cells for paragraph in cell)
            line = "\t".join(" ".join(map(_read_paragraph, cell)).replace("\n", " ") for cell in cells)
        if line.strip():
            yield line


def _read_paragraph(paragraph: etree._Element) -> str:
    texts = paragraph.iter(f"{_A}t", f"{_A}br")
    return "".join("\n" if node.tag == f"{_A}br" else node.text or "" for node in texts)


def _build(masked: MaskedDocument) -> bytes:
    return masked.text.encode()
