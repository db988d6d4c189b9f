"""Texts in which some ranges were replaced, and how spans go there and back.

An extractor reads the masked text; what it finds is held against the gold in the offsets of
the original, so that original and masked text are measured on the same concepts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from inverse_deid.core.errors import AnnotationError
from inverse_deid.core.values import Document, MaskedDocument, PhiSpan
from inverse_deid.research.extraction.concepts import ConceptDocument, ConceptSpan

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text after its replacements.

    Args:
        text: The new text.
        masks: Half-open ranges of the old text that were replaced, sorted and disjoint.
        replaced: For each of them the range of the new text that stands for it.
    """

    text: str = field(repr=False)
    masks: tuple[Range, ...] = field(default=(), repr=False)
    replaced: tuple[Range, ...] = field(default=(), repr=False)

    def to_new(self, start: int, end: int) -> Range:
        """Where a range of the old text is; one that touches a replacement takes it in whole."""
        return _carried(start, end, self.masks, self.replaced)

    def to_old(self, start: int, end: int) -> Range:
        """Where a range of the new text comes from; one that touches a replacement takes its mask whole."""
        return _carried(start, end, self.replaced, self.masks)


def _carried(start: int, end: int, here: Sequence[Range], there: Sequence[Range]) -> Range:
    first = bisect_right(here, start, key=lambda pair: pair[1])
    last = bisect_left(here, end, key=lambda pair: pair[0]) - 1
    begin = (
        there[first][0] if first <= last and here[first][0] <= start else _shifted(start, first, here, there)
    )
    stop = there[last][1] if first <= last and end <= here[last][1] else _shifted(end, last + 1, here, there)
    return begin, stop


def _shifted(offset: int, n_before: int, here: Sequence[Range], there: Sequence[Range]) -> int:
    """An offset behind so many replacements and before the next."""
    return offset if n_before == 0 else offset - here[n_before - 1][1] + there[n_before - 1][1]


def rewrite(text: str, masks: Sequence[Range], stand_in: Callable[[int], str]) -> Rewritten:
    """Replace ranges of a text.

    Args:
        text: The old text.
        masks: In any order; they may overlap, then they are replaced as one.
        stand_in: What stands for a mask, given its number in the order of `masks`; of masks that
            overlap the first one counts.

    Raises:
        AnnotationError: A mask leaves the text.

    Example:
        >>> found = rewrite("Ann had a rash.", [(0, 3)], lambda number: "[NAME]")
        >>> found.text, found.to_new(10, 14), found.to_old(13, 17)
        ('[NAME] had a rash.', (13, 17), (10, 14))
    """
    joined: list[tuple[int, int, int]] = []
    for (start, end), number in sorted((mask, number) for number, mask in enumerate(masks)):
        if not 0 <= start < end <= len(text):
            raise AnnotationError(f"mask {start}-{end} leaves the text ({len(text)} characters)")
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]), joined[-1][2])
        else:
            joined.append((start, end, number))
    pieces: list[str] = []
    replaced: list[Range] = []
    position = length = 0
    for start, end, number in joined:
        marker = stand_in(number)
        length += start - position
        replaced.append((length, length + len(marker)))
        length += len(marker)
        pieces += (text[position:start], marker)
        position = end
    pieces.append(text[position:])
    return Rewritten("".join(pieces), tuple((start, end) for start, end, _ in joined), tuple(replaced))


def of_masked(masked: MaskedDocument) -> Rewritten:
    """What a masker made of a document."""
    return Rewritten(masked.text, masked.masks, masked.replaced)


def with_placeholders(doc: Document, class_of: Callable[[PhiSpan], str]) -> Rewritten:
    """The identifiers of a document replaced by the name of their class in brackets."""
    return rewrite(
        doc.text,
        [(span.start, span.end) for span in doc.spans],
        lambda number: f"[{class_of(doc.spans[number])}]",
    )


def rewritten_document(doc: ConceptDocument, new: Rewritten) -> ConceptDocument:
    """The concepts on the new text, to train on; of two that fall into one replacement the first stays."""
    moved: list[ConceptSpan] = []
    for span in doc.concepts:
        start, end = new.to_new(span.start, span.end)
        if start < end and (not moved or moved[-1].end <= start):
            moved.append(ConceptSpan(start, end, span.type))
    return ConceptDocument(Document(doc.id, new.text), tuple(moved))


def original_concepts(found: Sequence[ConceptSpan], new: Rewritten) -> tuple[ConceptSpan, ...]:
    """What was found in the new text, in the offsets of the old one."""
    return tuple(sorted({ConceptSpan(*new.to_old(span.start, span.end), span.type) for span in found}))


def n_touched(concepts: Sequence[ConceptSpan], masks: Sequence[Range]) -> int:
    """How many concepts lost at least one character to a mask.

    Example:
        >>> n_touched([ConceptSpan(0, 4, "Drug"), ConceptSpan(9, 12, "Drug")], [(3, 5)])
        1
    """
    return sum(any(start < span.end and span.start < end for start, end in masks) for span in concepts)
