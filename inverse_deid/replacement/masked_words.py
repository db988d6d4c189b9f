"""The masked words of a text, and which of them are whole dates or ages.

The pipeline makes one mask of neighbouring masked words, whatever they are, and two of `Oct 12, 2019`.
This module finds the words of one date again: words of one category, joined over the text between
them, if together they read as a date, without the words at their ends that do not belong to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import MaskedDocument, Reason
from inverse_deid.text.rendering import JOINING_GAPS

TIMELY = (HyperClass.DATE, HyperClass.AGE)
"""Categories that have their own policies."""

_CLASSES = tuple(HyperClass)
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
class Proposal:
    """Words (`text`) for the masked tokens `first` up to `stop`, of one sort: date, age, surrogate."""

    first: int
    stop: int
    text: str = field(repr=False)
    sort: str


@dataclass(frozen=True, slots=True)
class WordRun:
    """Masked tokens `first` up to `stop` of one category that spaces or punctuation join.

    The category is DATE, AGE, SAFE (not known: rules alone) or NAME (any other).
    """

    first: int
    stop: int
    category: HyperClass


@dataclass(frozen=True, slots=True)
class WordSpan:
    """One date or age: tokens `first` up to `stop` to replace, `start` to `end` of the original to read.

    Words that only lead to a date are replaced with it but not read.
    """

    first: int
    stop: int
    start: int
    end: int


class MaskedWords:
    """The masked words of one text.

    Args:
        masked: The text; of one that a stage failed on no words are known.
    """

    def __init__(self, masked: MaskedDocument) -> None:
        self.masked = masked
        self.by_mask: list[list[WordRun]] = [] if masked.failed else list(self._find_runs())
        """The runs of each mask, in text order; a mask without a token has none."""

    def words(self, span: WordSpan) -> str:
        return self.masked.tokens.text[span.start : span.end]

    def is_denied(self, span: WordSpan) -> bool:
        """Return whether a word of it is never shown as a date or an age: listed, or hard to read."""
        reasons = self.masked.decisions.reasons[span.first : span.stop]
        return bool(np.isin(reasons, (Reason.DENY_LIST, Reason.HARD_TO_READ)).any())

    def category(self, first: int, stop: int) -> HyperClass:
        """Return what most of some tokens are taken for, the first of equals; SAFE = not known."""
        codes = [code for code in self.masked.decisions.categories[first:stop].tolist() if code]
        return _CLASSES[max(codes, key=codes.count)] if codes else HyperClass.SAFE

    def age_spans(self) -> list[WordSpan]:
        """Return the ages: runs of words that the network takes for nothing else."""
        spans = [
            self._span(r.first, r.stop) for runs in self.by_mask for r in runs if r.category is HyperClass.AGE
        ]
        return [span for span in spans if not self._has_number_beside(span)]

    def date_spans(self, is_date: ReadsAsDate) -> list[WordSpan]:
        """Return the dates in order; every masked word belongs to at most one."""
        reads = lru_cache(maxsize=None)(is_date)
        runs = [run for found in self.by_mask for run in found]
        spans: list[WordSpan] = []
        i = 0
        while i < len(runs):
            n_joined = 1
            while n_joined < _MAX_JOINED and self._continues(runs, i + n_joined):
                n_joined += 1
            for n_runs in range(n_joined if _may_be_date(runs[i]) else 0, 0, -1):
                span = self._date_within(runs[i].first, runs[i + n_runs - 1].stop, reads)
                if span is not None:
                    spans.append(span)
                    i += n_runs
                    break
            else:
                i += 1
        return spans

    def _find_runs(self) -> Iterator[list[WordRun]]:
        tokens = self.masked.tokens
        if not self.masked.masks:
            return
        edges = np.array(self.masked.masks, np.int64)
        firsts = np.searchsorted(tokens.ends, edges[:, 0], side="right").tolist()
        stops = np.searchsorted(tokens.starts, edges[:, 1], side="left").tolist()
        classes = [_CLASSES[code] for code in self.masked.decisions.categories.tolist()]
        groups = [one if one in (*TIMELY, HyperClass.SAFE) else HyperClass.NAME for one in classes]
        for first, stop in zip(firsts, stops, strict=True):
            yield list(self._split_mask(first, stop, groups))

    def _split_mask(self, first: int, stop: int, groups: Sequence[HyperClass]) -> Iterator[WordRun]:
        begin = first
        for i in range(first + 1, stop + 1):
            if i < stop and (groups[i] is groups[i - 1] or self._gap_before(i) != " "):
                continue
            yield WordRun(begin, i, _category_of_run(groups[begin:i], self.masked.tokens.words[begin:i]))
            begin = i

    def _gap_before(self, token: int) -> str:
        tokens = self.masked.tokens
        return tokens.text[tokens.ends[token - 1] : tokens.starts[token]]

    def _continues(self, runs: Sequence[WordRun], i: int) -> bool:
        if i >= len(runs) or not (_may_be_date(runs[i - 1]) and _may_be_date(runs[i])):
            return False
        tokens = self.masked.tokens
        between = tokens.text[tokens.ends[runs[i - 1].stop - 1] : tokens.starts[runs[i].first]]
        return _BETWEEN.fullmatch(between) is not None

    def _date_within(self, first: int, stop: int, is_date: ReadsAsDate) -> WordSpan | None:
        # All of them, or without words without digits at the ends.
        words = self.masked.tokens.words
        for n_trimmed in range(2 * _MAX_TRIMMED + 1):
            for n_before in range(min(n_trimmed, _MAX_TRIMMED), -1, -1):
                a, b = first + n_before, stop - (n_trimmed - n_before)
                dropped = (*words[first:a], *words[b:stop])
                if a >= b or n_trimmed - n_before > _MAX_TRIMMED or not all(map(str.isalpha, dropped)):
                    continue
                span = self._span(a, b)
                text = self.words(span)
                if len(text) > _MAX_DATE_CHARS or not any(map(str.isdigit, text)) or not is_date(text):
                    continue
                if not self._has_number_beside(span):
                    while a > first and words[a - 1].lower() in _ABSORBED:
                        a -= 1  # a masked *the* before a date belongs to it
                    return replace(span, first=a)
        return None

    def _span(self, first: int, stop: int) -> WordSpan:
        tokens = self.masked.tokens
        return WordSpan(first, stop, int(tokens.starts[first]), int(tokens.ends[stop - 1]))

    def _has_number_beside(self, span: WordSpan) -> bool:
        # A span beside a masked digit may be half of something.
        words, keep = self.masked.tokens.words, self.masked.decisions.keep
        edges = ((span.first, span.first - 1), (span.stop, span.stop))
        return any(
            0 <= token < len(words)
            and not keep[token]
            and any(map(str.isdigit, words[token]))
            and self._gap_before(edge) in _JOINED
            for edge, token in edges
        )


def _may_be_date(run: WordRun) -> bool:
    return run.category in (HyperClass.DATE, HyperClass.SAFE)


def _category_of_run(groups: Sequence[HyperClass], words: Sequence[str]) -> HyperClass:
    # Of mixed ones that of the numbers if AGE, or DATE if most are.
    if len(set(groups)) == 1:
        return groups[0]
    of_numbers = {group for group, word in zip(groups, words, strict=True) if not word.isalpha()}
    if of_numbers == {HyperClass.AGE} and HyperClass.DATE not in groups:
        return HyperClass.AGE
    n_dates = sum(group is HyperClass.DATE for group in groups)
    return HyperClass.DATE if 2 * n_dates > len(groups) else HyperClass.NAME
