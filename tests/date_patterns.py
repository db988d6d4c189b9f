"""The date patterns of the generator, sorted by what a reader can know of them."""

from __future__ import annotations

import re
from functools import cache

from inverse_deid.training.corpora.wordlists import load_lists

RANDOM_FIELDS = (
    "Monthslip monthslip fmonth Fmonth fmon holiday holidaylower HOLIDAY hmonth nextMonth season Season"
)
FULL_BUT_NOT_READ = {
    "{mm}{dd}{yy}",
    "{d} {m} {yy}",
    "{d}-{m}/{yyyy}",
    "{d}/{m}-{yyyy}",
    "{mon} {d}-{yy}",
    "{Mon}. {d}/{yy}",
    "{Month} {d}/{yy}",
    "{Fday}, {dd}/{mm}/{yyyy}",
}
"""Six digits in a row, three numbers without sign or with two, a day that may be the end of a range,
weekdays of other languages: masked on purpose."""


def fields(pattern: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", pattern)


@cache
def patterns() -> tuple[str, ...]:
    """Those that say when, and no word that the generator draws without regard to the date."""
    every = dict.fromkeys(p for kind in load_lists("dates").values() for p in kind)
    return tuple(p for p in every if not set(fields(p)) & set(RANDOM_FIELDS.split()))


@cache
def full_patterns() -> tuple[str, ...]:
    """One day with its year, in the western calendar."""
    months = {"m", "mm", "Mon", "MON", "mon", "Month", "MONTH", "month", "rom", "ROM"}
    days = {"d", "dd", "ord", "ordword"}
    found = []
    for pattern in patterns():
        names = set(fields(pattern))
        if (
            names & months
            and names & days
            and names & {"yy", "yyyy"}
            and not any(n.endswith("2") for n in names)
        ):
            found.append(pattern)
    return tuple(pattern for pattern in found if "{hm" not in pattern and "{ny" not in pattern)


def order_of(pattern: str) -> bool | None:
    """True if the day stands before a month in numbers, None if that is no question."""
    names = [name.rstrip("2") for name in fields(pattern)]
    if not {"m", "mm"} & set(names) or not {"d", "dd"} & set(names):
        return None
    day = next(i for i, name in enumerate(names) if name in ("d", "dd"))
    month = next(i for i, name in enumerate(names) if name in ("m", "mm"))
    return day < month
