"""A linear support vector machine over hashed token features (scikit-learn)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from inverse_deid.core.extras import missing_extra
from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import BoolArray, Document
from inverse_deid.evaluation.counts import Range
from inverse_deid.lexicon import load_lexicon
from inverse_deid.research.comparison.systems import not_fitted, ranges_of
from inverse_deid.research.comparison.token_features import TokenFeatures, hyper_labels
from inverse_deid.text.tokenizer import tokenize

N_HASHED = 2**20
"""Columns that features are hashed to."""

TOLERANCE = 0.1
"""Where optimisation stops: LIBLINEAR's own default for the dual problem."""


class SupportVectorMachine:
    """Gives every token a hyper-class by itself, from a window of features, and masks what is not safe.

    One machine a class against all others, each class weighted by the inverse of its
    frequency, so that it leans to masking.

    Args:
        lexicon_features: Tell the model what the packaged dictionaries know of each word.
        c: The inverse of the penalty's weight.

    Raises:
        ConfigurationError: scikit-learn is not installed.

    Source:
        Fan et al. 2008, "LIBLINEAR"; nothing was tuned here.
    """

    name = "svm"
    title = "Linear support vector machine"
    source = "LIBLINEAR (Fan et al. 2008) by scikit-learn, features of the crf, weighted classes, C = 0.1"

    def __init__(self, *, lexicon_features: bool = True, c: float = 0.1) -> None:
        self._hasher, self._svc = _parts()
        self._features = TokenFeatures(load_lexicon() if lexicon_features else None)
        self._c = c
        self._model: Any = None

    def fit(self, docs: Sequence[Document], seed: int) -> None:
        """Learn; the seed orders the tokens in optimisation."""
        tokens = [tokenize(doc.text) for doc in docs]
        labels = [
            label for one, doc in zip(tokens, docs, strict=True) for label in hyper_labels(one, doc.spans)
        ]
        rows = (features for one in tokens for features in self._features.of(one))
        model = self._svc(C=self._c, class_weight="balanced", dual=True, tol=TOLERANCE, random_state=seed)
        self._model = model.fit(self._hashed(rows), labels)

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """One range a token that is not safe."""
        if self._model is None:
            raise not_fitted(self.name)
        tokens = [tokenize(doc.text) for doc in docs]
        # All at once: each prediction costs a copy of the weights.
        is_masked = self._is_masked([features for one in tokens for features in self._features.of(one)])
        ends = np.cumsum([len(one) for one in tokens])
        return [
            ranges_of(one, is_masked[end - len(one) : end]) for one, end in zip(tokens, ends, strict=True)
        ]

    def _is_masked(self, rows: Sequence[Sequence[str]]) -> BoolArray:
        """Whether the class of each token is not safe: bool (n_rows,)."""
        if not rows:
            return np.zeros(0, np.bool_)
        return np.asarray(self._model.predict(self._hashed(rows)) != HyperClass.SAFE.value, np.bool_)

    def _hashed(self, rows: Iterable[Sequence[str]]) -> Any:  # noqa: ANN401 - a SciPy matrix
        return self._hasher.transform(rows)


def _parts() -> tuple[Any, Any]:
    try:
        from sklearn.feature_extraction import FeatureHasher
        from sklearn.svm import LinearSVC
    except ImportError as error:
        raise missing_extra("the system svm", "scikit-learn", "compare") from error
    return FeatureHasher(N_HASHED, input_type="string"), LinearSVC
