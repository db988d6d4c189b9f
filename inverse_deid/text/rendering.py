"""From decisions to masked text, in one pass, with an offset map.

Between kept tokens only the characters of an allowlist without letters may stay. Everything else is
masked: look-alikes of letters (circled and squared letters), combining marks, private-use characters,
emoji. Characters that nobody sees (soft hyphens, zero-width and bidirectional controls) are left out,
since they can carry hidden text.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from string import punctuation

import numpy as np

from inverse_deid.core.values import BoolArray, Tokens

TYPOGRAPHIC_SPACES = (
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
LINE_SEPARATORS = "\x85\u2028\u2029"
_WHITE_SPACE = " \t\n\r\x0b\x0c" + TYPOGRAPHIC_SPACES + LINE_SEPARATORS
_PUNCTUATION = "‘’‚“”„‹›«»–—‐‑‒―…·•¿¡§¶†‡′″‰"  # noqa: RUF001
_SIGNS = "°%±×÷≤≥≈≠<>=¬√∞→←↑↓↔€£¥¢©®™¨´`~^"  # noqa: RUF001

RAISED_SIGNS = "⁺⁻⁼⁽⁾₊₋₌₍₎"

ALLOWED_GAP_CHARACTERS = frozenset(punctuation + _WHITE_SPACE + _PUNCTUATION + _SIGNS + RAISED_SIGNS)
"""The characters that may stay between kept tokens."""

INVISIBLE_MARKS = frozenset(
    "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\ufeff"
    + "".join(map(chr, (*range(0x2060, 0x2070), *range(0xFE00, 0xFE10))))
)
"""Characters that are not seen: soft hyphen, joiners, direction, byte order mark, variation selectors.

U+202E is not one of them: it turns the letters after it around.
"""

FORBIDDEN_GAP_PATTERN = re.compile(rf"[^\w{re.escape(''.join(sorted(ALLOWED_GAP_CHARACTERS)))}]+")
"""A run of characters that are neither part of a token nor allowed between tokens."""


def forbidden_gaps(text: str) -> list[tuple[int, int]]:
    """Return the ranges of characters that must never leave, in text order.

    Example:
        >>> forbidden_gaps("a b\u200bc")
        [(3, 4)]
    """
    return [match.span() for match in FORBIDDEN_GAP_PATTERN.finditer(text)]


GAP_MARK = "□"
"""Replaces characters between kept tokens that must not leave."""


def replace_gap(characters: str) -> str:
    """Return what replaces a run of characters that must not leave: nothing if nobody sees them.

    Example:
        >>> replace_gap("\u200b"), replace_gap("\u0301")
        ('', '□')
    """
    return "" if INVISIBLE_MARKS.issuperset(characters) else GAP_MARK


_TOKENS_AT_ONCE = 65_536

JOINING_GAPS = frozenset(["", " ", *"-/.:'’@_+&"])  # noqa: RUF001
"""Masked tokens that only these separate become one mask: a date, a full name, an e-mail."""

Piece = tuple[int, int, str]
"""A half-open range of the original, and the text that replaces it."""


@dataclass(frozen=True, slots=True, repr=False)
class Rendering:
    """A masked text and where its replacements came from."""

    text: str
    masks: tuple[tuple[int, int], ...]  # half-open ranges of the original, sorted and disjoint
    replaced: tuple[tuple[int, int], ...]  # for each mask the range of `text` that replaces it


@dataclass(frozen=True, slots=True)
class _Mask:
    """A range of the original to replace; tokens first to last, none for gap characters."""

    start: int
    end: int
    first_token: int
    last_token: int


def render(
    tokens: Tokens,
    keep: BoolArray,
    marker: Callable[[int, int], str],
    gaps: Sequence[tuple[int, int]] | None = None,
) -> Rendering:
    """Replace every token that is not kept and every gap character that is not allowed.

    Args:
        tokens: The tokens of the original text.
        keep: bool (n_tokens,).
        marker: Returns the marker of a mask, given its first token and the one after its last.
        gaps: Ranges between tokens to replace, in order; None = the forbidden ones.

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
    masks = _merge(_token_masks(tokens, keep), forbidden_gaps(tokens.text) if gaps is None else gaps)
    pieces = (
        (
            m.start,
            m.end,
            replace_gap(tokens.text[m.start : m.end])
            if m.first_token < 0
            else marker(m.first_token, m.last_token + 1),
        )
        for m in masks
    )
    return substitute(tokens.text, pieces)


def _token_masks(tokens: Tokens, keep: BoolArray) -> Iterator[_Mask]:
    # Only joining gaps separate the tokens of a run.
    run: _Mask | None = None
    for token, start, end in _masked_tokens(tokens, keep):
        if run and run.last_token == token - 1 and tokens.text[run.end : start] in JOINING_GAPS:
            run = _Mask(run.start, end, run.first_token, token)
        else:
            if run:
                yield run
            run = _Mask(start, end, token, token)
    if run:
        yield run


def _masked_tokens(tokens: Tokens, keep: BoolArray) -> Iterator[tuple[int, int, int]]:
    """Yield number, start and end of every masked token, in order."""
    masked = np.flatnonzero(~keep)
    for at in range(0, len(masked), _TOKENS_AT_ONCE):
        some = masked[at : at + _TOKENS_AT_ONCE]
        yield from zip(some.tolist(), tokens.starts[some].tolist(), tokens.ends[some].tolist(), strict=True)


def _merge(masks: Iterator[_Mask], gaps: Sequence[tuple[int, int]]) -> Iterator[_Mask]:
    # Ranges that touch or overlap become one mask.
    if not gaps:
        yield from masks
        return
    others = (_Mask(start, end, -1, -1) for start, end in gaps)
    left: _Mask | None = None
    for piece in heapq.merge(masks, others, key=lambda piece: piece.start):
        if left and left.end >= piece.start:
            first = left.first_token if left.first_token >= 0 else piece.first_token
            last = piece.last_token if piece.last_token >= 0 else left.last_token
            left = _Mask(left.start, max(left.end, piece.end), first, last)
        else:
            if left:
                yield left
            left = piece
    if left:
        yield left


def substitute(text: str, pieces: Iterable[Piece]) -> Rendering:
    """Replace ranges of a text; one left-to-right pass yields text and offsets together.

    Raises:
        ValueError: The ranges overlap, or are not in order.

    Example:
        >>> substitute("seen by Ann", [(8, 11, "PHI")]).text
        'seen by PHI'
    """
    shown: list[str] = []  # of long texts joined now and then, as short strings take more than their letters
    edges: list[tuple[int, int]] = []
    replaced: list[tuple[int, int]] = []
    done: list[str] = []
    position = length = 0
    for start, end, words in pieces:
        if not position <= start <= end <= len(text):
            raise ValueError("the ranges to replace overlap or are not in order")
        kept = text[position:start]
        length += len(kept)
        replaced.append((length, length + len(words)))
        length += len(words)
        shown += (kept, words)
        if len(shown) > _TOKENS_AT_ONCE:
            done.append("".join(shown))
            shown.clear()
        edges.append((start, end))
        position = end
    shown.append(text[position:])
    return Rendering("".join([*done, *shown]), tuple(edges), tuple(replaced))
