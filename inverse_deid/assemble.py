"""From settings to a ready pipeline. With `learning` the only place that knows rules and network."""

from __future__ import annotations

import hashlib
import importlib.resources
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inverse_deid.combine import Thresholds
from inverse_deid.core.errors import ConfigurationError, ModelError
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass
from inverse_deid.core.values import FloatArray, RuleAnalysis, Tokens
from inverse_deid.deep.config import FeatureSet
from inverse_deid.deep.folder import ModelParts, model_fingerprint, read_model
from inverse_deid.deep.scorer import Scorer, ScorerInput
from inverse_deid.document_passes import PhraseList
from inverse_deid.lexicon import load_lexicon
from inverse_deid.pipeline import Deidentifier, Scores, Stages
from inverse_deid.replacement.markers import category_marker, fixed_marker
from inverse_deid.rules.allowlist import Policy
from inverse_deid.rules.analysis import FEATURE_NAMES, RuleAnalyser
from inverse_deid.text.interning import InternedWords

CASING_FEATURES = (
    "all-lower-case",
    "all-upper-case",
    "has-capital-beginning",
    "is-salutation",
    "after-salutation",
)
"""What variants c and d of the thesis give the network besides characters and words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingSettings:
    """What the user can choose when masking.

    Args:
        model: Model folder; None = the packaged one.
        lexicon: Lexicon artefact; None = the packaged one.
        policy: How the rules judge ambiguous words.
        rules_only: Decide without the network.
        marker: Stands for masked text.
        category_markers: Show the suspected category instead.
        operating_point: Which of the model's threshold pairs: strict, balanced or lenient.
        low: Threshold where the rules say safe; None = the operating point's.
        high: Threshold where they do not; None = the operating point's.
        allow: Words to keep, in any case.
        deny: Words and phrases to mask, in any case, with or without accents.
        n_threads: Threads of the network, 0 = one a core.
    """

    model: Path | None = None
    lexicon: Path | None = None
    policy: Policy = "case-aware"
    rules_only: bool = False
    marker: str = "PHI"
    category_markers: bool = False
    operating_point: str = "balanced"
    low: float | None = None
    high: float | None = None
    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    n_threads: int = 0


def packaged_model() -> Path:
    """Folder of the model that is shipped with the package."""
    return Path(str(importlib.resources.files("inverse_deid") / "data" / "model"))


def build_deidentifier(settings: MaskingSettings) -> Deidentifier:
    """Load lexicon and model and wire the stages.

    Raises:
        LexiconError: The lexicon is missing or damaged.
        ModelError: The model is missing, damaged or does not fit this version.
        ConfigurationError: Thresholds or marker out of range.
    """
    lexicon = load_lexicon(settings.lexicon)
    interned = InternedWords()
    folder = settings.model or packaged_model()
    Thresholds(settings.low or 0.0, 1.0 if settings.high is None else settings.high)
    thresholds, scorer = Thresholds(1.0, 1.0), None
    if not settings.rules_only:
        parts = read_model(folder)
        thresholds = _thresholds(parts, settings)
        scorer = _NetworkScorer(parts, interned, settings.n_threads)
    fixed = fixed_marker(settings.marker)
    stages = Stages(
        analyser=RuleAnalyser(lexicon, interned, settings.policy),
        scorer=scorer,
        thresholds=thresholds,
        marker_for=category_marker(settings.marker) if settings.category_markers else fixed,
        allow=PhraseList(sorted(settings.allow)),
        deny=PhraseList(sorted(settings.deny)),
        between_batches=interned.trim,
    )
    model_hash = "" if settings.rules_only else model_fingerprint(folder)
    return Deidentifier(stages, _fingerprint(settings, thresholds, lexicon.sha256, model_hash))


def _thresholds(parts: ModelParts, settings: MaskingSettings) -> Thresholds:
    pair = parts.operating_points.get(settings.operating_point)
    if pair is None:
        known = ", ".join(parts.operating_points)
        raise ConfigurationError(
            f"the model has no operating point {settings.operating_point!r}; it has {known}"
        )
    if settings.low is None and settings.high is None:
        return Thresholds(**pair)
    # Thresholds of the user's own hold in every document alike.
    low = pair["low"] if settings.low is None else settings.low
    high = pair["high"] if settings.high is None else settings.high
    return Thresholds(low, high)


def _fingerprint(settings: MaskingSettings, thresholds: Thresholds, *hashes: str) -> str:
    """Changes with everything that can change the output, not with the number of threads."""
    choices = (
        settings.policy,
        settings.rules_only,
        settings.marker,
        settings.category_markers,
        thresholds.low,
        thresholds.high,
        thresholds.density_slope,
        sorted(settings.allow),
        sorted(settings.deny),
        *hashes,
    )
    return hashlib.sha256(repr(choices).encode()).hexdigest()


def feature_names(feature_set: FeatureSet) -> tuple[str, ...]:
    """The rule features that a network of this feature set reads, in order."""
    return {"none": (), "casing": CASING_FEATURES, "all": FEATURE_NAMES}[feature_set]


def feature_columns(names: Sequence[str]) -> list[int]:
    """Columns of `RuleAnalysis.features` by name.

    Raises:
        ModelError: The rules of this version do not compute one of them.
    """
    missing = [name for name in names if name not in FEATURE_NAMES]
    if missing:
        raise ModelError(
            f"the model reads features this version lacks ({', '.join(missing)}); train it again"
        )
    return [FEATURE_NAMES.index(name) for name in names]


class _NetworkScorer:
    """The exported network behind the pipeline's protocol."""

    def __init__(self, parts: ModelParts, interned: InternedWords, n_threads: int) -> None:
        self._scorer = Scorer(parts, interned, n_threads)
        columns = feature_columns(parts.feature_names)
        self._columns = None if columns == list(range(len(FEATURE_NAMES))) else np.array(columns, np.intp)
        self._hyper = _hyper_of_class(self._scorer.class_names)

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        inputs = [
            ScorerInput(t, analysis.ids, self._chosen(analysis.features))
            for t, analysis in zip(tokens, analyses, strict=True)
        ]
        return [self._scores(found) for found in self._scorer.score(inputs)]

    def _chosen(self, features: FloatArray) -> FloatArray:
        return features if self._columns is None else features[:, self._columns]

    def _scores(self, probabilities: FloatArray) -> Scores:
        best = probabilities[:, 1:].argmax(axis=1) + 1
        return Scores(probabilities[:, 0], self._hyper[best])


def _hyper_of_class(class_names: Sequence[str]) -> np.ndarray:
    """uint8 (n_classes,): index into `HyperClass` of each class, 0 where it has none."""
    order = list(HyperClass)
    fine = {phi_type.value: hyper for phi_type, hyper in HYPER_CLASS_OF.items()}
    hyper = {h.value: h for h in HyperClass}
    found = [hyper.get(name) or fine.get(name) or HyperClass.SAFE for name in class_names]
    return np.array([order.index(h) for h in found], np.uint8)
