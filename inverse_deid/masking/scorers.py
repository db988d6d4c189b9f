"""From a model folder to the scorer that masking uses.

A folder whose manifest names no kind is a network of this package. An installed package registers the
scorer of another kind under the entry points `inverse_deid.scorers`, by the kind's name with hyphens for
spaces. A folder cannot choose code that is not installed.
"""

from __future__ import annotations

import copy
import importlib.metadata
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from inverse_deid.choices.table import Device
from inverse_deid.core.errors import ConfigurationError, ModelError, Remedy
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass
from inverse_deid.core.thresholds import OperatingPoints
from inverse_deid.core.values import BoolArray, FloatArray, RuleAnalysis, Tokens
from inverse_deid.core.wording import N_, _
from inverse_deid.masking.pipeline import Scores, TokenScorer
from inverse_deid.network.config import FeatureSet
from inverse_deid.network.doubt import Doubt
from inverse_deid.network.folder import ModelParts, model_fingerprint, read_model
from inverse_deid.network.scorer import Scorer, ScorerInput
from inverse_deid.network.second_reader import (
    EncoderParts,
    SecondReader,
    find_first_reader,
    read_encoder,
)
from inverse_deid.rules.analysis import FEATURE_NAMES
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import join

ENTRY_POINTS = "inverse_deid.scorers"
CASING_FEATURES = (
    "all-lower-case",
    "all-upper-case",
    "has-capital-beginning",
    "is-salutation",
    "after-salutation",
)
"""What variants c and d of the thesis give the network besides characters and words."""

_NAMED = FEATURE_NAMES.index("is-possibly-name")
"""The column of words that are in a list of surnames or first names, however they are written."""

Columns = slice | npt.NDArray[np.intp]
"""Which columns of `RuleAnalysis.features` a reader is given."""


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
    folder: Path,
    interned: InternedWords,
    n_threads: int,
    device: Device,
    second_reader: Path | None = None,
) -> tuple[TokenScorer, OperatingPoints]:
    """Read a model folder of any kind, and perhaps a second reader.

    Returns:
        The scorer, and the operating points of the model, or those of both readers together.

    Raises:
        ModelError: A folder is missing or damaged, or no installed package reads its kind.
        ConfigurationError: The second reader was calibrated with another model, or the device cannot be used.
    """
    kind = _read_kind(folder)
    if kind is None:
        parts = read_model(folder)
        if second_reader is None:
            return NetworkScorer(parts, interned, n_threads, device), parts.operating_points
        encoder = read_encoder(second_reader)
        if encoder.first_reader != model_fingerprint(folder):
            raise ConfigurationError(
                _(
                    "{second_reader}: the second reader was calibrated with another model than {folder}",
                    second_reader=second_reader,
                    folder=folder,
                ),
                remedies=[
                    Remedy("reading", "fast", step=N_("use {}")),
                    Remedy(step=N_("calibrate it with this model")),
                ],
            )
        network = NetworkScorer(parts, interned, n_threads, device)
        return CarefulScorer(network, encoder, n_threads, device), encoder.operating_points
    if second_reader is not None:
        raise ConfigurationError(
            _("{folder}: a model of this kind has no second reader", folder=folder),
            remedies=[Remedy("reading", "fast", step=N_("use {}"))],
        )
    found = importlib.metadata.entry_points(group=ENTRY_POINTS, name=kind.replace(" ", "-"))
    if not found:
        raise ModelError(
            _(
                "{folder}: no installed package reads models of the kind its manifest names. Install the "
                "package that wrote it, or choose another model",
                folder=folder,
            )
        )
    if len(found) > 1:
        raise ModelError(
            _("{folder}: several installed packages read models of its kind. Keep one of them", folder=folder)
        )
    open_folder: OpenScorer = next(iter(found)).load()
    return open_folder(folder)


def is_paired(folder: Path, second_reader: Path) -> bool:
    """Tell whether a second reader was calibrated with a model; True if either is damaged.

    Masking then says what is damaged, instead of reading with less care.
    """
    if _read_kind(folder) is not None:
        return False
    first_reader = find_first_reader(second_reader)
    is_readable = bool(first_reader) and (folder / "manifest.json").is_file()
    return not is_readable or first_reader == model_fingerprint(folder)


def _read_kind(folder: Path) -> str | None:
    # None = none, or no manifest can be read.
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
            _(
                "the model reads features this version lacks ({missing}). Train it again",
                missing=", ".join(missing),
            )
        )
    return [FEATURE_NAMES.index(name) for name in names]


class NetworkScorer:
    """The exported network as the pipeline's protocol asks for it."""

    def __init__(
        self, parts: ModelParts, interned: InternedWords, n_threads: int = 0, device: Device = "cpu"
    ) -> None:
        self._scorer = Scorer(parts, interned, n_threads, device)
        self.interned = interned
        self.device = self._scorer.device
        self._columns = _choose_columns(parts.feature_names)
        self.class_names = self._scorer.class_names
        self._classes = _Classes(self.class_names)
        self.tells_classes = self._classes.are_told_apart

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        return self.begin(tokens, analyses)()

    def begin(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> Callable[[], list[Scores]]:
        wait = self.begin_classes(tokens, analyses)
        return lambda: [self._classes.scores(p) for p in wait()]

    def begin_classes(
        self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]
    ) -> Callable[[], list[FloatArray]]:
        """Begin to score. The returned function waits for class probabilities, one row per token."""
        return self._scorer.begin(scorer_inputs(tokens, analyses, self._columns), join(tokens))


class CarefulScorer:
    """The network, and a second reader that reads again where the network is unsure.

    `doubt` says where; None = within the widest limits of all operating points.

    A word that no list knows as safe may be a surname in the place of a drug. The second reader can only make
    it less safe.

    Raises:
        ModelError: The two tell different classes apart, or the graph cannot be loaded.
        ConfigurationError: The device cannot be used.
    """

    def __init__(
        self,
        network: NetworkScorer,
        encoder: EncoderParts,
        n_threads: int = 0,
        device: Device = "cpu",
        doubt: Doubt | None = None,
    ) -> None:
        if encoder.class_names != network.class_names:
            raise ModelError(_("the second reader and the network have different classes. Train it again"))
        self._network = network
        self._encoder = encoder
        self._second = SecondReader(encoder, n_threads, device)
        self.doubt = encoder.doubt_at(None) if doubt is None else doubt
        self.device = " and ".join(dict.fromkeys((network.device, self._second.device)))
        self._columns = _choose_columns(encoder.feature_names)
        self._classes = _Classes(encoder.class_names)
        self.tells_classes = self._classes.are_told_apart

    def reading_at(self, operating_point: str | None) -> CarefulScorer:
        """Return a scorer that reads again what is doubtful at an operating point, and shares all else.

        Without an operating point, the widest limits apply.
        """
        other = copy.copy(self)
        other.doubt = self._encoder.doubt_at(operating_point)
        return other

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        return self.begin(tokens, analyses)()

    def begin(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> Callable[[], list[Scores]]:
        wait = self._network.begin_classes(tokens, analyses)

        def read_again() -> list[Scores]:
            inputs, first = scorer_inputs(tokens, analyses, self._columns), wait()
            doubtful = find_doubtful(self.doubt, first, analyses)
            reading = self._second.begin(inputs, first, doubtful, self._network.interned.words_from(0))
            found = [
                _no_safer(one, again, analysis.verdicts.word)
                for one, again, analysis in zip(first, reading(), analyses, strict=True)
            ]
            return [self._classes.scores(p) for p in found]

        return read_again


def find_doubtful(
    doubt: Doubt, first: Sequence[FloatArray], analyses: Sequence[RuleAnalysis]
) -> list[BoolArray]:
    """Return which tokens are read again: bool (n_tokens,) per document.

    A word may be a name if a list of names has it, in any case, or if no list knows it as safe. Tokens that
    the rules decide alone are not in doubt: those of closed clinical expressions, and those that are always
    masked, unless all that masks them belongs to categories that the user keeps.

    Args:
        doubt: The limits.
        first: float32 (n_tokens, n_classes) per document, what the network says.
        analyses: What the rules say of every document.
    """
    return [_find_doubtful_in(doubt, p[:, 0], analysis) for p, analysis in zip(first, analyses, strict=True)]


def _find_doubtful_in(doubt: Doubt, p_safe: FloatArray, analysis: RuleAnalysis) -> BoolArray:
    verdicts = analysis.verdicts
    is_named = (analysis.features[:, _NAMED] > 0) | verdicts.word
    is_decided = verdicts.certain | (verdicts.always_masked & ~verdicts.lifted)
    return doubt.among(p_safe, is_named, verdicts.earns_low) & ~is_decided


def _no_safer(first: FloatArray, again: FloatArray, unknown: BoolArray) -> FloatArray:
    # Unknown words keep the first scores where the second ones call them safer.
    return np.where((unknown & (again[:, 0] > first[:, 0]))[:, None], first, again)


def scorer_inputs(
    tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis], columns: Columns
) -> list[ScorerInput]:
    return [
        ScorerInput(t, analysis.ids, analysis.features[:, columns])
        for t, analysis in zip(tokens, analyses, strict=True)
    ]


class _Classes:
    def __init__(self, class_names: Sequence[str]) -> None:
        order = list(HyperClass)
        fine = {phi_type.value: hyper for phi_type, hyper in HYPER_CLASS_OF.items()}
        hyper = {h.value: h for h in HyperClass}
        found = [hyper.get(name) or fine.get(name) or HyperClass.SAFE for name in class_names]
        self._hyper = np.array([order.index(h) for h in found], np.uint8)
        self.are_told_apart = set(self._hyper.tolist()) == set(range(len(HyperClass)))
        self._are_in_order = self._hyper.tolist() == list(range(len(HyperClass)))

    def scores(self, p: FloatArray) -> Scores:
        """Return the scores of a document; `p` is float32 (n_tokens, n_classes)."""
        p_classes = p if self._are_in_order else None
        if self.are_told_apart and p_classes is None:
            p_classes = p @ np.eye(len(HyperClass), dtype=np.float32)[self._hyper]
        return Scores(p[:, 0], self._hyper[p[:, 1:].argmax(axis=1) + 1], p_classes)


def _choose_columns(names: Sequence[str]) -> Columns:
    # The first ones without a copy.
    columns = feature_columns(names)
    is_beginning = columns == list(range(len(columns)))
    return slice(len(columns)) if is_beginning else np.array(columns, np.intp)
