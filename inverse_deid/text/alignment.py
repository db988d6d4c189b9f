"""From gold spans to token labels: a token touched by PHI is PHI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray, IntArray, PhiSpan, Tokens


class Placed(Protocol):
    """The tokens of one text, or of several, one after the other."""

    @property
    def starts(self) -> IntArray:
        """int32 (n_tokens,), offset of the first character."""
        ...

    @property
    def ends(self) -> IntArray:
        """int32 (n_tokens,), offset after the last character."""
        ...

    def __len__(self) -> int: ...


def span_of_token(tokens: Tokens, spans: Sequence[PhiSpan]) -> npt.NDArray[np.int32]:
    """Return the span that touches each token.

    Args:
        tokens: The tokens of the text that the spans belong to.
        spans: Sorted and disjoint. Of two spans that touch one token the later one wins.

    Returns:
        int32 (n_tokens,): index into `spans`, -1 = no span.

    Example:
        >>> from inverse_deid.core.phi import PhiType
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> span_of_token(tokenize("Mr Li-Wu left"), [PhiSpan(3, 8, PhiType.PATIENT)]).tolist()
        [-1, 0, 0, -1]
    """
    owners = np.full(len(tokens), -1, np.int32)
    if not spans:
        return owners
    firsts = np.searchsorted(tokens.ends, [span.start for span in spans], side="right")
    lasts = np.searchsorted(tokens.starts, [span.end for span in spans], side="left")
    for i, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
        owners[first:last] = i
    return owners


def tokens_touched(tokens: Placed, ranges: Sequence[tuple[int, int]]) -> BoolArray:
    """Tell which tokens share at least one character with any of the ranges.

    Args:
        tokens: The tokens of the text.
        ranges: Half-open character ranges, in any order; they may overlap.

    Returns:
        bool (n_tokens,).
    """
    if not ranges:
        return np.zeros(len(tokens), np.bool_)
    bounds = np.asarray(ranges, np.int64)
    touched = np.zeros(len(tokens) + 1, np.int32)
    np.add.at(touched, np.searchsorted(tokens.ends, bounds[:, 0], side="right"), 1)
    np.add.at(touched, np.searchsorted(tokens.starts, bounds[:, 1], side="left"), -1)
    return np.cumsum(touched[:-1]) > 0
