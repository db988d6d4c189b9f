"""Dates in free text: read when certain, and written again in the same manner.

A reading is certain if no other remains. The order of a numeric date comes, in this order, from
the numbers themselves (25/10 has no month 25), from a weekday that is written with it, and from the
order that is stated or that the case's other dates show; otherwise nothing is read. A two-digit
year is the latest that is not in the future; it is not read if it may be one of the next ten. A
missing year is filled from the case's full dates if one year fits far better than any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta

from inverse_deid.replacement.dates.layouts import DateReading, Layout, find_readings
from inverse_deid.replacement.dates.parts import (
    ROMAN,
    MonthStyle,
    PartialDate,
    Precision,
    partial,
    write_day,
    write_month,
    write_weekday,
)

_SAME_ERA = timedelta(days=5 * 365)
_MAX_DISTANCE_DAYS = 150
_MIN_MARGIN_DAYS = 60
_PAIR_IS_NEAR_DAYS = 31
_OTHER_READING_IS_FAR_DAYS = 730
_DOT_AFTER_NAME = (". ", ".,")


def read_date(
    text: str, *, reference: date, day_first: bool | None = None, dates: Sequence[date] = ()
) -> DateReading | None:
    """Read the words of one date, or of a range of days.

    Args:
        text: All of its words: half a date reads as another date.
        reference: The case's *today*: no reading is later.
        day_first: True if 3/4 means 3 April in this case, False if 4 March, None = not known.
        dates: The full dates of the case, from which missing years are filled.

    Returns:
        None if no reading remains, or more than one.

    Example:
        >>> reading = read_date("12-OCT-19", reference=date(2022, 1, 31))
        >>> reading.first.as_date
        datetime.date(2019, 10, 12)
        >>> read_date("10/12/19", reference=date(2022, 1, 31)) is None
        True
    """
    return choose_reading(
        find_readings(text, reference), reference=reference, day_first=day_first, dates=dates
    )


def choose_reading(
    found: Sequence[DateReading], *, reference: date, day_first: bool | None, dates: Sequence[date]
) -> DateReading | None:
    """Read a date whose possible readings are known, as `read_date` does."""
    known = [day for day in dates if day <= reference]
    filled = [(reading, _fill_year(reading, known)) for reading in found]
    possible = [(c, whole or c) for c, whole in filled if whole is None or whole.weekdays_agree]
    certain = _choose_certain([whole for _, whole in possible], day_first, known, reference)
    if certain is None or certain.first.year is None or (certain.last or certain.first).earliest > reference:
        return None
    inferred = all(original.first.year is None for original, whole in possible if whole == certain)
    return replace(certain, inferred_year=inferred)


def write_date(when: date | PartialDate, like: DateReading, *, month_style: MonthStyle | None = None) -> str:
    """Write another date in the manner of one that was read.

    Order, separators, names, case, ordinals, two-digit years and the time stay; a weekday becomes
    that of the new date. A range keeps its length: `when` is its new first day. If its ends no longer
    share the month or year that it writes once, both are written out with *to* (*and*) between them.

    Args:
        when: A day, or a month or year if the reading is one.
        like: A writable reading.
        month_style: None writes as in the original. A style writes all dates of a case alike, so
            that no leading zero, dot after a short month or length of a name tells the original.

    Raises:
        ValueError: The reading cannot be moved, or has another precision.

    Example:
        >>> reading = read_date("12-15 Oct 2019", reference=date(2022, 1, 31))
        >>> write_date(date(2019, 9, 29), reading)
        '29 Sep 2019 to 2 Oct 2019'
    """
    first = when if isinstance(when, PartialDate) else partial(when)
    if not like.writable or first.precision is not like.first.precision:
        raise ValueError("this reading cannot be written with another date: mask it")
    last = like.last and partial(first.earliest + (like.last.earliest - like.first.earliest))
    if last is None or all(getattr(first, part) == getattr(last, part) for part in like.shared):
        return _write_layout(like.layout, first, last or first, month_style)
    ends = (_write_layout(like.single, end, end, month_style) for end in (first, last))
    return f" {like.joined_by} ".join(ends)


def orders_in(dates: Iterable[Sequence[DateReading]]) -> frozenset[bool]:
    """Return the orders of the dates of one case that can be read in one order only.

    Returns:
        True for day before month, False for month before day; both if they contradict each other.

    Example:
        >>> texts = ["10/12/2019", "25/12/2019"]
        >>> orders_in(find_readings(text, date(2022, 1, 31)) for text in texts)
        frozenset({True})
    """
    shown: set[bool] = set()
    for found in dates:
        orders = {reading.day_first for reading in found}
        if len(orders) == 1:
            shown |= {order for order in orders if order is not None}
    return frozenset(shown)


def _choose_certain(
    found: list[DateReading], day_first: bool | None, known: Sequence[date], reference: date
) -> DateReading | None:
    if len({(c.first, c.last) for c in found}) > 1 and day_first is not None:
        found = [c for c in found if c.day_first in (None, day_first)]
    if len({(c.first, c.last) for c in found}) > 1:
        found = _prefer_days(found, known, reference)
    if len({(c.first, c.last) for c in found}) != 1 or not found[0].is_certain:
        return None
    if found[0].is_pair and not _is_near(found[0], known):
        return None
    return next((c for c in found if c.day_first == day_first), found[0])


def _prefer_days(found: list[DateReading], known: Sequence[date], reference: date) -> list[DateReading]:
    # *OCT 12* or 10/12: the day if it is near the case's dates and the month far from all.
    days = [c for c in found if c.first.precision is Precision.DAY]
    months = [c for c in found if c.first.precision is Precision.MONTH and c.last is None]
    if len(days) + len(months) < len(found) or not all(_is_near(c, known) for c in days):
        return found
    distances = (abs((day - c.first.earliest).days) for c in months for day in (*known, reference))
    return days if min(distances, default=0) >= _OTHER_READING_IS_FAR_DAYS else found


def _is_near(found: DateReading, known: Sequence[date]) -> bool:
    day = found.first.as_date
    return day is not None and any(abs((day - other).days) <= _PAIR_IS_NEAR_DAYS for other in known)


def _fill_year(found: DateReading, known: Sequence[date]) -> DateReading | None:
    # None = no year is certain.
    if found.first.year is not None:
        return found
    first = _find_nearest(found.first, known)
    if first is None:
        return None
    if found.last is None:
        return replace(found, first=first)
    year = first.year or 0
    for later in (year, year + 1):
        try:
            last = found.last.in_year(later)
        except ValueError:
            continue
        if last.earliest > first.earliest:
            return replace(found, first=first, last=last)
    return None


def _find_nearest(day: PartialDate, known: Sequence[date]) -> PartialDate | None:
    # None = another year is nearly as good.
    if not known:
        return None
    era = [other for other in known if other >= max(known) - _SAME_ERA]
    distances: list[tuple[int, PartialDate]] = []
    for year in range(min(era).year - 1, max(era).year + 2):
        try:
            whole = day.in_year(year)
        except ValueError:
            continue
        distances.append((min(abs((whole.earliest - other).days) for other in era), whole))
    distances.sort(key=lambda item: item[0])
    best = distances[0] if distances else (_MAX_DISTANCE_DAYS + 1, day)
    margin = distances[1][0] - best[0] if len(distances) > 1 else _MIN_MARGIN_DAYS
    return best[1] if best[0] <= _MAX_DISTANCE_DAYS and margin >= _MIN_MARGIN_DAYS else None


def _write_layout(layout: Layout, first: PartialDate, last: PartialDate, style: MonthStyle | None) -> str:
    padded = _is_padded(layout, as_written=style is None)
    written: list[str] = []
    for i, piece in enumerate(layout):
        text = _write_field(piece.kind, piece.text, last if piece.of_last else first, padded, style)
        after_name = i > 0 and layout[i - 1].kind == "name"
        if style and after_name and (i == len(layout) - 1 or text[:2] in _DOT_AFTER_NAME):
            text = text.removeprefix(".")
        written.append(text)
    return "".join(written)


def _write_field(kind: str, text: str, when: PartialDate, padded: bool, style: MonthStyle | None) -> str:
    year, month, day = when.year or 0, when.month or 0, when.day or 0
    if kind == "day":
        return write_day(day, text, padded=padded)
    if kind == "month":
        return f"{month:02}" if padded else str(month)
    if kind == "name":
        return write_month(month, text, style)
    if kind == "roman":
        roman = ROMAN[month - 1]
        return roman.upper() if text.isupper() else roman
    if kind == "year":
        return f"{year % 100:02}" if len(text) == 2 else f"{year:04}"
    return write_weekday(when.earliest.weekday(), text) if kind == "weekday" else text


def _is_padded(layout: Layout, *, as_written: bool) -> bool:
    # A 5 is written 05: as the numbers show, else as in the text around them.
    numbers = [piece.text for piece in layout if piece.kind in ("day", "month") and piece.text.isdigit()]
    if as_written and any(len(number) == 1 for number in numbers):
        return False
    if as_written and any(number.startswith("0") for number in numbers):
        return True
    names = [i for i, piece in enumerate(layout) if piece.kind == "name"]
    beside = [layout[j].text for i in names for j in (i - 1, i + 1) if 0 <= j < len(layout)]
    return not any(text != text.strip() for text in beside)
