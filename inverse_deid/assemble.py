"""From settings to a ready pipeline. With `learning` the only place that knows rules and network."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from inverse_deid import __version__
from inverse_deid.combine import Thresholds
from inverse_deid.core.errors import ConfigurationError, FormatError, ModelError, UnreadableInputError
from inverse_deid.core.extras import missing_extra
from inverse_deid.core.packaged import packaged_path
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass
from inverse_deid.core.seals import is_sealed
from inverse_deid.core.values import FloatArray, RuleAnalysis, Tokens
from inverse_deid.deep.config import FeatureSet
from inverse_deid.deep.folder import ModelParts, model_fingerprint, read_model
from inverse_deid.deep.scorer import Device, Scorer, ScorerInput
from inverse_deid.document_passes import PhraseList
from inverse_deid.lexicon import SAFE_FLAGS, load_lexicon
from inverse_deid.pipeline import Deidentifier, Scores, Stages, TokenScorer
from inverse_deid.replacement.markers import category_marker, fixed_marker
from inverse_deid.representations.folders import (
    NETWORK,
    REPRESENTATION,
    PrivateNetwork,
    folder_kind,
    read_network,
)
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

CERTIFICATE_FORMAT = "inverse-deid certificate"
CERTIFICATE_VERSION = 1


LEAST_LOW, LEAST_HIGH, MOST_SLOPE = 0.25, 0.5, 0.5
"""Beyond these, thresholds are low: a word would be kept although it is more probably PHI than not.

Only what dictionaries and rules call safe may be kept below 0.5, at odds of one to three or better.
All operating points of the packaged model are within.
"""


OperatingPoints = Mapping[str, Mapping[str, float]]
"""`low`, `high` and `density_slope` of each operating point, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingSettings:
    """What the user can choose when masking.

    Args:
        model: Model folder, or one that `share train` wrote; None = the packaged one.
        lexicon: Lexicon artefact; None = the packaged one.
        policy: How the rules judge ambiguous words.
        rules_only: Decide without the network.
        marker: Stands for masked text.
        category_markers: Show the suspected category instead.
        operating_point: Which of the model's threshold pairs: strict, balanced or lenient;
            None = balanced.
        low: Threshold where the rules say safe; None = the operating point's.
        high: Threshold where they do not; None = the operating point's.
        certificate: What `inverse-deid calibrate` wrote; brings the thresholds, and goes with no
            other choice that could keep more words.
        allow_low_thresholds: Mask even if `low` is below `LEAST_LOW`, `high` below `LEAST_HIGH` or
            the slope of density above `MOST_SLOPE`, wherever they come from.
        allow: Words to keep, in any case.
        deny: Words and phrases to mask, in any case, with or without accents.
        n_threads: Threads of the network, 0 = one a core.
        device: Where the network runs; "cuda" needs the package onnxruntime-gpu.
    """

    model: Path | None = None
    lexicon: Path | None = None
    policy: Policy = "case-aware"
    rules_only: bool = False
    marker: str = "PHI"
    category_markers: bool = False
    operating_point: str | None = None
    low: float | None = None
    high: float | None = None
    certificate: Path | None = None
    allow_low_thresholds: bool = False
    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    n_threads: int = 0
    device: Device = "cpu"


def packaged_model() -> Path:
    """Folder of the model that is shipped with the package."""
    return packaged_path("model")


@dataclass(frozen=True, slots=True, eq=False)
class Assembly:
    """A wired pipeline and the hashes of what it was made of.

    Args:
        stages: Rules, network, thresholds and replacement.
        model_sha256: `model_fingerprint`; "" = no network.
        lexicon_sha256: `Lexicon.sha256`.
    """

    stages: Stages
    model_sha256: str
    lexicon_sha256: str


def build_deidentifier(settings: MaskingSettings) -> Deidentifier:
    """Load lexicon and model and wire the stages.

    Raises:
        LexiconError: The lexicon is missing or damaged.
        ModelError: The model is missing, damaged or does not fit this version.
        ConfigurationError: Thresholds or marker out of range, or the certificate does not hold
            for these settings.
        InputError: The certificate cannot be read or was altered.
    """
    assembly = assemble(settings)
    hashes = (assembly.lexicon_sha256, assembly.model_sha256)
    thresholds = assembly.stages.thresholds
    made_of = {
        "model_sha256": assembly.model_sha256 or None,
        "lexicon_sha256": assembly.lexicon_sha256,
        "thresholds": None if settings.rules_only else asdict(thresholds),
    }
    return Deidentifier(assembly.stages, _fingerprint(settings, thresholds, *hashes), made_of)


def assemble(settings: MaskingSettings) -> Assembly:
    """The stages of a de-identifier; fails as `build_deidentifier` does."""
    certificate = None if settings.certificate is None else _read_certificate(settings)
    lexicon = load_lexicon(settings.lexicon)
    interned = InternedWords()
    folder = settings.model or packaged_model()
    Thresholds(settings.low or 0.0, 1.0 if settings.high is None else settings.high)
    thresholds, scorer, model_sha256 = Thresholds(1.0, 1.0), None, ""
    if not settings.rules_only:
        scorer, points = _network(folder, interned, settings)
        model_sha256 = model_fingerprint(folder)
        if certificate is None:
            thresholds = _thresholds(points, settings)
        else:
            thresholds = _certified(certificate, settings, model=model_sha256, lexicon=lexicon.sha256)
        if are_low(thresholds) and not settings.allow_low_thresholds:
            raise ConfigurationError(_low_thresholds(thresholds, settings))
    fixed = fixed_marker(settings.marker)
    stages = Stages(
        analyser=RuleAnalyser(lexicon, interned, settings.policy),
        scorer=scorer,
        thresholds=thresholds,
        marker_for=category_marker(settings.marker) if settings.category_markers else fixed,
        allow=PhraseList(sorted(settings.allow)),
        deny=PhraseList(sorted(settings.deny)),
        is_common_word=lambda word: bool(lexicon.flags(word) & SAFE_FLAGS),
        between_batches=interned.trim,
    )
    return Assembly(stages, model_sha256, lexicon.sha256)


def _network(
    folder: Path, interned: InternedWords, settings: MaskingSettings
) -> tuple[TokenScorer, OperatingPoints]:
    """The network of a model folder of either kind, and its operating points."""
    kind = folder_kind(folder)
    if kind == REPRESENTATION:
        raise ModelError(
            f"{folder}: is a representation without a network; mask with what `share train` wrote"
        )
    if kind == NETWORK:
        network = read_network(folder)
        return _RepresentedScorer(network), network.operating_points
    parts = read_model(folder)
    return _NetworkScorer(parts, interned, settings), parts.operating_points


def _thresholds(points: OperatingPoints, settings: MaskingSettings) -> Thresholds:
    name = settings.operating_point or "balanced"
    pair = points.get(name)
    if pair is None:
        known = ", ".join(points)
        raise ConfigurationError(f"the model has no operating point {name!r}; it has {known}")
    if settings.low is None and settings.high is None:
        return Thresholds(**pair)
    # Thresholds of the user's own hold in every document alike.
    low = pair["low"] if settings.low is None else settings.low
    high = pair["high"] if settings.high is None else settings.high
    if low > high:
        own, other = ("low", "high") if settings.high is None else ("high", "low")
        raise ConfigurationError(
            f"low {low:g} is above high {high:g}, and {other} is that of the operating point {name}; give "
            f"{other} too, or another {own}"
        )
    return Thresholds(low, high)


def are_low(thresholds: Thresholds) -> bool:
    """Tell whether thresholds need `MaskingSettings.allow_low_thresholds`.

    Example:
        >>> are_low(Thresholds(0.25, 0.5, 0.5)), are_low(Thresholds(0.9, 0.95, 0.6))
        (False, True)
    """
    within = thresholds.low >= LEAST_LOW and thresholds.high >= LEAST_HIGH
    return not (within and thresholds.density_slope <= MOST_SLOPE)


def _low_thresholds(thresholds: Thresholds, settings: MaskingSettings) -> str:
    """Say which thresholds are too low, and where they come from."""
    if settings.certificate is not None:
        source = f"{settings.certificate}"
    elif settings.low is not None or settings.high is not None:
        source = "the thresholds given"
    else:
        source = f"the operating point {settings.operating_point or 'balanced'} of the model"
    return (
        f"{source}: low {thresholds.low:g}, high {thresholds.high:g}, density slope "
        f"{thresholds.density_slope:g} would keep words that are probably identifiers. Low must be at least "
        f"{LEAST_LOW:g}, high at least {LEAST_HIGH:g}, the slope at most {MOST_SLOPE:g}. Choose other "
        "thresholds, or accept these with --allow-low-thresholds"
    )


def _read_certificate(settings: MaskingSettings) -> dict[str, Any]:
    """The certificate that the settings name, if they leave the decisions to it."""
    path = settings.certificate or Path()
    clashing = {
        "operating-point": settings.operating_point is not None,
        "low": settings.low is not None,
        "high": settings.high is not None,
        "rules-only": settings.rules_only,
        "allow": bool(settings.allow),
        "policy": settings.policy != "case-aware",
    }
    if any(clashing.values()):
        given = ", ".join(name for name, is_given in clashing.items() if is_given)
        raise ConfigurationError(f"{path}: the certificate brings thresholds and rules; leave out {given}")
    try:
        certificate = json.loads(path.read_bytes())
    except OSError as error:
        raise UnreadableInputError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except (ValueError, RecursionError):
        certificate = None
    if not isinstance(certificate, dict) or certificate.get("format") != CERTIFICATE_FORMAT:
        raise FormatError(f"{path}: no certificate; give a file that `inverse-deid calibrate` wrote")
    if not is_sealed(certificate):
        raise FormatError(f"{path}: altered after it was written; calibrate again")
    return certificate


def _certified(
    certificate: Mapping[str, Any], settings: MaskingSettings, *, model: str, lexicon: str
) -> Thresholds:
    """The thresholds of a certificate that holds for this version, model and lexicon."""
    bound = {
        "version of certificates": (certificate.get("version"), CERTIFICATE_VERSION),
        "version of inverse-deid": (certificate.get("tool_version"), __version__),
        "model": (certificate.get("model_sha256"), model),
        "lexicon": (certificate.get("lexicon_sha256"), lexicon),
    }
    other = [name for name, (certified, ours) in bound.items() if certified != ours]
    if other:
        raise ConfigurationError(
            f"{settings.certificate}: certifies another {' and another '.join(other)}; mask with the "
            "certified one, or calibrate again"
        )
    return Thresholds(**certificate["thresholds"])


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

    def __init__(self, parts: ModelParts, interned: InternedWords, settings: MaskingSettings) -> None:
        self._scorer = Scorer(parts, interned, settings.n_threads, settings.device)
        columns = feature_columns(parts.feature_names)
        self._columns = None if columns == list(range(len(FEATURE_NAMES))) else np.array(columns, np.intp)
        self._hyper = _hyper_of_class(self._scorer.class_names)

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        return self.begin(tokens, analyses)()

    def begin(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> Callable[[], list[Scores]]:
        inputs = [
            ScorerInput(t, analysis.ids, self._chosen(analysis.features))
            for t, analysis in zip(tokens, analyses, strict=True)
        ]
        probabilities = self._scorer.begin(inputs)
        return lambda: [self._scores(found) for found in probabilities()]

    def _chosen(self, features: FloatArray) -> FloatArray:
        return features if self._columns is None else features[:, self._columns]

    def _scores(self, probabilities: FloatArray) -> Scores:
        best = probabilities[:, 1:].argmax(axis=1) + 1
        return Scores(probabilities[:, 0], self._hyper[best])


class _RepresentedScorer:
    """A network over a private representation; it runs in Keras, hence needs the extra `train`."""

    def __init__(self, network: PrivateNetwork) -> None:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        try:
            from inverse_deid.representations.scoring import PrivateScorer
        except ImportError as error:
            raise missing_extra("a model over a representation", error.name, "train") from error
        self._scorer = PrivateScorer(network)

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        del analyses  # it reads words and casing alone
        return [self._scores(self._scorer.probabilities(one)) for one in tokens]

    @staticmethod
    def _scores(probabilities: FloatArray) -> Scores:
        best = probabilities[:, 1:].argmax(axis=1) + 1
        return Scores(probabilities[:, 0], best.astype(np.uint8))


def _hyper_of_class(class_names: Sequence[str]) -> np.ndarray:
    """uint8 (n_classes,): index into `HyperClass` of each class, 0 where it has none."""
    order = list(HyperClass)
    fine = {phi_type.value: hyper for phi_type, hyper in HYPER_CLASS_OF.items()}
    hyper = {h.value: h for h in HyperClass}
    found = [hyper.get(name) or fine.get(name) or HyperClass.SAFE for name in class_names]
    return np.array([order.index(h) for h in found], np.uint8)
