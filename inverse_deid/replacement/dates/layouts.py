"""Every way in which the words of one date can be understood.

A template is a regular expression whose named groups are the fields of a date; the text between
them is copied when another date is written in the same layout. A text that fits several templates
has several readings, and callers must not guess: `10/12/19` is two days, `OCT 12` a day or a month
of 2012, `2009-10` a month or two years.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache

from inverse_deid.replacement.dates.parts import (
    ORDINALS,
    ROMAN,
    MonthStyle,
    PartialDate,
    Precision,
    month_words,
    read_day,
    weekday_words,
)

_MAX_CHARS = 60
_PIVOT_YEARS = 10
_LONGEST_LEANING_RANGE_DAYS = 183


@dataclass(frozen=True, slots=True)
class Piece:
    """A field of a date, or the text between two."""

    kind: str  # `day`, `month`, `name`, `roman`, `year`, `weekday`; empty for the text between
    text: str = field(repr=False)
    of_last: bool = False  # belongs to the last day of a range


Layout = tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DateReading:
    """A date, or a range of days, and how it was written."""

    first: PartialDate  # the date, or the first day of a range; its year is None if it is not known
    last: PartialDate | None = None  # the last day of a range, None = not a range
    layout: Layout = field(repr=False)  # the pieces of the text
    # The layout of one whole date of a range, used if its ends share no month or year.
    single: Layout = field(default=(), repr=False)
    joined_by: str = "to"  # *to* between the ends of a range, *and* between two separate days
    shared: frozenset[str] = frozenset()  # what a range writes once for both ends: `month`, `year`
    day_first: bool | None = None  # the order of a numeric date; None where the order is clear
    is_pair: bool = False  # two numbers, which can also be a month and a year
    # Another date can be written in this layout; seasons, holidays, quarters and the like cannot be moved.
    writable: bool = True
    is_certain: bool = True  # False for a reading that only casts doubt on others
    weekday: int | None = field(default=None, repr=False)  # the weekday that is written, 0 = Monday
    last_weekday: int | None = field(default=None, repr=False)  # the weekday of the end of a range
    time: str = field(default="", repr=False)  # the time of day as written
    inferred_year: bool = False  # the year was not written but filled from the case

    @property
    def month_style(self) -> MonthStyle | None:
        """The form of the names of months, None = no name, or a name that shows no form."""
        names = (month_words()[piece.text.lower()] for piece in self.layout if piece.kind == "name")
        return next((name.style for name in names if name.style), None)

    @property
    def weekdays_agree(self) -> bool:
        """Whether written weekdays are those of the dates, whose years are known."""
        pairs = ((self.first, self.weekday), (self.last, self.last_weekday))
        return all(
            weekday is None or day is None or day.earliest.weekday() == weekday for day, weekday in pairs
        )


@dataclass(frozen=True, slots=True)
class _Template:
    pattern: str
    day_first: bool | None = None
    is_pair: bool = False
    writable: bool = True
    is_range: bool = False
    is_certain: bool = True


_DASH = "[-\u2010\u2011\u2013\u2014]"
_THE = r"(?:(?:on\s+)?the\s+)?"
_OF = rf"(?:\s?(?:{_DASH}|[/_.·])\s?|\.?\s+|,\s+|(?:\s+day)?\s+of\s+|)"
_BY = rf"(?:\.?,?\s+(?:of\s+|in\s+)?|\s?(?:{_DASH}|[/_])\s?|[.,]|)"
_TO = rf"(?:\.?\s*|{_DASH}|[/_]|\s+the\s+)"
_THEN = rf"(?:,\s*|{_DASH}|[/_]|,?\s+(?:of\s+|in\s+)?)"
_THEN_SHORT = r"(?:,\s*'?|_|,?\s+')"
_THEN_EITHER = rf"(?:,\s*'?|{_DASH}|/|,?\s+'|,?\s+(?=[12][0-9]{{3}}))"
_S = rf"\s*(?P<s>{_DASH}|[/._·\\])\s*"
_AGAIN = r"\s*(?P=s)\s*"
_R = rf"(?P<r>\s*(?:{_DASH}|/|&)\s*|\s+(?:to|and|through|until)\s+)"
_UNKNOWN = r"(?:UNK?|XX|\?\?|--|__|00|\?|-)"
_US = r"[-/]?"

_TEMPLATES = (
    _Template(f"{_THE}<day>{_OF}<name>{_BY}'?<year>"),
    _Template(r"<num>\.?(?:\s+|[-/.]|\s+de\s+)<foreign>\.?(?:\s+|[-/.]|\s+de\s+)<year4>"),
    _Template(f"<name>{_TO}<day>{_THEN}<year4>"),
    _Template(f"<name>{_TO}<day>{_THEN_SHORT}<year2>"),
    _Template(f"<name>(?P<s>{_DASH}|/)<day>(?P=s)<year2>"),
    _Template(f"<name>\\.?\\s*<day>(?:{_DASH}|/)<year2>", is_certain=False),
    _Template(r"<year4>(?P<s>[-/._ ]?|,\s)<name>(?:(?P=s)|\s)<num>"),
    _Template(f"<num>{_S}<month>{_AGAIN}'?<year>\\.?", day_first=True),
    _Template(f"<month>{_S}<num>{_AGAIN}'?<year>\\.?", day_first=False),
    _Template(r"<num>(?P<s>,?\s|\.\s)<month>(?P=s)<year4>\.?", day_first=True),
    _Template(r"<month>(?P<s>,?\s|\.\s)<num>(?P=s)<year4>\.?", day_first=False),
    _Template("<day2><month2><year4>", day_first=True),
    _Template("<month2><day2><year4>", day_first=False),
    _Template(f"<year4>\\s?(?P<s>{_DASH}|[/._ ])\\s?<month>\\s?(?P=s)\\s?<num>"),
    _Template("<year4><month2><day2>"),
    _Template("<year4>年<month>月<num>日"),
    _Template(r"<num>(?P<s>[-/.])<roman>(?P=s)'?<year>"),
    _Template(f"{_THE}<day>{_OF}<name>\\.?"),
    _Template(f"<name>{_TO}<day>"),
    _Template(r"<num>\s?/\s?<month>", day_first=True, is_pair=True),
    _Template(r"<month>\s?/\s?<num>", day_first=False, is_pair=True),
    _Template(f"<name>(?:\\.?,?\\s+(?:of\\s+)?|{_DASH}|[/']|)<year4>"),
    _Template(f"<foreign>(?:\\s+(?:de\\s+)?|{_DASH}|/)<year4>"),
    _Template(r"<name>(?:\.?\s+(?:of\s+)?)?'<year2>"),
    _Template(f"<name>(?:{_DASH}|/|)<year2>"),
    _Template(r"(?-i:<NAME>)\s+<year2>"),
    _Template(f"<month>(?:{_DASH}|/)<year4>"),
    _Template("<month>/<year2>"),
    _Template(f"<year4>(?:{_DASH}|[/.])<month2>"),
    _Template(f"<year4>(?:{_DASH}|/|\\s)<name>"),
    _Template("<roman>[/.]<year4>"),
    _Template("<year4>年<month>月"),
    _Template(f"<year4>(?:{_DASH}|/)<next_year>", writable=False),
    _Template("<year4>"),
    _Template("'<year2>"),
    _Template(f"{_UNKNOWN}{_US}<name>{_US}<year>"),
    _Template(f"{_UNKNOWN}[-/]<month>[-/]<year>"),
    _Template(f"<month>[-/]{_UNKNOWN}[-/]<year>"),
    _Template(f"{_UNKNOWN}[-/]{_UNKNOWN}[-/]<year4>"),
    _Template(f"<year4>-?<month2>-?{_UNKNOWN}"),
    _Template(f"<year4>-{_UNKNOWN}-{_UNKNOWN}"),
    _Template(
        r"(?:early|mid|late|(?:beginning|end)(?:\s+of)?)[-\s]+(?:<name>\.?,?\s+)?<year4>", writable=False
    ),
    _Template(r"(?:spring|autumn|fall|(?:Q[1-4]|H[12])(?=[/ ]))(?:\s+of\s+|\s+|/)<year4>", writable=False),
    _Template(r"<year4>\s+(?:Q[1-4]|H[12])", writable=False),
    _Template(r"(?:Christmas|Xmas|Easter|Thanksgiving|Halloween|Diwali),?\s+<year4>", writable=False),
    _Template(f"{_THE}<day>{_R}<end>{_OF}<name>(?:{_BY}'?<year>)?", is_range=True),
    _Template(f"<name>(?:\\.?\\s*|\\s+the\\s+)<day>{_R}<end>(?:{_THEN_EITHER}<year>)?", is_range=True),
    _Template(rf"<num>\.?\s?{_DASH}\s?<end>(?P<s>[/.])<month>(?P=s)'?<year>", day_first=True, is_range=True),
)
_KIND_OF_GROUP = {"end": "day", "foreign": "name"}
_SPLIT = re.compile(rf"\s+(?:to|and|through|until|{_DASH})\s+|{_DASH}|/", re.IGNORECASE)
_FIELDS_OF_A_DAY = re.compile(r"\d{8}|\d\W*[^\W\d_]|[^\W\d_]\W*\d|\d\W+\d")
_TIME = re.compile(
    r"(?P<before>T|,?\s+(?:at\s+)?)"
    r"(?P<time>(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:\s?[ap]\.?m\b\.?)?(?:Z|\s?[+-]\d\d:?\d\d)?)$",
    re.IGNORECASE,
)
_TRAILING = re.compile(r"[\s,;]*$")


def find_readings(text: str, reference: date) -> list[DateReading]:
    """Return all possible readings of a text, none if it is not a date.

    Args:
        text: The words of one date.
        reference: Two-digit years are at most ten years after it, else in the century before.

    Example:
        >>> sorted(c.first.month for c in find_readings("10/12/19", date(2022, 1, 1)))
        [10, 12]
    """
    if len(text) > _MAX_CHARS or not text.strip():
        return []
    return [*_read_singles(text, reference), *_read_ranges(text, reference)]


def _read_singles(text: str, reference: date) -> list[DateReading]:
    end = len(text) - len(_TRAILING.search(text)[0])  # type: ignore[index]
    start = len(text) - len(text.lstrip())
    time = _TIME.search(text, start, end)
    weekday = _weekday_pattern().match(text, start, time.start() if time else end)
    core = (weekday.end() if weekday else start, time.start() if time else end)
    found = []
    has_letters = any(map(str.isalpha, text[slice(*core)]))
    for template, regex, needs_letters in _compile_templates():
        if needs_letters and not has_letters:
            continue
        match = regex.fullmatch(text, *core)
        reading = _make_reading(template, match, weekday, reference) if match else None
        if reading and (reading.first.day or not (weekday or time)):
            found.append(replace(reading, time=time["time"] if time else ""))
    return found


def _make_reading(
    template: _Template, match: re.Match[str], weekday: re.Match[str] | None, reference: date
) -> DateReading | None:
    groups = {name: value for name, value in match.groupdict().items() if value is not None}
    try:
        first, last = _read_dates(groups, reference)
    except ValueError:
        return None
    if template.is_range and weekday is not None:
        return None
    layout = _make_layout(match, weekday)
    return DateReading(
        first=first,
        last=last,
        layout=layout,
        single=_drop_first_day(layout) if template.is_range else (),
        joined_by=_choose_joiner(groups.get("r", "-")),
        shared=frozenset(("month", "year")) if template.is_range else frozenset(),
        day_first=template.day_first,
        is_pair=template.is_pair,
        writable=template.writable,
        is_certain=template.is_certain,
        weekday=weekday_words()[weekday["weekday"].lower()] if weekday else None,
    )


def _read_dates(groups: dict[str, str], reference: date) -> tuple[PartialDate, PartialDate | None]:
    year = _read_year(groups["year"], reference) if "year" in groups else None
    month = _read_month(groups)
    first = PartialDate(year, month, read_day(groups["day"]) if "day" in groups else None)
    if "next_year" in groups and year is not None:
        following = int(groups["next_year"])
        return first, PartialDate(_check_rising(year % 100, following) - year % 100 + year)
    if "end" not in groups:
        return first, None
    return first, PartialDate(year, month, _check_rising(first.day or 0, read_day(groups["end"])))


def _check_rising(first: int, last: int) -> int:
    if last <= first:
        raise ValueError("a range must rise")
    return last


def _read_month(groups: dict[str, str]) -> int | None:
    if "month" in groups:
        return int(groups["month"])
    if "name" in groups or "foreign" in groups:
        word = month_words().get((groups.get("name") or groups["foreign"]).lower())
        if word is None or (word.language == "en") != ("name" in groups):
            raise ValueError("not the name of a month")
        return word.number
    return ROMAN.index(groups["roman"].lower()) + 1 if "roman" in groups else None


def _read_year(text: str, reference: date) -> int:
    if len(text) == 4:
        return int(text)
    latest = reference.year + _PIVOT_YEARS
    return latest - (latest - int(text)) % 100


def _make_layout(match: re.Match[str], weekday: re.Match[str] | None) -> Layout:
    text = match.string
    spans = [
        (*match.span(name), name)
        for name in match.groupdict()
        if name not in ("s", "r") and match[name] is not None
    ]
    if weekday is not None:
        spans.append((*weekday.span("weekday"), "weekday"))
    pieces: list[Piece] = []
    position = 0
    for start, end, name in sorted(spans):
        pieces += [Piece("", text[position:start])] if position < start else []
        pieces.append(Piece(_KIND_OF_GROUP.get(name, name), text[start:end], of_last=name == "end"))
        position = end
    return (*pieces, Piece("", text[position:])) if position < len(text) else tuple(pieces)


def _drop_first_day(layout: Layout) -> Layout:
    kinds = [(piece.kind, piece.of_last) for piece in layout]
    first, last = kinds.index(("day", False)), kinds.index(("day", True))
    return tuple(replace(piece, of_last=False) for piece in layout[:first] + layout[last:])


def _read_ranges(text: str, reference: date) -> Iterator[DateReading]:
    # One of the two whole days may take its year from the other.
    for match in _SPLIT.finditer(text):
        sides = text[: match.start()], text[match.end() :]
        if not all(_FIELDS_OF_A_DAY.search(side) for side in sides):
            continue
        lefts = _read_singles(sides[0], reference)
        rights = _read_singles(sides[1], reference) if lefts else []
        for left in lefts:
            for right in rights:
                joined = _join(left, match[0], right)
                if joined is not None:
                    yield joined


def _join(left: DateReading, between: str, right: DateReading) -> DateReading | None:
    days = Precision.DAY
    if left.first.precision is not days or right.first.precision is not days:
        return None
    if left.day_first != right.day_first or left.time or right.time or (left.is_pair and right.is_pair):
        return None
    first, last = left.first, right.first
    try:
        if first.year is None and last.year is not None:
            first = _in_year_of(first, last, -1)
        elif first.year is not None and last.year is None:
            last = _in_year_of(last, first, 1)
    except ValueError:
        return None
    parts = [(when.year or 0, when.month or 0, when.day or 0) for when in (first, last)]
    if parts[1] <= parts[0]:
        return None
    leans = (left.first.year is None) != (right.first.year is None)
    return DateReading(
        first=first,
        last=last,
        layout=(*left.layout, Piece("", between), *(replace(p, of_last=True) for p in right.layout)),
        single=(left if right.first.year is None else right).layout,
        joined_by=_choose_joiner(between) if "/" not in between else "to",
        shared=frozenset(("year",)) if leans else frozenset(),
        day_first=left.day_first,
        writable=left.writable and right.writable,
        weekday=left.weekday,
        last_weekday=right.weekday,
    )


def _choose_joiner(between: str) -> str:
    return "and" if between.strip().lower() in ("and", "&", "/") else "to"


def _in_year_of(day: PartialDate, other: PartialDate, years: int) -> PartialDate:
    """Return the day in the year of another, or `years` later, whichever keeps their order.

    Raises:
        ValueError: It is the same day, or more than half a year away.
    """
    year = other.year or 0
    for candidate in (year, year + years):
        whole = day.in_year(candidate)
        apart = (whole.earliest - other.earliest).days * years
        if 0 < apart <= _LONGEST_LEANING_RANGE_DAYS:
            return whole
    raise ValueError("no year brings these two days into order")


@cache
def _compile_templates() -> tuple[tuple[_Template, re.Pattern[str], bool], ...]:
    # The last is whether a text without letters cannot fit.
    lettered = re.compile("<(?:name|NAME|foreign|roman)>|spring|Christmas|Q")
    return tuple(
        (one, re.compile(_expand(one.pattern), re.IGNORECASE), bool(lettered.search(one.pattern)))
        for one in _TEMPLATES
    )


@cache
def _weekday_pattern() -> re.Pattern[str]:
    return re.compile(rf"(?P<weekday>{'|'.join(weekday_words())})(?:[.,]+|,?\s+the)?\s+", re.IGNORECASE)


def _expand(pattern: str) -> str:
    number = "0?[1-9]|[12][0-9]|3[01]"
    words = "|".join(sorted((word.replace("-", r"[-\s]") for word in ORDINALS), key=len, reverse=True))
    day = rf"(?:{number})(?:\s?(?:st|nd|rd|th))?|{words}"
    fields = {
        "day": f"(?P<day>{day})",
        "end": f"(?P<end>{day})",
        "num": f"(?P<day>{number})",
        "day2": "(?P<day>0[1-9]|[12][0-9]|3[01])",
        "month": "(?P<month>0?[1-9]|1[0-2])",
        "month2": "(?P<month>0[1-9]|1[0-2])",
        "name": r"(?P<name>[^\W\d_]{3,9})",
        "NAME": r"(?P<name>[A-Z]{3,9})",
        "foreign": r"(?P<foreign>[^\W\d_]{3,12})",
        "roman": f"(?P<roman>{'|'.join(sorted(ROMAN, key=len, reverse=True))})",
        "year": "(?P<year>(?:19|20)[0-9][0-9]|[0-9][0-9])",
        "year4": "(?P<year>(?:19|20)[0-9][0-9])",
        "year2": "(?P<year>[0-9][0-9])",
        "next_year": "(?P<next_year>[0-9][0-9])",
    }
    return re.sub(r"<(\w+)>", lambda match: fields.get(match[1], match[0]), pattern)
