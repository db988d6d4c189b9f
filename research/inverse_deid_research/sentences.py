"""The ends of sentences, for networks that read one sentence at a time.

The splitter of NLTK without trained data, so that nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from inverse_deid.core.values import Tokens

_BLOCK_END = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*\u2022]|\d{1,2}[.)])[ \t])")
"""Blank lines and list items also end a sentence (Friedrich et al. 2019, section 6)."""
_ABBREVIATIONS = ("dr", "dra", "mr", "mrs", "ms", "prof", "st", "sr", "sra", "no", "vs", "pt", "e.g", "i.e")


def sentence_bounds(tokens: Tokens, longest: int) -> list[tuple[int, int]]:
    """Return the sentences of a text as half-open ranges of token numbers, each of 1 to `longest` tokens.

    They are in order and contain every token once. Longer sentences are cut.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> sentence_bounds(tokenize("Seen by Dr. Li. She had a rash."), 100)
        [(0, 4), (4, 8)]
    """
    ends = sorted(set(_sentence_ends(tokens.text)))
    cuts = [0, *np.searchsorted(tokens.starts, ends).tolist(), len(tokens)]
    return [
        (start, min(start + longest, last))
        for first, last in pairwise(cuts)
        for start in range(first, last, longest)
    ]


def _sentence_ends(text: str) -> Iterator[int]:
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    parameters = PunktParameters()
    parameters.abbrev_types = set(_ABBREVIATIONS)
    splitter = PunktSentenceTokenizer(parameters)
    blocks = [0, *(match.end() for match in _BLOCK_END.finditer(text)), len(text)]
    for start, end in pairwise(blocks):
        for _, last in splitter.span_tokenize(text[start:end]):
            yield start + last
        yield end
