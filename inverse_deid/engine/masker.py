"""The parts of a de-identifier that engines use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Protocol, runtime_checkable

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.records import Record
from inverse_deid.masking.case_reports import replacements_of, texts_of
from inverse_deid.masking.kept.columns import KeptColumns
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.dates.policies import MaskedDates
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


class JobMasker(Masker, MasksCases, Protocol):
    """Masks documents and cases."""


def mask_cases(masker: Masker, records: Sequence[Record]) -> list[MaskedCase | None]:
    """Mask the texts of a batch; those of one record are a case.

    Returns:
        The masked texts of each record, None = it has no text.

    Raises:
        StageError: The masker returned other documents than it was given.
    """
    todo = [not record.problem and bool(record.docs or record.report) for record in records]
    cases = [texts_of(record) for record, is_todo in zip(records, todo, strict=True) if is_todo]
    masked = mask_texts(masker, cases) if cases else []
    results = iter(masked)
    return [
        _give_new_id(next(results), record.new_id) if is_todo else None
        for record, is_todo in zip(records, todo, strict=True)
    ]


def mask_texts(masker: Masker, cases: Sequence[CaseTexts]) -> list[MaskedCase]:
    """Mask the texts of cases, all in one batch.

    Raises:
        StageError: The masker returned other documents than it was given.
    """
    masked = _mask(masker, cases)
    given = [[doc.id for doc in case.docs] for case in cases]
    if given != [[doc.id for doc in case.docs] for case in masked]:
        n_docs = sum(map(len, given))
        n_masked = sum(len(case.docs) for case in masked)
        raise StageError(f"{n_docs} documents went into the masker and others came out ({n_masked})")
    return masked


def _give_new_id(case: MaskedCase, new_id: str) -> MaskedCase:
    if not new_id or all(doc.id == new_id for doc in case.docs):
        return case
    return replace(case, docs=tuple(replace(doc, id=new_id) for doc in case.docs))


def _mask(masker: Masker, cases: Sequence[CaseTexts]) -> list[MaskedCase]:
    if isinstance(masker, MasksCases):
        return masker.mask_cases(cases)
    docs = masker.mask_many([doc for case in cases for doc in case.docs])
    results = iter(docs)
    found = [MaskedCase(tuple(islice(results, len(case.docs))), MaskedDates()) for case in cases]
    rest = tuple(results)
    return [*found, MaskedCase(rest, MaskedDates())] if rest else found


def mask_records(masker: Masker, records: Sequence[Record]) -> list[tuple[MaskedDocument, ...]]:
    """Mask the texts of a batch; see `mask_cases`.

    Returns:
        As many masked texts for each record as it has.
    """
    return [() if case is None else case.docs for case in mask_cases(masker, records)]


def check_kept(masker: Masker, unit: str) -> KeptColumns:
    """Return what checks the kept columns of a file whose records have this name."""
    return KeptColumns(masker, masker.day_first if isinstance(masker, _ReadsDates) else None, unit)


@runtime_checkable
class _ReadsDates(Protocol):
    """A masker that knows how numeric dates are read."""

    @property
    def day_first(self) -> bool | None:
        """Their order, None = not known."""
        ...


def mask_with_fields(
    masker: Masker, records: Sequence[Record], key: bytes, marker: str, kept: KeptColumns | None = None
) -> list[tuple[Record, tuple[MaskedDocument, ...]]]:
    """Mask the texts of a batch, and the fields of those records that are case safety reports.

    Args:
        masker: Masks texts and cases.
        records: Of one file.
        key: Of the pseudonyms of report ids.
        marker: Replaces a text of a report that cannot be shown at all.
        kept: Checks the kept columns of the file, None = a new one.

    Returns:
        Each record, with its `fields` if it is a report and `changes` of its kept columns, and its masked
        texts.

    Raises:
        KeptColumnError: A kept column has a value that must not leave.
    """
    kept = check_kept(masker, "row") if kept is None else kept
    kept.judge(records)
    found: list[tuple[Record, tuple[MaskedDocument, ...]]] = []
    cases = mask_cases(masker, records)
    for record, case in zip(kept.settle(records, cases), cases, strict=True):
        if record.report is not None and case is not None:
            record = replace(record, fields=replacements_of(case, key, marker))  # noqa: PLW2901
        found.append((record, () if case is None else case.docs))
    return found
