"""From decisions on the tokens of a reading to decisions on the tokens of the original.

Only the original is ever shown. Its token is kept if every token of the reading that shares a character
with it is kept; a token that reads as no token at all is kept if all of it reads as signs that may leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray, Decisions, Reason, Tokens
from inverse_deid.text.reading import Reading
from inverse_deid.text.rendering import forbidden_gaps
from inverse_deid.text.tokenizer import tokens_touched

Places = npt.NDArray[np.int64]


def decide_on_original(reading: Reading, read: Tokens, decisions: Decisions, tokens: Tokens) -> Decisions:
    r"""Return the decisions on the tokens of the original.

    Reason, probability and category are those of the worst token of the reading: a masked one if there
    is any, and of these the least probable to be safe.
    """
    firsts, stops = _overlaps(reading, read, tokens)
    risk = np.where(np.isnan(decisions.p_safe), -1.0, decisions.p_safe)
    is_read = stops > firsts
    worst = np.where(is_read, firsts, 0)
    # All tokens of an edit, however many, read as the same ones.
    several = np.flatnonzero(stops > firsts + 1)
    is_other = (np.diff(firsts[several], prepend=-1) != 0) | (np.diff(stops[several], prepend=-1) != 0)
    begins = np.flatnonzero(is_other)
    for begin, end in pairwise([*begins.tolist(), len(several)]):
        first, stop = int(firsts[several[begin]]), int(stops[several[begin]])
        worst[several[begin:end]] = first + np.lexsort((risk[first:stop], decisions.keep[first:stop]))[0]
    if not len(read):
        decisions, worst = _all_masked(1), np.zeros(len(tokens), np.int64)
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
    starts, ends = reading.originals(read)
    ranges = []
    for start, end in reading.harmful():
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


def _overlaps(reading: Reading, read: Tokens, tokens: Tokens) -> tuple[Places, Places]:
    """Return the first token of the reading that shares a character with each of the original, and the end.

    Tokens of one edit cover the same range, so that both bounds are in order.
    """
    starts, ends = reading.originals(read)
    firsts = np.searchsorted(ends, tokens.starts, side="right")
    return firsts.astype(np.int64), np.searchsorted(starts, tokens.ends, side="left").astype(np.int64)


def _in_ranges(n: int, starts: npt.NDArray[np.integer], ends: npt.NDArray[np.integer]) -> BoolArray:
    """Tell which of `n` characters are in a half-open range: bool (n,). Ranges may overlap."""
    depth = np.zeros(n, np.int32)
    np.add.at(depth, starts, 1)
    np.add.at(depth, ends, -1)
    return np.cumsum(depth, out=depth) > 0


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
    starts, ends = reading.originals(read)
    hidden |= _in_ranges(len(hidden), starts[~keep], ends[~keep])
    for start, end in reading.harmful():
        hidden[start:end] = True
    hidden &= ~_in_ranges(len(hidden), tokens.starts, tokens.ends)
    edges = np.flatnonzero(np.diff(hidden, prepend=False))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
