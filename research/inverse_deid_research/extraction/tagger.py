"""A trained extractor: it finds concepts and identifiers, and is kept in a folder.

::

    manifest.json      format, provenance, sha256 of every other file, seal over all this
    config.json        kind and sizes, types of each task, names of further embedders
    words.txt          the words with a vector, one per line
    word_vectors.npz   int8 codes and float32 scale of their vectors
    weights.npz        all other weights

The folder is written whole or not at all, and checked before it is used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from inverse_deid.core.errors import ConfigurationError, ModelError
from inverse_deid.core.files import write_folder
from inverse_deid.core.settings import as_plain_values, make_settings
from inverse_deid.core.values import FloatArray, IntArray, Tokens
from inverse_deid.network.encoding import WordVectors
from inverse_deid.network.folder import read_checked_manifest, refuse_other_folder, write_manifest
from inverse_deid.network.scorer import marginals
from inverse_deid.text.tokenizer import tokenize
from inverse_deid_research.extraction.concepts import CONCEPTS, ConceptSpan, Types, list_labels, read_labels
from inverse_deid_research.extraction.config import ExtractorConfig
from inverse_deid_research.extraction.network import TaggerNetwork, build_tagger_network
from inverse_deid_research.extraction.passages import Embedder, Passage, PassageMaker, pad_passages


def best_path(scores: FloatArray, transitions: FloatArray) -> IntArray:
    """Return the most probable sequence of classes, int32 (n_tokens,), given its scores.

    Scores are float32 (n_tokens, n_classes), transitions float32 (n_classes, n_classes), from row to column.
    Of equally probable sequences that of the lower classes at the end is returned.

    Source:
        Viterbi 1967; Rabiner 1989, section III B.
    """
    best = np.zeros_like(scores, np.float64)
    came_from = np.zeros(scores.shape, np.int32)
    path = np.zeros(len(scores), np.int32)
    if not len(scores):
        return path
    best[0] = scores[0]
    for t in range(1, len(scores)):
        reached = best[t - 1][:, None] + transitions
        came_from[t] = reached.argmax(axis=0)
        best[t] = reached.max(axis=0) + scores[t]
    path[-1] = best[-1].argmax()
    for t in range(len(scores) - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return path


FORMAT = "inverse-deid research extraction 3"
_FILES = ("config.json", "words.txt", "word_vectors.npz", "weights.npz")
_BATCH = 64
"""Passages that are scored at a time."""

Found = Mapping[str, tuple[ConceptSpan, ...]]
"""The spans found in a text, by task."""


@dataclass(frozen=True, slots=True, eq=False)
class Tagger:
    """An extractor with everything that it needs to read a text."""

    config: ExtractorConfig
    types: Types
    vectors: WordVectors = field(repr=False)
    network: TaggerNetwork = field(repr=False)
    embedders: tuple[Embedder, ...] = field(default=(), repr=False)

    def passage_maker(self) -> PassageMaker:
        return PassageMaker(self.vectors, self.types, self.embedders)

    def find(self, texts: Sequence[str]) -> list[Found]:
        """Return the concepts and, of the joint kinds, the identifiers of each text.

        They are the best path of their CRF. The identifiers of a stacked model are the most probable
        class of each token instead, which is exactly what its extractor cannot see.
        """
        tokens = [tokenize(text) for text in texts]
        return self.find_in(tokens, list(map(self.passage_maker().encode_tokens, tokens)))

    def find_in(self, tokens: Sequence[Tokens], passages: Sequence[Sequence[Passage]]) -> list[Found]:
        """Do the same as `find` with the tokens and passages of texts."""
        labels = iter(self.label([passage for one in passages for passage in one]))
        found: list[Found] = []
        for each, members in zip(tokens, passages, strict=True):
            rows = [next(labels) for _ in members]
            spans = {}
            for task, kinds in self.types.items():
                names = list_labels(kinds)
                spans[task] = read_labels(each, [names[i] for row in rows for i in row[task].tolist()])
            found.append(spans)
        return found

    def label(self, passages: Sequence[Passage]) -> list[dict[str, IntArray]]:
        """Return int32 (n_tokens,) by task, numbers of `list_labels`; no passage may be empty."""
        order = sorted(range(len(passages)), key=lambda i: len(passages[i]))
        found: list[dict[str, IntArray]] = [{} for _ in passages]
        for start in range(0, len(order), _BATCH):
            members = order[start : start + _BATCH]
            inputs = pad_passages([passages[i] for i in members], self.network.max_characters)
            names = [tensor.name for tensor in self.network.scorer.inputs]
            scores = self.network.scorer.predict_on_batch({name: inputs[name] for name in names})
            for task, table in scores.items():
                rows = self._decode(task, np.asarray(table), inputs["valid"])
                for row, member in zip(rows, members, strict=True):
                    found[member][task] = row[: len(passages[member])]
        return found

    def _decode(self, task: str, scores: FloatArray, valid: np.ndarray) -> list[IntArray]:
        transitions = np.asarray(self.network.crf(task).transitions)
        if task == CONCEPTS or self.config.kind != "stacked":
            return [best_path(row[:n], transitions) for row, n in zip(scores, valid.sum(axis=1), strict=True)]
        return list(marginals(scores, valid, transitions).argmax(axis=2).astype(np.int32))

    def list_stored_weights(self) -> list[Any]:
        """Return the variables that are stored as weights: all except fixed word vectors."""
        variables = self.network.model.weights
        is_learned = self.config.learn_words
        return [one for one in variables if is_learned or not one.path.startswith("word_embedding/")]


def new_tagger(
    config: ExtractorConfig,
    types: Types,
    vectors: WordVectors,
    embedders: Sequence[Embedder] = (),
    *,
    seed: int = 0,
) -> Tagger:
    """Return an extractor with fresh weights, for the types of one task or, of the joint kinds, of both.

    The seed is that of the draws of a stacked model; weights follow the seed of Keras.
    """
    n_further = sum(embedder.dim for embedder in embedders)
    network = build_tagger_network(config, types, vectors.matrix(), n_further=n_further, seed=seed)
    return Tagger(config, types, vectors, network, tuple(embedders))


def write_tagger(tagger: Tagger, folder: Path, provenance: Mapping[str, Any]) -> None:
    """Write the folder; an older one of that name is replaced when the new one is complete.

    The provenance is of free form (data hashes, seed, settings) and contains no narrative text.

    Raises:
        ModelError: The folder exists and is not a model folder.
        OutputError: It cannot be written.
    """

    def write_files(staging: Path) -> None:
        config = {
            "extractor": as_plain_values(tagger.config),
            "types": {task: list(kinds) for task, kinds in tagger.types.items()},
            "embedders": [embedder.name for embedder in tagger.embedders],
        }
        vectors, weights = tagger.vectors, tagger.list_stored_weights()
        (staging / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
        (staging / "words.txt").write_text("".join(f"{word}\n" for word in vectors.words), encoding="utf-8")
        np.savez_compressed(staging / "word_vectors.npz", codes=vectors.codes, scale=vectors.scale)
        arrays: dict[str, Any] = {str(i): weight for i, weight in enumerate(weights)}
        np.savez_compressed(staging / "weights.npz", **arrays)
        write_manifest(staging, {"format": FORMAT, "provenance": dict(provenance)}, _FILES)

    refuse_other_folder(folder)
    write_folder(folder, write_files)


def read_tagger(folder: Path, embedders: Sequence[Embedder] = ()) -> Tagger:
    """Read an extractor, with the embedders that it was trained with, after checking its folder.

    Raises:
        ModelError: Missing, damaged, altered, of another format, or with other embedders.
    """
    read_checked_manifest(folder, FORMAT, _FILES)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        words = (folder / "words.txt").read_text(encoding="utf-8").splitlines()
        with np.load(folder / "word_vectors.npz", allow_pickle=False) as arrays:
            vectors = WordVectors(tuple(words), arrays["codes"], arrays["scale"])
        if config["embedders"] != [embedder.name for embedder in embedders]:
            raise ModelError(f"{folder}: trained with the embedders {config['embedders']}. Give the same")
        types = {str(task): tuple(kinds) for task, kinds in config["types"].items()}
        tagger = new_tagger(make_settings(config["extractor"], ExtractorConfig), types, vectors, embedders)
        with np.load(folder / "weights.npz", allow_pickle=False) as arrays:
            for i, variable in enumerate(tagger.list_stored_weights()):
                variable.assign(arrays[str(i)])
    except (KeyError, ValueError, OSError, ConfigurationError) as error:
        raise ModelError(f"{folder}: damaged ({type(error).__name__}). Train it again") from error
    return tagger
