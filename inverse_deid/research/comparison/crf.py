"""A linear-chain conditional random field over token features (python-crfsuite)."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inverse_deid.core.extras import missing_extra
from inverse_deid.core.values import Document
from inverse_deid.evaluation.counts import Range
from inverse_deid.lexicon import load_lexicon
from inverse_deid.research.comparison.systems import not_fitted, ranges_of
from inverse_deid.research.comparison.token_features import OUTSIDE, TokenFeatures, bio_labels
from inverse_deid.text.tokenizer import tokenize


class ConditionalRandomField:
    """Labels every token with BIO over hyper-classes and masks what is not outside.

    Trained by L-BFGS, which draws nothing at random. A document is one sequence.

    Args:
        lexicon_features: Tell the model what the packaged dictionaries know of each word.
        c1: Weight of the L1 penalty.
        c2: Weight of the L2 penalty.
        max_iterations: Of L-BFGS.

    Raises:
        ConfigurationError: python-crfsuite is not installed.

    Source:
        Lafferty et al. 2001. The two penalties of 0.1 and the 100 iterations are those of the
        CRF of Trienes et al. 2020, "Comparing rule-based, feature-based and deep neural methods
        for de-identification of Dutch medical records"; nothing was tuned here.
    """

    name = "crf"
    title = "Conditional random field"
    source = "Lafferty et al. 2001; python-crfsuite, features as in the 2014 i2b2 task, c1 = c2 = 0.1"

    def __init__(
        self,
        *,
        lexicon_features: bool = True,
        c1: float = 0.1,
        c2: float = 0.1,
        max_iterations: int = 100,
    ) -> None:
        self._suite = _crfsuite()
        self._features = TokenFeatures(load_lexicon() if lexicon_features else None)
        self._params = {
            "c1": c1,
            "c2": c2,
            "max_iterations": max_iterations,
            "feature.possible_transitions": True,
        }
        self._model = b""
        self._tagger: Any = None

    def fit(self, docs: Sequence[Document], seed: int) -> None:
        """Learn; the seed is of no effect."""
        trainer = self._suite.Trainer(algorithm="lbfgs", verbose=False)
        trainer.set_params(self._params)
        for doc in docs:
            tokens = tokenize(doc.text)
            if len(tokens):
                trainer.append(self._features.of(tokens), bio_labels(tokens, doc.spans))
        # The model names words of the training documents and stays in memory, where the tagger reads it.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.crfsuite"
            trainer.train(str(path))
            self._model = path.read_bytes()
        tagger = self._suite.Tagger()
        tagger.open_inmemory(self._model)
        self._tagger = tagger

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """One range a token whose label in the most probable sequence is not outside."""
        if self._tagger is None:
            raise not_fitted(self.name)
        return [self._masks(doc.text) for doc in docs]

    def _masks(self, text: str) -> list[Range]:
        tokens = tokenize(text)
        labels = self._tagger.tag(self._features.of(tokens)) if len(tokens) else []
        return ranges_of(tokens, np.array([label != OUTSIDE for label in labels], np.bool_))


def _crfsuite() -> Any:  # noqa: ANN401 - a package without types
    try:
        import pycrfsuite
    except ImportError as error:
        raise missing_extra("the system crf", "python-crfsuite", "compare") from error
    return pycrfsuite
