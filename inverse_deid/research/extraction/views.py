"""The texts that an extractor reads: as they are, with placeholders, or as a masker left them.

Source: Lange, Adel and Strötgen 2020, section 3.2 and table 5, for the first four; the marker
without a class, alone or with relative dates, is the inverse masker's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HYPER_CLASS_OF
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.research.extraction.concepts import ConceptDocument
from inverse_deid.research.extraction.rewriting import (
    Rewritten,
    of_masked,
    rewritten_document,
    with_placeholders,
)


class View(StrEnum):
    """What of a document an extractor reads."""

    ORIGINAL = "original"
    GOLD = "gold"
    PREDICTED = "predicted"
    MARKER = "marker"
    RELATIVE_DATES = "relative-dates"


BY_MASKER = (View.PREDICTED, View.MARKER, View.RELATIVE_DATES)
"""The views that a masker makes: with the suspected category, with one marker, with that and day counts."""


class Masker(Protocol):
    """What masks documents."""

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Mask documents, in order."""
        ...


Maskers = Mapping[View, Masker]
"""The masker of each view of `BY_MASKER` that is wanted."""


def views(docs: Sequence[ConceptDocument], view: View, maskers: Maskers) -> list[Rewritten]:
    """What an extractor reads of each document.

    Args:
        docs: The documents.
        view: As they are; with the placeholders of the gold; as a masker left them.
        maskers: Make the views of `BY_MASKER`.

    Raises:
        ConfigurationError: That of the view is missing.
    """
    if view is View.ORIGINAL:
        return [Rewritten(doc.doc.text) for doc in docs]
    if view is View.GOLD:
        return [with_placeholders(doc.doc, lambda span: HYPER_CLASS_OF[span.type]) for doc in docs]
    if view not in maskers:
        raise ConfigurationError(f"the view {view} needs a masker")
    return [of_masked(found) for found in maskers[view].mask_many([doc.doc for doc in docs])]


def viewed(docs: Sequence[ConceptDocument], view: View, maskers: Maskers) -> list[ConceptDocument]:
    """The documents as `views` shows them, with their concepts, to train on."""
    if view is View.ORIGINAL:
        return list(docs)
    return [rewritten_document(doc, new) for doc, new in zip(docs, views(docs, view, maskers), strict=True)]
