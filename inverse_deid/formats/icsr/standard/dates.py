"""The dates of a report: HL7 time stamps (R3) and digits with a format code (R2), of any precision.

Both write a date as digits from the year on, cut off where it is not known: `2009`,
`200901`, `20090115`, `20090115143000-0500`.

Source: HL7 v3 data type TS as ICH E2B(R3) uses it; format codes of E2B(R2) (102 = day, 203
and 204 = with a time, 602 = year, 610 = month).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_STAMP = re.compile(
    r"(?P<year>\d{4})(?:(?P<month>\d\d)(?:(?P<day>\d\d)(?P<time>(?:[01]\d|2[0-3])(?:[0-5]\d){0,2}(?:\.\d{1,6})?)?)?)?"
    r"(?P<zone>[+-](?:0\d|1[0-4])(?:[0-5]\d)?)?",
    re.ASCII,
)

_FIRST_YEAR, _LAST_YEAR = 1850, 2149


@dataclass(frozen=True, slots=True)
class StampDate:
    """A date of the calendar, as precise as it is known.

    Raises:
        ValueError: No such date.
    """

    year: int = field(repr=False)  # 1 to 9999
    month: int | None = field(default=None, repr=False)  # 1 to 12, None = not known
    day: int | None = field(default=None, repr=False)  # day of the month, None = not known

    def __post_init__(self) -> None:
        datetime.date(self.year, self.month or 1, self.day or 1)
        if self.day is not None and self.month is None:
            raise ValueError("a day without a month")

    @property
    def digits(self) -> str:
        """Year, month and day as far as they are known, without separators."""
        parts = (f"{self.year:04}", self.month, self.day)
        return "".join(part if isinstance(part, str) else f"{part:02}" for part in parts if part is not None)

    @property
    def first_day(self) -> datetime.date:
        return datetime.date(self.year, self.month or 1, self.day or 1)

    def cut_to(self, other: StampDate) -> StampDate:
        """Return the date, no more precise than another."""
        month = None if other.month is None else self.month
        return StampDate(self.year, month, None if other.day is None else self.day)


@dataclass(frozen=True, slots=True)
class DateElement:
    """One structured date of a case."""

    element: str  # its E2B element, "" = not known
    path: str  # its place in the case
    value: str = field(repr=False)  # as it is written
    date: StampDate | None = field(repr=False)  # what it says, None = not a date
    is_suspect: bool = False  # whether it is when a suspect or interacting drug was begun


@dataclass(frozen=True, slots=True)
class ReportDates:
    """The structured dates of a case."""

    every: tuple[DateElement, ...]  # all of them, in the order of the file

    @property
    def first_dose(self) -> StampDate | None:
        """The earliest start of a suspect or interacting drug (G.k.4.r.4), or of any if none is known."""
        suspect = earliest(found.date for found in self.every if found.is_suspect)
        return suspect or self._earliest("G.k.4.r.4")

    @property
    def onset(self) -> StampDate | None:
        """The earliest start of a reaction (E.i.4)."""
        return self._earliest("E.i.4")

    @property
    def birth(self) -> StampDate | None:
        """The patient's date of birth (D.2.1)."""
        return self._earliest("D.2.1")

    @property
    def receipt(self) -> StampDate | None:
        """When the report was first received (C.1.4)."""
        return self._earliest("C.1.4")

    def _earliest(self, element: str) -> StampDate | None:
        return earliest(found.date for found in self.every if found.element == element)


def earliest(dates: Iterable[StampDate | None]) -> StampDate | None:
    """Return the earliest date; a date with a day precedes all dates without.

    Example:
        >>> earliest([StampDate(2009), StampDate(2009, 3, 5), None]).digits
        '20090305'
    """
    known = [date for date in dates if date is not None]
    exact = [date for date in known if date.day is not None]
    return min(exact or known, key=lambda date: date.first_day, default=None)


def parse_stamp(value: str) -> StampDate | None:
    """Return the date of a time stamp, None = not a time stamp, or no such day.

    Example:
        >>> parse_stamp("20090115143000-0500").digits
        '20090115'
        >>> parse_stamp("20091340") is None
        True
    """
    match = _STAMP.fullmatch(value)
    if match is None:
        return None
    month, day = match["month"], match["day"]
    try:
        return StampDate(int(match["year"]), int(month) if month else None, int(day) if day else None)
    except ValueError:
        return None


def is_stamp(value: str) -> bool:
    """Return whether a text is a time stamp of a year in which a patient can have lived.

    Example:
        >>> is_stamp("20090115"), is_stamp("5550147"), is_stamp("20091340")
        (True, False, False)
    """
    date = parse_stamp(value)
    return date is not None and _FIRST_YEAR <= date.year <= _LAST_YEAR


def stamp_with(value: str, date: StampDate) -> str:
    """Return the time stamp with another date, no more precise than it was; its time of day and zone stay.

    If the new date is less precise than the old one, nothing follows it.

    Example:
        >>> stamp_with("200901151430-0500", StampDate(2011, 7, 2))
        '201107021430-0500'
        >>> stamp_with("200901", StampDate(2011, 7, 2))
        '201107'
    """
    old = parse_stamp(value)
    if old is None:
        return date.digits
    digits = date.cut_to(old).digits
    return digits + value[len(digits) :] if len(digits) == len(old.digits) else digits
