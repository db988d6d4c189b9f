"""Where dates and ages stand in masked texts: whole ones only, and only where everything is masked.

The pipeline makes one mask of neighbouring masked words, whatever they are, and two of `Oct 12, 2019`.
Here the words of one date are found again: the words of one category, joined over what stands
between, if together they read as a date, and without the words at their ends that belong to none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import MaskedDocument, Reason
from inverse_deid.text.rendering import JOINING_GAPS

_CLASSES = tuple(HyperClass)
_TIMELY = (HyperClass.DATE, HyperClass.AGE)
_MAX_DATE_CHARS = 60
_MAX_JOINED = 4
_MAX_TRIMMED = 2
_BETWEEN = re.compile(
    r"[\s,./\u2013'\u2019-]{1,4}"
    r"|\s*,?\s+(?:of|the|de|del|di|to|and|until|through|till)(?:\s+the)?\s+",
    re.IGNORECASE,
)
_JOINED = JOINING_GAPS | {" '", " \u2019"}
_ABSORBED = frozenset(("the", "of", "on", "in", "at", "dated"))

ReadsAsDate = Callable[[str], bool]
"""Whether words can be one date (or one range of days)."""


@dataclass(frozen=True, slots=True)
class Run:
    """Masked words of one category that spaces or signs join.

    Args:
        first: The first token.
        stop: Behind the last token.
        category: What the network takes them for; SAFE = not known (rules alone).
        mask: Which mask they are part of.
    """

    first: int
    stop: int
    category: HyperClass
    mask: int


@dataclass(frozen=True, slots=True)
class Span:
    """The words of one date or age.

    Args:
        first: The first token that is replaced; words that only lead to a date go with it.
        stop: Behind the last token.
        start: Where the text that is read begins, in characters of the original.
        end: Where it ends.
        category: DATE or AGE.
    """

    first: int
    stop: int
    start: int
    end: int
    category: HyperClass


def runs(masked: MaskedDocument) -> list[list[Run]]:
    """The runs of each mask, in text order; a mask without a token has none."""
    tokens = masked.tokens
    if not masked.masks:
        return []
    edges = np.array(masked.masks, np.int64)
    firsts = np.searchsorted(tokens.ends, edges[:, 0], side="right").tolist()
    stops = np.searchsorted(tokens.starts, edges[:, 1], side="left").tolist()
    groups = [_group(code) for code in masked.decisions.categories.tolist()]
    return [
        list(_runs_of(masked, mask, (first, stop), groups))
        for mask, (first, stop) in enumerate(zip(firsts, stops, strict=True))
    ]


def _group(code: int) -> HyperClass:
    """DATE, AGE, SAFE for unknown, NAME for all others."""
    category = _CLASSES[code]
    return category if category in _TIMELY or category is HyperClass.SAFE else HyperClass.NAME


def _runs_of(
    masked: MaskedDocument, mask: int, tokens: tuple[int, int], groups: Sequence[HyperClass]
) -> Iterator[Run]:
    """Split where the category changes at a space."""
    first, stop = tokens
    begin = first
    for i in range(first + 1, stop + 1):
        if i < stop and (groups[i] is groups[i - 1] or _gap(masked, i) != " "):
            continue
        yield Run(begin, i, _category(groups[begin:i], masked.tokens.words[begin:i]), mask)
        begin = i


def _category(groups: Sequence[HyperClass], words: Sequence[str]) -> HyperClass:
    """The one that all words have; of mixed ones that of the numbers if it is AGE, or DATE if most are."""
    if len(set(groups)) == 1:
        return groups[0]
    of_numbers = {group for group, word in zip(groups, words, strict=True) if not word.isalpha()}
    if of_numbers == {HyperClass.AGE} and HyperClass.DATE not in groups:
        return HyperClass.AGE
    n_dates = sum(group is HyperClass.DATE for group in groups)
    return HyperClass.DATE if 2 * n_dates > len(groups) else HyperClass.NAME


def _gap(masked: MaskedDocument, token: int) -> str:
    """What stands between a token and the one before it."""
    return masked.tokens.text[masked.tokens.ends[token - 1] : masked.tokens.starts[token]]


def date_spans(masked: MaskedDocument, by_mask: Sequence[Sequence[Run]], is_date: ReadsAsDate) -> list[Span]:
    """The dates of a text, in order; every masked word belongs to one at most."""
    finder = _DateFinder(masked, is_date)
    flat = [run for found in by_mask for run in found]
    spans: list[Span] = []
    i = 0
    while i < len(flat):
        found = finder.longest(flat, i)
        if found is None:
            i += 1
        else:
            span, n_runs = found
            spans.append(span)
            i += n_runs
    return spans


def age_spans(masked: MaskedDocument, by_mask: Sequence[Sequence[Run]]) -> list[Span]:
    """The ages of a text: runs of words that the network takes for nothing else."""
    spans = (_span(masked, run.first, run.stop, HyperClass.AGE) for run in _flat(by_mask, HyperClass.AGE))
    return [span for span in spans if not _has_number_beside(masked, span.first, span.stop)]


def _flat(by_mask: Sequence[Sequence[Run]], category: HyperClass) -> Iterator[Run]:
    return (run for found in by_mask for run in found if run.category is category)


class _DateFinder:
    """Finds whole dates from runs."""

    def __init__(self, masked: MaskedDocument, is_date: ReadsAsDate) -> None:
        self._masked = masked
        self._is_date = lru_cache(maxsize=None)(is_date)

    def longest(self, flat: Sequence[Run], begin: int) -> tuple[Span, int] | None:
        """The longest date that begins in a run, and over how many runs it goes."""
        n_joined = 1
        while n_joined < _MAX_JOINED and self._joins(flat, begin + n_joined):
            n_joined += 1
        if not _may_be_date(flat[begin]):
            return None
        for n_runs in range(n_joined, 0, -1):
            span = self._within(flat[begin].first, flat[begin + n_runs - 1].stop)
            if span is not None:
                return span, n_runs
        return None

    def _joins(self, flat: Sequence[Run], i: int) -> bool:
        """Whether a run may continue the date of the one before it."""
        if i >= len(flat) or not (_may_be_date(flat[i - 1]) and _may_be_date(flat[i])):
            return False
        tokens = self._masked.tokens
        between = tokens.text[tokens.ends[flat[i - 1].stop - 1] : tokens.starts[flat[i].first]]
        return _BETWEEN.fullmatch(between) is not None

    def _within(self, first: int, stop: int) -> Span | None:
        """The date in some words: all of them, or without words at the ends that hold no digit."""
        words = self._masked.tokens.words
        for n_trimmed in range(2 * _MAX_TRIMMED + 1):
            for n_before in range(min(n_trimmed, _MAX_TRIMMED), -1, -1):
                a, b = first + n_before, stop - (n_trimmed - n_before)
                dropped = (*words[first:a], *words[b:stop])
                if a >= b or n_trimmed - n_before > _MAX_TRIMMED or not all(map(str.isalpha, dropped)):
                    continue
                span = _span(self._masked, a, b, HyperClass.DATE)
                if self._is_whole_date(span):
                    return self._with_lead(span, first)
        return None

    def _is_whole_date(self, span: Span) -> bool:
        text = self._masked.tokens.text[span.start : span.end]
        if len(text) > _MAX_DATE_CHARS or not any(map(str.isdigit, text)):
            return False
        return self._is_date(text) and not _has_number_beside(self._masked, span.first, span.stop)

    def _with_lead(self, span: Span, first: int) -> Span:
        """A masked *the* before a date goes with it."""
        begin = span.first
        while begin > first and self._masked.tokens.words[begin - 1].lower() in _ABSORBED:
            begin -= 1
        return Span(begin, span.stop, span.start, span.end, span.category)


def _may_be_date(run: Run) -> bool:
    return run.category in (HyperClass.DATE, HyperClass.SAFE)


def _span(masked: MaskedDocument, first: int, stop: int, category: HyperClass) -> Span:
    tokens = masked.tokens
    return Span(first, stop, int(tokens.starts[first]), int(tokens.ends[stop - 1]), category)


def _has_number_beside(masked: MaskedDocument, first: int, stop: int) -> bool:
    """Whether a masked token with a digit stands right beside: then the words may be half of something."""
    words, keep = masked.tokens.words, masked.decisions.keep
    before = first > 0 and _gap(masked, first) in _JOINED and not keep[first - 1]
    behind = stop < len(words) and _gap(masked, stop) in _JOINED and not keep[stop]
    beside = ([words[first - 1]] if before else []) + ([words[stop]] if behind else [])
    return any(any(map(str.isdigit, word)) for word in beside)


def denied(masked: MaskedDocument, span: Span) -> bool:
    """Whether a word of a span is on the user's deny list."""
    return bool((masked.decisions.reasons[span.first : span.stop] == Reason.DENY_LIST).any())
