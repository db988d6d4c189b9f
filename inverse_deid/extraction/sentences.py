"""Where a text is cut: the network reads one sentence at a time."""

from __future__ import annotations

import re
from itertools import pairwise

from inverse_deid.core.values import Tokens

LONGEST = 128
"""Tokens a sentence holds at most."""
_END = re.compile(r"[.!?;]['\")\]]*\s|[\r\n]")
_SHORTEST_BEFORE_STOP = 2
"""A word of fewer characters before a full stop is an initial, which ends no sentence."""


def sentence_bounds(tokens: Tokens, longest: int = LONGEST) -> list[tuple[int, int]]:
    """Cut at stops and line ends, unless the next word begins with a small letter.

    Args:
        tokens: Of the text.
        longest: Tokens a piece holds at most.

    Returns:
        First token of each piece and the one behind its last; together they are all tokens.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> sentence_bounds(tokenize("Rash after 2 days. It went. Seen by J. Li"))
        [(0, 4), (4, 6), (6, 10)]
    """
    cuts = [0]
    for i in range(1, len(tokens)):
        if i - cuts[-1] >= longest or _ends_before(tokens, i):
            cuts.append(i)
    return list(pairwise([*cuts, len(tokens)])) if len(tokens) else []


def _ends_before(tokens: Tokens, i: int) -> bool:
    found = _END.search(tokens.text, tokens.ends[i - 1], tokens.starts[i])
    if found is None or tokens.words[i][0].islower():
        return False
    return found.group() in "\r\n" or len(tokens.words[i - 1]) >= _SHORTEST_BEFORE_STOP
