"""The tokens of texts: maximal runs of letters and digits, Unicode-aware, with exact offsets.

On ASCII text the tokenizer is that of the 2014 i2b2 evaluation (`[a-zA-Z0-9]+`). `join` puts the tokens of
several documents in one row, so that one array operation serves them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray, IntArray, PhiSpan, Tokens

TOKEN_PATTERN = re.compile(r"[^\W_]+")

_LONG = 1_000_000
"""Characters of a text that is handled piece by piece."""
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
    words = _find_words(joined)
    pieces = (joined[at : at + _LONG] for at in range(0, len(joined), _LONG))
    inside = np.concatenate([[False], *(_in_token(code_points(piece)) for piece in pieces), [False]])
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


def _find_words(text: str) -> list[str]:
    """Return the tokens of a text. In a long one equal words are one object, as words take most memory."""
    if len(text) < _LONG:
        return TOKEN_PATTERN.findall(text)
    known: dict[str, str] = {}
    return [known.setdefault(match.group(), match.group()) for match in TOKEN_PATTERN.finditer(text)]


def _in_token(codes: CodePoints) -> BoolArray:
    """Tell which characters are letters or digits: bool (n_characters,)."""
    inside = _IN_TOKEN[np.minimum(codes, _TABLE_SIZE - 1)]
    rare = np.flatnonzero(codes >= _TABLE_SIZE)
    if len(rare):
        inside[rare] = [chr(code).isalnum() for code in codes[rare].tolist()]
    return inside


BORDER = "\n\n\n"
"""Follows every text: longer than any gap within a phrase, and not part of a token."""

CodePoints = npt.NDArray[np.uint32]


def code_points(text: str) -> CodePoints:
    """Return the code point of every character: uint32 (n_characters,)."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


@dataclass(frozen=True, eq=False, repr=False)
class JoinedTokens:
    """The tokens of several documents, one after the other."""

    docs: Sequence[Tokens]
    words: list[str]  # of all documents
    starts: IntArray  # (n_tokens,), offset of the first character in `codes`
    ends: IntArray  # (n_tokens,), offset after the last character
    offsets: IntArray  # (n_docs,), where each text begins in `codes`
    bounds: IntArray  # (n_docs + 1,), the first token of each document, and the number of tokens
    doc: IntArray  # (n_tokens,), the document of each token

    @cached_property
    def codes(self) -> CodePoints:
        """Return all texts, each followed by a `BORDER`: uint32 (n_characters,)."""
        return code_points("".join(text for doc in self.docs for text in (doc.text, BORDER)))

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

    def gap(self, i: int) -> str:
        """Return what is between a token and the next one of its document."""
        doc = int(self.doc[i])
        start, end = int(self.ends[i] - self.offsets[doc]), int(self.starts[i + 1] - self.offsets[doc])
        return self.docs[doc].text[start:end]

    def slices(self) -> Iterator[slice]:
        return (slice(first, last) for first, last in pairwise(self.bounds.tolist()))


class Part(list[Tokens]):
    """Documents that several stages read together: their tokens are put in one row only once."""

    @cached_property
    def joined(self) -> JoinedTokens:
        """The tokens in one row; refers to a copy of the list, so that no circle keeps texts in memory."""
        return join(tuple(self))


def join(docs: Sequence[Tokens]) -> JoinedTokens:
    """Put the tokens of documents in one row.

    Example:
        >>> joined = join([tokenize("Pt well."), tokenize("Home.")])
        >>> joined.words, joined.starts.tolist(), joined.doc.tolist()
        (['Pt', 'well', 'Home'], [0, 3, 11], [0, 0, 1])
    """
    if isinstance(docs, Part):
        return docs.joined
    n_tokens = np.fromiter(map(len, docs), np.int32, len(docs))
    lengths = np.fromiter((len(doc.text) + len(BORDER) for doc in docs), np.int32, len(docs))
    bounds = np.concatenate([[0], np.cumsum(n_tokens)]).astype(np.int32)
    offsets = (np.cumsum(lengths) - lengths).astype(np.int32)
    shift = np.repeat(offsets, n_tokens)
    none, is_one = np.zeros(0, np.int32), len(docs) == 1  # one may be long, so nothing of it is copied
    return JoinedTokens(
        docs=docs,
        words=docs[0].words if is_one else list(chain.from_iterable(doc.words for doc in docs)),
        starts=docs[0].starts if is_one else np.concatenate([none, *(doc.starts for doc in docs)]) + shift,
        ends=docs[0].ends if is_one else np.concatenate([none, *(doc.ends for doc in docs)]) + shift,
        offsets=offsets,
        bounds=bounds,
        doc=np.repeat(np.arange(len(docs), dtype=np.int32), n_tokens),
    )


def span_of_token(tokens: Tokens, spans: Sequence[PhiSpan]) -> npt.NDArray[np.int32]:
    """Return the span that touches each token.

    Args:
        tokens: The tokens of the text that the spans belong to.
        spans: Sorted and disjoint. Of two spans that touch one token the later one wins.

    Returns:
        int32 (n_tokens,): index into `spans`, -1 = no span.

    Example:
        >>> from inverse_deid.core.phi import PhiType
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


def tokens_touched(tokens: Tokens | JoinedTokens, ranges: Sequence[tuple[int, int]]) -> BoolArray:
    """Tell which tokens share a character with any of the half-open ranges: bool (n_tokens,)."""
    if not ranges:
        return np.zeros(len(tokens), np.bool_)
    bounds = np.asarray(ranges, np.int64)
    touched = np.zeros(len(tokens) + 1, np.int32)
    np.add.at(touched, np.searchsorted(tokens.ends, bounds[:, 0], side="right"), 1)
    np.add.at(touched, np.searchsorted(tokens.starts, bounds[:, 1], side="left"), -1)
    return np.cumsum(touched[:-1]) > 0
