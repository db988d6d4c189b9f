"""From annotated documents to what the network reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inverse_deid.assemble import feature_columns, feature_names
from inverse_deid.core.values import Document
from inverse_deid.deep.batches import Example
from inverse_deid.deep.config import NetworkConfig, class_names, class_of
from inverse_deid.deep.encoding import WordVectors, gap_codes, word_numbers
from inverse_deid.lexicon import Lexicon
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.text.alignment import span_of_token
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import tokenize

_DOUBTFUL_FEATURES = (
    "date-of-two-numbers",
    "month-slash-year",
    "bare-year",
    "short-year",
    "is-weekday",
    "after-salutation",
    "in-veto-pattern",
)
"""Where a weakly labelled document calls such a token safe, it may be a date or name that went unmarked."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What tokens weigh in the loss.

    Args:
        phi: A PHI token (a safe one weighs 1).
        document: Factor on all tokens of the document.
        weak: The document may hold PHI that is not marked; doubtful tokens weigh nothing.
    """

    phi: float = 3.0
    document: float = 1.0
    weak: bool = False


class ExampleMaker:
    """Encodes annotated documents for training.

    Args:
        config: The network's configuration.
        lexicon: The dictionaries behind the features.
        vectors: The vocabulary.
    """

    def __init__(self, config: NetworkConfig, lexicon: Lexicon, vectors: WordVectors) -> None:
        self._config = config
        self._numbers = vectors.numbers()
        self._interned = InternedWords()
        self._analyser = RuleAnalyser(lexicon, self._interned)
        self._columns = feature_columns(feature_names(config.feature_set))
        self._doubtful = feature_columns(_DOUBTFUL_FEATURES)
        self._class_number = {name: i for i, name in enumerate(class_names(config.targets))}

    def make(self, doc: Document, weights: Weights) -> Example:
        """Encode one document; a token touched by PHI is PHI."""
        tokens = tokenize(doc.text)
        analysis = self._analyser.analyse(tokens)
        self._interned.trim()
        owners = span_of_token(tokens, doc.spans)
        classes = [self._class_number[class_of(span.type, self._config.targets)] for span in doc.spans]
        labels = np.array([*classes, 0], np.int32)[owners]
        weight = np.where(labels > 0, weights.phi, 1.0) * weights.document
        if weights.weak:
            doubtful = (analysis.features[:, self._doubtful] > 0).any(axis=1)
            weight[doubtful & (labels == 0)] = 0
        return Example(
            words=tokens.words,
            word_rows=word_numbers(tokens.words, self._numbers),
            gaps=gap_codes(tokens),
            features=analysis.features[:, self._columns],
            labels=labels,
            weights=weight.astype(np.float32),
        )
