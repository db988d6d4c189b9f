"""The tokens of several documents in one row, so that one array operation serves them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import IntArray, Tokens

BORDER = "\n\n\n"
"""Follows every text: longer than any gap within a phrase, and not part of a token."""

CodePoints = npt.NDArray[np.uint32]


def code_points(text: str) -> CodePoints:
    """Return the code point of every character: uint32 (n_characters,)."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class JoinedTokens:
    """The tokens of several documents, one after the other.

    Args:
        docs: The tokens of each document.
        words: Of all documents.
        starts: int32 (n_tokens,), offset of the first character in `codes`.
        ends: int32 (n_tokens,), offset after the last character.
        codes: uint32 (n_characters,), all texts, each followed by a `BORDER`.
        offsets: int32 (n_docs,), where each text begins in `codes`.
        bounds: int32 (n_docs + 1,), the first token of each document, and the number of tokens.
        doc: int32 (n_tokens,), the document of each token.
    """

    docs: Sequence[Tokens] = field(repr=False)
    words: list[str] = field(repr=False)
    starts: IntArray = field(repr=False)
    ends: IntArray = field(repr=False)
    codes: CodePoints = field(repr=False)
    offsets: IntArray = field(repr=False)
    bounds: IntArray = field(repr=False)
    doc: IntArray = field(repr=False)

    def __len__(self) -> int:
        return len(self.words)

    def first_of_document(self) -> npt.NDArray[np.bool_]:
        """Tell which tokens are the first of their document: bool (n_tokens,)."""
        first = np.zeros(len(self) + 1, np.bool_)
        first[self.bounds] = True
        return first[:-1]

    def previous_ends(self) -> IntArray:
        """Return where the token before each ends, or where its text begins: int32 (n_tokens,)."""
        previous = np.concatenate([self.offsets[:1], self.ends[:-1]])[: len(self)]
        first = self.first_of_document()
        previous[first] = self.offsets[self.doc[first]]
        return previous

    def text_ends(self) -> IntArray:
        """Return where each text ends in `codes`: int32 (n_docs,)."""
        return np.append(self.offsets[1:], np.int32(len(self.codes)))[: len(self.docs)] - np.int32(
            len(BORDER)
        )

    def slices(self) -> Iterator[slice]:
        """Yield the tokens of each document."""
        return (slice(first, last) for first, last in pairwise(self.bounds.tolist()))


def join(docs: Sequence[Tokens]) -> JoinedTokens:
    """Put the tokens of documents in one row.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> joined = join([tokenize("Pt well."), tokenize("Home.")])
        >>> joined.words, joined.starts.tolist(), joined.doc.tolist()
        (['Pt', 'well', 'Home'], [0, 3, 11], [0, 0, 1])
    """
    n_tokens = np.fromiter(map(len, docs), np.int32, len(docs))
    lengths = np.fromiter((len(doc.text) + len(BORDER) for doc in docs), np.int32, len(docs))
    bounds = np.concatenate([[0], np.cumsum(n_tokens)]).astype(np.int32)
    offsets = (np.cumsum(lengths) - lengths).astype(np.int32)
    shift = np.repeat(offsets, n_tokens)
    none = np.zeros(0, np.int32)
    return JoinedTokens(
        docs=docs,
        words=list(chain.from_iterable(doc.words for doc in docs)),
        starts=np.concatenate([none, *(doc.starts for doc in docs)]) + shift,
        ends=np.concatenate([none, *(doc.ends for doc in docs)]) + shift,
        codes=code_points("".join(text for doc in docs for text in (doc.text, BORDER))),
        offsets=offsets,
        bounds=bounds,
        doc=np.repeat(np.arange(len(docs), dtype=np.int32), n_tokens),
    )
