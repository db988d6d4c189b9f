"""BIO labels over the project's tokens, and back to spans.

Spans are read of labels as `conlleval` and seqeval (its default mode) read them: an inside
label without a beginning begins a span.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from inverse_deid.core.values import Tokens
from inverse_deid.research.extraction.concepts import ConceptSpan

OUTSIDE = "O"


class Typed(Protocol):
    """A span with a type."""

    @property
    def start(self) -> int: ...  # noqa: D102

    @property
    def end(self) -> int: ...  # noqa: D102

    @property
    def type(self) -> str: ...  # noqa: D102


class Entity(NamedTuple):
    """A run of labels of one span: tokens `first` up to `last`, which is not part of it."""

    first: int
    last: int
    type: str


def label_names(types: Collection[str]) -> tuple[str, ...]:
    """All labels of some types; the first is *outside*.

    Example:
        >>> label_names(["Effect", "Drug"])
        ('O', 'B-Drug', 'I-Drug', 'B-Effect', 'I-Effect')
    """
    return (OUTSIDE, *(f"{letter}-{name}" for name in sorted(types) for letter in "BI"))


def bio_labels(tokens: Tokens, spans: Sequence[Typed]) -> list[str]:
    """The label of each token; a token that a span touches belongs to it, to the first one of two.

    Args:
        tokens: Of the text.
        spans: Sorted and disjoint.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> bio_labels(tokenize("had a severe rash"), [ConceptSpan(6, 17, "Effect")])
        ['O', 'O', 'B-Effect', 'I-Effect']
    """
    labels = [OUTSIDE] * len(tokens)
    firsts = np.searchsorted(tokens.ends, [span.start for span in spans], side="right").tolist()
    lasts = np.searchsorted(tokens.starts, [span.end for span in spans], side="left").tolist()
    free = 0
    for span, first, last in zip(spans, firsts, lasts, strict=True):
        first = max(first, free)  # noqa: PLW2901 - the token is taken
        for i in range(first, last):
            labels[i] = f"{'B' if i == first else 'I'}-{span.type}"
        free = max(free, last)
    return labels


def entities(labels: Sequence[str]) -> Iterator[Entity]:
    """The spans that labels stand for, in order.

    Example:
        >>> list(entities(["O", "I-Drug", "B-Drug", "I-Effect"]))
        [Entity(first=1, last=2, type='Drug'), Entity(first=2, last=3, type='Drug'), Entity(first=3, last=4, type='Effect')]
    """  # noqa: E501
    first, current = 0, ""
    for i, label in enumerate([*labels, OUTSIDE]):
        letter, _, name = label.partition("-")
        if current and (letter != "I" or name != current):
            yield Entity(first, i, current)
            current = ""
        if name and not current:
            first, current = i, name


def spans_of(tokens: Tokens, labels: Sequence[str]) -> tuple[ConceptSpan, ...]:
    """The labels of a text as spans from the first character of a token to the end of one."""
    return tuple(
        ConceptSpan(int(tokens.starts[first]), int(tokens.ends[last - 1]), name)
        for first, last, name in entities(labels)
    )


def snapped(tokens: Tokens, spans: Sequence[Typed]) -> tuple[ConceptSpan, ...]:
    """Spans as whole tokens: what the best labels could say of them."""
    return spans_of(tokens, bio_labels(tokens, spans))
