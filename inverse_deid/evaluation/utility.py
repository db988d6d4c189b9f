"""What a masking leaves of what causality assessment needs.

An item is kept if all of its words are. Time to onset may be told twice, by a duration and
by two dates, and is kept as long as it can still be computed from the output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from inverse_deid.core.errors import AnnotationError
from inverse_deid.evaluation.causality_set import CausalityDocument, Item, Kind, Part, Role, UtilitySpan
from inverse_deid.evaluation.counts import Range, masked_before
from inverse_deid.evaluation.evaluation import named
from inverse_deid.evaluation.figures import Share
from inverse_deid.evaluation.gold_tokens import Int64Array
from inverse_deid.evaluation.masked_files import MaskedOutput, masks_by_id
from inverse_deid.evaluation.onset import days_between
from inverse_deid.text.tokenizer import tokenize

ALL = "ALL"
COLUMNS: tuple[str, ...] = (ALL, Kind.DRUG.value, *(role.name for role in Role), *list(Kind)[1:])
"""What is counted apart: everything, each kind, and the drugs by role."""


@dataclass(frozen=True, slots=True)
class UtilityFigures:
    """Items that are kept, their tokens that are, and narratives that have items and lost none."""

    items: Share
    tokens: Share
    narratives: Share


@dataclass(frozen=True, slots=True, eq=False)
class Utility:
    """What was kept, one row a document; arrays are int64 (n_documents, n_columns), as `COLUMNS`.

    Args:
        ids: The documents.
        items: How many there are.
        items_kept: How many of them are kept.
        tokens: Of the spans of the items; one in two items counts twice.
        tokens_kept: Those without a masked character.
    """

    ids: tuple[str, ...]
    items: Int64Array = field(repr=False)
    items_kept: Int64Array = field(repr=False)
    tokens: Int64Array = field(repr=False)
    tokens_kept: Int64Array = field(repr=False)

    def figures(self, column: str = ALL) -> UtilityFigures:
        """The figures of one of `COLUMNS`."""
        i = COLUMNS.index(column)
        there = self.items[:, i] > 0
        whole = there & (self.items[:, i] == self.items_kept[:, i])
        return UtilityFigures(
            Share(int(self.items_kept[:, i].sum()), int(self.items[:, i].sum())),
            Share(int(self.tokens_kept[:, i].sum()), int(self.tokens[:, i].sum())),
            Share(int(whole.sum()), int(there.sum())),
        )


def utility(docs: Sequence[CausalityDocument], masked: Sequence[MaskedOutput]) -> Utility:
    """Count what is kept.

    Args:
        docs: The gold, with distinct ids.
        masked: The masks of each and, where there is one, the masked text: a masked date counts
            as kept if what stands for it still tells the time to onset.

    Raises:
        AnnotationError: An id is there twice, without masks or without gold, or masks and text
            do not fit the gold.

    Example:
        >>> docs = read_causality_set()
        >>> nothing_masked = [MaskedOutput(doc.doc.id, ()) for doc in docs]
        >>> utility(docs, nothing_masked).figures("DRUG").items.value
        1.0
    """
    ids = tuple(doc.doc.id for doc in docs)
    masks_by_id([doc.doc for doc in docs], masked)
    outputs = {output.id: output for output in masked}
    if other := sorted(set(ids) ^ set(outputs)):
        raise AnnotationError(
            f"only in the gold or only in the masks: {named(other)}; mask just the documents of the gold"
        )
    counted = [_count(doc, outputs[doc.doc.id]) for doc in docs]
    columns = np.array(counted, np.int64).reshape(len(docs), 4, len(COLUMNS))
    return Utility(ids, *(columns[:, i] for i in range(4)))


def best_case(docs: Sequence[CausalityDocument]) -> Utility:
    """What would be kept if just the marked identifiers were masked."""
    return utility(docs, [MaskedOutput(d.doc.id, tuple((s.start, s.end) for s in d.doc.spans)) for d in docs])


def _count(doc: CausalityDocument, output: MaskedOutput) -> Int64Array:
    """int64 (4, n_columns): items, items kept, tokens, tokens kept."""
    found = np.zeros((4, len(COLUMNS)), np.int64)
    reader = _OutputReader(doc.doc.text, output)
    for item in doc.items:
        columns = [COLUMNS.index(name) for name in (ALL, item.kind, *([item.role.name] if item.role else []))]
        pieces = [reader.tokens_kept(span) for span in item.spans]
        n_tokens, n_kept = (sum(numbers) for numbers in zip(*pieces, strict=True))
        found[:, columns] += np.array([1, reader.is_kept(item), n_tokens, n_kept], np.int64)[:, None]
    return found


class _OutputReader:
    """Says what stands in an output at the spans of its original."""

    def __init__(self, text: str, output: MaskedOutput) -> None:
        self._text = text
        self._output = output
        self._masked_before = masked_before(len(text), output.masks)
        self._tokens = tokenize(text)

    def tokens_kept(self, span: UtilitySpan) -> tuple[int, int]:
        """How many tokens a span cuts out, and how many of these have no masked character."""
        first = int(np.searchsorted(self._tokens.ends, span.start, side="right"))
        behind = int(np.searchsorted(self._tokens.starts, span.end, side="left"))
        starts = np.maximum(self._tokens.starts[first:behind], span.start)
        ends = np.minimum(self._tokens.ends[first:behind], span.end)
        return behind - first, int((self._masked_before[starts] == self._masked_before[ends]).sum())

    def is_kept(self, item: Item) -> bool:
        """Whether the output still tells it."""
        if item.kind is not Kind.ONSET:
            return self._are_kept(item.spans)
        durations = [span for span in item.spans if span.part is Part.DURATION]
        dates = sorted(set(item.spans) - set(durations), key=lambda span: span.part is Part.REACTION)
        if any(spans and self._are_kept(spans) for spans in (durations, dates)):
            return True
        return bool(dates) and item.days in days_between(*map(self._written, dates))

    def _are_kept(self, spans: Sequence[UtilitySpan]) -> bool:
        return all(n_tokens == n_kept for n_tokens, n_kept in map(self.tokens_kept, spans))

    def _written(self, span: UtilitySpan) -> str:
        """What stands in the output for a span."""
        pieces, position = [], span.start
        for start, end, stand_in in _stand_ins(self._text, self._output):
            if start < span.end and span.start < end:
                pieces += [self._text[position : max(position, start)], stand_in]
                position = end
        return "".join(pieces) + self._text[position : span.end]


def _stand_ins(text: str, output: MaskedOutput) -> Iterator[tuple[int, int, str]]:
    """Start and end of each mask and what stands for it, as far as the output tells."""
    runs: list[Range] = []
    for start, end in sorted(output.masks):
        if runs and start <= runs[-1][1]:
            runs[-1] = (runs[-1][0], max(end, runs[-1][1]))
        else:
            runs.append((start, end))
    masked = "" if output.text in (None, text) else str(output.text)
    is_told, position = bool(masked), runs[0][0] if runs else 0
    for (start, end), (following, _) in zip(runs, [*runs[1:], (len(text), 0)], strict=bool(runs)):
        kept = text[end:following]
        is_last = following == len(text)
        behind = len(masked) - len(kept) if is_last else _end_of_stand_in(masked, position, kept)
        is_told = is_told and behind >= position
        yield start, end, masked[position:behind] if is_told else _UNREADABLE
        position = behind + len(kept)


def _end_of_stand_in(masked: str, position: int, kept: str) -> int:
    """Where the kept text begins again: behind a whole date if there is one, else as soon as it can."""
    ends = [i for i in range(position, position + _MAX_TIME_CHARS) if masked.startswith(kept, i)]
    times = (end for end in reversed(ends[1:]) if days_between(*[masked[position:end]] * 2))
    return next(times, masked.find(kept, position))


_UNREADABLE = "PHI"
_MAX_TIME_CHARS = 40
