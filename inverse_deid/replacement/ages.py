"""What stands in the place of an age: nothing, a band, or the age itself below 90."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.replacement.age_text import DAYS_A_YEAR, DAYS_OF, AgeReading, AgeUnit, read_age

_HIGH_AGE_YEARS = 90
_MAX_LIMIT = 999
_HIGH_AGE = f"{_HIGH_AGE_YEARS} or older"


class AgePolicy(Protocol):
    """What becomes of ages."""

    def replacement(self, text: str, after: str = "") -> str | None:
        """What stands for the words of one age, None = mask them.

        Args:
            text: The words.
            after: What follows in the narrative, at least 20 characters, where a bare number has its
                unit: `5` is masked or banded as years if it is not given.
        """
        ...


@dataclass(frozen=True, slots=True)
class MaskedAges:
    """Every age is masked."""

    def replacement(self, text: str, after: str = "") -> str | None:
        """None."""
        return None


@dataclass(frozen=True, slots=True)
class AgesUnder90:
    """Ages below 90 as they are written, `90 or older` above.

    Source:
        45 CFR 164.514(b)(2)(i)(C): ages over 89 may be put into one category *90 or older*.

    Example:
        >>> AgesUnder90().replacement("43"), AgesUnder90().replacement("94", "-year-old")
        ('43', '90-or-older')
    """

    def replacement(self, text: str, after: str = "") -> str | None:
        """The text itself, or the category of high ages."""
        reading = read_age(text, after)
        high = _HIGH_AGE_YEARS * DAYS_A_YEAR
        if reading is None or reading.low_days < high < reading.high_days:
            return None
        return text if reading.high_days <= high else _with_rest(_HIGH_AGE, reading, after)


@dataclass(frozen=True, slots=True)
class BandScheme:
    """Bands of age that leave no gap.

    Args:
        name: What a run records.
        edges_days: Where the second band and each one after it begins, rising; the first begins at
            birth, the last has no end.
        names: Of the bands, as many as there are.

    Raises:
        ConfigurationError: Edges do not rise, or names do not fit.
    """

    name: str
    edges_days: tuple[float, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip((0.0, *self.edges_days), self.edges_days, strict=False))
        if not rising or len(self.names) != len(self.edges_days) + 1:
            raise ConfigurationError(f"bands {self.name}: edges must rise, with one name more than edges")

    def band_of(self, reading: AgeReading) -> int | None:
        """The band in which the whole of an age lies, counted from 0, None if it spans two."""
        band = bisect_right(self.edges_days, reading.low_days)
        is_last = band == len(self.edges_days)
        return band if is_last or reading.high_days <= self.edges_days[band] else None

    def limits(self, band: int, unit: AgeUnit) -> str | None:
        """The completed years (months, weeks) that a band holds: `18-64`, `65 or older`.

        None if it takes more than three digits: *0-87659 hours* says nothing.
        """
        days = DAYS_OF[unit]
        low = math.floor((0.0, *self.edges_days)[band] / days)
        if band == len(self.edges_days):
            return f"{low} or older" if low <= _MAX_LIMIT else None
        high = math.ceil(self.edges_days[band] / days) - 1
        return f"{low}-{high}" if high <= _MAX_LIMIT else None


def _bands_of_years(name: str, width: int) -> BandScheme:
    starts = range(width, _HIGH_AGE_YEARS + 1, width)
    names = (*(f"{start - width}-{start - 1}" for start in starts), _HIGH_AGE)
    return BandScheme(name, tuple(start * DAYS_A_YEAR for start in starts), names)


BAND_SCHEMES: dict[str, BandScheme] = {
    "e2b": BandScheme(
        "e2b",
        (28.0, 2 * DAYS_A_YEAR, 12 * DAYS_A_YEAR, 18 * DAYS_A_YEAR, 65 * DAYS_A_YEAR),
        ("neonate", "infant", "child", "adolescent", "adult", "elderly"),
    ),
    "5-years": _bands_of_years("5-years", 5),
    "10-years": _bands_of_years("10-years", 10),
}
"""The schemes, by the name that a run records.

`e2b` has the groups 1 to 6 of E2B(R3) D.2.3, which the implementation guide leaves undefined. Its edges
are those of ICH E11, *Age classification* (0 to 27 days; 28 days to 23 months; 2 to 11 years; 12 to 17 years)
and of ICH E7 (65 years and more).
"""


@dataclass(frozen=True, slots=True)
class BandedAges:
    """The band of an age, in the unit in which the age is written.

    Args:
        scheme: The bands, one scheme for a whole run.

    Example:
        >>> policy = BandedAges(BAND_SCHEMES["10-years"])
        >>> policy.replacement("43", "-year-old"), policy.replacement("62M"), policy.replacement("in her 70s")
        ('40-49', '60-69M', '70-79')
        >>> BandedAges(BAND_SCHEMES["e2b"]).replacement("5mo")
        '0-23mo'
    """

    scheme: BandScheme

    def replacement(self, text: str, after: str = "") -> str | None:
        """The band, None if the age may lie in two."""
        reading = read_age(text, after)
        band = self.scheme.band_of(reading) if reading else None
        if reading is None or band is None:
            return None
        limits = self.scheme.limits(band, reading.unit)
        return limits and _with_rest(limits, reading, after)


def age_on(birth: date, on: date) -> int:
    """The completed years of a person; one born on 29 February is a year older on 1 March.

    Raises:
        ValueError: The day lies before the birth.

    Example:
        >>> age_on(date(1980, 10, 13), date(2019, 10, 12))
        38
    """
    if on < birth:
        raise ValueError("no age before birth: the two dates are in the wrong order")
    return on.year - birth.year - ((on.month, on.day) < (birth.month, birth.day))


def _with_rest(label: str, reading: AgeReading, after: str) -> str:
    """The label, and what the text says behind the number: the unit or the sex."""
    is_open = label.endswith("older")
    if reading.is_complete:
        return label if is_open or not _needs_unit(reading) else f"{label} {reading.unit}"
    if is_open and reading.names_sex:
        return f"{label} {reading.rest.strip(' -/,')}"
    if is_open and re.match(r"-\s*y", after, re.IGNORECASE):
        return label.replace(" ", "-")
    return label if is_open else label + reading.rest


def _needs_unit(reading: AgeReading) -> bool:
    """Of ages whose number holds its unit, all but decades, which are years for everyone."""
    return reading.high_days - reading.low_days < DAYS_A_YEAR
