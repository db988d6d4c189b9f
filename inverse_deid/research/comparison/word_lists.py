"""Two simple systems that learn nothing: regular expressions, and terms of a terminology."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from inverse_deid.core.values import Document
from inverse_deid.evaluation.counts import Range
from inverse_deid.lexicon import Lexicon, WordFlag, load_lexicon
from inverse_deid.research.comparison.systems import System, ranges_of
from inverse_deid.rules.patterns import CONTEXT_PATTERNS, VETO_PATTERNS, pattern_hits
from inverse_deid.text.tokenizer import tokenize

_OF_THE_RULES = (
    *("full-date", "glued-date", "month-day-year", "day-month-year", "month-year"),
    *("day-month-glued", "bare-year"),
    *("age-with-unit", "age-short-form", "aged"),
    *("phone", "phone-after-label", "email", "url", "ip-address", "social-security-number"),
)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_OWN = {
    "day-and-month": rf"\b(?:{_MONTH}\.? {_DAY}|{_DAY}(?: of)? {_MONTH})\b",
    "month-slash-day": r"(?<![\w./-])(?:0?[1-9]|1[0-2])/(?:0?[1-9]|[12]\d|3[01])(?![\w/%]|[.-]\d)",
    "long-number": r"(?<!\w)\d{6,}(?!\w)",
}

PATTERNS: dict[str, re.Pattern[str]] = {
    **{name: (VETO_PATTERNS | CONTEXT_PATTERNS)[name] for name in _OF_THE_RULES},
    **{name: re.compile(pattern, re.IGNORECASE) for name, pattern in _OWN.items()},
}
"""By name: those of the packaged rules that simple tools also have, and three more.

The packaged patterns for dates of two numbers are left out: they are hints for the network
and also match decimals, scores and ranges.
"""


class Patterns(System):
    """Masks every token that one of `PATTERNS` touches; learns nothing.

    Example:
        >>> Patterns().masks([Document("a", "Ann, 40 years old, seen 3/4/2021.")])
        [[(5, 7), (24, 25), (26, 27), (28, 32)]]
    """

    name = "patterns"
    title = "Regular expressions"
    source = "those of the packaged rules for dates, ages, contacts, long numbers; as in Sahlström's thesis"

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Return one range per token inside a match."""
        tokens = [tokenize(doc.text) for doc in docs]
        return [ranges_of(one, np.logical_or.reduce(pattern_hits(one, PATTERNS.values()))) for one in tokens]


KEPT = WordFlag.STOP_WORD | WordFlag.DRUG | WordFlag.MEDICAL | WordFlag.SHORTHAND | WordFlag.UNIT
"""The lists of the lexicon that are kept: stop words and medical lists, not general English."""


class ConceptMatch(System):
    """Masks every word that is neither a stop word nor in a medical list; learns nothing.

    Berman matches whole terms and writes a code and a synonym. This keeps each word that
    is part of a term. A word that is also a name is kept: the method has no list of names.

    Args:
        lexicon: None = the packaged one.

    Source:
        Berman 2003, "Concept-match medical data scrubbing", Archives of Pathology and
        Laboratory Medicine 127(6).

    Example:
        >>> ConceptMatch().masks([Document("a", "the rash of Okonkwo")])
        [[(12, 19)]]
    """

    name = "dictionary"
    title = "Concept match"
    source = "Berman 2003, with the packaged lexicon: stop words and medical terms are kept"

    def __init__(self, lexicon: Lexicon | None = None) -> None:
        self._lexicon = lexicon or load_lexicon()

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Return one range per masked word."""
        tokens = [tokenize(doc.text) for doc in docs]
        flags = [self._lexicon.lookup(one.words).flags for one in tokens]
        return [
            ranges_of(one, (found & np.uint32(KEPT)) == 0) for one, found in zip(tokens, flags, strict=True)
        ]
