"""Safe look-alikes: doses, scores, laboratory values, durations, times and words that are no PHI."""

from __future__ import annotations

import random
import re

from inverse_deid.training.corpora.identifiers import fill_pattern
from inverse_deid.training.corpora.wordlists import load_lists

_RANGE = re.compile(r"\[(\d[\d,]*(?:\.\d+)?)-(\d[\d,]*(?:\.\d+)?)\]")


def draw_safe(slot: str, rng: random.Random) -> str:
    """Fill a safe slot: an item of that list of `safe.toml`, its `[low-high]` drawn.

    Example:
        >>> "/" in draw_safe("bp", random.Random(0))
        True
    """
    item = rng.choice(load_lists("safe")[slot])
    if "#" in item or "@" in item or "?" in item:
        item = fill_pattern(item, rng)
    item = item.replace("¤", "#")  # a number sign that is text
    return _RANGE.sub(lambda match: _number(match.group(1), match.group(2), rng), item)


def _number(low: str, high: str, rng: random.Random) -> str:
    """A number in the range, with as many decimals and, above a thousand, the comma that the range has."""
    decimals = max(len(part.partition(".")[2]) for part in (low, high))
    value = rng.uniform(float(low.replace(",", "")), float(high.replace(",", "")))
    return f"{value:{',' if ',' in low + high else ''}.{decimals}f}"
