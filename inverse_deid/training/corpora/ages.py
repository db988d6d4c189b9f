"""Ages as they are marked: the number alone, in digits or words."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from inverse_deid.training.corpora.wordlists import words

_DECADE = re.compile(r"\d0'?s|(?:twent|thirt|fort|fift|sixt|sevent|eight|ninet)ies", re.IGNORECASE)


def draw_age(rng: random.Random, original: str = "", after: str = "") -> str:
    """Draw an age that fits the original (empty = new) and the unit after it, such as ` month old`.

    Example:
        >>> int(draw_age(random.Random(0), "4", " month old")) <= 36
        True
    """
    if re.match(r"[\s-]*(?:mo|month|m/o|(?-i:m)\b|wk|week|w/o|day|d/o)", after, re.IGNORECASE):
        number = rng.choice((2, 4, 6, 9, 12, 15, 18, 24, rng.randint(1, 36)))
        return age_in_words(number, rng) if original.isalpha() else str(number)
    if re.fullmatch(r"\d+/\d+", original):
        unit = rng.choice((7, 12, 12, 52))
        return f"{rng.randint(1, unit - 1)}/{unit}"
    if _DECADE.fullmatch(original):
        return draw_age_as("decade", rng)
    if re.fullmatch(r"\d+ \d+/\d+", original):
        return draw_age_as("half", rng)
    if original and not original.isdigit() and rng.random() < 0.8:
        return _draw_alike(rng, original)
    return str(_draw_years(rng)) if original or rng.random() < 0.9 else age_in_words(_draw_years(rng), rng)


def draw_age_as(form: str, rng: random.Random) -> str:
    """Draw a new age in one of `AGE_FORMS`.

    Example:
        >>> draw_age_as("child", random.Random(0)).isdigit()
        True
    """
    return AGE_FORMS[form](rng)


def age_in_words(years: int, rng: random.Random) -> str:
    """Return an age spelled out.

    Example:
        >>> age_in_words(7, random.Random(0))
        'seven'
    """
    small, tens = words("cardinals"), words("tens")
    if years <= 20:
        return small[max(years, 1) - 1]
    if years >= 100:
        rest = rng.choice((" and ", " ")) + small[years - 101] if years > 100 else ""
        return rng.choice(("one", "a")) + " hundred" + rest
    joint = rng.choice("-- ")
    return tens[years // 10 - 2] + (joint + small[years % 10 - 1] if years % 10 else "")


def _draw_decade(rng: random.Random) -> str:
    """`60s` or `sixties`, at times with an apostrophe."""
    tens = rng.choice((2, 3, 4, 5, 5, 6, 6, 7, 7, 8, 9))
    word = words("tens")[tens - 2].removesuffix("y") + "ies"
    return rng.choice((f"{tens}0s", f"{tens}0s", f"{tens}0's", word))


def _draw_about(rng: random.Random) -> str:
    """Draw a round age that is not meant exactly: `70-odd`, `60ish`, `forty-something`."""
    tens = rng.randint(2, 9)
    word = words("tens")[tens - 2]
    return rng.choice(
        (f"{tens}0-odd", f"{tens}0ish", f"{tens}0 something", f"{word}-odd", f"{word}-something")
    )


def _draw_half(rng: random.Random) -> str:
    """Draw years and a part of one: `2 1/2`, `3 6/12`, `two and a half`."""
    years = rng.randint(1, 9)
    months = rng.randint(1, 11)
    return rng.choice(
        (
            f"{years} 1/2",
            f"{years}-1/2",
            f"{years}½",
            f"{years}.5",
            f"{years} {months}/12",
            f"{words('cardinals')[years - 1]} and a half",
        )
    )


def _glue_unit(rng: random.Random) -> str:
    """Return a small age with its unit glued to it or in short: `4mo`, `3y8m`, `10 wks`."""
    number = rng.randint(1, 23)
    unit = rng.choice(("mo", "mo", "mos", "m", "mth", "mths", "wk", "wks", "w", "d", "mnths"))
    years = f"{rng.randint(1, 17)}{rng.choice(('y', 'yo', 'yr', 'y/o'))}"
    both = f"{rng.randint(1, 9)}y{rng.randint(1, 11)}m"
    return rng.choice((f"{number}{unit}", f"{number}{unit}", f"{number} {unit}", years, both))


AGE_FORMS: dict[str, Callable[[random.Random], str]] = {
    "word": lambda rng: age_in_words(rng.randint(1, 99), rng),
    "small_word": lambda rng: age_in_words(rng.choice((2, 3, 4, 6, 8, 9, 10, 12, 18)), rng),
    "old_word": lambda rng: age_in_words(rng.randint(90, 107), rng),
    "months": lambda rng: str(rng.choice((1, 2, 4, 6, 9, 12, 15, 18, rng.randint(1, 30)))),
    "child": lambda rng: str(rng.randint(1, 17)),
    "adult": lambda rng: str(rng.randint(18, 95)),
    "old": lambda rng: str(rng.randint(90, 107)),
    "decade": _draw_decade,
    "about": _draw_about,
    "half": _draw_half,
    "twelfths": lambda rng: f"{rng.randint(1, 23)}/12",
    "glued": _glue_unit,
}
"""How an age can be written, by the name that a template gives it."""


def _draw_years(rng: random.Random) -> int:
    draw = rng.random()
    if draw < 0.2:
        return rng.randint(1, 17)
    return rng.randint(86, 106) if draw < 0.27 else rng.randint(18, 90)


def _draw_alike(rng: random.Random, original: str) -> str:
    if original.replace("-", "").replace(" ", "").isalpha():
        return age_in_words(_draw_years(rng), rng)
    return re.sub(
        r"\d+",
        lambda match: str(_draw_years(rng) if len(match.group()) > 1 else rng.randint(1, 9)),
        original,
    )
