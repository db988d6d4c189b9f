"""Case safety reports: their texts as a case, and the replacements of their ids, date and age fields."""

from __future__ import annotations

from inverse_deid.formats.icsr.rewriting import Replacements
from inverse_deid.formats.icsr.standard.ages import (
    AGE_GROUP,
    DECADE,
    GESTATION,
    HIGH_AGE_YEARS,
    AgeElement,
    years_of,
)
from inverse_deid.formats.icsr.standard.dates import DateElement, StampDate, parse_stamp
from inverse_deid.formats.icsr.survey import Sort
from inverse_deid.formats.records import Record
from inverse_deid.masking.kept.forms import read_certain_dates
from inverse_deid.replacement.ages import AgePolicy, AgesUnder90, BandedAges
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.dates.parts import PartialDate
from inverse_deid.replacement.dates.policies import DatePolicy
from inverse_deid.replacement.keys import pseudonym
from inverse_deid.replacement.replacers import MaskedCase

_REPORT_DATES = frozenset(("C.1.2", "C.1.4", "C.1.5", "N.2.r.4", "N.1.5"))
_BIRTHS = frozenset(("D.2.1", "D.10.2.1"))
_BANDS_THAT_FIT_DECADES = ("5-years", "10-years")


def texts_of(record: Record) -> CaseTexts:
    if record.report is None:
        case_id = record.case_id or record.docs[0].id
        return CaseTexts(id=case_id, docs=record.docs, date_fields=read_certain_dates(record))
    dates = record.report.dates
    written = [(found, found.date) for found in dates.every if found.date is not None]
    report_days = (on.first_day for found, on in written if found.element in _REPORT_DATES and on.day)
    births = (PartialDate(on.year, on.month, on.day) for found, on in written if _is_birth(found))
    named = ((dates.first_dose, "first dose"), (dates.onset, "onset"))
    anchors = tuple((on.first_day, name) for on, name in named if on is not None and on.day is not None)
    anchor, anchor_name = anchors[0] if anchors else (None, "")
    return CaseTexts(
        id=record.case_id,
        docs=record.docs,
        today=max(report_days, default=None),
        date_fields=tuple(found.value for found in dates.every),
        anchor=anchor,
        anchor_name=anchor_name,
        other_anchors=anchors[1:],
        births=tuple(births),
        values=tuple(value.text for value in record.report.values if value.sort is Sort.IDENTIFIER),
    )


def replacements_of(masked: MaskedCase, key: bytes, marker: str) -> Replacements:
    """Return the replacements of the ids, date and age fields of a case safety report."""
    return Replacements(
        pseudonym=lambda element, value: pseudonym(key, value),
        date_value=lambda field: _replace_date(field, masked.dates),
        age_value=lambda age: age_field(age, masked.ages),
        marker=marker,
    )


def age_field(field: AgeElement, policy: AgePolicy) -> AgeElement | None:
    """Return the value of an age field that agrees with the ages of the texts, None = mask it.

    An age of 90 years or more never stays. A band of years becomes the decade, the only band that
    E2B can express. The `e2b` bands are the age groups, and the field of a group stays. A gestation
    period has no band.

    Example:
        >>> age_field(AgeElement("D.2.2a", "48", "a"), AgesUnder90()).number
        '48'
        >>> age_field(AgeElement("D.2.2a", "94", "a"), AgesUnder90()) is None
        True
    """
    if not isinstance(policy, AgesUnder90 | BandedAges):
        return None
    if field.element == AGE_GROUP:
        return field
    years = years_of(field.number, field.unit)
    if years is None or years >= HIGH_AGE_YEARS:
        return None
    if isinstance(policy, AgesUnder90):
        return field
    if field.element in GESTATION or policy.scheme.name not in _BANDS_THAT_FIT_DECADES:
        return None
    return AgeElement(field.element, f"{int(years // 10)}", DECADE)


def _replace_date(field: DateElement, policy: DatePolicy) -> StampDate | None:
    # None = mask it.
    written = None if _is_birth(field) else policy.replace_field(field.value)
    return None if written is None else parse_stamp(written)


def _is_birth(field: DateElement) -> bool:
    # An unknown element is one if its name contains *birth*.
    return field.element in _BIRTHS or "birth" in field.path.lower()
