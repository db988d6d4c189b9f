"""Documents with two kinds of gold, identifiers and medical concepts, and their BIO labels.

Labels are read as `conlleval` and seqeval (its default mode) read them: an inside label without a
beginning begins a span.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from inverse_deid.core.errors import AnnotationError, ConfigurationError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan, Tokens
from inverse_deid.text.tokenizer import tokenize

CONCEPTS, PHI = "concepts", "phi"
"""The two tasks: find concepts, find identifiers (PHI, protected health information)."""
Types = Mapping[str, tuple[str, ...]]

OUTSIDE = "O"


@dataclass(frozen=True, slots=True, order=True)
class ConceptSpan:
    """A marked concept: half-open code-point offsets."""

    start: int
    end: int
    type: str

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise AnnotationError(
                f"concept {self.start}-{self.end} is empty, reversed or negative. Offsets are half-open and "
                "count code points"
            )


@dataclass(frozen=True, slots=True)
class ConceptDocument:
    """A document whose spans are identifiers, with sorted concepts, which may overlap and nest.

    `gold` names the tasks that were marked. Of others nothing is known, and nothing is learned or measured.

    Raises:
        AnnotationError: A concept ends after the text.
    """

    doc: Document
    concepts: tuple[ConceptSpan, ...] = field(default=(), repr=False)
    gold: tuple[str, ...] = (PHI, CONCEPTS)

    def __post_init__(self) -> None:
        n_chars = len(self.doc.text)
        for span in self.concepts:
            if span.end > n_chars:
                raise AnnotationError(
                    f"document {self.doc.id}: concept {span.start}-{span.end} ends after the text "
                    f"({n_chars} characters). Offsets count code points"
                )

    @property
    def id(self) -> str:
        return self.doc.id


def drop_overlaps(concepts: Sequence[ConceptSpan], types: Collection[str]) -> tuple[ConceptSpan, ...]:
    """Return the concepts of some types, sorted: of two that overlap, the longer or the first one stays.

    Example:
        >>> drop_overlaps([ConceptSpan(0, 9, "Effect"), ConceptSpan(2, 5, "Drug")], {"Drug", "Effect"})
        (ConceptSpan(start=0, end=9, type='Effect'),)
    """
    wanted = sorted(
        (span for span in concepts if span.type in types),
        key=lambda span: (span.start - span.end, span.start, span.type),
    )
    kept: list[ConceptSpan] = []
    for span in wanted:
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return tuple(sorted(kept))


def refuse_overlap(parts: Mapping[str, Sequence[ConceptDocument]]) -> None:
    """Refuse a text that is in two parts. Ask before masking, which may make different texts alike.

    Raises:
        ConfigurationError: There is one.
    """
    texts = {part: {doc.doc.text for doc in docs} for part, docs in parts.items()}
    for one, other in combinations(texts, 2):
        if shared := len(texts[one] & texts[other]):
            raise ConfigurationError(f"{shared} texts are in {one} and in {other}. Remove them from one")


def list_labels(types: Collection[str]) -> tuple[str, ...]:
    """Return all labels of some types; the first is *outside*.

    Example:
        >>> list_labels(["Effect", "Drug"])
        ('O', 'B-Drug', 'I-Drug', 'B-Effect', 'I-Effect')
    """
    return (OUTSIDE, *(f"{letter}-{name}" for name in sorted(types) for letter in "BI"))


def list_types(docs: Sequence[ConceptDocument], tasks: Sequence[str], concepts: tuple[str, ...]) -> Types:
    marked = {span.type for doc in docs for span in doc.doc.spans}
    every = {PHI: tuple(kind for kind in PhiType if kind in marked), CONCEPTS: concepts}
    return {task: every[task] for task in tasks}


def label_tokens(tokens: Tokens, spans: Sequence[ConceptSpan | PhiSpan]) -> list[str]:
    """Return the label of each token: that of the first of these sorted, disjoint spans that touches it.

    Example:
        >>> label_tokens(tokenize("had a severe rash"), [ConceptSpan(6, 17, "Effect")])
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


def find_entities(labels: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the spans of labels, in order: first token, the token after the last one, and type.

    Example:
        >>> list(find_entities(["O", "I-Drug", "B-Drug", "I-Effect"]))
        [(1, 2, 'Drug'), (2, 3, 'Drug'), (3, 4, 'Effect')]
    """
    first, current = 0, ""
    for i, label in enumerate([*labels, OUTSIDE]):
        letter, _, name = label.partition("-")
        if current and (letter != "I" or name != current):
            yield first, i, current
            current = ""
        if name and not current:
            first, current = i, name


def read_labels(tokens: Tokens, labels: Sequence[str]) -> tuple[ConceptSpan, ...]:
    """Return the spans of the labels of a text; they begin and end with a token."""
    return tuple(
        ConceptSpan(int(tokens.starts[first]), int(tokens.ends[last - 1]), name)
        for first, last, name in find_entities(labels)
    )


def snap_spans(tokens: Tokens, spans: Sequence[ConceptSpan | PhiSpan]) -> tuple[ConceptSpan, ...]:
    """Return spans as whole tokens, the best that labels can express."""
    return read_labels(tokens, label_tokens(tokens, spans))


def select_spans(doc: ConceptDocument, task: str, kinds: Sequence[str]) -> Sequence[ConceptSpan | PhiSpan]:
    """Return the concepts or the identifiers of some types: sorted and disjoint."""
    if task == CONCEPTS:
        return drop_overlaps(doc.concepts, kinds)
    return [span for span in doc.doc.spans if span.type in kinds]


def select_gold(
    docs: Sequence[ConceptDocument], task: str, kinds: Sequence[str]
) -> list[tuple[ConceptSpan, ...]]:
    """Return the gold of a task in each document, as whole tokens and without overlaps."""
    return [snap_spans(tokenize(doc.doc.text), select_spans(doc, task, kinds)) for doc in docs]
