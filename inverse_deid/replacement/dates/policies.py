"""The policies for the dates of one case: mask, year, relative day, secret shift.

A policy returns None, which means *mask*, for every date that it cannot replace for certain. No
policy shows a date of birth, or a date of 90 or more years before the case's today: it tells an age
that 45 CFR 164.514(b)(2)(i)(C) does not allow. Policies that keep intervals also mask dates far from
the others, since one of them may be a birth that no word reveals.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Protocol

from inverse_deid.replacement.dates.layouts import DateReading
from inverse_deid.replacement.dates.parts import PartialDate, Precision, partial
from inverse_deid.replacement.dates.reading import KnownDates, read_structured
from inverse_deid.replacement.dates.text import read_date, write_date
from inverse_deid.replacement.keys import secret_shift_days

_OLDEST_YEARS = 90
_DAYS_A_MONTH = 30.436875
_DAYS_A_YEAR = 365.2425
_SAFE_DISTANCE = 2
_MAX_DAYS_WITHIN_MONTH = 10


class DatePolicy(Protocol):
    """Replaces the dates of one case."""

    def replacement(self, text: str) -> str | None:
        """Return the words that replace one date, None = mask it."""
        ...

    def replace_field(self, value: str) -> str | None:
        """Return the value that replaces one of a date field, None = mask it."""
        ...


@dataclass(frozen=True, slots=True)
class MaskedDates:
    """Masks every date."""

    def replacement(self, text: str) -> str | None:
        """Return None."""
        return None

    def replace_field(self, value: str) -> str | None:
        """Return None."""
        return None


@dataclass(frozen=True, slots=True)
class YearDates:
    """Shows the year alone, if it is written.

    Example:
        >>> from inverse_deid.replacement.dates.reading import case_dates
        >>> YearDates(case_dates([], today=date(2020, 2, 1))).replacement("12-OCT-19")
        '2019'
    """

    case: KnownDates = field(repr=False)

    def replacement(self, text: str) -> str | None:
        """Return the year or years of a date, None if no year is written."""
        reading = self.case.read(text)
        if reading is None or reading.inferred_year or _tells_age(reading, self.case):
            return None
        years = dict.fromkeys(when.earliest.year for when in _ends(reading))
        return f" {reading.joined_by} ".join(f"{year:04}" for year in years)

    def replace_field(self, value: str) -> str | None:
        """Return the first four digits of a date field."""
        when = _field_of_case(value, self.case)
        return f"{when[0].earliest.year:04}" if when else None


@dataclass(frozen=True, slots=True)
class RelativeDays:
    """Counts the days from an anchor: `Day +7`; build it with `relative_days`.

    Months and years become `about Month -2` and `about Year -4`: the difference of the calendar
    months or years, which does not reveal a day.
    """

    case: KnownDates = field(repr=False)
    anchor: date | None = field(repr=False)  # day 0; None masks every date
    statement: str  # what Day 0 is, for the first date of the case; has no date and no text of the case
    center: date | None = field(default=None, repr=False)  # dates far from it are masked; None = the anchor

    def replacement(self, text: str) -> str | None:
        """Return the day, the first and last day of a range, or the approximate month or year."""
        reading = self.case.read(text)
        if self.anchor is None or reading is None or _tells_age(reading, self.case):
            return None
        if _is_far(reading, self.center or self.anchor, self.case):
            return None
        counted = f" {reading.joined_by} ".join(_relative(end, self.anchor) for end in _ends(reading))
        return f"{counted} {reading.time}" if reading.time else counted

    def replace_field(self, value: str) -> str | None:
        """Return None: a date field cannot contain a day count."""
        return None


def relative_days(
    case: KnownDates,
    anchor: date | None = None,
    anchor_name: str = "first dose",
    *,
    hidden: Collection[str] = (),
) -> RelativeDays:
    """Count from a given day, or else from the earliest full date that the case's texts show.

    A date of birth cannot be the anchor, nor can a masked date of the texts, such as one far before
    the latest.

    Args:
        case: Its dates.
        anchor: First dose or onset, from the structured fields.
        anchor_name: Its name in the statement.
        hidden: Words of dates that every policy masks.

    Example:
        >>> from inverse_deid.replacement.dates.reading import case_dates
        >>> policy = relative_days(case_dates([], today=date(2020, 2, 1)), date(2019, 10, 12))
        >>> policy.statement, policy.replacement("19-OCT-2019")
        ('Day 0 = first dose', 'Day +7')
    """
    if anchor is not None and not case.is_birth(partial(anchor)):
        return RelativeDays(case, anchor, f"Day 0 = {anchor_name}")
    shown = (
        reading
        for reading in case.readings(hidden)
        if not (_tells_age(reading, case) or _is_far(reading, case.latest, case))
    )
    days = (day for reading in shown for end in _ends(reading) if (day := end.as_date))
    earliest = min(days, default=None)
    named = "earliest date of the text" if earliest else "not known, dates are masked"
    return RelativeDays(case, earliest, f"Day 0 = {named}", case.latest)


@dataclass(frozen=True, slots=True)
class ShiftedDates:
    """Moves every date the same secret number of days back; build it with `shift_dates`.

    Days move by exactly that number, so that the intervals between them stay. A month moves by the
    nearest number of whole months, a year by the nearest number of whole years. It is masked if it
    is then less than two months (years) from a shifted, more precise date of the case or from the
    shifted today, so that it never changes sides. Since the rule looks only at the result, the masks
    do not tell the shift. All dates of a case are written in one style. A date that would not be read
    again as the shifted date is masked, and so is a long range within one month.
    """

    case: KnownDates = field(repr=False)
    shift_days: int = field(repr=False)  # 30 to 395; secret
    center: date | None = field(default=None, repr=False)  # dates far from it are masked; None = the latest

    def replacement(self, text: str) -> str | None:
        """Return the shifted date in the manner of the original."""
        reading = self.case.read(text)
        if reading is None or not reading.writable or _tells_age(reading, self.case):
            return None
        if _is_far(reading, self.center or self.case.latest, self.case):
            return None
        if reading.day_first not in (None, self.case.day_first):
            return None
        # The longer a range within one month, the better it tells the days of the month.
        n_days = (reading.last.earliest - reading.first.earliest).days if reading.last else 0
        if "month" in reading.shared and n_days > _MAX_DAYS_WITHIN_MONTH:
            return None
        first = self._move(reading.first)
        if first is None:
            return None
        written = write_date(first, reading, month_style=self.case.month_style)
        again = self._read_shifted(written)
        last = reading.last and self._move(reading.last)
        return written if again is not None and (again.first, again.last) == (first, last) else None

    def replace_field(self, value: str) -> str | None:
        """Return the shifted value of a date field; its time of day stays."""
        found = _field_of_case(value, self.case)
        if found is None or self.case.is_far(found[0], self.center or self.case.latest):
            return None
        moved = self._move(found[0])
        if moved is None:
            return None
        digits = f"{moved.earliest:%Y%m%d}"
        length = {Precision.YEAR: 4, Precision.MONTH: 6, Precision.DAY: 8}[moved.precision]
        return digits[:length] + found[1]

    def _move(self, when: PartialDate) -> PartialDate | None:
        if when.precision is Precision.DAY:
            return self._move_unchecked(when)
        if when.precision is Precision.YEAR:
            moved = PartialDate(when.earliest.year - round(self.shift_days / _DAYS_A_YEAR))
        else:
            moved = self._move_unchecked(when)
        today = self.case.today - timedelta(days=self.shift_days)
        # More precise dates of the case count whether they are masked or not.
        others = (*map(self._move_unchecked, self.case.finer_than(when)), partial(today))
        return None if any(abs(_steps(moved, other)) < _SAFE_DISTANCE for other in others) else moved

    def _move_unchecked(self, when: PartialDate) -> PartialDate:
        # A month moves by whole months, a day by days.
        if when.as_date is not None:
            return partial(when.as_date - timedelta(days=self.shift_days))
        month = _month_number(when) - round(self.shift_days / _DAYS_A_MONTH)
        return PartialDate(month // 12, month % 12 + 1)

    def _read_shifted(self, written: str) -> DateReading | None:
        back = timedelta(days=self.shift_days)
        return read_date(
            written,
            reference=self.case.today - back,
            day_first=self.case.day_first,
            dates=[day - back for day in self.case.written],
        )


def shift_dates(case: KnownDates, key: bytes, case_id: str, center: date | None = None) -> ShiftedDates:
    """Shift the dates of a case by the days that its key and id give.

    Args:
        case: Its dates.
        key: At least 16 secret bytes.
        case_id: The same for all versions of a case.
        center: First dose or onset; dates far from it are masked. None = not known.

    Raises:
        ConfigurationError: The key is too short or the id is empty.
    """
    if center is not None and case.is_birth(partial(center)):
        center = None
    return ShiftedDates(case, secret_shift_days(key, case_id), center)


def _ends(reading: DateReading) -> tuple[PartialDate, ...]:
    return (reading.first,) if reading.last is None else (reading.first, reading.last)


def _tells_age(reading: DateReading, case: KnownDates) -> bool:
    # A birth, or what reveals an age over 89.
    return _tells_high_age(reading.first, case) or any(map(case.is_birth, _ends(reading)))


def _tells_high_age(when: PartialDate, case: KnownDates) -> bool:
    return case.today.year - when.earliest.year >= _OLDEST_YEARS


def _is_far(reading: DateReading, center: date, case: KnownDates) -> bool:
    return any(case.is_far(when, center) for when in _ends(reading))


def _field_of_case(value: str, case: KnownDates) -> tuple[PartialDate, str] | None:
    found = read_structured(value)
    if found is None or found[0].earliest > case.today or _tells_high_age(found[0], case):
        return None
    return None if case.is_birth(found[0]) else found


def _relative(when: PartialDate, anchor: date) -> str:
    day = when.as_date
    if day is not None:
        unit, steps = "Day", (day - anchor).days
    else:
        unit = "about Year" if when.precision is Precision.YEAR else "about Month"
        steps = _steps(when, partial(anchor))
    return f"{unit} {steps:+d}" if steps else f"{unit} 0"


def _steps(when: PartialDate, other: PartialDate) -> int:
    """Return how many calendar years or months, by its own precision, a date is after another."""
    if when.precision is Precision.YEAR:
        return when.earliest.year - other.earliest.year
    return _month_number(when) - _month_number(other)


def _month_number(when: PartialDate) -> int:
    start = when.earliest
    return 12 * start.year + start.month - 1
