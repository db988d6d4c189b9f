"""Score the tokens of a text with a network over a representation, for `mask`.

The network was trained and its thresholds were calibrated on vectors with one draw of noise a
sentence. So every sentence is read with one draw here, too, which its own words decide: one
sentence always gets one answer, whatever stands around it. Each document is read alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from inverse_deid.core.values import FloatArray, Tokens
from inverse_deid.deep.encoding import word_numbers
from inverse_deid.deep.sentences import sentence_bounds
from inverse_deid.representations.batches import VectorSentence, padded, stacked
from inverse_deid.representations.casing import casings
from inverse_deid.representations.folders import PrivateNetwork
from inverse_deid.representations.sentences import LONGEST
from inverse_deid.representations.tagger import N_CLASSES
from inverse_deid.representations.weights import load_representer, load_tagger

_BATCH = 64


class PrivateScorer:
    """Class probabilities of tokens, through the representation.

    Args:
        network: From `read_network`.

    Raises:
        ModelError: The weights do not fit.
    """

    def __init__(self, network: PrivateNetwork) -> None:
        vectors = network.representation.word_vectors
        self._numbers, self._matrix = vectors.numbers(), vectors.matrix()
        self._representer = load_representer(network.representation)
        self._tagger = load_tagger(network)

    def probabilities(self, tokens: Tokens) -> FloatArray:
        """float32 (n_tokens, n_classes), classes of `HyperClass`; the first is `p_safe`."""
        found = np.full((len(tokens), N_CLASSES), np.nan, np.float32)
        bounds = sentence_bounds(tokens, LONGEST)
        rows, written = word_numbers(tokens.words, self._numbers), casings(tokens.words)
        for start in range(0, len(bounds), _BATCH):
            parts = [slice(*bound) for bound in bounds[start : start + _BATCH]]
            sentences = [
                VectorSentence(self._matrix[rows[part]], written[part], np.zeros(0, np.int32))
                for part in parts
            ]
            noises = [noise_of(tokens.words[part]) for part in parts]
            for part, answer in zip(parts, self._answers(sentences, noises), strict=True):
                found[part] = answer[: part.stop - part.start]
        return found

    def _answers(
        self, sentences: Sequence[VectorSentence], noises: Sequence[np.random.Generator]
    ) -> FloatArray:
        """float32 (batch, time, n_classes)."""
        batch = padded(sentences)
        dims = (batch.vectors.shape[2], self._representer.output_shape[-1])
        draws = (
            stacked(
                [
                    rng.standard_normal((len(one), dim), np.float32)
                    for one, rng in zip(sentences, noises, strict=True)
                ],
                batch.valid.shape[1],
                np.float32,
            )
            for dim in dims
        )
        private = self._representer.predict_on_batch([batch.vectors, *draws, batch.valid])
        return np.asarray(self._tagger.predict_on_batch([private, batch.casings, batch.valid]), np.float32)


def noise_of(words: Sequence[str]) -> np.random.Generator:
    """The noise of a sentence when masking: drawn at random, yet the same for the same words.

    Example:
        >>> first, again = noise_of(["a", "rash"]), noise_of(["a", "rash"])
        >>> bool(first.random() == again.random())
        True
    """
    return np.random.default_rng(int.from_bytes(hashlib.sha256("\0".join(words).encode()).digest()))
