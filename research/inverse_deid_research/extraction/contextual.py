"""Contextual vectors of a pre-trained encoder, computed once per corpus and read by every training.

Source: Lange, Adel and Strötgen 2020, section 4.1, for the mean of the last four layers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import FloatArray, IntArray
from inverse_deid.network.encoding import gap_codes
from inverse_deid.network.pieces import Vocabulary, encode_window, join_windows
from inverse_deid.text.tokenizer import tokenize
from inverse_deid_research.extraction.passages import cut_passages
from inverse_deid_research.studies.records import read_arrays, write_arrays

_LAYERS = 4
_BATCH = 32
"""Passages that the encoder reads at a time."""


class StoredVectors:
    """The embedder of a file that `store_vectors` wrote.

    Raises:
        UnreadableInputError: The file is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        arrays = read_arrays(path)
        self.name = str(arrays["name"])
        self._path, self._vectors = path, arrays["vectors"]
        self.dim = int(self._vectors.shape[1])
        self._starts = dict(zip(arrays["keys"].tolist(), arrays["starts"].tolist(), strict=True))

    def vectors(self, words: Sequence[str], gaps: IntArray) -> FloatArray:
        """Return the vectors of a passage: float32 (n_words, dim).

        Raises:
            ConfigurationError: The file has no such passage.
        """
        start = self._starts.get(_key(words, gaps))
        if start is None:
            raise ConfigurationError(
                f"{self._path}: lacks a passage of the documents. Make it again with "
                "`research extraction embed`"
            )
        found: FloatArray = self._vectors[start : start + len(words)].astype(np.float32)
        return found


def store_vectors(texts: Sequence[str], weights: Path, out: Path) -> int:
    """Write the vectors of the passages of texts, float16, under hashes; return how many passages.

    `weights` is the folder of a BERT or MPNet encoder. A token has the vector of its first word piece, the
    mean of the last four layers.

    Raises:
        ConfigurationError: The folder is not that of such an encoder.
        OutputError: The file cannot be written.
    """
    import keras

    from inverse_deid.training.encoders.encoder import read_pretrained

    body, pieces = read_pretrained(weights)
    vocabulary = Vocabulary(pieces)
    passages = sorted(dict(_cut(texts)).items(), key=lambda item: len(item[1][0]))
    found = []
    for start in range(0, len(passages), _BATCH):
        windows = [
            encode_window(words, gaps, np.zeros((len(words), 0), np.float32), vocabulary)
            for _, (words, gaps) in passages[start : start + _BATCH]
        ]
        inputs = join_windows(windows, vocabulary.pad)
        states = body.states(inputs["pieces"], inputs["lengths"])[-_LAYERS:]
        mean = np.mean([keras.ops.convert_to_numpy(one) for one in states], axis=0)
        found.append(mean.reshape(-1, mean.shape[-1])[inputs["first"]].astype(np.float16))
    sizes = [len(words) for _, (words, _) in passages]
    arrays = {
        "name": np.array(hashlib.sha256((weights / "model.safetensors").read_bytes()).hexdigest()),
        "keys": np.array([key for key, _ in passages]),
        "starts": np.cumsum([0, *sizes[:-1]]),
        "vectors": np.concatenate(found),
    }
    write_arrays(out, arrays)
    return len(passages)


def _cut(texts: Sequence[str]) -> Iterator[tuple[str, tuple[Sequence[str], IntArray]]]:
    for text in texts:
        tokens = tokenize(text)
        gaps = gap_codes(tokens)
        for first, last in cut_passages(tokens):
            words, after = tokens.words[first:last], gaps[first:last]
            yield _key(words, after), (words, after)


def _key(words: Sequence[str], gaps: IntArray) -> str:
    # The file contains no text.
    return hashlib.sha256("\0".join(words).encode("utf-8", "replace") + gaps.tobytes()).hexdigest()
