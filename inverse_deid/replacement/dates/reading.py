"""The dates of one case, which tell how to read each other."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta

from inverse_deid.replacement.dates.layouts import DateReading, find_readings
from inverse_deid.replacement.dates.parts import MonthStyle, PartialDate, Precision, partial
from inverse_deid.replacement.dates.text import choose_reading, orders_in, read_date

DEFAULT_SPAN_YEARS = 10
"""Dates further than this from the others of a case are masked: it covers a treatment, not a life."""

_DAYS_A_YEAR = 365.2425
_CENTURY = 100
_STRUCTURED = re.compile(
    r"(?P<year>[12]\d{3})(?:(?P<month>\d\d)(?:(?P<day>\d\d)"
    r"(?P<time>(?:[01]\d|2[0-3])(?:[0-5]\d(?:[0-5]\d(?:\.\d{1,4})?)?)?(?:[+-]\d\d(?:\d\d)?)?)?)?)?"
)


@dataclass(frozen=True, slots=True)
class KnownDates:
    """The dates of one case; build it with `case_dates`."""

    today: date = field(repr=False)  # the day of the case's last information; no date is later
    day_first: bool | None = None  # the order of numeric dates, None = not known
    # Full if all names of months that show a form are full, else short.
    month_style: MonthStyle = MonthStyle.SHORT
    # The full dates with a year, of text and fields, sorted: missing years come from them.
    written: tuple[date, ...] = field(default=(), repr=False)
    # The full dates of the texts, sorted, filled years included.
    in_text: tuple[date, ...] = field(default=(), repr=False)
    # The months and years of text and fields.
    partial: tuple[PartialDate, ...] = field(default=(), repr=False)
    # Dates of birth; one without a year is that day of every year.
    births: tuple[PartialDate, ...] = field(default=(), repr=False)
    span_years: int = DEFAULT_SPAN_YEARS  # dates further than this from the others are masked
    _known: Mapping[str, DateReading | None] = field(default_factory=dict, repr=False, compare=False)

    def read(self, text: str) -> DateReading | None:
        if text in self._known:
            return self._known[text]
        return read_date(text, reference=self.today, day_first=self.day_first, dates=self.written)

    def readings(self, hidden: Collection[str]) -> Iterator[DateReading]:
        """Yield the readings of the dates in the texts, except those of hidden words."""
        known = self._known.items()
        return (reading for text, reading in known if reading is not None and text not in hidden)

    def is_birth(self, when: PartialDate) -> bool:
        """Tell whether a date can be a date of birth of the case, in any precision of either."""
        return any(birth.overlaps(when) for birth in self.births)

    def is_far(self, when: PartialDate, center: date) -> bool:
        """Tell whether a date is further than the span from another: an age could be between them."""
        span = timedelta(days=round(self.span_years * _DAYS_A_YEAR))
        return abs(when.earliest - center) > span

    @property
    def latest(self) -> date:
        """The latest date of texts and fields that is not a birth, or else today."""
        known = (when.earliest for when in (*self._days, *self.partial) if not self.is_birth(when))
        return max(known, default=self.today)

    def finer_than(self, when: PartialDate) -> tuple[PartialDate, ...]:
        """Return every date of the case that is more precise than this one."""
        if when.precision is Precision.YEAR:
            return (*self._days, *(month for month in self.partial if month.precision is Precision.MONTH))
        return self._days if when.precision is Precision.MONTH else ()

    @property
    def _days(self) -> tuple[PartialDate, ...]:
        return tuple(map(partial, {*self.written, *self.in_text}))


def case_dates(
    texts: Sequence[str],
    *,
    today: date,
    day_first: bool | None = None,
    structured: Sequence[str] = (),
    births: Sequence[str | PartialDate] = (),
    span_years: int = DEFAULT_SPAN_YEARS,
) -> KnownDates:
    """Gather everything that the dates of a case tell about reading any of them.

    Args:
        texts: The words of every date in every text of the case.
        today: The day of the case's last information (C.1.5), or the latest date it was received.
        day_first: The stated order; if dates of the case contradict it, ambiguous ones are not read.
        structured: The values of its date fields, `CCYYMMDDhhmmss+ZZzz` or shorter.
        births: Dates of birth: the words in a text, or the date of a field.
        span_years: See `KnownDates`.

    Example:
        >>> case = case_dates(["25/12/2019", "10/12/2019"], today=date(2020, 2, 1))
        >>> case.read("10/12/2019").first.as_date
        datetime.date(2019, 12, 10)
    """
    possible = {text: find_readings(text, today) for text in texts}
    orders = orders_in(possible.values()) | ({day_first} - {None})
    order = next(iter(orders)) if len(orders) == 1 else None
    found = [read[0] for read in map(read_structured, structured) if read is not None]
    fields = [when for when in found if when.earliest <= today]
    plain = _read_all(possible, today, order, ())
    written = tuple(sorted(_days(plain.values()) | {day for when in fields if (day := when.as_date)}))
    known = _read_all(possible, today, order, written)
    readings = [reading for reading in known.values() if reading is not None]
    styles = {reading.month_style for reading in readings} - {None}
    starts = (*(reading.first for reading in readings), *fields)
    return KnownDates(
        today=today,
        day_first=order,
        month_style=MonthStyle.FULL if styles == {MonthStyle.FULL} else MonthStyle.SHORT,
        written=written,
        in_text=tuple(sorted(_days(readings))),
        partial=tuple(dict.fromkeys(when for when in starts if when.as_date is None)),
        births=tuple(dict.fromkeys(_births(births, today))),
        span_years=span_years,
        _known=known,
    )


def read_structured(value: str) -> tuple[PartialDate, str] | None:
    """Read a date field of an E2B message: its date, and the time after it.

    Args:
        value: `CCYY`, `CCYYMM`, `CCYYMMDD` or `CCYYMMDDhh[mm[ss[.UUUU]]][+|-ZZzz]`.

    Returns:
        None if it is not such a date.

    Source:
        ICH E2B(R3) implementation guide, appendix II, and the date formats 102, 203, 204, 602
        and 610 of E2B(R2).
    """
    match = _STRUCTURED.fullmatch(value.strip())
    if match is None:
        return None
    parts = (int(match[name]) if match[name] else None for name in ("year", "month", "day"))
    try:
        return PartialDate(*parts), match["time"] or ""
    except ValueError:
        return None


def _births(births: Iterable[str | PartialDate], today: date) -> Iterator[PartialDate]:
    # A two-digit year may be read as the next century's.
    for birth in births:
        for when in [birth] if isinstance(birth, PartialDate) else _meanings(birth, today):
            if when.year is not None:
                yield when
                with suppress(ValueError):
                    yield when.in_year(when.year + _CENTURY)
            elif when.precision is Precision.DAY:
                yield when


def _meanings(text: str, today: date) -> Iterator[PartialDate]:
    # Of a long range its months or years.
    for reading in find_readings(text, today):
        yield reading.first
        if reading.last is not None:
            yield reading.last
            yield from _parts_between(reading.first, reading.last)


def _parts_between(first: PartialDate, last: PartialDate) -> Iterator[PartialDate]:
    # Within a month its days, else its months, or its years if no more is known.
    if first.year is None or last.year is None:
        return
    if first.month is None or last.month is None:
        yield from map(PartialDate, range(first.year, last.year + 1))
    elif (first.year, first.month) != (last.year, last.month):
        months = range(12 * first.year + first.month - 1, 12 * last.year + last.month)
        yield from (PartialDate(month // 12, month % 12 + 1) for month in months)
    elif first.day is not None and last.day is not None:
        days = range(first.day, last.day + 1)
        yield from (PartialDate(first.year, first.month, day) for day in days)


def _read_all(
    possible: Mapping[str, Sequence[DateReading]], today: date, order: bool | None, dates: Sequence[date]
) -> dict[str, DateReading | None]:
    return {
        text: choose_reading(found, reference=today, day_first=order, dates=dates)
        for text, found in possible.items()
    }


def _days(readings: Iterable[DateReading | None]) -> set[date]:
    ends = (end for reading in readings if reading for end in (reading.first, reading.last) if end)
    return {day for end in ends if (day := end.as_date)}
