"""Mask the records of a batch: their texts, their kept columns, and the fields of case reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import MaskedDocument
from inverse_deid.core.wording import _
from inverse_deid.files.reading import MaskedRecord, ReadRecord, Writing, settle_record
from inverse_deid.formats.records import Record
from inverse_deid.masking.case_masker import CaseMasker, DocumentMasker
from inverse_deid.masking.kept.columns import KeptColumns
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.dates.policies import MaskedDates
from inverse_deid.replacement.replacers import MaskedCase


def mask_texts(masker: DocumentMasker, cases: Sequence[CaseTexts]) -> list[MaskedCase]:
    """Mask the texts of cases, all in one batch.

    Raises:
        StageError: The masker returned other documents than it was given.
    """
    if not cases:
        return []
    masked = _mask(masker, cases)
    given = [[doc.id for doc in case.docs] for case in cases]
    if given != [[doc.id for doc in case.docs] for case in masked]:
        n_docs = sum(map(len, given))
        n_masked = sum(len(case.docs) for case in masked)
        raise StageError(
            _(
                "{n_docs} documents went into the masker and others came out ({n_masked})",
                n_docs=n_docs,
                n_masked=n_masked,
            )
        )
    return masked


def _mask(masker: DocumentMasker, cases: Sequence[CaseTexts]) -> list[MaskedCase]:
    if isinstance(masker, CaseMasker):
        return masker.mask_cases(cases)
    docs = masker.mask_many([doc for case in cases for doc in case.docs])
    results = iter(docs)
    found = [MaskedCase(tuple(islice(results, len(case.docs))), MaskedDates()) for case in cases]
    rest = tuple(results)
    return [*found, MaskedCase(rest, MaskedDates())] if rest else found


def mask_read(
    masker: DocumentMasker, records: Sequence[ReadRecord], kept: KeptColumns | None = None
) -> list[MaskedRecord]:
    """Mask a batch of records, and judge their kept columns.

    Args:
        masker: Masks texts and cases.
        records: Of one file; those with a problem have no text.
        kept: Checks the kept columns of the file, None = a new one.

    Raises:
        KeptColumnError: A kept column has a value that must not leave.
        StageError: The masker returned other documents than it was given.
    """
    kept = check_kept(masker, "row") if kept is None else kept
    kept.judge(records)
    masked = iter(mask_texts(masker, [texts for one in records if (texts := one.texts) is not None]))
    cases = [None if one.bare is None else _give_new_id(next(masked), one.new_id) for one in records]
    return [
        MaskedRecord(() if case is None else case.docs, case, changes)
        for case, changes in zip(cases, kept.settle(records, cases), strict=True)
    ]


def _give_new_id(case: MaskedCase, new_id: str) -> MaskedCase:
    if not new_id or all(doc.id == new_id for doc in case.docs):
        return case
    return replace(case, docs=tuple(replace(doc, id=new_id) for doc in case.docs))


def check_kept(masker: DocumentMasker, unit: str) -> KeptColumns:
    """Return what checks the kept columns of a file whose records have this name."""
    return KeptColumns(masker, masker.day_first if isinstance(masker, CaseMasker) else None, unit)


def mask_with_fields(
    masker: DocumentMasker,
    records: Sequence[Record],
    key: bytes = b"",
    marker: str = "PHI",
    kept: KeptColumns | None = None,
    *,
    unit: str = "row",
) -> list[tuple[Record, tuple[MaskedDocument, ...]]]:
    """Mask a batch of records; see `mask_read`.

    Args:
        masker: Masks texts and cases.
        records: Of one file.
        key: Of the pseudonyms of report ids.
        marker: Replaces a text of a report that cannot be shown at all.
        kept: Checks the kept columns of the file, None = a new one.
        unit: The name of a record in messages.

    Returns:
        Each record, with its `fields` if it is a report and `changes` of its kept columns, and its masked
        texts.
    """
    masked = mask_read(masker, [ReadRecord.of(record, unit) for record in records], kept)
    writing = Writing(key, marker)
    return [
        (settle_record(record, one, writing), one.docs) for record, one in zip(records, masked, strict=True)
    ]


def mask_records(masker: DocumentMasker, records: Sequence[Record]) -> list[tuple[MaskedDocument, ...]]:
    """Return as many masked texts for each record of a batch as it has."""
    return [docs for _, docs in mask_with_fields(masker, records)]
