"""The parts of a date: a day, month or year that may be missing, and the words for them in text."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cache


class Precision(StrEnum):
    """The finest part of a date that is known."""

    YEAR = "year"
    MONTH = "month"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A year, a month or a day; the year may be missing until the case fills it.

    Raises:
        ValueError: No such date exists.
    """

    year: int | None = field(repr=False)  # 1 to 9999, None = not written
    month: int | None = field(default=None, repr=False)  # 1 to 12, None = not known
    day: int | None = field(default=None, repr=False)  # 1 to 31, None = not known; needs a month

    def __post_init__(self) -> None:
        leap_year = 2000
        in_range = self.month is None or 1 <= self.month <= 12
        if not in_range or (self.month is None and (self.day is not None or self.year is None)):
            raise ValueError("no such date: a day needs a month from 1 to 12, a year must be 1 to 9999")
        date(
            leap_year if self.year is None else self.year,
            self.month or 1,
            1 if self.day is None else self.day,
        )

    @property
    def precision(self) -> Precision:
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
        """Tell whether the two can be one day: no part that both have differs.

        Example:
            >>> PartialDate(1962, 5, 12).overlaps(PartialDate(1962))
            True
        """
        parts = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        return all(mine is None or theirs is None or mine == theirs for mine, theirs in parts)

    def in_year(self, year: int) -> PartialDate:
        """Return the same month and day in another year.

        Raises:
            ValueError: 29 February of a common year.
        """
        return PartialDate(year, self.month, self.day)


def partial(day: date) -> PartialDate:
    return PartialDate(day.year, day.month, day.day)


class MonthStyle(StrEnum):
    FULL = "full"
    SHORT = "short"


@dataclass(frozen=True, slots=True)
class MonthWord:
    """A name of a month."""

    number: int  # 1 to 12
    language: str  # a key of `MONTHS`
    style: MonthStyle | None  # full or short; None for words such as *May*, which are both


MONTHS: dict[str, tuple[str, str]] = {
    "en": (
        "January February March April May June July August September October November December",
        "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    ),
    "de": (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "Jan Feb Mrz Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    ),
    "fr": (
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "janv fév mars avr mai juin juil août sept oct nov déc",
    ),
    "es": (
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "ene feb mar abr may jun jul ago sep oct nov dic",
    ),
    "it": (
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "gen feb mar apr mag giu lug ago set ott nov dic",
    ),
    "pt": (
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "jan fev mar abr mai jun jul ago set out nov dez",
    ),
    "nl": (
        "januari februari maart april mei juni juli augustus september oktober november december",
        "jan feb mrt apr mei jun jul aug sep okt nov dec",
    ),
    "sv": (
        "januari februari mars april maj juni juli augusti september oktober november december",
        "jan feb mar apr maj jun jul aug sep okt nov dec",
    ),
    "pl": (
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
        "sty lut mar kwi maj cze lip sie wrz paź lis gru",
    ),
}
"""Full and short names, January to December, by language; a shared word belongs to the first."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
_OTHER_WEEKDAYS = {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
_ORDINAL_WORDS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third "
    "twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
)
ORDINALS = tuple(_ORDINAL_WORDS.split())
"""The days of a month in words, 1 to 31."""


@cache
def month_words() -> dict[str, MonthWord]:
    """Return every known name of a month in lower case, longest first."""
    found: dict[str, MonthWord] = {}
    for language, (full, short) in MONTHS.items():
        for number, (name, brief) in enumerate(zip(full.split(), short.split(), strict=True), 1):
            style = None if name.lower() == brief.lower() else MonthStyle.FULL
            found.setdefault(name.lower(), MonthWord(number, language, style))
            found.setdefault(brief.lower(), MonthWord(number, language, style and MonthStyle.SHORT))
    found["sept"] = MonthWord(9, "en", MonthStyle.SHORT)
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def write_month(number: int, like: str, style: MonthStyle | None = None) -> str:
    """Return the name of a month in the language and case of another month's name.

    Args:
        number: 1 to 12.
        like: A name from `month_words`, in any case.
        style: None takes that of `like`, short if `like` shows no form.

    Example:
        >>> write_month(3, "SEPT"), write_month(3, "October"), write_month(3, "octobre")
        ('MAR', 'March', 'mars')
    """
    word = month_words()[like.lower()]
    full, short = MONTHS[word.language]
    names = full if (style or word.style) is MonthStyle.FULL else short
    return _in_case_of(names.split()[number - 1], like)


@cache
def weekday_words() -> dict[str, int]:
    """Return full and short names of weekdays in lower case, longest first; 0 is Monday."""
    found = {name.lower(): i for i, name in enumerate(WEEKDAYS)}
    found |= {name[:3].lower(): i for i, name in enumerate(WEEKDAYS)} | _OTHER_WEEKDAYS
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def write_weekday(number: int, like: str) -> str:
    """Return the name of a weekday: full, or three letters for every short name.

    The length of a short name would tell the original day.

    Example:
        >>> write_weekday(4, "TUES"), write_weekday(4, "Monday")
        ('FRI', 'Friday')
    """
    name = WEEKDAYS[number]
    return _in_case_of(name if like.lower().endswith("day") else name[:3], like)


def ordinal_suffix(number: int) -> str:
    """Return the letters after an ordinal number.

    Example:
        >>> ordinal_suffix(1), ordinal_suffix(12), ordinal_suffix(22)
        ('st', 'th', 'nd')
    """
    return "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def write_day(number: int, like: str, *, padded: bool) -> str:
    """Return the day of the month, 1 to 31: `5`, `05` (padded), `5th` or `fifth`, in the manner of `like`.

    Example:
        >>> [write_day(3, like, padded=True) for like in ("12TH", "12", "ninth")]
        ['3RD', '03', 'third']
    """
    if not like[0].isdigit():
        return _in_case_of(ORDINALS[number - 1], like)
    letters = like.lstrip("0123456789")
    if letters:
        suffix = ordinal_suffix(number)
        return f"{number}{suffix.upper() if letters.isupper() else suffix}"
    return f"{number:02}" if padded else str(number)


def read_day(text: str) -> int:
    """Return the number of a day as `write_day` writes it."""
    if text[0].isdigit():
        return int(text.rstrip("stndrhSTNDRH"))
    return ORDINALS.index("-".join(text.lower().replace("-", " ").split())) + 1


def _in_case_of(word: str, like: str) -> str:
    if like.isupper():
        return word.upper()
    return word.lower() if like.islower() else word[0].upper() + word[1:]
