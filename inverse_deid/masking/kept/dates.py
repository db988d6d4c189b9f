"""Dates in kept columns: read if they are certain, and written again in the layout of the cell.

Certain are dates whose year comes first, dates with the name of a month, and numbers that can be a day and a
month in one order alone. The order of others is known only if the user states it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import lru_cache

from inverse_deid.core.wording import N_
from inverse_deid.formats.tables.columns import says
from inverse_deid.replacement.dates.layouts import DateReading, find_readings
from inverse_deid.replacement.dates.parts import PartialDate, month_words
from inverse_deid.replacement.dates.policies import DatePolicy, MaskedDates, RelativeDays
from inverse_deid.replacement.dates.text import choose_reading, write_date

FIRST_YEAR, LAST_YEAR = 1850, 2149
NO_CLOCK = date(LAST_YEAR, 12, 31)

_TIME = re.compile(
    r"(?P<date>.*?\d)(?P<time>(?:T|\s+)\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:\s?[AaPp]\.?[Mm]\.?)?"
    r"\s?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)?)",
    re.ASCII,
)
_YEAR_FIRST = re.compile(r"(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?:(?P=s)(?P<d>\d{1,2}))?", re.ASCII)
_YEAR_LAST = re.compile(r"(?P<a>\d{1,2})(?P<s>[-/. ])(?P<b>\d{1,2})(?P=s)(?P<y>\d{4})", re.ASCII)
_SHORT_YEAR = re.compile(r"\d{1,2}([-/.])\d{1,2}\1\d{2}", re.ASCII)
_COMPACT = re.compile(r"(?P<y>\d{4})(?P<m>\d\d)?(?P<d>\d\d)?", re.ASCII)
_COMPACT_TIME = re.compile(r"(?P<date>\d{8})(?P<time>(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?)", re.ASCII)
_HAS_NAME = re.compile(r"[^\W\d_]{3,}")


class DateDoubt(StrEnum):
    """Why a value that looks like a date is not certain."""

    ORDER = N_("a date whose day and month can be exchanged")
    UNSURE = N_("a number or text that can be a date")


@dataclass(frozen=True, slots=True)
class KeptDate:
    """A date in a cell."""

    when: PartialDate = field(repr=False)  # what it says
    # Writes another date of the same precision in the layout of the cell.
    write: Callable[[PartialDate], str] = field(repr=False)
    time: str = field(default="", repr=False)  # what follows the date in the cell, with the space before it

    @property
    def structured(self) -> str:
        """The date as fields of case reports have it: `CCYYMMDD` or shorter."""
        parts = ((self.when.year, "04"), (self.when.month, "02"), (self.when.day, "02"))
        return "".join(format(number, width) for number, width in parts if number is not None)


def is_date_column(name: str) -> bool:
    """Return whether the name of a column says that its values are dates.

    Example:
        >>> is_date_column("onset"), is_date_column("startDate"), is_date_column("days_to_onset")
        (True, True, False)
    """
    return says(name, "date") and not says(name, "count")


def is_month(text: str) -> bool:
    """Return whether a value is a month: 1 to 12, or a name.

    Example:
        >>> is_month("10"), is_month("Oct"), is_month("13")
        (True, True, False)
    """
    return (text.isdecimal() and 1 <= int(text) <= 12) or text.strip(".").lower() in month_words()


@lru_cache(maxsize=1 << 14)
def read_kept_date(
    text: str, *, is_named: bool, day_first: bool | None = None, today: date = NO_CLOCK
) -> KeptDate | DateDoubt | None:
    """Read a value of a kept column.

    Args:
        text: The value without spaces around it.
        is_named: The name of the column says that it has dates.
        day_first: The order of numeric dates that the user states, None = not known.
        today: The latest day that a two-digit year can mean.

    Returns:
        None if it is not a date.

    Example:
        >>> read_kept_date("2019-10-12", is_named=False).structured
        '20191012'
        >>> read_kept_date("10/12/2019", is_named=True)
        <DateDoubt.ORDER: 'a date whose day and month can be exchanged'>
    """
    time = ""
    if (match := _TIME.fullmatch(text) or _COMPACT_TIME.fullmatch(text)) is not None:
        is_compact = match.re is _COMPACT_TIME
        if not is_compact or is_named:
            text, time = match["date"], match["time"]
    found = _read_number(text, is_named=is_named) if text.isdigit() else _read_words(text, day_first, today)
    if isinstance(found, KeptDate):
        return KeptDate(found.when, found.write, time)
    return DateDoubt.UNSURE if found is None and time and _YEAR_FIRST.match(text) else found


def _read_number(text: str, *, is_named: bool) -> KeptDate | DateDoubt | None:
    # Certain if the column says that it has dates.
    match = _COMPACT.fullmatch(text)
    when = _make(match["y"], match["m"], match["d"]) if match else None
    if is_named:
        if when is not None:
            length = len(text)
            return KeptDate(when, lambda new: KeptDate(new, str).structured[:length])
        return DateDoubt.UNSURE if len(text) >= 5 else None
    is_day = when is not None and when.day is not None and when.year in range(1900, 2101)
    return DateDoubt.UNSURE if is_day else None


def _read_words(text: str, day_first: bool | None, today: date) -> KeptDate | DateDoubt | None:
    if (match := _YEAR_FIRST.fullmatch(text)) is not None:
        when = _make(match["y"], match["m"], match["d"])
        sign, pads = match["s"], len(match["m"]) == 2
        return None if when is None else KeptDate(when, lambda new: _join(new, sign, "ymd", pads=pads))
    if (match := _YEAR_LAST.fullmatch(text)) is not None:
        return _read_year_last(match, day_first)
    if _SHORT_YEAR.fullmatch(text):
        return DateDoubt.ORDER if find_readings(text, today) else None
    has_name = _HAS_NAME.search(text) and any(map(str.isdigit, text))
    return _read_month_name(text, today) if has_name else None


def _read_year_last(match: re.Match[str], day_first: bool | None) -> KeptDate | DateDoubt | None:
    orders = {
        order: when
        for order, month, day in (("dmy", match["b"], match["a"]), ("mdy", match["a"], match["b"]))
        if (when := _make(match["y"], month, day)) is not None
    }
    if len(set(orders.values())) > 1:
        if day_first is None:
            return DateDoubt.ORDER
        orders = {order: when for order, when in orders.items() if (order == "dmy") == day_first}
    if not orders:
        return None
    order, when = next(iter(orders.items()))
    sign, pads = match["s"], "0" in (match["a"][0], match["b"][0]) or len(match["a"] + match["b"]) == 4
    return KeptDate(when, lambda new: _join(new, sign, order, pads=pads))


def _read_month_name(text: str, today: date) -> KeptDate | DateDoubt | None:
    found = find_readings(text, today)
    if not found:
        return None
    reading: DateReading | None = choose_reading(found, reference=today, day_first=None, dates=())
    if reading is None or reading.last is not None or not reading.writable or reading.inferred_year:
        return DateDoubt.UNSURE
    certain = reading
    return KeptDate(certain.first, lambda new: write_date(new, certain))


def _make(year: str, month: str | None, day: str | None) -> PartialDate | None:
    if not FIRST_YEAR <= int(year) <= LAST_YEAR:
        return None
    try:
        return PartialDate(int(year), int(month) if month else None, int(day) if day else None)
    except ValueError:
        return None


def _join(when: PartialDate, sign: str, order: str, *, pads: bool) -> str:
    width = "02" if pads else ""
    parts = {
        "y": format(when.year or 0, "04"),
        "m": "" if when.month is None else format(when.month, width),
        "d": "" if when.day is None else format(when.day, width),
    }
    return sign.join(parts[one] for one in order if parts[one])


def replace_kept_date(found: KeptDate, policy: DatePolicy) -> str:
    """Return what is written instead of a date, "" = nothing, since the policy masks it.

    A shifted date keeps its layout and its time. A year or the number of a day has no time.
    """
    if isinstance(policy, MaskedDates):
        return ""
    if isinstance(policy, RelativeDays):
        return policy.replacement(_write_english(found.when)) or ""
    digits = policy.replace_field(found.structured)
    if digits is None:
        return ""
    match = _COMPACT.fullmatch(digits)
    new = _make(match["y"], match["m"], match["d"]) if match else None
    if new is None:
        return ""
    return found.write(new) + found.time if new.precision is found.when.precision else digits


def _write_english(when: PartialDate) -> str:
    start = when.earliest
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    named = ("" if when.month is None else f"{months[start.month - 1]} ") + f"{start.year:04}"
    return named if when.day is None else f"{start.day} {named}"
