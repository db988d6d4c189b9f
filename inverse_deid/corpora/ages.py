"""Ages as they are marked: the number alone, in digits or words."""

from __future__ import annotations

import random
import re

from inverse_deid.corpora.wordlists import words


def draw_age(rng: random.Random, original: str = "", after: str = "") -> str:
    """An age that fits the original and the unit behind it.

    Args:
        rng: Source of randomness.
        original: The age replaced; empty if it is a new one.
        after: What follows it in the text, for example ` month old`.

    Example:
        >>> int(draw_age(random.Random(0), "4", " month old")) <= 36
        True
    """
    if re.match(r"[\s-]*(?:mo|month|m/o|m\b|wk|week|w/o|day|d/o)", after, re.IGNORECASE):
        return _small(rng, original)
    if re.fullmatch(r"\d+/\d+", original):
        unit = rng.choice((7, 12, 12, 52))
        return f"{rng.randint(1, unit - 1)}/{unit}"
    if original and not original.isdigit() and rng.random() < 0.8:
        return _same_kind(rng, original)
    return str(_years(rng)) if original or rng.random() < 0.9 else age_in_words(_years(rng), rng)


def age_in_words(years: int, rng: random.Random) -> str:
    """An age spelled out.

    Example:
        >>> age_in_words(7, random.Random(0))
        'seven'
    """
    small, tens = words("cardinals"), words("tens")
    if years <= 20:
        return small[max(years, 1) - 1]
    if years >= 100:
        return "one hundred"
    joint = rng.choice("-- ")
    return tens[years // 10 - 2] + (joint + small[years % 10 - 1] if years % 10 else "")


def _years(rng: random.Random) -> int:
    draw = rng.random()
    if draw < 0.2:
        return rng.randint(1, 17)
    return rng.randint(86, 106) if draw < 0.27 else rng.randint(18, 90)


def _small(rng: random.Random, original: str) -> str:
    number = rng.choice((2, 4, 6, 9, 12, 15, 18, 24, rng.randint(1, 36)))
    return age_in_words(number, rng) if original.isalpha() else str(number)


def _same_kind(rng: random.Random, original: str) -> str:
    if original.replace("-", "").replace(" ", "").isalpha():
        return age_in_words(_years(rng), rng)
    changed = re.sub(
        r"\d+", lambda match: str(_years(rng)) if len(match.group()) > 1 else str(rng.randint(1, 9)), original
    )
    return changed
