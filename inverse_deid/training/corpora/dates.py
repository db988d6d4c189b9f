"""Dates as text: some two hundred patterns, drawn at random or after the shape of an original.

A pattern is a line of `dates.toml`. Its fields: `d dd m mm yy yyyy` numbers; `Mon MON mon
Month MONTH month` and the same for `Day`/`Dy` English names; `ord` 9th; `ordword` ninth;
`rom ROM` roman months; `fmonth Fday` foreign names; `Monthslip Dayslip` misspelt ones; years
of other calendars: `h*` Hijri, `byear` Buddhist, `nengo` Japanese, `myear` Minguo, `shyear`
Persian, `bsyear` Nepali, `hebyear` Hebrew, `ecyear` Ethiopian; `br` a line break; a `2` at the
end stands for a second, later date.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import cache, lru_cache
from typing import Any

from inverse_deid.training.corpora.wordlists import load_lists, read_data, words

_FIELD = re.compile(r"\{(\w+)\}")
_WEEKDAY = re.compile(
    r"((?:mon|tues?|wed(?:s|nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?)((?:[.,]|,?\s+the)?\s+)(?=.)",
    re.IGNORECASE,
)
_CASES: dict[tuple[bool, bool], Callable[[str], str]] = {(True, False): str.lower, (False, True): str.upper}
_MAY_FOLLOW_WEEKDAY = ("us_numeric", "numeric", "compact", "written", "short")
_WEEKDAY_AHEAD_SHARE = 0.06
_NENGO = (("Showa", "S", 1926), ("Heisei", "H", 1989), ("Reiwa", "R", 2019))


def random_date(rng: random.Random) -> date:
    """Return a day between 1925 and 2105: mostly recent, at times long ago or yet to come."""
    draw = rng.random()
    low, high = (1985, 2030) if draw < 0.75 else (1925, 1985) if draw < 0.88 else (2030, 2105)
    return date(low, 1, 1) + timedelta(days=rng.randrange((high - low) * 365))


def draw_pattern(rng: random.Random, kind: str | None = None) -> str:
    """Draw a date pattern of the kind, or of a kind drawn by weight."""
    if kind is None:
        weights = _load_fields()["kinds"]
        kind = rng.choices(list(weights), list(weights.values()))[0]
    pattern = rng.choice(load_lists("dates")[kind])
    if kind in _MAY_FOLLOW_WEEKDAY and rng.random() < _WEEKDAY_AHEAD_SHARE:
        return rng.choice(("{Day}", "{Dy}", "{Dyl}", "{dy}", "{Dy}.", "{Day},")) + " " + pattern
    return pattern


def render_date(pattern: str, day: date, rng: random.Random) -> str:
    """Fill a pattern.

    Example:
        >>> render_date("{dd}{MON}{yyyy}", date(2021, 3, 5), random.Random(0))
        '05MAR2021'
    """
    later = day + timedelta(days=rng.randint(1, 12) if "{d" in pattern.lower() else rng.randint(28, 160))
    if "2}" in pattern and later.month != day.month and "m2" not in pattern and "Mon" not in pattern:
        later = day
    return _FIELD.sub(lambda match: _field(match.group(1), day, later, rng), pattern)


@lru_cache(maxsize=50_000)
def pattern_of(original: str) -> str | None:
    """Return the first pattern that the text has the shape of, None if there is none.

    Example:
        >>> pattern_of("15MAR2021")
        '{d}{MON}{yyyy}'
    """
    text = " ".join(original.split())
    for pattern, regex in _pattern_table():
        if regex.fullmatch(text):
            return pattern
    return _after_weekday(text)


def _after_weekday(text: str) -> str | None:
    weekday = _WEEKDAY.match(text)
    rest = pattern_of(text[weekday.end() :]) if weekday else None
    if weekday is None or rest is None:
        return None
    word = weekday.group(1)
    field = "Day" if word.lower().endswith("day") else "Dyl" if len(word) > 3 else "Dy"
    return "{" + _CASES.get((word.islower(), word.isupper()), str)(field) + "}" + weekday.group(2) + rest


@cache
def _load_fields() -> Mapping[str, Mapping[str, Any]]:
    """Return the tables `kinds`, `shapes` and `words` of `date_fields.toml`."""
    return tomllib.loads(read_data("date_fields.toml"))


@cache
def _pattern_table() -> tuple[tuple[str, re.Pattern[str]], ...]:
    patterns = dict.fromkeys(
        pattern for kind in _load_fields()["kinds"] for pattern in load_lists("dates")[kind]
    )
    table = []
    for pattern in patterns:
        parts = _FIELD.split(pattern)
        parts[::2] = map(re.escape, parts[::2])
        parts[1::2] = (f"(?:{_shape(field.rstrip('2'))})" for field in parts[1::2])
        table.append((pattern, re.compile("".join(parts))))
    return tuple(table)


def _shape(field: str) -> str:
    names = (*_names(field), "Sep") if field == "Mon" else _names(field)
    return _load_fields()["shapes"].get(field) or "|".join(map(re.escape, names)) or r"(?!)"


_CHANGES: Mapping[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "capitalize": str.capitalize,
    "short": lambda name: name[:3],
    "abbreviate": lambda month: "Sept" if month == "September" else month[:3],
}


@cache
def _names(field: str) -> tuple[str, ...]:
    """Return the words that a field may be; none if it is not a word."""
    source, *changes = _load_fields()["words"].get(field, "").split() or [""]
    names = words(source) if source else ()
    for change in changes:
        names = tuple(map(_CHANGES[change], names))
    return names


def _field(name: str, day: date, later: date, rng: random.Random) -> str:
    if name.endswith("2"):
        return _field(name[:-1], later, later, rng)
    fixed = _number_fields(day).get(name)
    if fixed is not None:
        return fixed
    choices = _names(name)
    by_position = {
        "month": day.month - 1,
        "mon": day.month - 1,
        "ordword": day.day - 1,
        "dayword": day.day - 1,
    }
    by_position |= dict.fromkeys(("day", "dy", "dyl"), day.weekday())
    if name == "Mon" and rng.random() < 0.5:
        return words("months")[day.month - 1][:3]
    if name.lower() in by_position:
        return choices[by_position[name.lower()]]
    return rng.choice(choices) if choices else _odd_field(name, day, rng)


@lru_cache(maxsize=4096)
def _number_fields(day: date) -> dict[str, str]:
    roman = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")[day.month - 1]
    suffix = "th" if 10 <= day.day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    century_year = day.year % 100
    return {
        "d": str(day.day),
        "dd": f"{day.day:02}",
        "m": str(day.month),
        "mm": f"{day.month:02}",
        "yy": f"{century_year:02}",
        "yyyy": str(day.year),
        "ord": f"{day.day}{suffix}",
        "ORD": f"{day.day}{suffix}".upper(),
        "rom": roman,
        "ROM": roman.upper(),
        "decade": str(day.year // 10 * 10),
        "yy0": f"{century_year // 10 * 10:02}",
        "yynext": f"{(day.year + 1) % 100:02}",
        "yyyynext": str(day.year + 1),
        "quarter": str((day.month + 2) // 3),
        "week": str(day.isocalendar().week),
        "hyear": str(round((day.year - 622) * 1.0307)),
        "byear": str(day.year + 543),
        "myear": str(max(1, day.year - 1911)),
        "shyear": str(day.year - 621),
        "bsyear": str(day.year + 57),
        "hebyear": str(day.year + 3760),
        "ecyear": str(day.year - 8),
        "half": "1" if day.month < 7 else "2",
        "br": "\n",
        "hday": str(day.day),
        "hm": str(day.month),
    }


def _odd_field(name: str, day: date, rng: random.Random) -> str:
    if name.startswith(("nengo", "nyear")):
        word, letter, start = next((era for era in reversed(_NENGO) if day.year >= era[2]), _NENGO[0])
        return {"nengo": word, "nengoletter": letter}.get(name, str(max(1, day.year - start + 1)))
    if name in ("hour", "minute", "second"):
        return f"{rng.randrange(24 if name == 'hour' else 60):02}"
    tens = words("cardinals")
    if name == "monthword":
        return tens[day.month - 1]
    low = day.year % 100
    ending = "oh " + tens[low - 1] if 0 < low < 10 else _two_digits(low)
    return ending if name == "yyword" else f"{_two_digits(day.year // 100)} {ending}"


def _two_digits(number: int) -> str:
    small, tens = words("cardinals"), words("tens")
    if number == 0:
        return "hundred"
    if number <= 20:
        return small[number - 1]
    return tens[number // 10 - 2] + ("-" + small[number % 10 - 1] if number % 10 else "")
