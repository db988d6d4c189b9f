"""Putting other words in the place of markers; offsets stay right."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from inverse_deid.core.values import MaskedDocument, Reason
from inverse_deid.text.gaps import forbidden_gaps


@dataclass(frozen=True, slots=True)
class StandIn:
    """What stands for some masked words.

    Args:
        first: The first token.
        stop: Behind the last token.
        text: What stands there.
        sort: What the words are: date, age, surrogate.
    """

    first: int
    stop: int
    text: str = field(repr=False)
    sort: str


def with_stand_ins(masked: MaskedDocument, stand_ins: Sequence[StandIn]) -> MaskedDocument:
    """The same document with other words for some masked ones.

    What is masked stays masked: a stand-in takes the place of the masks that it covers (and of
    the little between them); of masks that are longer the rest keeps its marker. Stand-ins keep what
    parts the words of an original: one with a sign that is always masked is not used.

    Args:
        masked: As the pipeline gave it back.
        stand_ins: In text order, not overlapping; each begins and ends with a masked token.
    """
    stand_ins = [found for found in stand_ins if not forbidden_gaps(found.text)]
    if not stand_ins:
        return masked
    pieces = _pieces(masked, stand_ins)
    text, replaced = _joined(masked.tokens.text, pieces)
    keep, reasons = masked.decisions.keep.copy(), masked.decisions.reasons.copy()
    for found in stand_ins:
        covered = slice(found.first, found.stop)
        reasons[covered][keep[covered]] = Reason.JOINED_TO_MASKED
        keep[covered] = False
    counts = Counter(masked.stand_ins)
    counts.update(found.sort for found in stand_ins)
    return dataclasses.replace(
        masked,
        text=text,
        masks=tuple((start, end) for start, end, _ in pieces),
        replaced=replaced,
        decisions=dataclasses.replace(masked.decisions, keep=keep, reasons=reasons),
        stand_ins=dict(counts),
    )


def _pieces(masked: MaskedDocument, stand_ins: Sequence[StandIn]) -> list[tuple[int, int, str]]:
    """Start, end and new text of everything that is not shown."""
    starts, ends = masked.tokens.starts, masked.tokens.ends
    spans = [(int(starts[s.first]), int(ends[s.stop - 1]), s.text) for s in stand_ins]
    pieces: list[tuple[int, int, str]] = []
    behind = 0
    for (start, end), (shown, stop) in zip(masked.masks, masked.replaced, strict=True):
        marker, position = masked.text[shown:stop], start
        while behind < len(spans) and spans[behind][1] <= start:
            behind += 1
        for left, right, _ in spans[behind:]:
            if left >= end:
                break
            pieces += _rest(masked, position, left, marker)
            position = right
        pieces += _rest(masked, position, end, marker)
    return sorted([*pieces, *spans])


def _rest(masked: MaskedDocument, start: int, end: int, marker: str) -> list[tuple[int, int, str]]:
    """What is left of a mask beside a stand-in; nothing if no word and no hidden sign is left."""
    text = masked.tokens.text[start:end] if start < end else ""
    words = text.strip(" ")
    if not words:
        return []
    begin = start + text.index(words)
    return [(begin, begin + len(words), marker)]


def _joined(text: str, pieces: Sequence[tuple[int, int, str]]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """One left-to-right pass yields text and offsets together."""
    shown: list[str] = []
    replaced: list[tuple[int, int]] = []
    position = length = 0
    for start, end, words in pieces:
        kept = text[position:start]
        shown += (kept, words)
        length += len(kept)
        replaced.append((length, length + len(words)))
        length += len(words)
        position = end
    shown.append(text[position:])
    return "".join(shown), tuple(replaced)
