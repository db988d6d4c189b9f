"""Ages in free text: read as a span of days, since a newborn's age is not an adult's, and replaced.

An age in years is the span from one birthday to the next, an age in months from one month to the
next. Months and years have their mean length.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import KnownSort
from inverse_deid.core.wording import _
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.masked_words import MaskedWords, Proposal
from inverse_deid.text.matching import fold
from inverse_deid.text.tokenizer import tokenize

DAYS_A_YEAR = 365.25
DAYS_A_MONTH = DAYS_A_YEAR / 12
_MAX_YEARS = 130
_MAX_MONTHS_NEXT_TO_M = 23
_HIGH_AGE_YEARS = 90
_MAX_LIMIT = 999
_HIGH_AGE = f"{_HIGH_AGE_YEARS} or older"
_AFTER_CHARS = 40


class AgeUnit(StrEnum):
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


@dataclass(frozen=True, slots=True)
class AgeReading:
    """An age and how it was written."""

    low_days: float = field(repr=False)  # the person is at least this old
    high_days: float = field(repr=False)  # the person is younger than this
    unit: AgeUnit  # as written or understood
    rest: str = field(default="", repr=False)  # the text after the number: a unit, or the sex
    names_sex: bool = False  # the rest is the sex
    is_complete: bool = False  # the number contains its unit: `4/12`, `3y8m`, `70s`


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
    """Read the words of one age, with or without a unit.

    Args:
        text: The words.
        after: The next 20 characters or more of the narrative, where a bare number has its unit;
            without one it is years.

    Returns:
        None if the words are not an age, or can be two.

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


def _read_decade(match: re.Match[str], after: str) -> AgeReading | None:
    # Read `70s`, `seventies` and `seventy-something`.
    word = (match.groupdict().get("decade") or "").lower()
    start = _DECADES.get(word) or _number(word[:2] or match["number"])
    if start % 10 or not 20 <= start <= 100:
        return None
    return AgeReading(start * DAYS_A_YEAR, (start + 10) * DAYS_A_YEAR, AgeUnit.YEARS, is_complete=True)


def _read_part(match: re.Match[str], after: str) -> AgeReading | None:
    # `4/12`, `2/52`, `3/7`: months, weeks, days.
    unit = {"12": AgeUnit.MONTHS, "52": AgeUnit.WEEKS, "7": AgeUnit.DAYS}[match["of"]]
    count, days = int(match["number"]), DAYS_OF[unit]
    return AgeReading(count * days, (count + 1) * days, unit, is_complete=True) if count else None


def _read_years_and_months(match: re.Match[str], after: str) -> AgeReading | None:
    months = _number(match["months"])
    low = 12 * _number(match["years"]) + months
    if months >= 12:
        return None
    return AgeReading(low * DAYS_A_MONTH, (low + 1) * DAYS_A_MONTH, AgeUnit.YEARS, is_complete=True)


def _read_years_and_part(match: re.Match[str], after: str) -> AgeReading | None:
    # `2 1/2` is from then to the next birthday.
    unit, rest = _unit_and_sex(match["rest"], after, 0)
    years = _number(match["years"])
    if unit is not AgeUnit.YEARS:
        return None
    return AgeReading((years + 0.5) * DAYS_A_YEAR, (years + 1) * DAYS_A_YEAR, unit, match["rest"], rest)


def _read_range(match: re.Match[str], after: str) -> AgeReading | None:
    first, last = _number(match["first"]), _number(match["last"])
    unit, names_sex = _unit_and_sex(match["rest"], after, last)
    if unit is None or last <= first:
        return None
    return AgeReading(first * DAYS_OF[unit], (last + 1) * DAYS_OF[unit], unit, match["rest"], names_sex)


def _read_plain(match: re.Match[str], after: str) -> AgeReading | None:
    count, rest = _number(match["number"]), match["rest"]
    unit, names_sex = _unit_and_sex(rest, after, count)
    days = DAYS_OF[unit or AgeUnit.YEARS]
    return AgeReading(count * days, (count + 1) * days, unit, rest, names_sex) if unit else None


def _unit_and_sex(rest: str, after: str, count: int) -> tuple[AgeUnit | None, bool]:
    # None = the unit is unclear.
    # The rest is shown: all of it must be a unit or a sex, or a name joined to it would leave.
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
    (_form(rf"{_IN_THE}(?P<decade>[2-9]0['\u2019]?s|{'|'.join(_DECADES)})"), _read_decade),
    (_form(rf"(?P<number>{_NUMBER})(?:[-\s]?odd|[-\s]something)"), _read_decade),
    (_form(r"(?P<number>\d{1,2})/(?P<of>12|52|7)"), _read_part),
    (_form(r"(?P<years>\d{1,3})[-\s]+(?P<months>\d{1,2})/12"), _read_years_and_months),
    (
        _form(
            rf"(?P<years>{_NUMBER})[-\s]*(?:years?|yrs?|y),?\s*(?:and\s+)?"
            rf"(?P<months>{_NUMBER})[-\s]*(?:months?|mos?|mths?|m){_OLD}"
        ),
        _read_years_and_months,
    ),
    (
        _form(rf"(?P<years>{_NUMBER})(?:[-\s]*(?:1/2|½)|\.5|\s+and\s+a\s+half)(?P<rest>.*)"),
        _read_years_and_part,
    ),
    (_form(rf"(?P<first>{_NUMBER})\s*(?:[-\u2013]|to)\s*(?P<last>{_NUMBER})(?P<rest>.*)"), _read_range),
    (_form(rf"(?P<number>{_NUMBER})(?P<rest>.*)"), _read_plain),
)


class AgePolicy(Protocol):
    """How ages are replaced."""

    def replacement(self, text: str, after: str = "") -> str | None:
        """Return the words that replace an age, None = mask it; `after` as in `read_age`."""
        ...


@dataclass(frozen=True, slots=True)
class MaskedAges:
    """Masks every age."""

    def replacement(self, text: str, after: str = "") -> str | None:
        """Return None."""
        return None


@dataclass(frozen=True, slots=True)
class AgesUnder90:
    """Keeps ages below 90 as written; `90 or older` above.

    Source:
        45 CFR 164.514(b)(2)(i)(C): ages over 89 may be put into one category *90 or older*.

    Example:
        >>> AgesUnder90().replacement("43"), AgesUnder90().replacement("94", "-year-old")
        ('43', '90-or-older')
    """

    def replacement(self, text: str, after: str = "") -> str | None:
        """Return the text itself, or the category of high ages."""
        reading = read_age(text, after)
        high = _HIGH_AGE_YEARS * DAYS_A_YEAR
        if reading is None or reading.low_days < high < reading.high_days:
            return None
        return text if reading.high_days <= high else _add_rest(_HIGH_AGE, reading, after)


@dataclass(frozen=True, slots=True)
class BandScheme:
    """Bands of age without gaps.

    Raises:
        ConfigurationError: Edges do not rise, or the number of names is wrong.
    """

    name: str  # recorded by a run
    edges_days: tuple[float, ...]  # the beginnings of the second and later bands, rising
    names: tuple[str, ...]  # one per band; the last has no end

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip((0.0, *self.edges_days), self.edges_days, strict=False))
        if not rising or len(self.names) != len(self.edges_days) + 1:
            raise ConfigurationError(
                _("bands {name}: edges must rise, and there must be one more name than edges", name=self.name)
            )

    def band_of(self, reading: AgeReading) -> int | None:
        """Return the band, counted from 0, that contains the whole age; None if it spans two."""
        band = bisect_right(self.edges_days, reading.low_days)
        is_last = band == len(self.edges_days)
        return band if is_last or reading.high_days <= self.edges_days[band] else None

    def limits(self, band: int, unit: AgeUnit) -> str | None:
        """Return the completed years (months, weeks) of a band: `18-64`, `65 or older`.

        None if this takes more than three digits: *0-87659 hours* is useless.
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
"""The schemes by name.

`e2b` has the groups 1 to 6 of E2B(R3) D.2.3, which the implementation guide leaves undefined. Its edges
are those of ICH E11, *Age classification* (0 to 27 days; 28 days to 23 months; 2 to 11 years; 12 to 17 years)
and of ICH E7 (65 years and more).
"""


@dataclass(frozen=True, slots=True)
class BandedAges:
    """Replaces an age by its band, in the unit of the age; one scheme serves a whole run.

    Example:
        >>> policy = BandedAges(BAND_SCHEMES["10-years"])
        >>> policy.replacement("43", "-year-old"), policy.replacement("62M"), policy.replacement("in her 70s")
        ('40-49', '60-69M', '70-79')
        >>> BandedAges(BAND_SCHEMES["e2b"]).replacement("5mo")
        '0-23mo'
    """

    scheme: BandScheme

    def replacement(self, text: str, after: str = "") -> str | None:
        """Return the band, None if the age can be in two."""
        reading = read_age(text, after)
        band = self.scheme.band_of(reading) if reading else None
        if reading is None or band is None:
            return None
        limits = self.scheme.limits(band, reading.unit)
        return limits and _add_rest(limits, reading, after)


def _add_rest(label: str, reading: AgeReading, after: str) -> str:
    is_open = label.endswith("older")
    if reading.is_complete:
        # Decades are years for everyone; of all others the number contains the unit.
        is_decade = reading.high_days - reading.low_days >= DAYS_A_YEAR
        return label if is_open or is_decade else f"{label} {reading.unit}"
    if is_open and reading.names_sex:
        return f"{label} {reading.rest.strip(' -/,')}"
    if is_open and re.match(r"-\s*y", after, re.IGNORECASE):
        return label.replace(" ", "-")
    return label if is_open else label + reading.rest


class AgeReplacer:
    """Replaces the ages of one case (a `Replacer`); one that repeats a known identifier stays masked."""

    def __init__(self, policy: AgePolicy, case: CaseTexts) -> None:
        self._policy = policy
        values = (known.value for known in case.known_values if known.sort is not KnownSort.DATE)
        self._identifying = frozenset(fold(word) for value in values for word in tokenize(value).words)

    def propose(self, text: MaskedWords) -> list[Proposal]:
        proposals: list[Proposal] = []
        tokens = text.masked.tokens
        for span in text.age_spans():
            own = tokens.words[span.first : span.stop]
            if text.is_denied(span) or any(fold(word) in self._identifying for word in own):
                continue
            words = self._policy.replacement(
                text.words(span), tokens.text[span.end : span.end + _AFTER_CHARS]
            )
            if words is not None:
                proposals.append(Proposal(span.first, span.stop, words, "age"))
        return proposals
