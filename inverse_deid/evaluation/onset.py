"""The time to onset as it can be read from two dates, or two day numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

_DAY_NUMBER = re.compile(r"day\s*([+-]?\d{1,5})", re.IGNORECASE)
_NO_DATE_WORD = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b|\bof\b|(?<=\bsep)t\b", re.IGNORECASE)
_DATE_WORD = re.compile(r"[^\W\d_]+|\d+|[^\s.,/'-]")
_ORDERS = ("%d %m", "%m %d")  # how two numbers may be read
_ANY_YEARS = (2023, 2024, 2025)  # for unknown years; one of them is a leap year


def days_between(start: str, reaction: str) -> frozenset[int]:
    """How many days lie between two dates, or two day numbers, as they are written.

    Returns:
        All numbers that are possible: the order of day and month may be open; where a year is,
        the reaction comes within a year after the start.

    Example:
        >>> days_between("Day 1", "Day +8"), days_between("12-OCT-2019", "Oct 15, 2019")
        (frozenset({7}), frozenset({3}))
        >>> days_between("PHI", "15 Oct")
        frozenset()
    """
    numbers = [int(found[1]) for text in (start, reaction) if (found := _DAY_NUMBER.fullmatch(text.strip()))]
    if len(numbers) == 2:
        return frozenset({numbers[1] - numbers[0]})
    days: set[int] = set()
    for order in _ORDERS:
        told = [_dates(text, order) for text in (start, reaction)]
        near = {day.year + step for day in told[0] | told[1] for step in (-1, 0, 1)} or _ANY_YEARS
        first, second = told[0] or _dates(start, order, near), told[1] or _dates(reaction, order, near)
        gaps = {(b - a).days for a in first for b in second}
        days |= gaps if all(told) else gaps.intersection(range(365))
    return frozenset(days)


def _dates(text: str, order: str, years: Iterable[int] = ()) -> set[datetime]:
    """The date that is written; years are for one without a year of its own."""
    words = " ".join(_DATE_WORD.findall(_NO_DATE_WORD.sub("", text)))
    forms = [f"{day} {year}" for day in (order, "%d %b", "%d %B", "%b %d", "%B %d") for year in ("%Y", "%y")]
    found: set[datetime] = set()
    for written in [f"{words} {year}" for year in years] or [words]:
        for form in (*forms, "%Y %m %d", "%Y%m%d"):
            with suppress(ValueError):
                found.add(datetime.strptime(written, form))
    return found
