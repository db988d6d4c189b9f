"""Word files as a format: one file is one document, whose layout stays (docs/office-files.md).

In its text, paragraphs are separate lines, cells are separated by tabs, and one part follows the other after
an empty line. A text box follows the paragraph that it is in. Tabs, line breaks, and the ends of paragraphs
and cells are layout: they stay, also where a mask goes across them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from lxml import etree

from inverse_deid.core.errors import FormatError, StageError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.containers.office_package import Package, open_package
from inverse_deid.formats.docx.package import WORD, PartKind, StoryKind, pack_document
from inverse_deid.formats.docx.properties import NAMESPACES, NewNames, W
from inverse_deid.formats.docx.stories import (
    ROOTS,
    build_numbering,
    build_settings,
    build_story,
    build_styles,
    number_notes,
)
from inverse_deid.formats.masked_slots import fill_slots, list_pieces
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.rebuilt_file import RebuiltFile
from inverse_deid.formats.records import ReadOptions
from inverse_deid.text.rendering import Piece

_BREAKS = {f"{W}tab": "\t", f"{W}ptab": "\t", f"{W}br": "\n", f"{W}cr": "\n"}
_CONTAINERS = frozenset(
    [*ROOTS.values(), *(f"{W}{name}" for name in ("body", "footnote", "endnote", "comment"))]
)

_Found = tuple[str, etree._Element | None]
"""A piece of text, and the `w:t` that has it, None = layout."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The text of one `w:t`, and where it begins in the text of the file."""

    node: etree._Element = field(repr=False)
    start: int
    text: str = field(repr=False)


def read_text(stories: Sequence[etree._Element]) -> tuple[str, list[Slot]]:
    """Return the text of new parts, and the places of its characters in text order.

    Raises:
        FormatError: Some of their text is where it is not read, so it would not be masked.
    """
    words: list[str] = []
    slots: list[Slot] = []
    position = 0
    for number, story in enumerate(stories):
        for text, node in (*([("\n\n", None)] if number else []), *_read_blocks(story)):
            if node is not None:
                slots.append(Slot(node, position, text))
            words.append(text)
            position += len(text)
    if len(slots) != sum(1 for story in stories for _ in story.iter(f"{W}t")):
        raise FormatError(_("has text in an unknown place. Save it again in Word"))
    return "".join(words), slots


def _read_blocks(container: etree._Element) -> Iterator[_Found]:
    is_first = True
    for node in container:
        if node.tag not in _CONTAINERS and node.tag not in (f"{W}p", f"{W}tbl"):
            continue
        if not is_first:
            yield "\n", None
        is_first = False
        if node.tag == f"{W}p":
            yield from _read_paragraph(node)
        elif node.tag == f"{W}tbl":
            for n_rows, row in enumerate(node.iterchildren(f"{W}tr")):
                for n_cells, cell in enumerate(row.iterchildren(f"{W}tc")):
                    if n_cells or n_rows:
                        yield "\t" if n_cells else "\n", None
                    yield from _read_blocks(cell)
        else:
            yield from _read_blocks(node)


def _read_paragraph(paragraph: etree._Element) -> Iterator[_Found]:
    boxes: list[etree._Element] = []
    for run in paragraph.iterchildren(f"{W}r"):
        for node in run:
            if node.tag == f"{W}t":
                yield node.text or "", node
            elif node.tag in _BREAKS:
                yield _BREAKS[str(node.tag)], None
            else:
                boxes += node.iter(f"{W}txbxContent")
    for box in boxes:
        yield "\n", None
        yield from _read_blocks(box)


def put_masks(slots: Sequence[Slot], pieces: Sequence[Piece]) -> None:
    """Replace ranges of the text in the runs; runs that become empty are removed.

    The replacement goes into the first run of its range.

    Raises:
        StageError: A range has no character in any run.
    """
    texts = fill_slots([(slot.start, slot.text) for slot in slots], pieces)
    for slot, text in zip(slots, texts, strict=True):
        _set_text(slot.node, text)


def _set_text(node: etree._Element, text: str) -> None:
    # A `w:t` without text goes, and so does its run if nothing is left in it.
    with suppress(ValueError):
        node.text = text
    if (node.text or "") != text:
        raise StageError(_("a replacement has a character that XML does not allow"))
    run = node.getparent()
    if text or run is None:
        return
    run.remove(node)
    paragraph = run.getparent()
    if paragraph is not None and all(child.tag == f"{W}rPr" for child in run):
        paragraph.remove(run)


_NO_DOCUMENT = N_("has no Word document in it. Save it as a Word document (.docx), not in the strict format")
_TOO_DEEP = N_("has elements that are nested too deeply. Save it again in Word")
_ONCE: tuple[StoryKind, ...] = ("footnotes", "endnotes", "comments")

_DELETION = N_("tracked deletion")
_COUNTED = {
    **dict.fromkeys((f"{W}del", f"{W}moveFrom", f"{W}cellDel"), _DELETION),
    **dict.fromkeys((f"{W}fldSimple", f"{W}fldChar"), N_("field instruction")),
    f"{W}ffData": N_("form field"),
    f"{W}rt": N_("reading aid"),
    f"{W}sdtPr": N_("content control"),
    f"{W}bookmarkStart": "bookmark",
    f"{W}hyperlink": N_("link target"),
    f"{W}comment": N_("author of a comment"),
    f"{W}smartTagPr": N_("custom XML"),
    f"{W}customXmlPr": N_("custom XML"),
}
_SHAPE = f"{{{NAMESPACES['wp']}}}docPr"
_TEXTS = (f"{W}t", f"{W}delText")


def _is_of_text(deletion: etree._Element) -> bool:
    # An empty deletion marks the run, row or cell around it as deleted.
    place = deletion
    if not len(deletion):
        place = next(deletion.iterancestors(f"{W}r", f"{W}tr", f"{W}tc", f"{W}p"), deletion)
        place = deletion if place.tag == f"{W}p" else place
    return next(place.iter(*_TEXTS), None) is not None


_HAS_WORDS: dict[str, Callable[[etree._Element], bool]] = {
    _DELETION: _is_of_text,
    "field instruction": lambda node: node.get(f"{W}fldCharType", "begin") == "begin",
    "content control": lambda node: any(
        one.get(f"{W}val") or one.get(f"{W}displayText")
        for one in node.iter(f"{W}alias", f"{W}tag", f"{W}listItem")
    ),
    "bookmark": lambda node: not node.get(f"{W}name", "").startswith("_"),
    "author of a comment": lambda node: bool(node.get(f"{W}author")),
}
"""Whether an element of a kind has words; those of other kinds always may."""

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
    parts, kept, left_out = made
    removed = dict(sorted((left_out + Counter(package.count_removed(kept))).items()))
    text, slots = read_text([root for kind, root in parts.values() if kind in ROOTS])

    def build(masked: MaskedDocument) -> bytes:
        put_masks(slots, list_pieces(text, masked))
        return pack_document(parts)

    return RebuiltFile(Document(name, text), build, removed)


def count_left_out(root: etree._Element) -> Counter[str]:
    """Count what has words in a part, but is not written, by kind."""
    counts: Counter[str] = Counter()
    for node in root.iter(etree.Element):
        kind = _COUNTED.get(str(node.tag), "")
        counts[kind] += _HAS_WORDS[kind](node) if kind in _HAS_WORDS else 1
    counts["alternative text"] += sum(
        bool(node.get("descr") or node.get("title")) for node in root.iter(_SHAPE)
    )
    del counts[""]
    return +counts


def _build_parts(package: Package) -> tuple[NewParts, frozenset[str], Counter[str]]:
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
    notes = {kind: roots[kind] for kind in _ONCE if kind in roots}
    for kind, root in notes.items():
        number_notes(root, kind, names)
    stories: list[tuple[StoryKind, str]] = []
    used = {
        value for node in document.iter() for name, value in node.attrib.items() if str(name).endswith("}id")
    }
    for one in related:
        if one.kind in ("header", "footer") and one.id in used and one.id not in names.stories:
            names.stories[one.id] = f"rId{len(stories) + 1}"
            stories.append(("header" if one.kind == "header" else "footer", one.target))
    headers = [package.parse(target) for _, target in stories]
    left_out = sum(map(count_left_out, (document, *headers, *notes.values())), Counter[str]())
    parts: NewParts = {"": ("document", build_story(document, "document", names))}
    for number, ((kind, _ignored), root) in enumerate(zip(stories, headers, strict=True), start=1):
        parts[f"rId{number}"] = kind, build_story(root, kind, names)
    others: list[tuple[PartKind, etree._Element]] = [
        (kind, build_story(root, kind, names)) for kind, root in notes.items()
    ]
    if "styles" in roots:
        others.append(("styles", build_styles(roots["styles"], names)))
    if "numbering" in roots:
        others.append(("numbering", build_numbering(roots["numbering"], names)))
    others.append(("settings", build_settings(roots.get("settings"))))
    for number, other in enumerate(others, start=len(stories) + 1):
        parts[f"rId{number}"] = other
    kept = frozenset({main, *first.values(), *(target for _, target in stories)})
    left_out["text in an unknown place"] += names.n_unknown
    return parts, kept, left_out
