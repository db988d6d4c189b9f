"""Explains why a word counts as safe or not: its lists, their licences, its usual case."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from inverse_deid.lexicon.flags import SAFE_FLAGS, UNSAFE_FLAGS, WordFlag
from inverse_deid.lexicon.keys import word_key
from inverse_deid.lexicon.lexicon import Lexicon

Standing = Literal["safe", "unsafe", "ambiguous", "neither"]


@dataclass(frozen=True, slots=True)
class ListEntry:
    """One list that has the word, and the origin of the list."""

    name: str
    flag: str
    title: str
    origin: str
    licence: str


@dataclass(frozen=True, slots=True)
class WordExplanation:
    """The entry of one word in the lexicon.

    Args:
        key: The word as it is looked up.
        standing: The verdict of its lists.
        reason: Why, in one sentence.
        lists: The lists that have it.
        lower_ratio: p(lower) / (p(lower) + p(Title)); None = unknown.
        frequency: Scaled log frequency in [0, 1]; None = unknown.
    """

    key: str
    standing: Standing
    reason: str
    lists: tuple[ListEntry, ...]
    lower_ratio: float | None
    frequency: float | None


def explain_word(lexicon: Lexicon, word: str) -> WordExplanation:
    """Return what `lexicon` knows of `word`.

    >>> from inverse_deid.lexicon import load_lexicon
    >>> explain_word(load_lexicon(), "amoxicillin").standing
    'safe'
    """
    table = lexicon.lookup([word])
    flags = WordFlag(int(table.flags[0]))
    ratio, frequency = float(table.lower_ratio[0]), float(table.word_logprob[0])
    standing = standing_of(flags)
    return WordExplanation(
        key=word_key(word),
        standing=standing,
        reason=_reason(standing, flags),
        lists=_entries(lexicon, word),
        lower_ratio=None if math.isnan(ratio) else ratio,
        frequency=frequency or None,
    )


def standing_of(flags: WordFlag) -> Standing:
    """Return what the flags make of a word, whatever its context."""
    safe, unsafe = bool(flags & SAFE_FLAGS), bool(flags & UNSAFE_FLAGS)
    if safe and unsafe:
        return "ambiguous"
    if safe or unsafe:
        return "safe" if safe else "unsafe"
    return "neither"


def format_explanation(explanation: WordExplanation) -> str:
    """Return the explanation as lines of text."""
    lines = [f"{explanation.key}: {explanation.standing} ({explanation.reason})"]
    lines += [
        f"  {entry.flag:<16} {entry.name}: {entry.title} [{entry.origin}; {entry.licence}]"
        for entry in explanation.lists
    ]
    lines.append(f"  written in lower case: {_percent(explanation.lower_ratio)}")
    lines.append(f"  frequency (0 to 1):    {_number(explanation.frequency)}")
    return "\n".join(lines)


def _entries(lexicon: Lexicon, word: str) -> tuple[ListEntry, ...]:
    held = set(lexicon.memberships(word))
    return tuple(_entry(source) for source in lexicon.sources if source["name"] in held)


def _entry(source: dict[str, Any]) -> ListEntry:
    return ListEntry(
        name=str(source["name"]),
        flag=str(source["flag"]),
        title=str(source.get("title", "")),
        origin=str(source.get("origin", "")),
        licence=str(source.get("licence", "")),
    )


def _reason(standing: Standing, flags: WordFlag) -> str:
    safe, unsafe = _names(flags & SAFE_FLAGS), _names(flags & UNSAFE_FLAGS)
    if standing == "safe":
        return f"in safe lists only: {safe}"
    if standing == "unsafe":
        return f"in unsafe lists only: {unsafe}"
    if standing == "ambiguous":
        return f"safe as {safe}, unsafe as {unsafe}: its case and its context decide"
    return "in no list that counts; it is masked unless the rest of the rules knows better"


def _names(flags: WordFlag) -> str:
    return ", ".join(flag.name.lower() for flag in flags if flag.name)


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.0f} %"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"
