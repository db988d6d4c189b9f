"""The facts for causality assessment that masking keeps.

An item is kept if all of its words are. Time to onset may be stated twice, by a duration and
by two dates, and is kept as long as it can be computed from the output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import numpy as np

from inverse_deid.core.errors import AnnotationError, name_documents
from inverse_deid.core.wording import N_, _
from inverse_deid.evaluation.causality_set import (
    CausalityDocument,
    DrugRole,
    Item,
    ItemKind,
    OnsetPart,
    UtilitySpan,
)
from inverse_deid.evaluation.evaluation import Evaluation, evaluate_masks
from inverse_deid.evaluation.masked_files import MaskedOutput, masks_by_id
from inverse_deid.evaluation.measures.counts import Int64Array, Range, count_masked_before
from inverse_deid.evaluation.measures.figures import Proportion, ReportPart, Share
from inverse_deid.evaluation.measures.uncertainty import CONFIDENCE, clopper_pearson
from inverse_deid.evaluation.provenance import Provenance
from inverse_deid.text.tokenizer import tokenize

FORMAT_NAME = "inverse-deid utility"
THESIS = Share(52, 100)
"""Narratives that missed nothing valuable, in the thesis."""
PHI_FIGURES = ("recall_all", "recall_hipaa", "precision", "documents_without_leak")
NOTES = (
    N_("An item is one fact. It is kept if all of its words are. Time to onset is also kept if it can"),
    N_("be computed from the output: from a duration, both dates, day numbers, or dates shifted alike."),
    N_("At best: only the marked identifiers are masked, including the dates of onset."),
    N_("Items of one narrative are not independent, so intervals (Clopper-Pearson) are of narratives"),
    N_("that have such items."),
    N_("In the thesis (section 5.2.4) a pharmacist found that 52 % of 100 VigiBase narratives missed"),
    N_("nothing valuable. That is not comparable: the narratives and masks were others, and a pharmacist"),
    N_("judges whether a missing word matters, while here the loss of any marked word counts."),
)

ALL = "ALL"
_UNREADABLE = "PHI"
_MAX_TIME_CHARS = 40

_DAY_NUMBER = re.compile(r"day\s*([+-]?\d{1,5})", re.IGNORECASE)
_NO_DATE_WORD = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b|\bof\b|(?<=\bsep)t\b", re.IGNORECASE)
_DATE_WORD = re.compile(r"[^\W\d_]+|\d+|[^\s.,/'-]")
_ORDERS = ("%d %m", "%m %d")  # readings of two numbers
_ANY_YEARS = (2023, 2024, 2025)  # for unknown years; one of them is a leap year

COLUMNS: tuple[str, ...] = (ALL, ItemKind.DRUG.value, *(role.name for role in DrugRole), *list(ItemKind)[1:])
"""The columns of the counts: everything, each kind, and the drugs by role."""


@dataclass(frozen=True, slots=True)
class UtilityFigures:
    """Items kept, tokens of items kept, and narratives that have items and lost none."""

    items: Share
    tokens: Share
    narratives: Share


@dataclass(frozen=True, slots=True, eq=False)
class Utility:
    """What was kept, one row per document. Arrays are int64 (n_documents, n_columns), see `COLUMNS`.

    Tokens are those in spans of items. A token in two items counts twice. A token with a masked
    character is not kept.
    """

    ids: tuple[str, ...]
    items: Int64Array = field(repr=False)
    items_kept: Int64Array = field(repr=False)
    tokens: Int64Array = field(repr=False)
    tokens_kept: Int64Array = field(repr=False)

    def figures(self, column: str = ALL) -> UtilityFigures:
        i = COLUMNS.index(column)
        there = self.items[:, i] > 0
        whole = there & (self.items[:, i] == self.items_kept[:, i])
        return UtilityFigures(
            Share(int(self.items_kept[:, i].sum()), int(self.items[:, i].sum())),
            Share(int(self.tokens_kept[:, i].sum()), int(self.tokens[:, i].sum())),
            Share(int(whole.sum()), int(there.sum())),
        )


def count_kept(docs: Sequence[CausalityDocument], masked: Sequence[MaskedOutput]) -> Utility:
    """Count the items that are kept in gold documents with distinct ids.

    A masked date counts as kept if the masked text is known, and its replacement still gives the time to
    onset.

    Raises:
        AnnotationError: An id is repeated, without masks or without gold, or masks and text
            do not fit the gold.
    """
    ids = tuple(doc.doc.id for doc in docs)
    masks_by_id([doc.doc for doc in docs], masked)
    outputs = {output.id: output for output in masked}
    if other := sorted(set(ids) ^ set(outputs)):
        raise AnnotationError(
            _(
                "only in the gold or only in the masks: {documents}. Mask exactly the gold documents",
                documents=name_documents(other),
            )
        )
    counted = [_count(doc, outputs[doc.doc.id]) for doc in docs]
    columns = np.array(counted, np.int64).reshape(len(docs), 4, len(COLUMNS))
    return Utility(ids, *(columns[:, i] for i in range(4)))


def count_best_case(docs: Sequence[CausalityDocument]) -> Utility:
    """Count the items that would be kept if only the marked identifiers were masked."""
    return count_kept(
        docs, [MaskedOutput(d.doc.id, tuple((s.start, s.end) for s in d.doc.spans)) for d in docs]
    )


def _count(doc: CausalityDocument, output: MaskedOutput) -> Int64Array:
    """Return int64 (4, n_columns): items, items kept, tokens, tokens kept."""
    found = np.zeros((4, len(COLUMNS)), np.int64)
    reader = _OutputReader(doc.doc.text, output)
    for item in doc.items:
        columns = [COLUMNS.index(name) for name in (ALL, item.kind, *([item.role.name] if item.role else []))]
        pieces = [reader.count_tokens(span) for span in item.spans]
        n_tokens, n_kept = (sum(numbers) for numbers in zip(*pieces, strict=True))
        found[:, columns] += np.array([1, reader.is_kept(item), n_tokens, n_kept], np.int64)[:, None]
    return found


class _OutputReader:
    def __init__(self, text: str, output: MaskedOutput) -> None:
        self._text = text
        self._output = output
        self._masked_before = count_masked_before(len(text), output.masks)
        self._tokens = tokenize(text)

    def count_tokens(self, span: UtilitySpan) -> tuple[int, int]:
        first = int(np.searchsorted(self._tokens.ends, span.start, side="right"))
        behind = int(np.searchsorted(self._tokens.starts, span.end, side="left"))
        starts = np.maximum(self._tokens.starts[first:behind], span.start)
        ends = np.minimum(self._tokens.ends[first:behind], span.end)
        return behind - first, int((self._masked_before[starts] == self._masked_before[ends]).sum())

    def is_kept(self, item: Item) -> bool:
        if item.kind is not ItemKind.ONSET:
            return self._are_kept(item.spans)
        durations = [span for span in item.spans if span.part is OnsetPart.DURATION]
        dates = sorted(set(item.spans) - set(durations), key=lambda span: span.part is OnsetPart.REACTION)
        if any(spans and self._are_kept(spans) for spans in (durations, dates)):
            return True
        return bool(dates) and item.days in count_days(*map(self._read_output, dates))

    def _are_kept(self, spans: Sequence[UtilitySpan]) -> bool:
        return all(n_tokens == n_kept for n_tokens, n_kept in map(self.count_tokens, spans))

    def _read_output(self, span: UtilitySpan) -> str:
        pieces, position = [], span.start
        for start, end, stand_in in _find_stand_ins(self._text, self._output):
            if start < span.end and span.start < end:
                pieces += [self._text[position : max(position, start)], stand_in]
                position = end
        return "".join(pieces) + self._text[position : span.end]


def _find_stand_ins(text: str, output: MaskedOutput) -> Iterator[tuple[int, int, str]]:
    # As far as the output reveals them.
    runs: list[Range] = []
    for start, end in sorted(output.masks):
        if runs and start <= runs[-1][1]:
            runs[-1] = (runs[-1][0], max(end, runs[-1][1]))
        else:
            runs.append((start, end))
    masked = "" if output.text in (None, text) else str(output.text)
    is_known, position = bool(masked), runs[0][0] if runs else 0
    for (start, end), (following, _ignored) in zip(runs, [*runs[1:], (len(text), 0)], strict=bool(runs)):
        kept = text[end:following]
        is_last = following == len(text)
        behind = len(masked) - len(kept) if is_last else _find_end(masked, position, kept)
        is_known = is_known and behind >= position
        yield start, end, masked[position:behind] if is_known else _UNREADABLE
        position = behind + len(kept)


def _find_end(masked: str, position: int, kept: str) -> int:
    # After a whole date, or otherwise at the first match.
    ends = [i for i in range(position, position + _MAX_TIME_CHARS) if masked.startswith(kept, i)]
    times = (end for end in reversed(ends[1:]) if count_days(*[masked[position:end]] * 2))
    return next(times, masked.find(kept, position))


def count_days(start: str, reaction: str) -> frozenset[int]:
    """Count the days between two dates, or two day numbers, as written.

    Returns all possible numbers, because the order of day and month may be open. If a year is missing,
    the reaction is within a year after the start.

    Example:
        >>> count_days("Day 1", "Day +8"), count_days("12-OCT-2019", "Oct 15, 2019")
        (frozenset({7}), frozenset({3}))
        >>> count_days("PHI", "15 Oct")
        frozenset()
    """
    numbers = [int(found[1]) for text in (start, reaction) if (found := _DAY_NUMBER.fullmatch(text.strip()))]
    if len(numbers) == 2:
        return frozenset({numbers[1] - numbers[0]})
    days: set[int] = set()
    for order in _ORDERS:
        dates = [_parse_dates(text, order) for text in (start, reaction)]
        near = {day.year + step for day in dates[0] | dates[1] for step in (-1, 0, 1)} or _ANY_YEARS
        first, second = (
            dates[0] or _parse_dates(start, order, near),
            dates[1] or _parse_dates(reaction, order, near),
        )
        gaps = {(b - a).days for a in first for b in second}
        days |= gaps if all(dates) else gaps.intersection(range(365))
    return frozenset(days)


def _parse_dates(text: str, order: str, years: Iterable[int] = ()) -> set[datetime]:
    # `years` are for dates without a year.
    words = " ".join(_DATE_WORD.findall(_NO_DATE_WORD.sub("", text)))
    forms = [f"{day} {year}" for day in (order, "%d %b", "%d %B", "%b %d", "%B %d") for year in ("%Y", "%y")]
    found: set[datetime] = set()
    for written in [f"{words} {year}" for year in years] or [words]:
        for form in (*forms, "%Y %m %d", "%Y%m%d"):
            with suppress(ValueError):
                found.add(datetime.strptime(written, form))
    return found


@dataclass(frozen=True, slots=True)
class UtilityResult:
    """What one masking of one gold set leaks and keeps, and what masking only identifiers would keep."""

    phi: Evaluation
    kept: Utility
    at_best: Utility


def measure_utility(docs: Sequence[CausalityDocument], outputs: Sequence[MaskedOutput]) -> UtilityResult:
    """Compare masks with both kinds of marks.

    Raises:
        AnnotationError: Masks and gold do not belong together.
    """
    kept = count_kept(docs, outputs)
    phi = evaluate_masks([doc.doc for doc in docs], {output.id: output.masks for output in outputs})
    return UtilityResult(phi, kept, count_best_case(docs))


class NarrativesRecord(ReportPart, frozen=True):
    """A share of narratives with its interval. None is undefined."""

    share: Proportion | None
    part: int
    whole: int
    low: float | None
    high: float | None


class KeptRecord(ReportPart, frozen=True):
    items: Share
    items_at_best: Share
    tokens: Share
    narratives_without_loss: NarrativesRecord
    narratives_at_best: Share


class ThesisRecord(ReportPart, frozen=True):
    narratives_without_loss: Share


class NarrativeRecord(ReportPart, frozen=True):
    """The items of one narrative by column."""

    id: str
    kept: dict[str, int]
    items: dict[str, int]


class UtilityReport(ReportPart, frozen=True, kw_only=True, tag_field="format", tag=FORMAT_NAME):
    """A utility as JSON, without text of narratives. Nothing is rounded, and undefined is None."""

    version: Literal[1] = 1
    documents: int
    confidence: float
    phi: dict[str, Share]
    kept: dict[str, KeptRecord]
    thesis: ThesisRecord
    notes: list[str]
    by_document: list[NarrativeRecord]
    provenance: Provenance


def report_utility(result: UtilityResult, provenance: Provenance) -> UtilityReport:
    kept = result.kept
    return UtilityReport(
        documents=len(kept.ids),
        confidence=CONFIDENCE,
        phi={name: result.phi.figure(name) for name in PHI_FIGURES},
        kept={column: _record_kept(result, column) for column in COLUMNS},
        thesis=ThesisRecord(narratives_without_loss=THESIS),
        notes=list(NOTES),
        by_document=[
            NarrativeRecord(
                id=doc_id,
                kept=dict(zip(COLUMNS, kept.items_kept[row].tolist(), strict=True)),
                items=dict(zip(COLUMNS, kept.items[row].tolist(), strict=True)),
            )
            for row, doc_id in enumerate(kept.ids)
        ],
        provenance=provenance,
    )


def _record_kept(result: UtilityResult, column: str) -> KeptRecord:
    figures, best = result.kept.figures(column), result.at_best.figures(column)
    whole = figures.narratives
    interval = clopper_pearson(whole.part, whole.whole)
    return KeptRecord(
        items=figures.items,
        items_at_best=best.items,
        tokens=figures.tokens,
        narratives_without_loss=NarrativesRecord(
            share=whole.value,
            part=whole.part,
            whole=whole.whole,
            low=None if interval is None else interval.low,
            high=None if interval is None else interval.high,
        ),
        narratives_at_best=best.narratives,
    )
