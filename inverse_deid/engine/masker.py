"""The one thing an engine needs of a de-identifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol, runtime_checkable

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.records import Record
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.replacers import MaskedCase


class Masker(Protocol):
    """Masks documents; never raises for a document but returns it fully masked as failed."""

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Mask one batch, order kept."""
        ...


@runtime_checkable
class MasksCases(Protocol):
    """Masks the texts of cases."""

    def mask_cases(self, cases: Sequence[CaseTexts]) -> list[MaskedCase]:
        """Mask the texts of cases, all in one batch."""
        ...


def mask_records(masker: Masker, records: Sequence[Record]) -> list[tuple[MaskedDocument, ...]]:
    """Mask the texts of a batch; those of one record are a case, if the masker knows cases.

    Returns:
        As many masked texts for each record as it has.

    Raises:
        StageError: The masker gave back other documents than it was given.
    """
    cases = [CaseTexts(id=record.docs[0].id, docs=record.docs) for record in records if record.docs]
    docs = [doc for case in cases for doc in case.docs]
    masked = list(_masked(masker, cases, docs)) if docs else []
    if [doc.id for doc in docs] != [result.id for result in masked]:
        raise StageError(f"{len(docs)} documents went into the masker and others came out ({len(masked)})")
    results = iter(masked)
    return [tuple(islice(results, len(record.docs))) for record in records]


def _masked(masker: Masker, cases: Sequence[CaseTexts], docs: Sequence[Document]) -> Iterator[MaskedDocument]:
    if isinstance(masker, MasksCases):
        return (one for case in masker.mask_cases(cases) for one in case.docs)
    return iter(masker.mask_many(docs))
