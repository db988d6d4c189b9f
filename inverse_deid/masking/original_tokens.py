"""From decisions on the tokens of a reading to decisions on the tokens of the original.

Only the original is ever shown. Its token is kept if every token of the reading that shares a character
with it is kept; a token that reads as no token at all is kept if all of it reads as signs that may leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from inverse_deid.core.values import BoolArray, Decisions, IntArray, Reason, Tokens
from inverse_deid.text.reading import Reading
from inverse_deid.text.rendering import forbidden_gaps
from inverse_deid.text.tokenizer import tokens_touched

_TOKENS_AT_ONCE = 65_536
"""Tokens that are looked up at once, to save memory in long documents."""


def decide_on_original(reading: Reading, read: Tokens, decisions: Decisions, tokens: Tokens) -> Decisions:
    r"""Return the decisions on the tokens of the original.

    Reason, probability and category are those of the worst token of the reading: a masked one if there
    is any, and of these the least probable to be safe.
    """
    worst, is_read = _find_worst(reading, read, decisions, tokens)
    if not len(read):
        decisions = _all_masked(1)
    keep, reasons = decisions.keep[worst], decisions.reasons[worst]
    p_safe, thresholds = decisions.p_safe[worst], decisions.thresholds[worst]
    categories = np.where(is_read, decisions.categories[worst], 0).astype(np.uint8)
    # Signs whose encoding has letters: they read as nothing that the network could judge.
    covered, signs = reading.covered(), np.zeros(len(tokens), np.bool_)
    for i in np.flatnonzero(~is_read & decisions.keep.any()).tolist():
        signs[i] = covered[tokens.starts[i] : tokens.ends[i]].all()
    harmed = tokens_touched(tokens, _with_words(reading, read))
    keep = np.where(is_read, keep, signs) & ~harmed
    reasons[signs] = Reason.KEPT_SAFE_WORD
    reasons[~is_read & ~signs | harmed] = Reason.FAILED_CLOSED
    p_safe[~is_read], thresholds[~is_read] = (np.nan, np.nan) if np.isnan(p_safe).all() else (1.0, 1.0)
    p_safe[~is_read & ~keep] = np.nan
    return Decisions(keep, reasons, p_safe, thresholds, categories)


def _with_words(reading: Reading, read: Tokens) -> list[tuple[int, int]]:
    # With the words that begin or end within them.
    ranges: list[tuple[int, int]] = []
    if not (harmful := reading.harmful()):
        return ranges
    starts, ends = reading.originals(read)
    for start, end in harmful:
        first, stop = np.searchsorted(ends, start, side="right"), np.searchsorted(starts, end, side="left")
        has_words = stop > first
        ranges.append(
            (min(start, int(starts[first])), max(end, int(ends[stop - 1]))) if has_words else (start, end)
        )
    return ranges


def _all_masked(n_tokens: int) -> Decisions:
    nothing = np.zeros(n_tokens, np.uint8)
    unknown = np.full(n_tokens, np.nan, np.float32)
    return Decisions(nothing > 0, nothing + np.uint8(Reason.FAILED_CLOSED), unknown, unknown.copy(), nothing)


def _find_worst(
    reading: Reading, read: Tokens, decisions: Decisions, tokens: Tokens
) -> tuple[IntArray, BoolArray]:
    """For each token of the original, return the worst token of the reading that shares a character with it.

    Returns:
        int32 (n_tokens,), 0 = there is none, and bool (n_tokens,), whether there is any.
    """
    starts, ends = reading.originals(read)
    risk = np.where(np.isnan(decisions.p_safe), -1.0, decisions.p_safe)
    worst, is_read = np.zeros(len(tokens), np.int32), np.zeros(len(tokens), np.bool_)
    several = [np.zeros((0, 3), np.int64)]  # tokens that read as more than one: which, the first, and the end
    for at in range(0, len(tokens), _TOKENS_AT_ONCE):
        some = slice(at, at + _TOKENS_AT_ONCE)
        # Tokens of one edit cover the same range, so that both bounds are in order.
        firsts = np.searchsorted(ends, tokens.starts[some], side="right")
        stops = np.searchsorted(starts, tokens.ends[some], side="left")
        is_read[some] = stops > firsts
        worst[some] = np.where(is_read[some], firsts, 0)
        of_several = np.flatnonzero(stops > firsts + 1)
        several.append(np.stack([at + of_several, firsts[of_several], stops[of_several]], axis=1))
    # All tokens of an edit, however many, read as the same ones.
    of_edits = np.concatenate(several)
    begins = np.flatnonzero((np.diff(of_edits[:, 1:], axis=0, prepend=-1) != 0).any(axis=1))
    for begin, end in pairwise([*begins.tolist(), len(of_edits)]):
        first, stop = of_edits[begin, 1:].tolist()
        of_edit = np.lexsort((risk[first:stop], decisions.keep[first:stop]))[0]
        worst[of_edits[begin:end, 0]] = first + of_edit
    return worst, is_read


def _in_ranges(n: int, starts: IntArray, ends: IntArray) -> BoolArray:
    """Tell which of `n` characters are in a half-open range: bool (n,). Both bounds are in order."""
    depth = np.zeros(n, np.int8)
    # What a range shares with the one before it counts once, so that no depth is above 1.
    firsts = np.concatenate([starts[:1], np.maximum(starts[1:], ends[:-1])])
    for bounds, step in ((firsts, 1), (ends, -1)):
        for at in range(0, len(bounds), _TOKENS_AT_ONCE):
            np.add.at(depth, bounds[at : at + _TOKENS_AT_ONCE], step)
    return np.cumsum(depth, dtype=np.int8, out=depth) > 0


def hide_gaps(reading: Reading, read: Tokens, keep: BoolArray, tokens: Tokens) -> Sequence[tuple[int, int]]:
    """Return the ranges between tokens of the original that must not leave, in order and disjoint.

    A forbidden character may leave as it is where it is part of an allowed one, as in `â€\ufffd`: the
    output differs from the original by its masks only, whatever the reading. A mark that nobody sees never
    leaves. A sign or a line break inside a masked word belongs to the word.

    Args:
        reading: What the rules and the network read.
        read: The tokens of the reading.
        keep: bool (n_read_tokens,), the decision on each of them.
        tokens: The tokens of the original.
    """
    hidden = np.zeros(len(reading.original) + 1, np.bool_)
    for start, end in forbidden_gaps(reading.original):
        hidden[start:end] = True
    hidden[:-1] &= ~reading.covered()
    hidden[reading.unseen()] = True
    masked = (bounds[~keep] for bounds in reading.originals(read))
    hidden |= _in_ranges(len(hidden), *masked)
    for start, end in reading.harmful():
        hidden[start:end] = True
    hidden &= ~_in_ranges(len(hidden), tokens.starts, tokens.ends)
    edges = np.flatnonzero(np.diff(hidden, prepend=False))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
