"""From a case safety report to the texts of a case, and what stands in its date fields and ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import product

from inverse_deid.core.values import MAX_KNOWN_VALUES, Document, KnownIdentifier, KnownSort
from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.dates import CaseDates, DateElement, StampDate, parse_stamp
from inverse_deid.formats.icsr.known import known_value
from inverse_deid.formats.icsr.rewriting import Replacements
from inverse_deid.formats.icsr.survey import Sort
from inverse_deid.masking.cases.pseudonyms import pseudonym
from inverse_deid.masking.cases.report_ages import age_field
from inverse_deid.masking.cases.texts import CaseTexts, MaskedCase
from inverse_deid.replacement.date_policies import DatePolicy
from inverse_deid.replacement.partial_dates import PartialDate

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
_NAME_STEPS = re.compile(r"(?:/name(?:\[\d+\])?)?/[^/]*$")


def batch_number(case: Case) -> str:
    """The batch number (N.1.2), "" = it does not stand in this part."""
    return next((value.text for value in case.values if value.element_id == "N.1.2"), "")


def texts_of(case: Case, name: str, batch: str = "", source: str = "") -> CaseTexts:
    """All texts of a case safety report.

    Args:
        case: As it was read, or a part around the cases.
        name: Names the case in ids of documents.
        batch: The batch number; a part around the cases has no other id.
        source: Names the file; cases without an id of two files move apart.
    """
    known = _known_of(case)
    dates = case.dates
    docs = (Document(f"{name} {text.path}", text.text, known=known) for text in case.free_texts)
    anchors = tuple(_anchors(dates))
    anchor, anchor_name = anchors[0] if anchors else (None, "")
    return CaseTexts(
        id=_id_of(case, batch, source),
        docs=tuple(docs),
        today=max(_days(dates, _REPORT_DATES), default=None),
        date_fields=tuple(found.value for found in dates.every),
        anchor=anchor,
        anchor_name=anchor_name,
        other_anchors=anchors[1:],
        births=tuple(_births(dates)),
        values=tuple(value.text for value in case.values if value.sort is Sort.IDENTIFIER),
    )


def known_identifiers(case: Case) -> Iterator[KnownIdentifier]:
    """What the fields of a case say of persons; every date that is known to the day, too."""
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
    """Given, middle and family names of each person, each once; two reporters have two places."""
    persons: dict[tuple[str, int], tuple[dict[str, None], ...]] = {}
    for value in case.values:
        if value.element is None or value.element_id not in _PARTS_OF_NAMES:
            continue
        found = known_value(value.element_id, value.element.known, value.text)
        sort, part = _PARTS_OF_NAMES[value.element_id]
        person = persons.setdefault((_NAME_STEPS.sub("", value.path), sort), ({}, {}, {}))
        person[part].update({} if found is None else {found.value: None})
    yield from (tuple(map(tuple, person)) for person in persons.values())


def _known_of(case: Case) -> tuple[KnownIdentifier, ...]:
    """Each once, and no more than are needed to see that they are too many."""
    found: dict[KnownIdentifier, None] = {}
    for identifier in known_identifiers(case):
        found[identifier] = None
        if len(found) > MAX_KNOWN_VALUES:
            break
    return tuple(found)


def replacements_of(case: Case, masked: MaskedCase, key: bytes, marker: str) -> Replacements:
    """What stands in the ids, date and age fields of a case.

    Args:
        case: As it was read.
        masked: Its masked texts.
        key: For pseudonyms.
        marker: Stands for a text that cannot be shown at all.
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


def _births(dates: CaseDates) -> Iterator[PartialDate]:
    for found in dates.every:
        if _is_birth(found) and found.date is not None:
            yield PartialDate(found.date.year, found.date.month, found.date.day)


def _id_of(case: Case, batch: str, source: str) -> str:
    """What shifts depend on: a part around the cases is none of them and moves on its own."""
    if not case.is_case:
        return f"around the cases of {batch or source}"
    return case.case_id or f"case {case.number} without id of {source}"


def _anchors(dates: CaseDates) -> Iterator[tuple[date, str]]:
    for found, name in ((dates.first_dose, "first dose"), (dates.onset, "onset")):
        if found is not None and found.day is not None:
            yield found.first_day, name


def _days(dates: CaseDates, elements: frozenset[str]) -> Iterator[date]:
    """The dates of some elements that are known to the day."""
    for found in dates.every:
        if found.element in elements and found.date is not None and found.date.day is not None:
            yield found.date.first_day
