"""Regular expressions alone: dates, ages, phones, e-mail, URLs, long numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from inverse_deid.core.values import Document
from inverse_deid.evaluation.counts import Range
from inverse_deid.research.comparison.systems import ranges_of
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
"""By name: those of the packaged rules that simple tools have too, and three more.

The packaged patterns for dates of two numbers are left out: they are hints for the network,
which also hit decimals, scores and ranges.
"""


class Patterns:
    """Masks every token that one of `PATTERNS` touches; learns nothing.

    Example:
        >>> Patterns().masks([Document("a", "Ann, 40 years old, seen 3/4/2021.")])
        [[(5, 7), (24, 25), (26, 27), (28, 32)]]
    """

    name = "patterns"
    title = "Regular expressions"
    source = "those of the packaged rules for dates, ages, contacts, long numbers; as in Sahlström's thesis"

    def fit(self, docs: Sequence[Document], seed: int) -> None:
        """Do nothing."""

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """One range a token inside a match."""
        return [self._masks(doc.text) for doc in docs]

    def _masks(self, text: str) -> list[Range]:
        tokens = tokenize(text)
        return ranges_of(tokens, np.logical_or.reduce(pattern_hits(tokens, PATTERNS.values())))
