"""From a record to the texts of a case, and the values of its date fields and ids."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from inverse_deid.formats.icsr.dates import DateElement, ReportDates, StampDate, parse_stamp
from inverse_deid.formats.icsr.rewriting import Replacements
from inverse_deid.formats.icsr.survey import Sort
from inverse_deid.formats.records import Record
from inverse_deid.masking.cases.pseudonyms import pseudonym
from inverse_deid.masking.cases.report_ages import age_field
from inverse_deid.masking.cases.texts import CaseTexts, MaskedCase
from inverse_deid.replacement.date_policies import DatePolicy
from inverse_deid.replacement.partial_dates import PartialDate

_REPORT_DATES = frozenset(("C.1.2", "C.1.4", "C.1.5", "N.2.r.4", "N.1.5"))
_BIRTHS = frozenset(("D.2.1", "D.10.2.1"))


def texts_of(record: Record) -> CaseTexts:
    """Return the texts of a record as one case.

    Args:
        record: Of any format, with a text or a case safety report.
    """
    if record.report is None:
        return CaseTexts(id=record.case_id or record.docs[0].id, docs=record.docs)
    dates = record.report.dates
    anchors = tuple(_anchors(dates))
    anchor, anchor_name = anchors[0] if anchors else (None, "")
    return CaseTexts(
        id=record.case_id,
        docs=record.docs,
        today=max(_days(dates, _REPORT_DATES), default=None),
        date_fields=tuple(found.value for found in dates.every),
        anchor=anchor,
        anchor_name=anchor_name,
        other_anchors=anchors[1:],
        births=tuple(_births(dates)),
        values=tuple(value.text for value in record.report.values if value.sort is Sort.IDENTIFIER),
    )


def replacements_of(masked: MaskedCase, key: bytes, marker: str) -> Replacements:
    """Return the values of the ids, dates and ages of a case safety report.

    Args:
        masked: Its masked texts.
        key: For pseudonyms.
        marker: Replaces a text that cannot be shown at all.
    """
    return Replacements(
        pseudonym=lambda element, value: pseudonym(key, value),
        date_value=lambda field: _field_value(field, masked.dates),
        age_value=lambda age: age_field(age, masked.ages),
        marker=marker,
    )


def _field_value(field: DateElement, policy: DatePolicy) -> StampDate | None:
    """The date that stands in a field under the policy of its case; None = none can."""
    written = None if _is_birth(field) else policy.structured(field.value)
    return None if written is None else parse_stamp(written)


def _is_birth(field: DateElement) -> bool:
    """Whether a field is a date of birth; one of an element that is not known has *birth* in its name."""
    return field.element in _BIRTHS or "birth" in field.path.lower()


def _births(dates: ReportDates) -> Iterator[PartialDate]:
    for found in dates.every:
        if _is_birth(found) and found.date is not None:
            yield PartialDate(found.date.year, found.date.month, found.date.day)


def _anchors(dates: ReportDates) -> Iterator[tuple[date, str]]:
    for found, name in ((dates.first_dose, "first dose"), (dates.onset, "onset")):
        if found is not None and found.day is not None:
            yield found.first_day, name


def _days(dates: ReportDates, elements: frozenset[str]) -> Iterator[date]:
    """The dates of some elements that are known to the day."""
    for found in dates.every:
        if found.element in elements and found.date is not None and found.date.day is not None:
            yield found.date.first_day
