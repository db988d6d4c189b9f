"""The text of the parts of a Word file as one text, and its masks put back into the runs.

Paragraphs are separate lines, cells are separated by tabs, and one part follows the other after an empty
line. A text box follows the paragraph that it is in. Tabs, line breaks, and the ends of paragraphs and cells
are layout: they stay, also where a mask goes across them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from lxml import etree

from inverse_deid.core.errors import FormatError, StageError
from inverse_deid.formats.docx.properties import W
from inverse_deid.formats.docx.stories import ROOTS
from inverse_deid.formats.masked_slots import fill_slots
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
        raise FormatError("has text in an unknown place. Save it again in Word")
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
        raise StageError("a replacement has a character that XML does not allow")
    run = node.getparent()
    if text or run is None:
        return
    run.remove(node)
    paragraph = run.getparent()
    if paragraph is not None and all(child.tag == f"{W}rPr" for child in run):
        paragraph.remove(run)
