"""Score the tokens of a text with a network over a representation, for `mask`.

The noise protects shared data. Masking shares nothing, so texts are read without noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inverse_deid.core.values import FloatArray, RuleAnalysis, Tokens
from inverse_deid.masking.pipeline import Scores
from inverse_deid.network.encoding import word_numbers
from inverse_deid.research.representations.casing import casings
from inverse_deid.research.representations.encoding import encoded
from inverse_deid.research.representations.folders import PrivateNetwork
from inverse_deid.research.representations.sentences import LONGEST, Sentence
from inverse_deid.research.representations.tagger import N_CLASSES, class_probabilities
from inverse_deid.research.representations.weights import load_representer, load_tagger
from inverse_deid.research.sentences import sentence_bounds


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
        parts = [slice(*bound) for bound in sentence_bounds(tokens, LONGEST)]
        rows, written = word_numbers(tokens.words, self._numbers), casings(tokens.words)
        unknown = np.zeros(len(tokens), np.int32)
        sentences = [Sentence(rows[part], written[part], unknown[part]) for part in parts]
        private = encoded(self._representer, sentences, self._matrix, None)
        for part, answer in zip(parts, class_probabilities(self._tagger, private), strict=True):
            found[part] = answer
        return found

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        """Score the tokens of each document as the pipeline asks for it."""
        del analyses  # the network reads words and casing alone
        found = [self.probabilities(one) for one in tokens]
        return [Scores(one[:, 0], (one[:, 1:].argmax(axis=1) + 1).astype(np.uint8)) for one in found]
