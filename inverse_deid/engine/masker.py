"""The one thing an engine needs of a de-identifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.records import Record


class Masker(Protocol):
    """Masks documents; never raises for a document but returns it fully masked as failed."""

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Mask one batch, order kept."""
        ...


def mask_records(masker: Masker, records: Sequence[Record]) -> list[MaskedDocument | None]:
    """Mask the documents of a batch; None where a record has none.

    Raises:
        StageError: The masker gave back other documents than it was given.
    """
    docs = [record.doc for record in records if record.doc is not None]
    masked = masker.mask_many(docs) if docs else []
    if [doc.id for doc in docs] != [result.id for result in masked]:
        raise StageError(f"{len(docs)} documents went into the masker and others came out ({len(masked)})")
    results = iter(masked)
    return [None if record.doc is None else next(results) for record in records]
