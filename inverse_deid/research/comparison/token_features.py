"""Features of tokens for linear models: the word, its shape, its parts, its neighbours.

Source: the features that the CRF of the 2014 i2b2 task's best systems share (Liu et al.
2015; Yang and Garibaldi 2015; as a list in Trienes et al. 2020), as far as they need no
tagger; the characters between tokens stand for the punctuation tokens of these systems.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from itertools import pairwise

from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass
from inverse_deid.core.values import PhiSpan, Tokens
from inverse_deid.lexicon import Lexicon, WordFlag
from inverse_deid.text.alignment import span_of_token

WINDOW = 2
"""How many neighbours on either side are read."""

_MAX_AFFIX = 4
_MAX_SHAPE = 12
_GAP_CHARS = 3
_CACHED_WORDS = 100_000
_SHOWN_FLAGS = tuple(flag for flag in WordFlag if flag < WordFlag.PHRASE_START)
_RUNS = re.compile(r"(.)\1+")


def shape(word: str) -> str:
    """A word with its letters as `X` and `x`, its digits as `d`.

    Example:
        >>> shape("McKay"), shape("40mg")
        ('XxXxx', 'ddxx')
    """
    return "".join("d" if c.isdigit() else "X" if c.isupper() else "x" for c in word)


class TokenFeatures:
    """Describes the tokens of a document by strings such as `0:lower=rash`.

    Args:
        lexicon: Adds what the dictionaries know of a word and of its neighbours; None = nothing.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> first, second = TokenFeatures(None).of(tokenize("Mr. Li"))
        >>> [feature for feature in second if feature.startswith(("0:word", "-1", "gap"))]
        ['0:word=Li', '-1:lower=mr', '-1:shape=Xx', 'gap-before=. ', 'gap-after=']
    """

    def __init__(self, lexicon: Lexicon | None) -> None:
        self._lexicon = lexicon
        self._described = functools.lru_cache(_CACHED_WORDS)(self._describe)

    def of(self, tokens: Tokens) -> list[list[str]]:
        """The features of every token, `n_tokens` lists."""
        words = [self._described(word) for word in tokens.words]
        gaps = _gaps(tokens)
        found = []
        for i in range(len(words)):
            features = [*words[i][0]]
            for offset in _OFFSETS:
                neighbour = i + offset
                features += words[neighbour][offset] if 0 <= neighbour < len(words) else (f"{offset}:none",)
            features += (f"gap-before={gaps[i][-_GAP_CHARS:]}", f"gap-after={gaps[i + 1][:_GAP_CHARS]}")
            found.append(features)
        return found

    def _describe(self, word: str) -> dict[int, tuple[str, ...]]:
        """What a word says at each offset from the token that is described; 0 = of itself."""
        lower, full = word.lower(), shape(word)
        short = _RUNS.sub(r"\1", full)
        brief = (f"lower={lower}", f"shape={short}", *self._flags(word))
        affixes = [
            affix
            for n in range(1, min(_MAX_AFFIX, len(word)) + 1)
            for affix in (f"begins={lower[:n]}", f"ends={lower[-n:]}")
        ]
        own = (
            f"word={word}",
            *brief,
            f"full-shape={full[:_MAX_SHAPE]}",
            f"length={min(len(word), 10)}",
            *affixes,
        )
        return {
            offset: tuple(f"{offset}:{feature}" for feature in (brief if offset else own))
            for offset in (0, *_OFFSETS)
        }

    def _flags(self, word: str) -> tuple[str, ...]:
        if self._lexicon is None:
            return ()
        flags = self._lexicon.flags(word)
        return tuple(f"list={flag.name}" for flag in _SHOWN_FLAGS if flag & flags) or ("list=none",)


_OFFSETS = tuple(offset for offset in range(-WINDOW, WINDOW + 1) if offset)


def _gaps(tokens: Tokens) -> list[str]:
    """What stands before each token, and last what stands behind all of them."""
    starts, ends = tokens.starts.tolist(), tokens.ends.tolist()
    edges = zip([0, *ends], [*starts, len(tokens.text)], strict=True)
    return [tokens.text[end:start] for end, start in edges]


def hyper_labels(tokens: Tokens, spans: Sequence[PhiSpan]) -> list[str]:
    """The hyper-class of each token, `SAFE` outside of all spans.

    Example:
        >>> from inverse_deid.core.phi import PhiType
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> hyper_labels(tokenize("Mr Li-Wu left"), [PhiSpan(3, 8, PhiType.PATIENT)])
        ['SAFE', 'NAME', 'NAME', 'SAFE']
    """
    names = [*(HYPER_CLASS_OF[span.type].value for span in spans), HyperClass.SAFE.value]
    return [names[owner] for owner in span_of_token(tokens, spans).tolist()]


OUTSIDE = "O"
"""The label of a safe token in `bio_labels`."""


def bio_labels(tokens: Tokens, spans: Sequence[PhiSpan]) -> list[str]:
    """The label of each token: `B-` begins a span of a hyper-class, `I-` goes on with it.

    Example:
        >>> from inverse_deid.core.phi import PhiType
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> bio_labels(tokenize("Mr Li-Wu left"), [PhiSpan(3, 8, PhiType.PATIENT)])
        ['O', 'B-NAME', 'I-NAME', 'O']
    """
    owners = [-1, *span_of_token(tokens, spans).tolist()]
    return [
        OUTSIDE
        if owner < 0
        else f"{'I' if owner == before else 'B'}-{HYPER_CLASS_OF[spans[owner].type].value}"
        for before, owner in pairwise(owners)
    ]
