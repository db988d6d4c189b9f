"""Identifiers planted around concepts, so that both kinds of gold stand in the same sentences.

A stretch of the old text is copied whole or not at all around a concept: the words of a concept
and what stands between them never change.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence

from inverse_deid.core.errors import StageError
from inverse_deid.research.extraction.concepts import ConceptDocument, ConceptSpan, flat
from inverse_deid.training.corpora.building import Move
from inverse_deid.training.corpora.inject import inject_around
from inverse_deid.training.corpora.surrogates import SurrogateMaker
from inverse_deid.training.corpora.weak_labels import weakly_labelled


def inject_identifiers(
    docs: Sequence[ConceptDocument], seed: int, types: Collection[str]
) -> Iterator[ConceptDocument]:
    """Plant identifiers in documents; each document's draw depends on the seed and its id alone.

    Args:
        docs: Carriers with concepts. Without identifiers of their own, dates and ages that
            certain patterns find in them are marked; what is left unmarked may still identify.
        seed: Decides everything.
        types: The concepts that are kept; others are left out, and overlaps of those kept.

    Yields:
        Documents of the same ids with identifiers and concepts.

    Raises:
        StageError: A concept was cut, which must not happen.
    """
    for doc in docs:
        rng = random.Random(f"{seed}:{doc.id}")
        carrier = doc.doc if doc.doc.spans else weakly_labelled(doc.doc)
        kept = flat(doc.concepts, types)
        injected = inject_around(carrier, SurrogateMaker(rng), rng, [(span.start, span.end) for span in kept])
        yield ConceptDocument(injected.doc, tuple(_moved(span, injected.moves, doc.id) for span in kept))


def _moved(span: ConceptSpan, moves: Sequence[Move], name: str) -> ConceptSpan:
    for start, end, new in moves:
        if start <= span.start and span.end <= end:
            return ConceptSpan(span.start - start + new, span.end - start + new, span.type)
    raise StageError(f"document {name}: concept {span.start}-{span.end} was cut by a planted identifier")
