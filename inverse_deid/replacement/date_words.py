"""Names of months and weekdays, ordinals and Roman numbers: read, and written in the same manner."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache


class MonthStyle(StrEnum):
    """How a month is named."""

    FULL = "full"
    SHORT = "short"


@dataclass(frozen=True, slots=True)
class MonthWord:
    """What a word says.

    Args:
        number: 1 to 12.
        language: A key of `MONTHS`.
        style: Full or short; None for words such as *May*, which are both.
    """

    number: int
    language: str
    style: MonthStyle | None


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
"""Full and short names, January to December, by language; a word shared by two is the first one's."""

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
    """Every known name in lower case, longest first."""
    found: dict[str, MonthWord] = {}
    for language, (full, short) in MONTHS.items():
        for number, (name, brief) in enumerate(zip(full.split(), short.split(), strict=True), 1):
            style = None if name.lower() == brief.lower() else MonthStyle.FULL
            found.setdefault(name.lower(), MonthWord(number, language, style))
            found.setdefault(brief.lower(), MonthWord(number, language, style and MonthStyle.SHORT))
    found["sept"] = MonthWord(9, "en", MonthStyle.SHORT)
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def write_month(number: int, like: str, style: MonthStyle | None = None) -> str:
    """The name of a month in the language and case of another month's name.

    Args:
        number: 1 to 12.
        like: A name from `month_words`, in any case.
        style: Full or short; None takes that of `like`, short if it shows none.

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
    """Full and short names in lower case, longest first; 0 is Monday."""
    found = {name.lower(): i for i, name in enumerate(WEEKDAYS)}
    found |= {name[:3].lower(): i for i, name in enumerate(WEEKDAYS)} | _OTHER_WEEKDAYS
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def write_weekday(number: int, like: str) -> str:
    """The name of a weekday: full, or three letters for any short name, so that none tells the old day.

    Example:
        >>> write_weekday(4, "TUES"), write_weekday(4, "Monday")
        ('FRI', 'Friday')
    """
    name = WEEKDAYS[number]
    return _in_case_of(name if like.lower().endswith("day") else name[:3], like)


def ordinal_suffix(number: int) -> str:
    """The letters after a number.

    Example:
        >>> ordinal_suffix(1), ordinal_suffix(12), ordinal_suffix(22)
        ('st', 'th', 'nd')
    """
    return "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def write_day(number: int, like: str, *, padded: bool) -> str:
    """The day of the month: `5`, `05`, `5th` or `fifth`.

    Args:
        number: 1 to 31.
        like: The day as it was written.
        padded: Two digits for a plain number.

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
    """The number of a day as `write_day` writes it."""
    if text[0].isdigit():
        return int(text.rstrip("stndrhSTNDRH"))
    return ORDINALS.index("-".join(text.lower().replace("-", " ").split())) + 1


def _in_case_of(word: str, like: str) -> str:
    if like.isupper():
        return word.upper()
    return word.lower() if like.islower() else word[0].upper() + word[1:]
