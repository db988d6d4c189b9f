"""Word files as a format: one file is one document, whose layout stays (docs/office-files.md)."""

from __future__ import annotations

from contextlib import suppress
from typing import BinaryIO

from lxml import etree

from inverse_deid.core.errors import FormatError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.docx.masked_text import put_masks, read_text
from inverse_deid.formats.docx.package import WORD, PartKind, StoryKind, pack_document
from inverse_deid.formats.docx.properties import NewNames
from inverse_deid.formats.docx.stories import (
    ROOTS,
    build_numbering,
    build_settings,
    build_story,
    build_styles,
    number_notes,
)
from inverse_deid.formats.masked_slots import list_pieces
from inverse_deid.formats.office_package import Package, open_package
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.rebuilt_file import RebuiltFile
from inverse_deid.formats.records import ReadOptions

_NO_DOCUMENT = "has no Word document in it. Save it as a Word document (.docx), not in the strict format"
_TOO_DEEP = "has elements that are nested too deeply. Save it again in Word"
_ONCE: tuple[StoryKind, ...] = ("footnotes", "endnotes", "comments")

NewParts = dict[str, tuple[PartKind, etree._Element]]
"""Kind and content of each part that is written, by the id of the relation to it."""


def read_docx(stream: BinaryIO, options: ReadOptions, name: str) -> RebuiltFile:
    """Open a Word file.

    Raises:
        FormatError: Not a Word file, encrypted, damaged, or made to do harm.
        UnreadableInputError: Empty or too large.
    """
    package = open_package(read_whole(stream), WORD)
    made = None
    with suppress(RecursionError):
        made = _build_parts(package)
    if made is None:
        raise FormatError(_TOO_DEEP)
    parts, kept, n_unknown = made
    removed = package.count_removed(kept) | ({"text in an unknown place": n_unknown} if n_unknown else {})
    text, slots = read_text([root for kind, root in parts.values() if kind in ROOTS])

    def build(masked: MaskedDocument) -> bytes:
        put_masks(slots, list_pieces(text, masked))
        return pack_document(parts)

    return RebuiltFile(Document(name, text), build, removed)


def _build_parts(package: Package) -> tuple[NewParts, frozenset[str], int]:
    """Return what is written, the names of the parts that it is made of, and how many texts are left out."""
    found = {one.target for one in package.related("") if one.kind == "officeDocument"}
    main = next((target for target in sorted(found) if target), "")
    document = package.parse(main) if main else None
    if document is None or document.tag != ROOTS["document"]:
        raise FormatError(_NO_DOCUMENT)
    related = [one for one in package.related(main) if one.target]
    kinds = ("styles", "numbering", "settings", *_ONCE)
    first = {one.kind: one.target for one in reversed(related) if one.kind in kinds}
    roots = {kind: package.parse(target) for kind, target in first.items()}
    names = NewNames.of_styles(roots.get("styles"))
    for kind in _ONCE:
        if kind in roots:
            number_notes(roots[kind], kind, names)
    stories: list[tuple[StoryKind, str]] = []
    used = {
        value for node in document.iter() for name, value in node.attrib.items() if str(name).endswith("}id")
    }
    for one in related:
        if one.kind in ("header", "footer") and one.id in used and one.id not in names.stories:
            names.stories[one.id] = f"rId{len(stories) + 1}"
            stories.append(("header" if one.kind == "header" else "footer", one.target))
    parts: NewParts = {"": ("document", build_story(document, "document", names))}
    for number, (kind, target) in enumerate(stories, start=1):
        parts[f"rId{number}"] = kind, build_story(package.parse(target), kind, names)
    others: list[tuple[PartKind, etree._Element]] = [
        (kind, build_story(roots[kind], kind, names)) for kind in _ONCE if kind in roots
    ]
    if "styles" in roots:
        others.append(("styles", build_styles(roots["styles"], names)))
    if "numbering" in roots:
        others.append(("numbering", build_numbering(roots["numbering"], names)))
    others.append(("settings", build_settings(roots.get("settings"))))
    for number, other in enumerate(others, start=len(stories) + 1):
        parts[f"rId{number}"] = other
    kept = frozenset({main, *first.values(), *(target for _, target in stories)})
    return parts, kept, names.n_unknown
