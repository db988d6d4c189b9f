"""The tokenizer: maximal runs of letters and digits, Unicode-aware, with exact offsets.

On ASCII text it is the tokenizer of the 2014 i2b2 evaluation (`[a-zA-Z0-9]+`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from inverse_deid.core.values import BoolArray, Tokens
from inverse_deid.text.joined import CodePoints, code_points

TOKEN_PATTERN = re.compile(r"[^\W_]+")

_TABLE_SIZE = 0x3000
_IN_TOKEN = np.fromiter((chr(code).isalnum() for code in range(_TABLE_SIZE)), np.bool_, _TABLE_SIZE)
"""Whether a character below `_TABLE_SIZE` is part of a token."""


def tokenize(text: str) -> Tokens:
    """Split a text into its runs of letters and digits.

    Example:
        >>> tokens = tokenize("Pt. took 40mg")
        >>> tokens.words, tokens.starts.tolist()
        (['Pt', 'took', '40mg'], [0, 4, 9])
    """
    matches = list(TOKEN_PATTERN.finditer(text))
    words = [match.group() for match in matches]
    starts = np.fromiter((match.start() for match in matches), np.int32, len(matches))
    ends = starts + np.fromiter(map(len, words), np.int32, len(words))
    return Tokens(text, words, starts, ends)


def tokenize_many(texts: Sequence[str]) -> list[Tokens]:
    """Split several texts at once, as `tokenize` does each.

    Example:
        >>> [tokens.words for tokens in tokenize_many(["Pt. took", "40mg"])]
        [['Pt', 'took'], ['40mg']]
    """
    joined = "\n".join(texts)
    words = TOKEN_PATTERN.findall(joined)
    inside = np.concatenate([[False], _in_token(code_points(joined)), [False]])
    edges = np.flatnonzero(inside[1:] != inside[:-1]).astype(np.int32)
    starts, ends = edges[::2], edges[1::2]
    if len(starts) != len(words):
        return [tokenize(text) for text in texts]
    lengths = np.fromiter((len(text) + 1 for text in texts), np.int32, len(texts))
    offsets = (np.cumsum(lengths) - lengths).astype(np.int32)
    bounds = [*np.searchsorted(starts, offsets).tolist(), len(words)]
    shift = np.repeat(offsets, np.diff(bounds))
    starts, ends = starts - shift, ends - shift
    return [
        Tokens(text, words[first:last], starts[first:last], ends[first:last])
        for text, (first, last) in zip(texts, pairwise(bounds), strict=True)
    ]


def _in_token(codes: CodePoints) -> BoolArray:
    """Tell which characters are letters or digits: bool (n_characters,)."""
    inside = _IN_TOKEN[np.minimum(codes, _TABLE_SIZE - 1)]
    rare = np.flatnonzero(codes >= _TABLE_SIZE)
    if len(rare):
        inside[rare] = [chr(code).isalnum() for code in codes[rare].tolist()]
    return inside
