"""Case safety reports: their texts as a case, and the replacements of their ids, date and age fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product

from inverse_deid.core.values import MAX_KNOWN_VALUES, Document, KnownIdentifier, KnownSort
from inverse_deid.formats.icsr.ages import (
    AGE_GROUP,
    DECADE,
    GESTATION,
    HIGH_AGE_YEARS,
    AgeElement,
    years_of,
)
from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.dates import DateElement, StampDate, parse_stamp
from inverse_deid.formats.icsr.known import known_value
from inverse_deid.formats.icsr.rewriting import Replacements
from inverse_deid.formats.icsr.survey import Sort
from inverse_deid.replacement.ages import AgePolicy, AgesUnder90, BandedAges
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.date_parts import PartialDate
from inverse_deid.replacement.date_policies import DatePolicy
from inverse_deid.replacement.keys import pseudonym
from inverse_deid.replacement.replacers import MaskedCase

_REPORT_DATES = frozenset(("C.1.2", "C.1.4", "C.1.5", "N.2.r.4", "N.1.5"))
_BIRTHS = frozenset(("D.2.1", "D.10.2.1"))
_PERSONS = (
    ("C.2.r.1.2", "C.2.r.1.3", "C.2.r.1.4"),
    ("C.3.3.3", "C.3.3.4", "C.3.3.5"),
    ("A.3.2.2d", "A.3.2.2e", "A.3.2.2f"),
)
"""Given, middle and family name."""

_PARTS_OF_NAMES = {
    element: (person, part) for person, parts in enumerate(_PERSONS) for part, element in enumerate(parts)
}
_BANDS_THAT_FIT_DECADES = ("5-years", "10-years")
_NAME_STEPS = re.compile(r"(?:/name(?:\[\d+\])?)?/[^/]*$")


def batch_number(case: Case) -> str:
    """Return the batch number (N.1.2), "" = not in this part."""
    return next((value.text for value in case.values if value.element_id == "N.1.2"), "")


def texts_of(case: Case, name: str, batch: str = "", source: str = "") -> CaseTexts:
    """Return all texts of a case safety report.

    Args:
        case: As read, or a part around the cases.
        name: Identifies the case in ids of documents.
        batch: The batch number, the only id of a part around the cases.
        source: Identifies the file, so that cases without an id of two files get different shifts.
    """
    known: dict[KnownIdentifier, None] = {}
    for identifier in known_identifiers(case):
        known[identifier] = None
        if len(known) > MAX_KNOWN_VALUES:
            break  # these are enough to see that there are too many
    dates = case.dates
    written = [(found, found.date) for found in dates.every if found.date is not None]
    report_days = (on.first_day for found, on in written if found.element in _REPORT_DATES and on.day)
    births = (PartialDate(on.year, on.month, on.day) for found, on in written if _is_birth(found))
    named = ((dates.first_dose, "first dose"), (dates.onset, "onset"))
    anchors = tuple((on.first_day, name) for on, name in named if on is not None and on.day is not None)
    docs = (Document(f"{name} {text.path}", text.text, known=tuple(known)) for text in case.free_texts)
    anchor, anchor_name = anchors[0] if anchors else (None, "")
    return CaseTexts(
        id=_id_of(case, batch, source),
        docs=tuple(docs),
        today=max(report_days, default=None),
        date_fields=tuple(found.value for found in dates.every),
        anchor=anchor,
        anchor_name=anchor_name,
        other_anchors=anchors[1:],
        births=tuple(births),
        values=tuple(value.text for value in case.values if value.sort is Sort.IDENTIFIER),
    )


def known_identifiers(case: Case) -> Iterator[KnownIdentifier]:
    """Yield the persons that the fields of a case name, and every date that is known to the day."""
    for value in case.known_values:
        yield KnownIdentifier(value.value, KnownSort(value.sort))
    for person in _persons(case):
        for parts in product(*(names or ("",) for names in person)):
            whole = " ".join(part for part in parts if part)
            if " " in whole:
                yield KnownIdentifier(whole, KnownSort.NAME)
    for found in case.dates.every:
        if found.date is not None and found.date.day is not None:
            yield KnownIdentifier(found.date.digits, KnownSort.DATE)


def _persons(case: Case) -> Iterator[Sequence[Sequence[str]]]:
    """Yield the given, middle and family names of each person; two reporters are two persons."""
    persons: dict[tuple[str, int], tuple[dict[str, None], ...]] = {}
    for value in case.values:
        if value.element is None or value.element_id not in _PARTS_OF_NAMES:
            continue
        found = known_value(value.element_id, value.element.known, value.text)
        sort, part = _PARTS_OF_NAMES[value.element_id]
        person = persons.setdefault((_NAME_STEPS.sub("", value.path), sort), ({}, {}, {}))
        person[part].update({} if found is None else {found.value: None})
    yield from (tuple(map(tuple, person)) for person in persons.values())


def replacements_of(case: Case, masked: MaskedCase, key: bytes, marker: str) -> Replacements:
    """Return the replacements of the ids, date and age fields of a case.

    Args:
        case: As read.
        masked: Its masked texts.
        key: For pseudonyms.
        marker: Replaces a text that cannot be shown at all.
    """
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

    Args:
        field: As written.
        policy: Of the run.

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
    """Return the date of a field under the policy of its case, None = mask it."""
    written = None if _is_birth(field) else policy.structured(field.value)
    return None if written is None else parse_stamp(written)


def _is_birth(field: DateElement) -> bool:
    """Tell whether a field is a date of birth; an unknown element is one if its name contains *birth*."""
    return field.element in _BIRTHS or "birth" in field.path.lower()


def _id_of(case: Case, batch: str, source: str) -> str:
    """Return the id that shifts depend on; a part around the cases has one of its own."""
    if not case.is_case:
        return f"around the cases of {batch or source}"
    return case.case_id or f"case {case.number} without id of {source}"
