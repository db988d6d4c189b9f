"""From documents to the passages that the network reads at a time, with the labels of each task.

A passage is a sentence, or a short one with the sentences after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

import numpy as np

from inverse_deid.core.values import FloatArray, IntArray, Tokens
from inverse_deid.network.batches import Example, pad_examples
from inverse_deid.network.encoding import WordVectors, gap_codes, quantise, word_numbers
from inverse_deid.text.tokenizer import tokenize
from inverse_deid_research.extraction.concepts import (
    ConceptDocument,
    Types,
    label_tokens,
    list_labels,
    select_spans,
)
from inverse_deid_research.sentences import sentence_bounds

SHORTEST = 16
"""Tokens of a passage that needs no further sentence. "Seen by:" says what the next line is."""
LONGEST = 128
"""Maximum of tokens per passage."""


class Embedder(Protocol):
    """Further vectors of words, made outside the network: subwords, contextual embeddings.

    The model stores the name, and asks for the same embedder again.
    """

    name: str
    dim: int

    def vectors(self, words: Sequence[str], gaps: IntArray) -> FloatArray:
        """Return vectors of the words of one passage, with their `gap_codes`: float32 (n_words, dim)."""


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A passage as the network reads it; the features of its example are further vectors."""

    example: Example = field(repr=False)
    # int32 (n_tokens,) by task, numbers of `list_labels`; empty without gold.
    labels: Mapping[str, IntArray] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.example)


def cut_passages(tokens: Tokens) -> list[tuple[int, int]]:
    """Cut a text into passages.

    Returns:
        Half-open ranges of token numbers in order; together they contain every token once.

    Example:
        >>> cut_passages(tokenize("Hospital San Jorge. Rash after 2 days. It went."))
        [(0, 9)]
    """
    bounds: list[tuple[int, int]] = []
    for first, last in sentence_bounds(tokens, LONGEST):
        begun = bounds[-1][0] if bounds else first
        if bounds and first - begun < SHORTEST and last - begun <= LONGEST:
            bounds[-1] = (begun, last)
        else:
            bounds.append((first, last))
    return bounds


class PassageMaker:
    """Encodes documents with a vocabulary, for the types of each task."""

    def __init__(self, vectors: WordVectors, types: Types, embedders: Sequence[Embedder] = ()) -> None:
        self._rows, self._types, self._embedders = vectors.numbers(), types, embedders

    def encode_gold(self, doc: ConceptDocument) -> list[Passage]:
        """Return the passages of a document, with the labels of the tasks that it has gold of.

        A span that is cut continues with an inside label.
        """
        tokens = tokenize(doc.doc.text)
        labels = {}
        for task, kinds in self._types.items():
            if task not in doc.gold:
                continue
            numbers = {label: i for i, label in enumerate(list_labels(kinds))}
            found = label_tokens(tokens, select_spans(doc, task, kinds))
            labels[task] = np.array([numbers[label] for label in found], np.int32)
        return self.encode_tokens(tokens, labels)

    def encode_tokens(
        self, tokens: Tokens, labels: Mapping[str, IntArray] = MappingProxyType({})
    ) -> list[Passage]:
        """Return the passages of a text, with int32 (n_tokens,) labels by task if there are some."""
        gaps, passages = gap_codes(tokens), []
        for first, last in cut_passages(tokens):
            words, n_tokens = tokens.words[first:last], last - first
            further = [embedder.vectors(words, gaps[first:last]) for embedder in self._embedders]
            example = Example(
                words=words,
                word_rows=word_numbers(words, self._rows),
                gaps=gaps[first:last],
                features=np.concatenate([np.zeros((n_tokens, 0), np.float32), *further], axis=1),
                labels=np.zeros(n_tokens, np.int32),
                weights=np.ones(n_tokens, np.float32),
            )
            passages.append(Passage(example, {task: row[first:last] for task, row in labels.items()}))
        return passages


def pad_passages(passages: Sequence[Passage], max_characters: int) -> dict[str, np.ndarray]:
    """Return padded inputs of the network, by name; no passage may be empty."""
    return pad_examples([passage.example for passage in passages], max_characters).inputs


def pad_labels(passages: Sequence[Passage], task: str) -> IntArray:
    """Return the labels of a task, int32 (batch, time), 0 on padding."""
    table = np.zeros((len(passages), max(map(len, passages))), np.int32)
    for row, passage in zip(table, passages, strict=True):
        row[: len(passage)] = passage.labels[task]
    return table


def make_vectors(docs: Iterable[ConceptDocument], dim: int, seed: int) -> WordVectors:
    """Return a vocabulary of the words of at least two documents, with random vectors to learn from."""
    counts = Counter(word for doc in docs for word in {word.lower() for word in tokenize(doc.doc.text).words})
    words = sorted(word for word, count in counts.items() if count >= 2)
    rng = np.random.default_rng(seed)
    return quantise(words, rng.uniform(-0.25, 0.25, (len(words), dim)).astype(np.float32))
