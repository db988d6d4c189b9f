"""Ages in free text: read as a span of days, since the age of a newborn is not that of an adult.

An age in years is the span from one birthday to the next, an age in months from one month to the
next. Months and years have their mean length.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

DAYS_A_YEAR = 365.25
DAYS_A_MONTH = DAYS_A_YEAR / 12
_MAX_YEARS = 130
_MAX_MONTHS_NEXT_TO_M = 23


class AgeUnit(StrEnum):
    """What an age is counted in."""

    YEARS = "years"
    MONTHS = "months"
    WEEKS = "weeks"
    DAYS = "days"
    HOURS = "hours"


DAYS_OF: dict[AgeUnit, float] = {
    AgeUnit.YEARS: DAYS_A_YEAR,
    AgeUnit.MONTHS: DAYS_A_MONTH,
    AgeUnit.WEEKS: 7.0,
    AgeUnit.DAYS: 1.0,
    AgeUnit.HOURS: 1 / 24,
}
"""The length of a unit in days."""


@dataclass(frozen=True, slots=True)
class AgeReading:
    """An age and how it was written.

    Args:
        low_days: The person is at least this old.
        high_days: And younger than this.
        unit: What it is counted in.
        rest: What follows the number in the text: a unit, or the sex.
        names_sex: The rest is the sex.
        is_complete: The number holds its unit: `4/12`, `3y8m`, `70s`.
    """

    low_days: float = field(repr=False)
    high_days: float = field(repr=False)
    unit: AgeUnit
    rest: str = field(default="", repr=False)
    names_sex: bool = False
    is_complete: bool = False


_SMALL_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_SMALL = _SMALL_WORDS.split()
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_DECADES = {word.removesuffix("y") + "ies": 10 * i for i, word in enumerate(_TENS, 2)}
_NUMBERS = {word: i for i, word in enumerate(_SMALL)} | {word: 10 * i for i, word in enumerate(_TENS, 2)}
_ONES = "|".join(_SMALL[1:10])
_WORD = (
    rf"(?:(?:(?:one|a)\s+hundred(?:\s+(?:and\s+)?(?:{'|'.join(_SMALL[1:])}|{'|'.join(_TENS)}))?"
    rf"|(?:{'|'.join(_TENS)})(?:[-\s]+(?:{_ONES}))?|{'|'.join(sorted(_SMALL[1:], key=len, reverse=True))})\b)"
)
_NUMBER = rf"(?:\d{{1,4}}|{_WORD})"
_UNITS = {
    AgeUnit.YEARS: r"years?|yrs?|y\.?o\.?|y/o|y",
    AgeUnit.MONTHS: r"months?|mos?|mths?|mnths?",
    AgeUnit.WEEKS: r"weeks?|wks?",
    AgeUnit.DAYS: r"days?",
    AgeUnit.HOURS: r"hours?|hrs?",
}
_GLUED_UNITS = {AgeUnit.WEEKS: "w", AgeUnit.DAYS: "d", AgeUnit.HOURS: "h"}
_OLD = r"(?:[-\s]*(?:olds?|of\s+age))?"
_END = r"(?![^\W_])"
_NOT_AN_AGE_BEHIND = re.compile(
    r"[/.,:]\d|\s*[-\u2013]\s*\d|\d|\s?%|\s*/(?!\s?[MF]\b)|['\u2019]s\b|\s+[dwh]\b", re.IGNORECASE
)
_SEX = re.compile(r"[-\s/,]*(?:[MF]|f|male|female|man|woman|boy|girl)\s*", re.IGNORECASE)
_MONTHS_OR_MALE = re.compile(r"[-\s]*m(?:/o)?\b\.?", re.IGNORECASE)
_MONTHS_OR_MALE_ALONE = re.compile(_MONTHS_OR_MALE.pattern + _OLD, re.IGNORECASE)


def read_age(text: str, after: str = "") -> AgeReading | None:
    """Read an age as it was marked: with or without its unit.

    Args:
        text: The words of one age.
        after: What follows in the narrative, at least 20 characters: a bare number takes its unit from
            there, and is years if there is none.

    Returns:
        None if it is no age, or may be another one.

    Example:
        >>> read_age("5", " month old boy").unit
        <AgeUnit.MONTHS: 'months'>
    """
    words = " ".join(text.split())
    for pattern, reader in _FORMS:
        match = pattern.fullmatch(words)
        reading = reader(match, after) if match else None
        if reading is not None:
            return reading if reading.high_days <= (_MAX_YEARS + 1) * DAYS_A_YEAR else None
    return None


def _decade(match: re.Match[str], after: str) -> AgeReading | None:
    word = match["decade"].lower()
    start = _DECADES[word] if word in _DECADES else int(word[:-1].rstrip("'\u2019"))
    return AgeReading(start * DAYS_A_YEAR, (start + 10) * DAYS_A_YEAR, AgeUnit.YEARS, is_complete=True)


def _about(match: re.Match[str], after: str) -> AgeReading | None:
    start = _number(match["number"])
    if start % 10 or not 20 <= start <= 100:
        return None
    return AgeReading(start * DAYS_A_YEAR, (start + 10) * DAYS_A_YEAR, AgeUnit.YEARS, is_complete=True)


def _part(match: re.Match[str], after: str) -> AgeReading | None:
    """`4/12`, `2/52`, `3/7`: months, weeks, days."""
    unit = {"12": AgeUnit.MONTHS, "52": AgeUnit.WEEKS, "7": AgeUnit.DAYS}[match["of"]]
    count = int(match["number"])
    return _span(count, unit, is_complete=True) if 0 < count < 100 else None


def _years_and_months(match: re.Match[str], after: str) -> AgeReading | None:
    months = _number(match["months"])
    low = 12 * _number(match["years"]) + months
    if months >= 12:
        return None
    return AgeReading(low * DAYS_A_MONTH, (low + 1) * DAYS_A_MONTH, AgeUnit.YEARS, is_complete=True)


def _years_and_part(match: re.Match[str], after: str) -> AgeReading | None:
    """Two and a half: from then to the next birthday."""
    unit, rest = _unit_and_sex(match["rest"], after, 0)
    years = _number(match["years"])
    if unit is not AgeUnit.YEARS:
        return None
    return AgeReading((years + 0.5) * DAYS_A_YEAR, (years + 1) * DAYS_A_YEAR, unit, match["rest"], rest)


def _range(match: re.Match[str], after: str) -> AgeReading | None:
    first, last = _number(match["first"]), _number(match["last"])
    unit, names_sex = _unit_and_sex(match["rest"], after, last)
    if unit is None or last <= first:
        return None
    return AgeReading(first * DAYS_OF[unit], (last + 1) * DAYS_OF[unit], unit, match["rest"], names_sex)


def _plain(match: re.Match[str], after: str) -> AgeReading | None:
    count = _number(match["number"])
    unit, names_sex = _unit_and_sex(match["rest"], after, count)
    return _span(count, unit, match["rest"], names_sex=names_sex) if unit else None


def _span(
    count: int, unit: AgeUnit, rest: str = "", *, names_sex: bool = False, is_complete: bool = False
) -> AgeReading:
    days = DAYS_OF[unit]
    return AgeReading(count * days, (count + 1) * days, unit, rest, names_sex, is_complete)


def _unit_and_sex(rest: str, after: str, count: int) -> tuple[AgeUnit | None, bool]:
    """The unit, None if it is unclear; and whether the rest of the text names the sex."""
    # The rest is shown again: all of it has to be a unit or a sex, or a name joined to it would leave.
    months_or_male = _MONTHS_OR_MALE_ALONE.fullmatch(rest) if rest else _MONTHS_OR_MALE.match(after)
    if months_or_male:
        if count > _MAX_MONTHS_NEXT_TO_M:
            return (AgeUnit.YEARS, bool(rest)) if "/" not in months_or_male[0] else (None, False)
        is_male = "M" in months_or_male[0]
        return (None, False) if is_male else (AgeUnit.MONTHS, False)
    for unit, names in _UNITS.items():
        glued = f"|{_GLUED_UNITS[unit]}" if rest and unit in _GLUED_UNITS else ""
        pattern = rf"[-\s]*(?:{names}{glued}){_END}{_OLD}\.?"
        if re.fullmatch(pattern, rest, re.IGNORECASE) if rest else re.match(pattern, after, re.IGNORECASE):
            return unit, False
    if rest:
        return (AgeUnit.YEARS, True) if _SEX.fullmatch(rest) else (None, False)
    return (None, False) if _NOT_AN_AGE_BEHIND.match(after) else (AgeUnit.YEARS, False)


def _number(text: str) -> int:
    if text.isdigit():
        return int(text)
    words = [word for word in re.split(r"[-\s]+", text.lower()) if word not in ("and", "a")]
    if "hundred" in words:
        return 100 + sum(_NUMBERS[word] for word in words[words.index("hundred") + 1 :])
    return sum(_NUMBERS[word] for word in words)


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_IN_THE = r"(?:(?:in\s+)?(?:(?:his|her|their|the)\s+)?(?:(?:early|mid|late)[-\s]+)?)"
_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], str], AgeReading | None]], ...] = (
    (_form(rf"{_IN_THE}(?P<decade>[2-9]0['\u2019]?s|{'|'.join(_DECADES)})"), _decade),
    (_form(rf"(?P<number>{_NUMBER})(?:[-\s]?odd|[-\s]something)"), _about),
    (_form(r"(?P<number>\d{1,2})/(?P<of>12|52|7)"), _part),
    (_form(r"(?P<years>\d{1,3})[-\s]+(?P<months>\d{1,2})/12"), _years_and_months),
    (
        _form(
            rf"(?P<years>{_NUMBER})[-\s]*(?:years?|yrs?|y),?\s*(?:and\s+)?"
            rf"(?P<months>{_NUMBER})[-\s]*(?:months?|mos?|mths?|m){_OLD}"
        ),
        _years_and_months,
    ),
    (_form(rf"(?P<years>{_NUMBER})(?:[-\s]*(?:1/2|½)|\.5|\s+and\s+a\s+half)(?P<rest>.*)"), _years_and_part),
    (_form(rf"(?P<first>{_NUMBER})\s*(?:[-\u2013]|to)\s*(?P<last>{_NUMBER})(?P<rest>.*)"), _range),
    (_form(rf"(?P<number>{_NUMBER})(?P<rest>.*)"), _plain),
)
