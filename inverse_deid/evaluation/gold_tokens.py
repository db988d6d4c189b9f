"""The gold tokens of a document: what its gold spans cut out of its tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray, Document, Tokens
from inverse_deid.evaluation.groups import TYPE_NUMBER

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class GoldTokens:
    """The gold tokens of a document in text order; arrays of (n_gold_tokens,).

    Args:
        starts: Offset of the first character.
        ends: Offset behind the last one.
        types: Number of the PHI type.
        spans: Index of the gold span.
        tokens: Index of the token of the text that it is, or is a part of.
        n_tokens: Tokens of the text.
    """

    starts: Int64Array
    ends: Int64Array
    types: Int64Array
    spans: Int64Array
    tokens: Int64Array
    n_tokens: int

    def mark(self, which: BoolArray | slice) -> BoolArray:
        """Which tokens of the text hold one of these gold tokens: bool (n_tokens,)."""
        marked = np.zeros(self.n_tokens, np.bool_)
        marked[self.tokens[which]] = True
        return marked


def gold_tokens(doc: Document, tokens: Tokens) -> GoldTokens:
    """Every piece that a gold span cuts out of a token.

    Args:
        doc: With its gold spans, sorted and disjoint.
        tokens: The tokens of its text.

    Example:
        >>> from inverse_deid.core.phi import PhiType
        >>> from inverse_deid.core.values import PhiSpan
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> doc = Document("a", "on 3May2019x", (PhiSpan(3, 11, PhiType.DATE),))
        >>> found = gold_tokens(doc, tokenize(doc.text))
        >>> found.starts.tolist(), found.ends.tolist(), found.tokens.tolist()
        ([3], [11], [1])
    """
    bounds = np.array([(span.start, span.end) for span in doc.spans], np.int64).reshape(-1, 2)
    types = np.array([TYPE_NUMBER[span.type] for span in doc.spans], np.int64)
    firsts = np.searchsorted(tokens.ends, bounds[:, 0], side="right")
    n_touched = np.searchsorted(tokens.starts, bounds[:, 1], side="left") - firsts
    spans = np.repeat(np.arange(len(doc.spans)), n_touched)
    skipped = np.cumsum(n_touched) - n_touched
    touched = np.arange(len(spans)) + np.repeat(firsts - skipped, n_touched)
    return GoldTokens(
        np.maximum(tokens.starts[touched], bounds[spans, 0]),
        np.minimum(tokens.ends[touched], bounds[spans, 1]),
        types[spans],
        spans,
        touched,
        len(tokens),
    )
