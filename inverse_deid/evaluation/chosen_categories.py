"""Gold documents of a masking that keeps some categories: only marks of the masked ones are PHI."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from inverse_deid.choices.categories import Categories, kept_classes, permits_years
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.evaluation.evaluation import evaluate_masks
from inverse_deid.evaluation.measures.counts import Range
from inverse_deid.evaluation.measures.figures import Share
from inverse_deid.masking.kept_categories import is_year_alone, names_high_age
from inverse_deid.replacement.dates.replacing import born_on


def split_spans(docs: Sequence[Document], categories: Categories) -> tuple[list[Document], list[Document]]:
    """Return the documents with the marks of what must be masked, and with all other marks.

    The first have the marks of the masked categories and of ages over 89. With the categories of `hipaa`,
    years without day and month are among the others.

    A word of a kept category then counts like any word that is not PHI: if kept, it does not leak, and if
    masked, it is masked needlessly. Dates of birth are marked as dates, so their masks count as needless.

    Example:
        >>> from inverse_deid.choices.categories import parse_categories
        >>> from inverse_deid.core.phi import PhiType
        >>> spans = (PhiSpan(0, 2, PhiType.AGE), PhiSpan(10, 12, PhiType.AGE))
        >>> doc = Document("a", "43 years, 94 years", spans)
        >>> masked, kept = split_spans([doc], parse_categories("all,-age"))
        >>> masked[0].spans, kept[0].spans[0].start
        ((PhiSpan(start=10, end=12, type=<PhiType.AGE: 'AGE'>),), 0)
    """
    both = [_split(doc, categories) for doc in docs]
    return [masked for masked, _ in both], [kept for _, kept in both]


def measure_kept(
    docs: Sequence[Document], masks: Mapping[str, Sequence[Range]], categories: Categories
) -> Share:
    """Return the share of the tokens of the kept categories that are not wholly masked.

    Args:
        docs: With all marks.
        masks: By id; a document without masks counts as unmasked.
        categories: What is masked.
    """
    _, others = split_spans(docs, categories)
    masked = evaluate_masks(others, masks, allow_missing=True).figure("recall_all")
    return Share(masked.whole - masked.part, masked.whole)


def _split(doc: Document, categories: Categories) -> tuple[Document, Document]:
    # First the marks that must be masked, then those that may be kept.
    kept = kept_classes(categories)
    dates = [span for span in doc.spans if HYPER_CLASS_OF[span.type] is HyperClass.DATE]
    births = born_on(doc.text, [(span.start, span.end) for span in dates])
    years = {
        span
        for number, span in enumerate(dates)
        if permits_years(categories)
        and number not in births
        and is_year_alone(doc.text, span.start, span.end)
    }

    def may_be_kept(span: PhiSpan) -> bool:
        hyper = HYPER_CLASS_OF[span.type]
        is_high = hyper is HyperClass.AGE and names_high_age(doc.text[span.start : span.end])
        return span in years or (hyper in kept and not is_high)

    masked = tuple(span for span in doc.spans if not may_be_kept(span))
    rest = tuple(span for span in doc.spans if may_be_kept(span))
    return dataclasses.replace(doc, spans=masked), dataclasses.replace(doc, spans=rest)
