"""Finds the few places where a pattern can match, by single words and the signs next to them.

Running some thirty regular expressions over every character of every text is expensive. Nearly all
of them need one telling word: digits, a month, a label. Each distinct word is checked once for the
patterns that it can belong to; a text is then searched only where such a word is next to the right
sign. An anchor is *necessary* for its pattern and nothing more: the pattern itself is matched there,
so that its hits are those of `patterns.pattern_hits`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray
from inverse_deid.rules.patterns import (
    CONTEXT_PATTERNS,
    ID_LABEL,
    MONTH,
    ORDINAL_DAY,
    SERVICE_WORD,
    SILENT_VETO_PATTERNS,
    TOP_LEVEL_DOMAIN,
    VETO_PATTERNS,
    YEAR,
    counted_span,
)
from inverse_deid.text.alignment import tokens_touched
from inverse_deid.text.joined import JoinedTokens

BitArray = npt.NDArray[np.uint64]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A word without which a pattern cannot match.

    Args:
        word: The beginning of the word, in any case unless `cased`.
        before: One of these signs is directly before it; "" = any.
        behind: One of these signs is directly after it; "" = any.
        begins: The pattern begins with this word; otherwise the word is anywhere in the pattern.
        cased: Upper and lower case differ.
    """

    word: str
    before: str = ""
    behind: str = ""
    begins: bool = True
    cased: bool = False


def _within(word: str, before: str = "", behind: str = "") -> Anchor:
    return Anchor(word, before, behind, begins=False)


_SHORT_NUMBER = Anchor(r"\d{1,3}(?!\d)")
_DOT = _within(r"dot\Z", before="([{ ", behind=")]} ")
ANCHORS: Mapping[str, Sequence[Anchor]] = MappingProxyType(
    {
        "email": [_within(r"at\Z", before="([", behind=")]")],
        "handle": [],
        "url": [
            _within(r"(?:https?|ftp)\Z"),
            _within(r"www\Z", behind="."),
            _within(r"(?:com|org|net|gov|edu|example|info|uk|io)\Z", before="."),
        ],
        "ip-address": [
            _within(r"\d{1,3}\Z", before=".", behind="."),
            _within(r"[0-9a-f]{1,4}\Z", before=":", behind=":"),
        ],
        "mac-address": [_within(r"[0-9a-f]{2}\Z", before=":-", behind=":-")],
        "social-security-number": [_within(r"\d{2}\Z", before="-", behind="-")],
        "phone": [
            _within(r"\d", before="+"),
            _within(r"\d{3}\Z", before="(", behind=")"),
            _within(r"\d{3}\Z", before=".-", behind=".-"),
        ],
        "full-date": [Anchor(rf"(?:\d{{1,2}}|{YEAR})\Z", behind="/.-")],
        "glued-date": [_within(rf"(?:.*\d)?{MONTH}(?:\d|\Z)")],
        "month-day-year": [Anchor(rf"{MONTH}(?:\d|\Z)")],
        "day-month-year": [Anchor(rf"{ORDINAL_DAY}\Z", behind=" ")],
        "month-year": [Anchor(rf"{MONTH}\Z", behind=" ,/-")],
        "identifying-key": [],
        "spelled-out": [Anchor(r"[^\W\d_]\Z", behind=" -")],
        "labelled-id": [Anchor(rf"(?:{ID_LABEL}|hosp(?:ital)?)\Z"), Anchor(r"s\Z", behind="/")],
        "initials": [Anchor(r"initials?\Z")],
        "word-initials": [
            Anchor(
                r"(?:patient|pt|subject|reporter|consumer|volunteer|client|dr|mrs?|ms|nurse)\Z", behind=" ."
            )
        ],
        "age-over-89": [
            _within(r"(?:nin(?:e)?ty|hundred|nineties|nonagenarians?|(?:super)?centenarians?)\Z")
        ],
        "age-in-roman": [Anchor(r"(?:XC[IVX]*|CI{0,3}|CIV)\Z", cased=True)],
        "account": [Anchor(rf"(?:{SERVICE_WORD})\Z")],
        "account-with-sign": [Anchor(rf"(?:{SERVICE_WORD})\Z")],
        "fenced-address": [_DOT, _within(rf"{TOP_LEVEL_DOMAIN}\Z", before="])}.")],
        "fenced-number": [_DOT, _within(r"\d{1,3}\Z", behind="[({")],
        "code-points": [_within(r"[^\W_]*U\Z", behind="+")],
        "year-of-birth": [Anchor(r"(?:birth|born|year|yr|yo?b?)")],
        "disabled-url": [Anchor(r"hxxps?\Z")],
        "day-month-glued": [Anchor(rf"\d{{1,2}}{MONTH.upper()}", cased=True)],
        "code-with-digits": [Anchor(r"[A-Z0-9]+\Z", behind="/-", cased=True)],
        "date-of-two-numbers": [Anchor(r"\d{1,2}\Z", behind="/.")],
        "month-slash-year": [Anchor(r"\d{1,2}\Z", behind="/-")],
        "bare-year": [Anchor(rf"{YEAR}\Z")],
        "short-year": [_within(r"\d\d\Z", before="'\u2019")],
        "time-of-day": [Anchor(r"\d{1,2}(?!\d)")],
        "age-with-unit": [_SHORT_NUMBER],
        "age-short-form": [_SHORT_NUMBER],
        "aged": [Anchor(r"aged?(?:\d|\Z)")],
        "blood-pressure": [Anchor(r"\d{2,3}\Z")],
        "score": [Anchor(r"\d{1,2}\Z")],
        "number-with-unit": [Anchor(r"\d")],
        "decimal": [Anchor(r"\d+\Z", behind=".,")],
        "duration": [Anchor(r"(?:\d|one|two|three|four|five|six|seven|eight|nine|ten|several|few)")],
        "id-after-label": [
            Anchor(
                r"(?:no|nr|num|number|id|ref|reference|case|report|file|control|mfr|patient|subject|code|"
                r"ticket|order)\Z"
            )
        ],
        "phone-after-label": [
            Anchor(r"(?:tel|phone|ph|fax|mob|mobile|cell|call|ext|pager|bleep|contact|direct)\Z")
        ],
        "digit-groups": [Anchor(r"\d{2,5}\Z", behind=" -")],
        "date-of-birth": [Anchor(r"(?:dob|born|birth(?:day|date)?|date)\Z"), Anchor(r"d\Z", behind=".")],
        "postal-code": [_within(r"(?:\d[A-Z]{2}|\d{5}|\d[A-Z]\d)\Z", before=" ")],
    }
)
"""The anchors of every pattern of the rules: each of its matches has one of them, or its sign."""

SIGNS: Mapping[str, str] = MappingProxyType({"email": "@", "handle": "@", "identifying-key": "="})
"""A sign that every match of a pattern contains, or one of the anchors."""

_PATTERNS = {**VETO_PATTERNS, **SILENT_VETO_PATTERNS, **CONTEXT_PATTERNS}
_FLAT = [(name, anchor) for name, anchors in ANCHORS.items() for anchor in anchors]
_WORDS = [re.compile(a.word, re.NOFLAG if a.cased else re.IGNORECASE) for _, a in _FLAT]
_ANY_WORD = re.compile("|".join(a.word if a.cased else f"(?i:{a.word})" for _, a in _FLAT))
_TABLE_SIZE = 0x2100


def anchor_bits(words: Sequence[str]) -> BitArray:
    """Tell which anchors each word can be: uint64 (n_words,), one bit per anchor."""
    return np.fromiter(map(_bits_of, words), np.uint64, len(words))


def _bits_of(word: str) -> int:
    if _ANY_WORD.match(word) is None:
        return 0
    return sum(1 << bit for bit, pattern in enumerate(_WORDS) if pattern.match(word))


def _bits_of_signs(side: str) -> BitArray:
    """Return the anchors that each sign on one side allows: uint64 (_TABLE_SIZE,), last the rest."""
    table = np.zeros(_TABLE_SIZE, np.uint64)
    for bit, (_, anchor) in enumerate(_FLAT):
        signs: str = getattr(anchor, side)
        table[[ord(sign) for sign in signs] if signs else slice(None)] |= np.uint64(1 << bit)
    return table


_BEFORE, _BEHIND = _bits_of_signs("before"), _bits_of_signs("behind")


def _bits_of_pattern(name: str) -> np.uint64:
    return np.uint64(sum(1 << bit for bit, (other, _) in enumerate(_FLAT) if other == name))


_BITS = {name: _bits_of_pattern(name) for name in ANCHORS}


def anchored_hits(tokens: JoinedTokens, bits: BitArray) -> dict[str, BoolArray]:
    """Tell which tokens each pattern of the rules touches: bool (n_tokens,) by the name of the pattern.

    Args:
        tokens: Of several documents.
        bits: uint64 (n_tokens,), `anchor_bits` of each token's word.
    """
    signs = np.minimum(tokens.codes, _TABLE_SIZE - 1)
    here = bits & _BEFORE[signs[tokens.starts - 1]] & _BEHIND[signs[tokens.ends]]
    anchored = np.flatnonzero(here)
    here = here[anchored]
    return {name: _hits(name, tokens, anchored[(here & _BITS[name]) != 0]) for name in _PATTERNS}


def _hits(name: str, tokens: JoinedTokens, places: Places) -> BoolArray:
    """Tell which tokens a pattern touches, given the places of its anchors."""
    if all(anchor.begins for anchor in ANCHORS[name]) and ANCHORS[name]:
        ranges = list(_beginning_at(_PATTERNS[name], tokens, places))
    else:
        docs = {*tokens.doc[places].tolist(), *_documents_with(SIGNS.get(name), tokens)}
        ranges = list(_in_documents(_PATTERNS[name], tokens, sorted(docs)))
    return tokens_touched(tokens, ranges)


def _documents_with(sign: str | None, tokens: JoinedTokens) -> list[int]:
    """Return the documents that contain a sign."""
    if sign is None:
        return []
    places = np.flatnonzero(tokens.codes == ord(sign))
    found: list[int] = (np.searchsorted(tokens.offsets, places, side="right") - 1).tolist()
    return found


def _beginning_at(
    pattern: re.Pattern[str], tokens: JoinedTokens, places: Places
) -> Iterator[tuple[int, int]]:
    """Return the matches of a pattern that begin at one of these tokens; they do not overlap."""
    docs, offsets = tokens.doc[places], tokens.offsets[tokens.doc[places]]
    behind = 0
    for start, doc, offset in zip(
        tokens.starts[places].tolist(), docs.tolist(), offsets.tolist(), strict=True
    ):
        match = pattern.match(tokens.docs[doc].text, start - offset) if start >= behind else None
        if match is not None:
            behind = match.end() + offset
            yield from _shifted(match, offset)


def _in_documents(
    pattern: re.Pattern[str], tokens: JoinedTokens, docs: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Return the matches of a pattern in some documents."""
    for doc in docs:
        for match in pattern.finditer(tokens.docs[doc].text):
            yield from _shifted(match, int(tokens.offsets[doc]))


def _shifted(match: re.Match[str], offset: int) -> Iterator[tuple[int, int]]:
    """Return the range of a match that counts, if any, moved by a number of characters."""
    start, end = counted_span(match)
    if start >= 0:
        yield start + offset, end + offset
