"""Surrogates for any language: identifiers change places with those of other documents."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document
from inverse_deid.training.corpora.building import TextBuilder

_FRESH_DIGITS = "0123456789"


def identifiers_by_type(docs: Iterable[Document]) -> Mapping[PhiType, Sequence[str]]:
    """All identifiers of annotated documents, stripped, by type, as often as they stand there."""
    found: dict[PhiType, list[str]] = defaultdict(list)
    for doc in docs:
        for span in doc.spans:
            if text := doc.text[span.start : span.end].strip():
                found[span.type].append(text)
    return found


def with_exchanged_identifiers(
    doc: Document, pool: Mapping[PhiType, Sequence[str]], rng: random.Random, *, keep_share: float = 0.5
) -> Document:
    """Replace identifiers by others of their type, with fresh digits.

    Args:
        doc: The annotated document.
        pool: From `identifiers_by_type`.
        rng: Chooses.
        keep_share: Share of the spans left as they are, in [0, 1].

    Returns:
        A document with the same id, safe text and types; white space at the ends of
        a span stays where it is and is no longer marked.

    Example:
        >>> from inverse_deid.core.values import PhiSpan
        >>> doc = Document("d", "Sra. Gil", (PhiSpan(5, 8, PhiType.PATIENT),))
        >>> with_exchanged_identifiers(doc, {PhiType.PATIENT: ["Ruiz"]}, random.Random(1), keep_share=0).text
        'Sra. Ruiz'
    """
    builder = TextBuilder()
    position = 0
    for span in doc.spans:
        builder.add(doc.text[position : span.start])
        text = doc.text[span.start : span.end]
        others = pool.get(span.type, ())
        if others and rng.random() >= keep_share and (core := text.strip()):
            other = "".join(rng.choice(_FRESH_DIGITS) if c.isdecimal() else c for c in rng.choice(others))
            text = text.replace(core, other, 1)
        builder.mark(text, span.type)
        position = span.end
    builder.add(doc.text[position:])
    return builder.document(doc.id, **doc.meta)
