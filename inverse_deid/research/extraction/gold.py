"""The gold of a task, as a tagger of whole tokens could find it at best."""

from __future__ import annotations

from collections.abc import Sequence

from inverse_deid.research.extraction.bio import Typed, snapped
from inverse_deid.research.extraction.concepts import ConceptDocument, ConceptSpan, flat
from inverse_deid.research.extraction.passage_inputs import CONCEPTS
from inverse_deid.text.tokenizer import tokenize


def spans_of_task(doc: ConceptDocument, task: str, kinds: Sequence[str]) -> Sequence[Typed]:
    """The concepts, or the identifiers, of some types: sorted and disjoint."""
    if task == CONCEPTS:
        return flat(doc.concepts, kinds)
    return [span for span in doc.doc.spans if span.type in kinds]


def gold_of(
    docs: Sequence[ConceptDocument], task: str, kinds: Sequence[str]
) -> list[tuple[ConceptSpan, ...]]:
    """The gold of a task in each document, as whole tokens and without overlaps."""
    return [snapped(tokenize(doc.doc.text), spans_of_task(doc, task, kinds)) for doc in docs]
