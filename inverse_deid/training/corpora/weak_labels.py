"""Precise patterns that mark identifiers left in real, unannotated narratives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.training.corpora.wordlists import words

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_NOT_A_QUANTITY = r"(?![\d/:-]|\s?(?:mg|mL|ml|mcg|units|IU|hours|hrs|h\b|pm|am))"
_CAPS = "(?:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)"
_OLD = r"(?:old|of age)\b(?! and (?:old|above)| or older)"
_DATES = (
    rf"(?<![\d/-])(?<!\d\.)(?:0?[1-9]|1[0-2])([/-]){_DAY}\1(?:{_YEAR}|\d\d)(?![\d/-])",
    rf"(?<![\d/.-]){_DAY}([/-])(?:0?[1-9]|1[0-2])\1(?:{_YEAR}|\d\d)(?![\d/-])",
    rf"(?<![\d/-]){_YEAR}-(?:0[1-9]|1[0-2])-{_DAY}(?!\d)",
    rf"(?<![\dA-Za-z]){_DAY}{_CAPS}(?![A-Za-z\d])",
    rf"(?<![\dA-Za-z]){_CAPS}[89]\d(?![A-Za-z\d])",
    rf"(?<![\d.]){_DAY}/{_MONTH}/{_YEAR}(?!\d)",
    rf"(?<!\d)(?<!\d\.)(?i:{_DAY}[ -]?{_MONTH}\.?[ ,-]*(?:{_YEAR}|'?\d\d))(?!\d|[A-Za-z])",
    rf"(?<![A-Za-z])(?i:{_MONTH})\.? {_DAY}(?:st|nd|rd|th)?,? ?(?:{_YEAR}|'\d\d)(?!\d)",
    rf"(?<![A-Za-z])(?:{_MONTH})\.? {_DAY}(?:st|nd|rd|th)?"
    r"(?! ?(?:mg|ml|cm|%|mcg|days|hours|weeks))(?![\d./:])",
    rf"(?<![\dA-Za-z]){_DAY}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?![A-Za-z])",
    rf"(?<![A-Za-z])(?i:{_MONTH})[-., ]{{1,2}}(?:of )?(?:{_YEAR})(?!\d)",
    rf"(?<![\dA-Za-z])(?i:{_MONTH})-?{_YEAR}(?!\d)",
    r"(?<![\d/.-])(?:0?[1-9]|1[0-2])/(?:19|20)\d\d(?![\d/])",
    rf"(?<=\b(?:in|In|IN)\s)(?:early |late |mid[- ])?{_YEAR}'?s?" + _NOT_A_QUANTITY,
    rf"(?<=\b(?:since|Since|of|circa|early|about|from|year)\s){_YEAR}'?s?" + _NOT_A_QUANTITY,
    r"(?i:\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\b)",
    r"\b(?:January|February|April|June|July|August|September|October|November|December)\b",
    r"(?<=\b(?:in|In|of|since|until|late|early|by|last)\s)(?:March|May)\b(?! (?:be|have|not|also))",
    r"\b(?:Christmas(?: Eve| Day)?|Thanksgiving(?: Day)?|Easter"
    r"|Halloween|New Year'?s?(?: Eve| Day)?|Labor Day|Memorial Day)\b",
)
_AGES = (
    r"(?<![\d/.-])(?<!- )(?<!to )\d{1,3}(?=[\s-]{0,2}(?:year|yr|month|mth|week|wk|day)s?[\s-]{0,2}"
    + _OLD
    + ")",
    r"(?<=\bat the age of )\d{1,3}(?=[ -]years)",
    r"(?<![\d/.-])(?<!- )(?<!to )\d{1,3}"
    r"(?=[\s-]?(?:y/o|yo\b|y\.o\.?|YO[MF]?\b|yom\b|yof\b|m/o|mo old|yo[mf]?\b))",
    r"(?<=\b(?:age|aged|Age)\s)\d{1,3}(?![\d/.])"
    r"(?= (?:years?|months?|yrs?|who|and|with|when|was|had)\b|[,.;)])",
    r"(?<=\bAge: )\d{1,3}(?!\d)",
)
_TITLED = (
    r"(?<=\b(?:Dr\.|Drs|Dr|DR)[ ])(?!The |She |He |I |In |On |Who )[A-Z][a-z]{2,}(?:[ -][A-Z][a-z]{2,})?\b"
)
_LAY_TITLED = r"(?<=\b(?:Mr\.|Mrs|Ms|Mr|Ms\.)[ ])[A-Z][a-z]{2,}\b"
_IDS = (
    r"\bWAES ?#? ?\.{0,5}\d{2,4}[A-Z]{3}\d{4,6}\b",
    r"\b\d{4}[A-Z]{3}\d{5}\b",
    r"\b[A-Z]{2}-[A-Z]{4,}(?:, INC\.)?-[A-Z]*-?\d[\d-]{5,}\b",
    r"\bHQ\w*\d{6,}[A-Z]{3}\d{4}\b",
    r"(?<=\b(?:report #|report number|control number|control no.|case number|case no.|report no.|Mfr #)[ ])"
    r"[A-Z]{0,4}[\d-]{5,}[A-Z]?\b",
)
_DOUBTFUL = (
    r"(?<![\d/.])(?:0?[1-9]|1[0-2])[/-](?:0?[1-9]|[12]\d|3[01])(?![\d/%.]|\s?(?:mg|ml|hr|h\b))",
    rf"(?<![\d/.:#-]){_YEAR}(?![\d/:.%-])",
    r"\b(?:Mon|Tues?|Weds?|Thurs?|Fri|Sat|Sun)\b\.?(?= |,|$)",
    r"\b(?:XXXX|_{3,})\b",
)


def weakly_labelled(doc: Document) -> Document:
    """Mark what certain patterns find, and count possible dates left unmarked in `meta["doubtful"]`.

    Spans that the document already has win over the patterns.

    Example:
        >>> doc = weakly_labelled(Document("d1", "A 4 month old was seen on 3/15/2004."))
        >>> [span.type.value for span in doc.spans], doc.meta["doubtful"]
        (['AGE', 'DATE'], '0')
    """
    spans = list(doc.spans)
    for phi_type, regex in _patterns():
        for match in regex.finditer(doc.text):
            if _is_free(match.start(), match.end(), spans) and match.group() not in words("ambiguous_places"):
                spans.append(PhiSpan(match.start(), match.end(), phi_type))
    spans.sort()
    doubtful = sum(1 for start, end in _doubtful(doc.text) if _is_free(start, end, spans))
    return Document(doc.id, doc.text, tuple(spans), meta={**doc.meta, "doubtful": str(doubtful)})


def _is_free(start: int, end: int, spans: list[PhiSpan]) -> bool:
    return all(end <= span.start or span.end <= start for span in spans)


def _doubtful(text: str) -> Iterator[tuple[int, int]]:
    for pattern in _DOUBTFUL:
        for match in re.finditer(pattern, text):
            before = text[max(0, match.start() - 12) : match.start()].lower()
            if not re.search(
                r"(?:bp|pain|lot ?#?|power|grade|scale|lumbar|\bl|\bc|\bt|at|about|wbc|plt) ?:?$", before
            ):
                yield match.start(), match.end()


@cache
def _patterns() -> tuple[tuple[PhiType, re.Pattern[str]], ...]:
    table: list[tuple[PhiType, str]] = [(PhiType.DATE, pattern) for pattern in _DATES]
    table += [(PhiType.AGE, pattern) for pattern in _AGES]
    table += [(PhiType.IDNUM, pattern) for pattern in _IDS]
    table += [(PhiType.DOCTOR, _TITLED), (PhiType.PATIENT, _LAY_TITLED)]
    table += [(PhiType.STATE, _any_of(words("states")[:52])), (PhiType.COUNTRY, _any_of(words("countries")))]
    return tuple((phi_type, re.compile(_with_fixed_lookbehind(pattern))) for phi_type, pattern in table)


def _any_of(names: tuple[str, ...]) -> str:
    long_names = sorted(
        (name for name in names if len(name) > 3 and name not in words("ambiguous_places")),
        key=len,
        reverse=True,
    )
    return r"(?<=[a-z,(] )(?:" + "|".join(map(re.escape, long_names)) + r")\b"


def _with_fixed_lookbehind(pattern: str) -> str:
    r"""Rewrite `(?<=\b(?:a|bc)\s)` as alternatives of fixed width, which `re` demands."""
    head = re.match(r"\(\?<=\\b\(\?:([^()]*)\)(\\s|\[ \](?!\())\)", pattern)
    if head is None:
        return pattern
    options = "|".join(rf"(?<=\b{option}{head.group(2)})" for option in head.group(1).split("|"))
    return f"(?:{options})" + pattern[head.end() :]
