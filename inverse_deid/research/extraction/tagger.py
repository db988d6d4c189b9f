"""A trained extractor: reads texts, finds concepts and identifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from inverse_deid.core.values import FloatArray, IntArray, Tokens
from inverse_deid.network.chain import marginals
from inverse_deid.network.encoding import WordVectors
from inverse_deid.research.best_path import best_path
from inverse_deid.research.extraction.bio import label_names, spans_of
from inverse_deid.research.extraction.concepts import ConceptSpan
from inverse_deid.research.extraction.config import TaggerConfig
from inverse_deid.research.extraction.network import TaggerNetwork, build_tagger
from inverse_deid.research.extraction.passage_inputs import (
    CONCEPTS,
    Embedder,
    Passage,
    PassageMaker,
    Types,
    network_inputs,
)
from inverse_deid.text.tokenizer import tokenize

_PASSAGES = 64
"""Scored at a time."""

Found = Mapping[str, tuple[ConceptSpan, ...]]
"""What was found in a text, by task."""


@dataclass(frozen=True, slots=True, eq=False)
class Tagger:
    """An extractor with all that it needs to read a text.

    Args:
        config: Its kind and sizes.
        types: The types of each task.
        vectors: Its vocabulary.
        network: The network.
        embedders: What gives further vectors.
    """

    config: TaggerConfig
    types: Types
    vectors: WordVectors = field(repr=False)
    network: TaggerNetwork = field(repr=False)
    embedders: tuple[Embedder, ...] = field(default=(), repr=False)

    def passage_maker(self) -> PassageMaker:
        """Encodes documents for it."""
        return PassageMaker(self.vectors, self.types, self.embedders)

    def find(self, texts: Sequence[str]) -> list[Found]:
        """Concepts and, of the joint kinds, identifiers of each text.

        They are the best path of their CRF, but the identifiers of a stacked model, which are
        the most probable class of each token: just what its extractor cannot see.
        """
        maker = self.passage_maker()
        tokens = [tokenize(text) for text in texts]
        return self.find_in(tokens, [maker.of_tokens(each) for each in tokens])

    def find_in(self, tokens: Sequence[Tokens], passages: Sequence[Sequence[Passage]]) -> list[Found]:
        """As `find`, of texts whose tokens and passages are made already."""
        labels = iter(self.labels([passage for found in passages for passage in found]))
        return [
            self._found(each, [next(labels) for _ in found])
            for each, found in zip(tokens, passages, strict=True)
        ]

    def _found(self, tokens: Tokens, labels: Sequence[Mapping[str, IntArray]]) -> Found:
        return {
            task: spans_of(tokens, [label_names(kinds)[i] for found in labels for i in found[task].tolist()])
            for task, kinds in self.types.items()
        }

    def labels(self, passages: Sequence[Passage]) -> list[dict[str, IntArray]]:
        """int32 (n_tokens,) by task, numbers of `label_names`, of each passage; none is empty."""
        order = sorted(range(len(passages)), key=lambda i: len(passages[i]))
        found: list[dict[str, IntArray]] = [{} for _ in passages]
        for start in range(0, len(order), _PASSAGES):
            members = order[start : start + _PASSAGES]
            inputs = network_inputs([passages[i] for i in members], self.config.max_characters)
            names = [tensor.name for tensor in self.network.scorer.inputs]
            scores = self.network.scorer.predict_on_batch({name: inputs[name] for name in names})
            for task, table in scores.items():
                rows = self._decoded(task, np.asarray(table), inputs["valid"])
                for row, member in zip(rows, members, strict=True):
                    found[member][task] = row[: len(passages[member])]
        return found

    def _decoded(self, task: str, scores: FloatArray, valid: np.ndarray) -> list[IntArray]:
        transitions = np.asarray(self.network.crf(task).transitions)
        if task == CONCEPTS or self.config.kind != "stacked":
            return [best_path(row[:n], transitions) for row, n in zip(scores, valid.sum(axis=1), strict=True)]
        return list(marginals(scores, valid, transitions).argmax(axis=2).astype(np.int32))


def new_tagger(
    config: TaggerConfig,
    types: Types,
    vectors: WordVectors,
    embedders: Sequence[Embedder] = (),
    *,
    seed: int = 0,
) -> Tagger:
    """An extractor with fresh weights.

    Args:
        config: Kind and sizes.
        types: The types of each task; both tasks for the joint kinds.
        vectors: The vocabulary.
        embedders: What gives further vectors.
        seed: Of the draws of a stacked model; weights follow the seed of Keras.
    """
    n_further = sum(embedder.dim for embedder in embedders)
    network = build_tagger(config, types, vectors.matrix(), n_further=n_further, seed=seed)
    return Tagger(config, types, vectors, network, tuple(embedders))
