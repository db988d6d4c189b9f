"""From a case safety report to the texts of a case, and what stands in its date fields and ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from itertools import product

from inverse_deid.cases.pseudonyms import pseudonym
from inverse_deid.cases.report_ages import age_field
from inverse_deid.cases.texts import CaseTexts, MaskedCase
from inverse_deid.core.values import Document, KnownIdentifier, KnownSort
from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.dates import CaseDates, DateElement, StampDate, parse_stamp
from inverse_deid.formats.icsr.rewriting import Replacements
from inverse_deid.formats.icsr.survey import Sort
from inverse_deid.replacement.case_dates import read_structured
from inverse_deid.replacement.date_policies import DatePolicy, ShiftedDates

_REPORT_DATES = frozenset(("C.1.2", "C.1.4", "C.1.5", "N.2.r.4", "N.1.5"))
_BIRTHS = frozenset(("D.2.1", "D.10.2.1"))
_COURSE = frozenset(("E.i.4", "G.k.4.r.4", "C.1.4"))
_PERSONS = (
    ("C.2.r.1.2", "C.2.r.1.3", "C.2.r.1.4"),
    ("C.3.3.3", "C.3.3.4", "C.3.3.5"),
    ("A.3.2.2d", "A.3.2.2e", "A.3.2.2f"),
)
"""Given, middle and family name."""


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
    known = tuple(dict.fromkeys(known_identifiers(case)))
    dates = case.dates
    docs = (Document(f"{name} {text.path}", text.text, known=known) for text in case.free_texts)
    anchor, anchor_name = _anchor(dates)
    return CaseTexts(
        id=_id_of(case, batch, source),
        docs=tuple(docs),
        today=max(_days(dates, _REPORT_DATES), default=None),
        date_fields=tuple(found.value for found in dates.every),
        anchor=anchor,
        anchor_name=anchor_name,
        births=tuple(_days(dates, _BIRTHS)),
        values=tuple(value.text for value in case.values if value.sort is Sort.IDENTIFIER),
    )


def known_identifiers(case: Case) -> Iterator[KnownIdentifier]:
    """What the fields of a case say of persons; every date that is known to the day, too."""
    names: dict[str, list[str]] = defaultdict(list)
    for value in case.known_values:
        yield KnownIdentifier(value.value, KnownSort(value.sort))
        names[value.element].append(value.value)
    for given, middle, family in _PERSONS:
        for parts in product(names[given] or [""], names[middle] or [""], names[family] or [""]):
            whole = " ".join(part for part in parts if part)
            if " " in whole:
                yield KnownIdentifier(whole, KnownSort.NAME)
    for found in case.dates.every:
        if found.date is not None and found.date.day is not None:
            yield KnownIdentifier(found.date.digits, KnownSort.DATE)


def replacements_of(case: Case, masked: MaskedCase, key: bytes, marker: str) -> Replacements:
    """What stands in the ids, date and age fields of a case.

    Args:
        case: As it was read.
        masked: Its masked texts.
        key: For pseudonyms.
        marker: Stands for a text that cannot be shown at all.
    """
    fields = _DateFields(masked.dates, case.dates)
    return Replacements(
        pseudonym=lambda element, value: pseudonym(key, value),
        date_value=fields.value,
        age_value=lambda age: age_field(age, masked.ages),
        marker=marker,
    )


class _DateFields:
    """Date fields under the policy of their case."""

    def __init__(self, policy: DatePolicy, dates: CaseDates) -> None:
        self._policy = policy
        self._course = list(_days(dates, _COURSE))

    def value(self, field: DateElement) -> StampDate | None:
        """The date that stands in a field; None = none can."""
        if field.element in _BIRTHS and not self._keeps_ages(field):
            return None
        written = self._policy.structured(field.value)
        return None if written is None else parse_stamp(written)

    def _keeps_ages(self, birth: DateElement) -> bool:
        """Whether the ages at onset, first dose and receipt stay what they were."""
        found = read_structured(birth.value)
        day = found[0].as_date if found else None
        if day is None or not isinstance(self._policy, ShiftedDates):
            return True
        return all(self._policy.keeps_age(day, on) for on in self._course if on >= day)


def _id_of(case: Case, batch: str, source: str) -> str:
    """What shifts depend on: a part around the cases is none of them and moves on its own."""
    if not case.is_case:
        return f"around the cases of {batch or source}"
    return case.case_id or f"case {case.number} without id of {source}"


def _anchor(dates: CaseDates) -> tuple[date | None, str]:
    for found, name in ((dates.first_dose, "first dose"), (dates.onset, "onset")):
        if found is not None and found.day is not None:
            return found.first_day, name
    return None, ""


def _days(dates: CaseDates, elements: frozenset[str]) -> Iterator[date]:
    """The dates of some elements that are known to the day."""
    for found in dates.every:
        if found.element in elements and found.date is not None and found.date.day is not None:
            yield found.date.first_day
