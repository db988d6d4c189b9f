"""A network without rules: what is most probably safe is kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inverse_deid.core.values import Document, Tokens
from inverse_deid.evaluation.counts import Range
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.scorers import feature_columns
from inverse_deid.network.folder import ModelParts
from inverse_deid.network.scorer import Scorer, ScorerInput
from inverse_deid.research.comparison.systems import ranges_of
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import tokenize


class MostProbableClass:
    """Masks every token whose most probable class is not *safe*.

    Args:
        parts: A model; the features of the rules that it reads are computed, their verdicts
            and thresholds are not used.

    Raises:
        ModelError: The model does not fit this version.
    """

    def __init__(self, parts: ModelParts) -> None:
        self._interned = InternedWords()
        self._scorer = Scorer(parts, self._interned)
        self._columns = feature_columns(parts.feature_names)
        self._analyser = RuleAnalyser(load_lexicon(), self._interned)

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """One range a masked token."""
        tokens = [tokenize(doc.text) for doc in docs]
        scores = self._scorer.score(self._inputs(tokens))
        self._interned.trim()
        # A score that is no number is no reason to keep a token: argmax takes it for the largest.
        return [
            ranges_of(one, (found.argmax(axis=1) != 0) | np.isnan(found[:, 0]))
            for one, found in zip(tokens, scores, strict=True)
        ]

    def _inputs(self, tokens: Sequence[Tokens]) -> list[ScorerInput]:
        """What the network reads; the rules run only if it reads some of their features."""
        if not self._columns:
            nothing = [np.zeros((len(one), 0), np.float32) for one in tokens]
            ids = [self._interned.ids(one.words) for one in tokens]
            return [ScorerInput(*read) for read in zip(tokens, ids, nothing, strict=True)]
        return [
            ScorerInput(one, analysis.ids, analysis.features[:, self._columns])
            for one, analysis in zip(tokens, self._analyser.analyse_many(tokens), strict=True)
        ]
