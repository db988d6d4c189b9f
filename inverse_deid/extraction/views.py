"""The texts that an extractor reads: as they are, with placeholders, or as a masker left them.

Source: Lange, Adel and Strötgen 2020, section 3.2 and table 5, for the first three; the marker
without a class is the inverse masker's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HYPER_CLASS_OF
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.extraction.concepts import ConceptDocument
from inverse_deid.extraction.rewriting import (
    Rewritten,
    of_masked,
    rewrite,
    rewritten_document,
    with_placeholders,
)


class View(StrEnum):
    """What of a document an extractor reads."""

    ORIGINAL = "original"
    GOLD = "gold"
    PREDICTED = "predicted"
    MARKER = "marker"


class Masker(Protocol):
    """What masks documents; its markers show the suspected category, as in `[NAME]`."""

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Mask documents, in order."""
        ...


def views(docs: Sequence[ConceptDocument], view: View, masker: Masker | None = None) -> list[Rewritten]:
    """What an extractor reads of each document.

    Args:
        docs: The documents.
        view: As they are; with the placeholders of the gold; masked, with placeholders or with
            one marker.
        masker: Masks them, for the last two.

    Raises:
        ConfigurationError: It is missing.
    """
    if view is View.ORIGINAL:
        return [Rewritten(doc.doc.text) for doc in docs]
    if view is View.GOLD:
        return [with_placeholders(doc.doc, lambda span: HYPER_CLASS_OF[span.type]) for doc in docs]
    if masker is None:
        raise ConfigurationError(f"the view {view} needs a masker")
    masked = [of_masked(found) for found in masker.mask_many([doc.doc for doc in docs])]
    if view is View.PREDICTED:
        return masked
    return [
        rewrite(doc.doc.text, new.masks, lambda number: "PHI") for doc, new in zip(docs, masked, strict=True)
    ]


def viewed(
    docs: Sequence[ConceptDocument], view: View, masker: Masker | None = None
) -> list[ConceptDocument]:
    """The documents as `views` shows them, with their concepts, to train on."""
    if view is View.ORIGINAL:
        return list(docs)
    return [rewritten_document(doc, new) for doc, new in zip(docs, views(docs, view, masker), strict=True)]
