"""What the network reads at a time: sentences, short ones with what follows them."""

from __future__ import annotations

from inverse_deid.core.values import Tokens
from inverse_deid.research.sentences import sentence_bounds

SHORTEST = 16
"""Tokens of a passage that takes no further sentence. "Seen by:" says what the next line is."""
LONGEST = 128
"""Tokens a passage holds at most."""


def passage_bounds(tokens: Tokens) -> list[tuple[int, int]]:
    """Cut a text into passages.

    Args:
        tokens: Of the text.

    Returns:
        Half-open ranges of token numbers in order; together they hold every token once.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> passage_bounds(tokenize("Hospital San Jorge. Rash after 2 days. It went."))
        [(0, 9)]
    """
    bounds: list[tuple[int, int]] = []
    for first, last in sentence_bounds(tokens, LONGEST):
        begun = bounds[-1][0] if bounds else first
        if bounds and first - begun < SHORTEST and last - begun <= LONGEST:
            bounds[-1] = (begun, last)
        else:
            bounds.append((first, last))
    return bounds
