"""The texts that an extractor reads: with planted identifiers, with placeholders, or as a masker left them.

An extractor reads the masked text. Its concepts are compared with the gold in the offsets of the original,
so that original and masked text are measured on the same concepts.

Source: Lange, Adel and Strötgen 2020, section 3.2 and table 5, for the views `original`, `gold` and
`predicted`. The marker without a class, alone or with relative dates, is this project's own.
"""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from inverse_deid.core.errors import AnnotationError, ConfigurationError, StageError
from inverse_deid.core.phi import HYPER_CLASS_OF
from inverse_deid.core.values import Document
from inverse_deid.evaluation.measures.counts import Range
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.masking.case_masker import CaseMasker, DocumentMasker
from inverse_deid.replacement.settings import CaseSettings, DateMode
from inverse_deid.training.corpora.surrogates import SurrogateMaker
from inverse_deid.training.corpora.synthetic import inject_around
from inverse_deid.training.corpora.weak_labels import weakly_labelled
from inverse_deid_research.extraction.concepts import CONCEPTS, ConceptDocument, ConceptSpan, drop_overlaps


class View(StrEnum):
    """The form of a document that an extractor reads."""

    ORIGINAL = "original"
    GOLD = "gold"
    PREDICTED = "predicted"
    MARKER = "marker"
    RELATIVE_DATES = "relative-dates"


BY_MASKER = (View.PREDICTED, View.MARKER, View.RELATIVE_DATES)
"""The views that a masker makes: with the suspected category, with one marker, with that and day counts."""

Maskers = Mapping[View, DocumentMasker]
"""The masker of each view of `BY_MASKER` that is wanted."""


@dataclass(frozen=True, slots=True)
class RewrittenText:
    """A text after its replacements."""

    text: str = field(repr=False)
    # Half-open ranges of the old text, sorted and disjoint.
    masks: tuple[Range, ...] = field(default=(), repr=False)
    replaced: tuple[Range, ...] = field(default=(), repr=False)  # the same of the new text

    def to_new(self, start: int, end: int) -> Range:
        """Return the place of a range of the old text; one that touches a mask includes its replacement."""
        return _carry_range(start, end, self.masks, self.replaced)

    def to_old(self, start: int, end: int) -> Range:
        """Return the origin of a range of the new text; one that touches a replacement includes its mask."""
        return _carry_range(start, end, self.replaced, self.masks)

    def carry_concepts(self, doc: ConceptDocument) -> ConceptDocument:
        """Return the new text with concepts, to train on; each replacement keeps its first concept only."""
        moved: list[ConceptSpan] = []
        for span in doc.concepts:
            start, end = self.to_new(span.start, span.end)
            if start < end and (not moved or moved[-1].end <= start):
                moved.append(ConceptSpan(start, end, span.type))
        gold = tuple(task for task in doc.gold if task == CONCEPTS)
        return ConceptDocument(Document(doc.id, self.text), tuple(moved), gold)

    def restore_concepts(self, found: Sequence[ConceptSpan]) -> tuple[ConceptSpan, ...]:
        return tuple(sorted({ConceptSpan(*self.to_old(span.start, span.end), span.type) for span in found}))

    def count_touched(self, concepts: Sequence[ConceptSpan]) -> int:
        """Return how many concepts of the old text lost at least one character to a mask."""
        return sum(
            any(start < span.end and span.start < end for start, end in self.masks) for span in concepts
        )


def _carry_range(start: int, end: int, here: Sequence[Range], there: Sequence[Range]) -> Range:
    def shift(offset: int, n_before: int) -> int:
        return offset if n_before == 0 else offset - here[n_before - 1][1] + there[n_before - 1][1]

    first = bisect_right(here, start, key=lambda pair: pair[1])
    last = bisect_left(here, end, key=lambda pair: pair[0]) - 1
    begin = there[first][0] if first <= last and here[first][0] <= start else shift(start, first)
    stop = there[last][1] if first <= last and end <= here[last][1] else shift(end, last + 1)
    return begin, stop


def rewrite(text: str, masks: Sequence[Range], replace: Callable[[int], str]) -> RewrittenText:
    """Replace ranges of a text, given in any order, by what `replace` returns for the number of a mask.

    Masks that overlap are replaced as one, by the replacement of the first.

    Raises:
        AnnotationError: A mask is outside the text.

    Example:
        >>> found = rewrite("Ann had a rash.", [(0, 3)], lambda number: "[NAME]")
        >>> found.text, found.to_new(10, 14), found.to_old(13, 17)
        ('[NAME] had a rash.', (13, 17), (10, 14))
    """
    joined: list[tuple[int, int, int]] = []
    for (start, end), number in sorted((mask, number) for number, mask in enumerate(masks)):
        if not 0 <= start < end <= len(text):
            raise AnnotationError(
                f"mask {start}-{end} is outside the text ({len(text)} characters). "
                "Give the masks of this text"
            )
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]), joined[-1][2])
        else:
            joined.append((start, end, number))
    new = ""
    replaced: list[Range] = []
    position = 0
    for start, end, number in joined:
        marker = replace(number)
        new += text[position:start]
        replaced.append((len(new), len(new) + len(marker)))
        new += marker
        position = end
    masks = tuple((start, end) for start, end, _ in joined)
    return RewrittenText(new + text[position:], masks, tuple(replaced))


def rewrite_texts(docs: Sequence[ConceptDocument], view: View, maskers: Maskers) -> list[RewrittenText]:
    """Return the text of each document that an extractor reads.

    Raises:
        ConfigurationError: The masker of the view is missing.
    """
    if view is View.ORIGINAL:
        return [RewrittenText(doc.doc.text) for doc in docs]
    if view is View.GOLD:
        return [_show_classes(doc.doc) for doc in docs]
    if view not in maskers:
        raise ConfigurationError(f"the view {view} needs a masker")
    masked = maskers[view].mask_many([doc.doc for doc in docs])
    return [RewrittenText(found.text, found.masks, found.replaced) for found in masked]


def _show_classes(doc: Document) -> RewrittenText:
    ranges = [(span.start, span.end) for span in doc.spans]
    return rewrite(doc.text, ranges, lambda number: f"[{HYPER_CLASS_OF[doc.spans[number].type]}]")


def rewrite_documents(docs: Sequence[ConceptDocument], view: View, maskers: Maskers) -> list[ConceptDocument]:
    if view is View.ORIGINAL:
        return list(docs)
    texts = rewrite_texts(docs, view, maskers)
    return [new.carry_concepts(doc) for doc, new in zip(docs, texts, strict=True)]


def build_maskers(views: Collection[View], *, today: date) -> dict[View, DocumentMasker]:
    """Return a masker, with the packaged model, for each of the views that needs one.

    Dates of a text cannot be later than `today`.

    Raises:
        LexiconError: The packaged lexicon is damaged.
        ModelError: The packaged model is damaged.
    """
    maskers: dict[View, DocumentMasker] = {}
    for view in (view for view in BY_MASKER if view in views):
        settings = MaskingSettings(reading="fast", replace="category" if view is View.PREDICTED else "marker")
        masker = build_deidentifier(settings)
        by_case = CaseSettings(today=today, dates=DateMode.RELATIVE_DAY)
        maskers[view] = CaseMasker(masker, by_case) if view is View.RELATIVE_DATES else masker
    return maskers


def inject_identifiers(
    docs: Sequence[ConceptDocument], seed: int, types: Collection[str]
) -> Iterator[ConceptDocument]:
    """Plant invented identifiers around the concepts of documents, and yield these with the same ids.

    In documents without identifiers, dates and ages that certain patterns find are marked; unmarked ones
    may still identify. Seed and id decide what is planted. Concepts of these types are kept unchanged,
    without overlaps.

    Raises:
        StageError: A concept was cut, which must not happen.
    """
    for doc in docs:
        rng = random.Random(f"{seed}:{doc.id}")
        carrier = doc.doc if doc.doc.spans else weakly_labelled(doc.doc)
        kept, moved = drop_overlaps(doc.concepts, types), []
        injected = inject_around(carrier, SurrogateMaker(rng), rng, [(span.start, span.end) for span in kept])
        for span in kept:
            around = (move for move in injected.moves if move[0] <= span.start and span.end <= move[1])
            shift = next((new - start for start, _, new in around), None)
            if shift is None:
                raise StageError(
                    f"document {doc.id}: concept {span.start}-{span.end} was cut by a planted identifier"
                )
            moved.append(ConceptSpan(span.start + shift, span.end + shift, span.type))
        yield ConceptDocument(injected.doc, tuple(moved))
