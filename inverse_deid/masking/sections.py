"""A long document is read in sections, so that memory does not grow by the features of all its tokens.

Sections overlap: each is read with tokens of its neighbours around it, whose results are thrown away. So
no token has less than `MARGIN` tokens of context. What the rules count in a document, such as how often a
word occurs with a capital, they count in the section. The passes over whole documents see all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from inverse_deid.core.values import RuleAnalysis, RuleVerdicts, Tokens

SECTION_TOKENS = 32_768
"""Tokens of a section, without those around it."""
MARGIN = 512
"""Tokens of the neighbours that are read with a section, on either side."""
SECTIONS_AT_ONCE = 4
"""Sections that the network reads while the rules read the next."""


def cut(tokens: Tokens) -> Iterator[tuple[Tokens, slice]]:
    """Cut a document: yield what is read at a time, and which of its tokens are the section's own.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> sections = list(cut(tokenize("rash " * (SECTION_TOKENS + 1))))
        >>> [(len(section), own.start, own.stop) for section, own in sections]
        [(32769, 0, 32768), (513, 512, 513)]
    """
    for first in range(0, len(tokens), SECTION_TOKENS):
        last = min(first + SECTION_TOKENS, len(tokens))
        begin, end = max(0, first - MARGIN), min(len(tokens), last + MARGIN)
        # Signs before the first token and after the last one belong to the text.
        start = 0 if begin == 0 else int(tokens.ends[begin - 1])
        stop = len(tokens.text) if end == len(tokens) else int(tokens.starts[end])
        section = Tokens(
            tokens.text[start:stop],
            tokens.words[begin:end],
            tokens.starts[begin:end] - np.int32(start),
            tokens.ends[begin:end] - np.int32(start),
        )
        yield section, slice(first - begin, last - begin)


def own_of_analysis(analysis: RuleAnalysis, own: slice) -> RuleAnalysis:
    """Return what the rules found in a section's own tokens, without what only scores need."""
    verdicts = RuleVerdicts(
        *(getattr(analysis.verdicts, name)[own].copy() for name in RuleVerdicts.__slots__)
    )
    ids, features = analysis.ids[:0].copy(), analysis.features[:0].copy()
    return RuleAnalysis(ids, features, verdicts, other_language=analysis.other_language)


def join_analyses(sections: Sequence[RuleAnalysis]) -> RuleAnalysis:
    """Join what the rules found in all sections. One in another language makes the document so."""
    columns = ([getattr(one.verdicts, name) for one in sections] for name in RuleVerdicts.__slots__)
    return RuleAnalysis(
        np.concatenate([one.ids for one in sections]),
        np.concatenate([one.features for one in sections]),
        RuleVerdicts(*map(np.concatenate, columns)),
        other_language=any(one.other_language for one in sections),
    )
