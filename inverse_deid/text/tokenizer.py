"""The tokenizer: maximal runs of letters and digits, Unicode-aware, with exact offsets.

On ASCII text it is the tokenizer of the 2014 i2b2 evaluation (`[a-zA-Z0-9]+`).
"""

from __future__ import annotations

import re

import numpy as np

from inverse_deid.core.values import Tokens

TOKEN_PATTERN = re.compile(r"[^\W_]+")


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
