"""Annotated documents with fresh surrogates in the place of their identifiers."""

from __future__ import annotations

import random

from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.training.corpora.surrogates import CaseContext, SurrogateMaker

_CONSISTENT_SHARE = 0.85


def with_fresh_surrogates(
    doc: Document, maker: SurrogateMaker, rng: random.Random, *, keep_share: float = 0.12
) -> Document:
    """Replace the spans of a document in one left-to-right pass; text and offsets grow together.

    Args:
        doc: The annotated document.
        maker: Makes the surrogates.
        rng: Decides which spans stay.
        keep_share: Share of the spans left as they are, in [0, 1].

    Returns:
        A document with the same id, safe text and types.
    """
    context = CaseContext(consistent=rng.random() < _CONSISTENT_SHARE, day_first=rng.random() < 0.3)
    pieces: list[str] = []
    spans: list[PhiSpan] = []
    position = length = 0
    for span in doc.spans:
        between, original = doc.text[position : span.start], doc.text[span.start : span.end]
        context.after = doc.text[span.end : span.end + 12]
        surrogate = original if rng.random() < keep_share else maker.make(span.type, original, context)
        pieces += (between, surrogate)
        start = length + len(between)
        length = start + len(surrogate)
        spans.append(PhiSpan(start, length, span.type))
        position = span.end
    pieces.append(doc.text[position:])
    return Document(doc.id, "".join(pieces), tuple(spans), meta=doc.meta)
