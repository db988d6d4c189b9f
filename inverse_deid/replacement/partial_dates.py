"""Dates that may lack a day, a month or a year."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum


class Precision(StrEnum):
    """The finest part of a date that is known."""

    YEAR = "year"
    MONTH = "month"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A year, a month or a day; the year may be left open until the case fills it.

    Args:
        year: 1 to 9999, None = not written.
        month: 1 to 12, None = not known.
        day: 1 to 31, None = not known; needs a month.

    Raises:
        ValueError: There is no such date.

    Example:
        >>> PartialDate(2019, 10).precision
        <Precision.MONTH: 'month'>
    """

    year: int | None = field(repr=False)
    month: int | None = field(default=None, repr=False)
    day: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        leap_year = 2000
        in_range = self.month is None or 1 <= self.month <= 12
        if not in_range or (self.month is None and (self.day is not None or self.year is None)):
            raise ValueError("no such date: a day needs a month from 1 to 12, and a year must be 1 to 9999")
        date(
            leap_year if self.year is None else self.year,
            self.month or 1,
            1 if self.day is None else self.day,
        )

    @property
    def precision(self) -> Precision:
        """Of the three, the finest part that is known."""
        if self.month is None:
            return Precision.YEAR
        return Precision.MONTH if self.day is None else Precision.DAY

    @property
    def as_date(self) -> date | None:
        """The day, None if year, month or day is not known."""
        if self.year is None or self.month is None or self.day is None:
            return None
        return date(self.year, self.month, self.day)

    @property
    def earliest(self) -> date:
        """The first day that this can be.

        Raises:
            ValueError: The year is not known.
        """
        if self.year is None:
            raise ValueError("a date without a year has no earliest day: fill the year first")
        return date(self.year, self.month or 1, self.day or 1)

    def overlaps(self, other: PartialDate) -> bool:
        """Whether the two can be one day: what both say is the same.

        Example:
            >>> PartialDate(1962, 5, 12).overlaps(PartialDate(1962))
            True
        """
        parts = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        return all(mine is None or theirs is None or mine == theirs for mine, theirs in parts)

    def in_year(self, year: int) -> PartialDate:
        """The same month and day in another year.

        Raises:
            ValueError: 29 February of a year that has none.
        """
        return PartialDate(year, self.month, self.day)


def partial(day: date) -> PartialDate:
    """A known day."""
    return PartialDate(day.year, day.month, day.day)
