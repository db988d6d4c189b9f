"""From a model folder to the scorer that masking uses.

A folder whose manifest names no kind is a network of this package. An installed package registers the
scorer of another kind under the entry points `inverse_deid.scorers`, by the kind's name with hyphens for
spaces. A folder cannot choose code that is not installed.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from inverse_deid.core.errors import ModelError
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass
from inverse_deid.core.thresholds import OperatingPoints
from inverse_deid.core.values import FloatArray, RuleAnalysis, Tokens
from inverse_deid.masking.pipeline import Scores, TokenScorer
from inverse_deid.network.config import FeatureSet
from inverse_deid.network.folder import ModelParts, read_model
from inverse_deid.network.scorer import Device, Scorer, ScorerInput
from inverse_deid.rules.analysis import FEATURE_NAMES
from inverse_deid.text.interning import InternedWords

ENTRY_POINTS = "inverse_deid.scorers"
CASING_FEATURES = (
    "all-lower-case",
    "all-upper-case",
    "has-capital-beginning",
    "is-salutation",
    "after-salutation",
)
"""What variants c and d of the thesis give the network besides characters and words."""


class OpenScorer(Protocol):
    """What an entry point of `inverse_deid.scorers` names."""

    def __call__(self, folder: Path) -> tuple[TokenScorer, OperatingPoints]:
        """Read a model folder.

        Raises:
            ModelError: The folder is damaged or is not a network.
            ConfigurationError: A package that the scorer needs is not installed.
        """
        ...


def open_scorer(
    folder: Path, interned: InternedWords, n_threads: int, device: Device
) -> tuple[TokenScorer, OperatingPoints]:
    """Read a model folder of any kind.

    Returns:
        The scorer, and the operating points of the model.

    Raises:
        ModelError: The folder is missing or damaged, or no installed package reads its kind.
    """
    kind = _read_kind(folder)
    if kind is None:
        parts = read_model(folder)
        return _NetworkScorer(parts, interned, n_threads, device), parts.operating_points
    found = importlib.metadata.entry_points(group=ENTRY_POINTS, name=kind.replace(" ", "-"))
    if not found:
        raise ModelError(
            f"{folder}: no installed package reads models of the kind its manifest names. "
            "Install the package that wrote it, or choose another model"
        )
    if len(found) > 1:
        raise ModelError(f"{folder}: several installed packages read models of its kind. Keep one of them")
    open_folder: OpenScorer = next(iter(found)).load()
    return open_folder(folder)


def _read_kind(folder: Path) -> str | None:
    """Return the kind that the manifest names; None = none, or no manifest can be read."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    kind = manifest.get("kind") if isinstance(manifest, dict) else None
    return kind if isinstance(kind, str) else None


def feature_names(feature_set: FeatureSet) -> tuple[str, ...]:
    """Return the rule features that a network of this feature set reads, in order."""
    return {"none": (), "casing": CASING_FEATURES, "all": FEATURE_NAMES}[feature_set]


def feature_columns(names: Sequence[str]) -> list[int]:
    """Return the columns of `RuleAnalysis.features` by name.

    Raises:
        ModelError: The rules of this version do not compute one of them.
    """
    missing = [name for name in names if name not in FEATURE_NAMES]
    if missing:
        raise ModelError(
            f"the model reads features this version lacks ({', '.join(missing)}). Train it again"
        )
    return [FEATURE_NAMES.index(name) for name in names]


class _NetworkScorer:
    """The exported network as the pipeline's protocol asks for it."""

    def __init__(self, parts: ModelParts, interned: InternedWords, n_threads: int, device: Device) -> None:
        self._scorer = Scorer(parts, interned, n_threads, device)
        columns = feature_columns(parts.feature_names)
        self._columns = None if columns == list(range(len(FEATURE_NAMES))) else np.array(columns, np.intp)
        self._hyper = _match_hyper_classes(self._scorer.class_names)
        found = set(self._hyper.tolist())
        self.tells_classes = found == set(range(len(HyperClass)))
        self._is_in_order = self._hyper.tolist() == list(range(len(HyperClass)))

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        return self.begin(tokens, analyses)()

    def begin(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> Callable[[], list[Scores]]:
        chosen = slice(None) if self._columns is None else self._columns
        inputs = [
            ScorerInput(t, analysis.ids, analysis.features[:, chosen])
            for t, analysis in zip(tokens, analyses, strict=True)
        ]
        wait = self._scorer.begin(inputs)
        return lambda: [self._scores_of(p) for p in wait()]

    def _scores_of(self, p: FloatArray) -> Scores:
        """Return the scores of a document; `p` is float32 (n_tokens, n_classes)."""
        p_classes = p if self._is_in_order else None
        if self.tells_classes and p_classes is None:
            p_classes = p @ np.eye(len(HyperClass), dtype=np.float32)[self._hyper]
        return Scores(p[:, 0], self._hyper[p[:, 1:].argmax(axis=1) + 1], p_classes)


def _match_hyper_classes(class_names: Sequence[str]) -> np.ndarray:
    """Return uint8 (n_classes,): index into `HyperClass` of each class, 0 where it has no such class."""
    order = list(HyperClass)
    fine = {phi_type.value: hyper for phi_type, hyper in HYPER_CLASS_OF.items()}
    hyper = {h.value: h for h in HyperClass}
    found = [hyper.get(name) or fine.get(name) or HyperClass.SAFE for name in class_names]
    return np.array([order.index(h) for h in found], np.uint8)
