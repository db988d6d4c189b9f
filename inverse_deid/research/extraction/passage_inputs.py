"""From documents to the passages that the network reads, with the labels of each task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from inverse_deid.core.values import FloatArray, IntArray, Tokens
from inverse_deid.network.batches import Example, pad_examples
from inverse_deid.network.encoding import WordVectors, gap_codes, quantise, word_numbers
from inverse_deid.research.extraction.bio import bio_labels, label_names
from inverse_deid.research.extraction.concepts import ConceptDocument, flat
from inverse_deid.research.extraction.passages import passage_bounds
from inverse_deid.text.tokenizer import tokenize

CONCEPTS, PHI = "concepts", "phi"
"""The two tasks."""
Types = Mapping[str, tuple[str, ...]]
"""The types of each task."""


class Embedder(Protocol):
    """Further vectors of words, made outside the network: subwords, contextual embeddings."""

    @property
    def name(self) -> str:
        """Is stored with the model, which then asks for the same embedder again."""
        ...

    @property
    def dim(self) -> int:
        """Length of a vector."""
        ...

    def vectors(self, words: Sequence[str]) -> FloatArray:
        """Vectors of the words of one passage: float32 (n_words, dim)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A passage as the network reads it.

    Args:
        example: Words, rows of the word matrix, gaps and, as its features, further vectors.
        labels: int32 (n_tokens,) by task, numbers of `label_names`; empty without gold.
    """

    example: Example = field(repr=False)
    labels: Mapping[str, IntArray] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.example)


class PassageMaker:
    """Encodes documents.

    Args:
        vectors: The vocabulary.
        types: Of each task.
        embedders: What gives further vectors.
    """

    def __init__(self, vectors: WordVectors, types: Types, embedders: Sequence[Embedder] = ()) -> None:
        self._numbers = vectors.numbers()
        self._embedders = embedders
        self._types = types
        self._label_numbers = {
            task: {label: i for i, label in enumerate(label_names(names))} for task, names in types.items()
        }

    def of_tokens(self, tokens: Tokens) -> list[Passage]:
        """The passages of a text, without labels."""
        return [Passage(example) for example, _ in self._examples(tokens)]

    def of_gold(self, doc: ConceptDocument) -> list[Passage]:
        """The passages of an annotated document; a span that is cut goes on with an inside label."""
        tokens = tokenize(doc.doc.text)
        labels = {
            task: np.array([numbers[label] for label in self._labels(task, doc, tokens)], np.int32)
            for task, numbers in self._label_numbers.items()
        }
        return [
            Passage(example, {task: row[place] for task, row in labels.items()})
            for example, place in self._examples(tokens)
        ]

    def _examples(self, tokens: Tokens) -> Iterator[tuple[Example, slice]]:
        """The passages of a text, and where they stand in it."""
        gaps = gap_codes(tokens)
        for first, last in passage_bounds(tokens):
            place = slice(first, last)
            yield self._example(tokens.words[place], gaps[place]), place

    def _labels(self, task: str, doc: ConceptDocument, tokens: Tokens) -> list[str]:
        if task == CONCEPTS:
            return bio_labels(tokens, flat(doc.concepts, self._types[task]))
        return bio_labels(tokens, [span for span in doc.doc.spans if span.type in self._types[task]])

    def _example(self, words: list[str], gaps: IntArray) -> Example:
        n_tokens = len(words)
        further = [embedder.vectors(words) for embedder in self._embedders]
        return Example(
            words=words,
            word_rows=word_numbers(words, self._numbers),
            gaps=gaps,
            features=np.concatenate([np.zeros((n_tokens, 0), np.float32), *further], axis=1),
            labels=np.zeros(n_tokens, np.int32),
            weights=np.ones(n_tokens, np.float32),
        )


def network_inputs(passages: Sequence[Passage], max_characters: int) -> dict[str, np.ndarray]:
    """Padded inputs of the network, by name, for passages that are not empty."""
    return pad_examples([passage.example for passage in passages], max_characters).inputs


def padded_labels(passages: Sequence[Passage]) -> dict[str, IntArray]:
    """int32 (batch, time) by task, 0 on padding."""
    longest = max(map(len, passages))
    tables = {}
    for task in passages[0].labels:
        table = np.zeros((len(passages), longest), np.int32)
        for row, passage in zip(table, passages, strict=True):
            row[: len(passage)] = passage.labels[task]
        tables[task] = table
    return tables


def learnable_vectors(docs: Iterable[ConceptDocument], dim: int, seed: int, least: int = 2) -> WordVectors:
    """A vocabulary of the words of at least `least` documents, with random vectors to learn from."""
    counts = Counter(word for doc in docs for word in {word.lower() for word in tokenize(doc.doc.text).words})
    words = sorted(word for word, count in counts.items() if count >= least)
    rng = np.random.default_rng(seed)
    return quantise(words, rng.uniform(-0.25, 0.25, (len(words), dim)).astype(np.float32))
