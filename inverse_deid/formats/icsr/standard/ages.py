"""The ages of a report: a number with a unit, or a code of a group of ages.

Source: ICH E2B(R3) implementation guide, D.2.2, D.2.3, D.10.2.2 and G.k.6 (UCUM units); E2B(R2), which
numbers its units (800 decade to 805 hour, 810 trimester).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

AGE_GROUP = "D.2.3"
GESTATION = frozenset(("D.2.2.1a", "G.k.6a"))
DECADE = "10.a"
R2_UNITS = {"800": DECADE, "801": "a", "802": "mo", "803": "wk", "804": "d", "805": "h", "810": "{trimester}"}

HIGH_AGE_YEARS = 90
"""Ages from here on are not shown: 45 CFR 164.514(b)(2)(i)(C)."""

_YEARS_OF = {
    DECADE: 10.0,
    "a": 1.0,
    "{trimester}": 0.25,
    "mo": 1 / 12,
    "wk": 7 / 365.25,
    "d": 1 / 365.25,
    "h": 1 / 8766,
}
_NUMBER = re.compile(r"\s*\d{1,5}(?:[.,]\d{1,4})?\s*", re.ASCII)
_GROUP = re.compile(r"\s*[0-6]\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class AgeElement:
    """One structured age of a case."""

    element: str  # its E2B element
    number: str = field(repr=False)  # as it is written; of a group of ages, its code
    unit: str  # in UCUM, "" = not stated or not known


AgeFor = Callable[[AgeElement], AgeElement | None]
"""From an age to the one that replaces it, None = it is left out."""


def is_age(text: str, element: str = "") -> bool:
    """Return whether a value is the number of an age, or in `AGE_GROUP` the code of one of seven groups.

    Example:
        >>> is_age("48"), is_age("about 48"), is_age("48", AGE_GROUP), is_age("5", AGE_GROUP)
        (True, False, False, True)
    """
    pattern = _GROUP if element == AGE_GROUP else _NUMBER
    return pattern.fullmatch(text) is not None


def years_of(number: str, unit: str) -> float | None:
    """Return an age in years, None = unknown.

    Example:
        >>> years_of("18", "mo"), years_of("9", "10.a"), years_of("9", "")
        (1.5, 90.0, None)
    """
    factor = _YEARS_OF.get(unit)
    return float(number.replace(",", ".")) * factor if factor is not None and is_age(number) else None
