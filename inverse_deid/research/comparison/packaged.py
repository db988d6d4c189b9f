"""The packaged masker and its parts: the rules alone, the network alone, both together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import Document, Tokens
from inverse_deid.evaluation.counts import Range
from inverse_deid.evaluation.evaluation import name_documents
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier, packaged_model
from inverse_deid.masking.scorers import feature_columns
from inverse_deid.network.folder import ModelParts, read_model
from inverse_deid.network.scorer import Scorer, ScorerInput
from inverse_deid.research.comparison.systems import System, ranges_of
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
        """Return one range per masked token."""
        tokens = [tokenize(doc.text) for doc in docs]
        scores = self._scorer.score(self._inputs(tokens))
        self._interned.trim()
        # argmax takes NaN for the largest score; a token with such a score is masked.
        return [
            ranges_of(one, (found.argmax(axis=1) != 0) | np.isnan(found[:, 0]))
            for one, found in zip(tokens, scores, strict=True)
        ]

    def _inputs(self, tokens: Sequence[Tokens]) -> list[ScorerInput]:
        """Return what the network reads; the rules run only if it reads some of their features."""
        if not self._columns:
            nothing = [np.zeros((len(one), 0), np.float32) for one in tokens]
            ids = [self._interned.ids(one.words) for one in tokens]
            return [ScorerInput(*read) for read in zip(tokens, ids, nothing, strict=True)]
        return [
            ScorerInput(one, analysis.ids, analysis.features[:, self._columns])
            for one, analysis in zip(tokens, self._analyser.analyse_many(tokens), strict=True)
        ]


class Packaged(System):
    """A masker as the command `mask` builds it; it was trained before.

    Raises:
        LexiconError: The packaged lexicon is damaged.
        ModelError: The packaged model is damaged.
    """

    def __init__(self, name: str, title: str, source: str, settings: MaskingSettings) -> None:
        self.name, self.title, self.source = name, title, source
        self._deidentifier = build_deidentifier(settings)

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Return the masks as `mask` writes them.

        Raises:
            StageError: A stage failed, and documents were masked whole; as figures they would
                look like perfect recall.
        """
        masked = self._deidentifier.mask_many(docs)
        if failed := [one.id for one in masked if one.failed]:
            raise StageError(
                f"{self.name}: a stage failed on {name_documents(failed)}. "
                "Mask them with `inverse-deid mask` to see the cause"
            )
        return [list(one.masks) for one in masked]


def rules() -> Packaged:
    """Make the rules alone."""
    return Packaged(
        "rules", "Rules alone", "dictionaries and patterns of this package", MaskingSettings(rules_only=True)
    )


def hybrid(name: str, operating_point: str) -> Packaged:
    """Make rules and network together, as `mask` does by default.

    Args:
        name: Of the system.
        operating_point: strict, balanced or lenient.
    """
    return Packaged(
        name,
        f"Hybrid, {operating_point}",
        f"the packaged model at its operating point {operating_point}, with rules and document passes",
        MaskingSettings(operating_point=operating_point),
    )


class Network(System):
    """The packaged network alone: what is most probably safe is kept; it was trained before.

    Raises:
        ModelError: The packaged model is damaged.
    """

    name = "network"
    title = "Network alone"
    source = "the packaged network, most probable class; it reads features of the rules, not their verdicts"

    def __init__(self) -> None:
        self._network = MostProbableClass(read_model(packaged_model()))

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Return one range per masked token."""
        return self._network.masks(docs)
