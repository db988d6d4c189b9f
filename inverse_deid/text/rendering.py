"""From decisions to masked text, in one pass, with an offset map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from inverse_deid.core.values import BoolArray, Tokens
from inverse_deid.text.gaps import forbidden_gaps

GAP_MARK = "□"
"""Stands for characters between kept tokens that are not allowed to leave."""

JOINING_GAPS = frozenset(["", " ", *"-/.:'’@_+&"])  # noqa: RUF001
"""Masked tokens that only these separate become one mask: a date, a full name, an e-mail."""

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rendering:
    """A masked text and where its replacements came from.

    Args:
        text: The masked text.
        masks: Half-open ranges of the original, sorted and disjoint.
        replaced: For each mask the range of `text` that stands for it.
    """

    text: str = field(repr=False)
    masks: tuple[Range, ...] = field(repr=False)
    replaced: tuple[Range, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Mask:
    """A range of the original to replace; tokens first to last, none for gap characters."""

    start: int
    end: int
    first_token: int
    last_token: int


def render(tokens: Tokens, keep: BoolArray, marker: Callable[[int, int], str]) -> Rendering:
    """Replace every token that is not kept and every gap character that is not allowed.

    Args:
        tokens: The tokens of the original text.
        keep: bool (n_tokens,).
        marker: Given the first token of a mask and the one behind its last, the
            string that stands for them.

    Raises:
        ValueError: `keep` has another length than `tokens`.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> tokens = tokenize("seen by Ann Li today")
        >>> keep = np.array([True, True, False, False, True])
        >>> render(tokens, keep, lambda first, last: "PHI").text
        'seen by PHI today'
    """
    if len(keep) != len(tokens):
        raise ValueError(f"{len(keep)} decisions for {len(tokens)} tokens")
    masks = _merge(tokens, _token_masks(tokens, keep), forbidden_gaps(tokens.text))
    return _replace(tokens.text, masks, marker)


def _token_masks(tokens: Tokens, keep: BoolArray) -> list[_Mask]:
    """One mask a run of masked tokens that only joining gaps separate."""
    runs: list[_Mask] = []
    masked = np.flatnonzero(~keep).tolist()
    starts, ends = tokens.starts, tokens.ends
    for i in masked:
        start, end = int(starts[i]), int(ends[i])
        if runs and runs[-1].last_token == i - 1 and tokens.text[runs[-1].end : start] in JOINING_GAPS:
            runs[-1] = _Mask(runs[-1].start, end, runs[-1].first_token, i)
        else:
            runs.append(_Mask(start, end, i, i))
    return runs


def _merge(tokens: Tokens, masks: list[_Mask], gaps: Sequence[Range]) -> list[_Mask]:
    """Add the forbidden gap runs; what touches becomes one mask."""
    if not gaps:
        return masks
    pieces = masks + [_Mask(start, end, -1, -1) for start, end in gaps]
    pieces.sort(key=lambda piece: piece.start)
    merged: list[_Mask] = []
    for piece in pieces:
        if merged and merged[-1].end == piece.start:
            merged[-1] = _joined(merged[-1], piece)
        else:
            merged.append(piece)
    return merged


def _joined(left: _Mask, right: _Mask) -> _Mask:
    first = left.first_token if left.first_token >= 0 else right.first_token
    last = right.last_token if right.last_token >= 0 else left.last_token
    return _Mask(left.start, right.end, first, last)


def _replace(text: str, masks: Sequence[_Mask], marker: Callable[[int, int], str]) -> Rendering:
    """One left-to-right pass yields text and offsets together."""
    pieces: list[str] = []
    replaced: list[Range] = []
    position = length = 0
    for mask in masks:
        kept = text[position : mask.start]
        stand_in = marker(mask.first_token, mask.last_token + 1) if mask.first_token >= 0 else GAP_MARK
        length += len(kept)
        replaced.append((length, length + len(stand_in)))
        length += len(stand_in)
        pieces += (kept, stand_in)
        position = mask.end
    pieces.append(text[position:])
    return Rendering("".join(pieces), tuple((m.start, m.end) for m in masks), tuple(replaced))
