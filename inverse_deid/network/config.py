"""What a network looks like and how it is trained, read from a TOML file."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass, PhiType

FeatureSet = Literal["none", "casing", "all"]
Targets = Literal["binary", "hyper", "fine"]
Output = Literal["softmax", "crf"]
Characters = Literal["learned", "one-hot"]
Surrogates = Literal["english", "exchange", "none"]

ONE_HOT_CODES = 128
"""Dimensions of one-hot characters: a code point below 127 has its own, all others share the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkConfig:
    """The shape of the network.

    The variants of the thesis (table 4.3) are settings of two fields:
    a) `post_space=False, feature_set="none"`, b) `post_space=True`,
    c) `feature_set="casing"` (casing and salutations), d) both. The default
    model uses every feature of the rules.

    With `learn_words` the word vectors are learned from the training documents
    (for a language without vectors at hand) and are not fixed. `output` decides
    whether neighbouring classes are read together (a linear-chain CRF whose
    marginals are the class probabilities) or each for itself.

    The network of Dernoncourt et al. as Festag and Spreckelsen trained it: `characters`
    as fixed vectors of 128 codes (*one-hot*) and not learned ones, a tanh layer of
    `hidden_units` before the classes (0 = none), dropout on the token vector alone
    (`lstm_dropout=False`).
    """

    post_space: bool = True
    feature_set: FeatureSet = "all"
    targets: Targets = "hyper"
    output: Output = "softmax"
    learn_words: bool = False
    characters: Characters = "learned"
    word_dim: int = 100
    char_dim: int = 25
    char_units: int = 25
    gap_dim: int = 8
    feature_units: int = 48
    token_units: int = 128
    token_layers: int = 2
    hidden_units: int = 0
    dropout: float = 0.5
    lstm_dropout: bool = True
    max_characters: int = 24

    def __post_init__(self) -> None:
        if self.feature_set not in ("none", "casing", "all"):
            raise ConfigurationError("network.feature_set is one of none, casing, all")
        if self.targets not in ("binary", "hyper", "fine"):
            raise ConfigurationError("network.targets is one of binary, hyper, fine")
        if self.output not in ("softmax", "crf"):
            raise ConfigurationError("network.output is one of softmax, crf")
        if self.characters not in ("learned", "one-hot"):
            raise ConfigurationError("network.characters is one of learned, one-hot")
        if self.characters == "one-hot" and self.char_dim != ONE_HOT_CODES:
            raise ConfigurationError(
                f"network.char_dim is {ONE_HOT_CODES} where network.characters is one-hot"
            )
        if self.hidden_units < 0:
            raise ConfigurationError("network.hidden_units is at least 0")
        sizes = (self.word_dim, self.char_dim, self.char_units, self.gap_dim, self.feature_units)
        if min(*sizes, self.token_units, self.token_layers) < 1 or self.max_characters < 4:
            raise ConfigurationError("network sizes are at least 1, network.max_characters at least 4")
        if not 0 <= self.dropout < 1:
            raise ConfigurationError("network.dropout is in [0, 1)")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """How the network is trained.

    Args:
        epochs: Passes over freshly augmented data.
        batch_tokens: About how many tokens a batch holds.
        window: Tokens a training window holds at most.
        learning_rate: Peak of Adam's learning rate.
        warm_up: Share of the steps in which the rate rises to its peak.
        final_rate: The rate at the end as a share of its peak, reached linearly; 1 = no decay.
        clip_norm: Global norm that gradients are clipped to.
        phi_weight: Weight of a PHI token in the loss (a safe one weighs 1). A CRF learns whole sequences:
            this one, `weak_weight` and `class_weights` do not act on it.
        weak_weight: Factor on the weight of tokens of weakly labelled documents.
        word_dropout: Share of words hidden from the word embedding, doubled on PHI.
        dictionary_dropout: Share of tokens whose dictionary features are hidden.
        synthetic: Documents injected or invented in each epoch.
        weak: Weakly labelled real carriers in each epoch.
        keep_share: Share of gold spans that are left as they are in each epoch.
        validation_share: Share of gold documents held out, by group.
        surrogates: What gold spans are replaced by in each epoch: invented *english*
            ones, those of other documents with fresh digits (*exchange*, for any
            language), *none*.
        teacher_weight: Share of the teachers' opinion in the target of a token that
            has a label, if there are teachers.
        patience: Stop after so many epochs without gain in validation, and keep the
            best epoch; 0 = train all epochs and keep the last.
        stop_precision: Precision at which validation measures recall.
        class_weights: Further factors on the weight of PHI tokens, by hyper-class.
        split_seed: Decides which documents are held out; teachers and student must share it.
        seed: Of every other random choice.
    """

    epochs: int = 24
    batch_tokens: int = 4096
    window: int = 128
    learning_rate: float = 2e-3
    warm_up: float = 0.05
    final_rate: float = 0.02
    clip_norm: float = 3.0
    phi_weight: float = 3.0
    weak_weight: float = 0.7
    word_dropout: float = 0.05
    dictionary_dropout: float = 0.15
    synthetic: int = 1500
    weak: int = 450
    keep_share: float = 0.12
    validation_share: float = 0.12
    surrogates: Surrogates = "english"
    teacher_weight: float = 0.7
    patience: int = 0
    stop_precision: float = 0.95
    class_weights: Mapping[str, float] = field(default_factory=dict)
    split_seed: int = 20260101
    seed: int = 20260101

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch_tokens, self.window) < 1:
            raise ConfigurationError("training.epochs, batch_tokens and window are at least 1")
        if self.surrogates not in ("english", "exchange", "none"):
            raise ConfigurationError("training.surrogates is one of english, exchange, none")
        unknown = sorted(
            set(self.class_weights) - set(HyperClass) | {HyperClass.SAFE} & set(self.class_weights)
        )
        if unknown or not all(map(_is_positive, self.class_weights.values())):
            known = ", ".join(kind for kind in HyperClass if kind is not HyperClass.SAFE)
            raise ConfigurationError(f"training.class_weights are above 0 and named {known}")
        shares = (
            self.teacher_weight,
            self.stop_precision,
            self.warm_up,
            self.final_rate,
            self.word_dropout,
            self.dictionary_dropout,
            self.keep_share,
        )
        if not all(0 <= share <= 1 for share in shares) or not 0 <= self.validation_share < 1:
            raise ConfigurationError("shares in [training] are between 0 and 1")
        if not all(map(_is_positive, (self.learning_rate, self.clip_norm, self.phi_weight))):
            raise ConfigurationError("training.learning_rate, clip_norm and phi_weight are above 0")
        if min(self.synthetic, self.weak, self.patience) < 0 or not 0 <= self.weak_weight < math.inf:
            raise ConfigurationError("training.synthetic, weak, patience and weak_weight are at least 0")
        if not all(0 <= seed < 2**32 for seed in (self.seed, self.split_seed)):
            raise ConfigurationError("training.seed and split_seed are at least 0 and below 2**32")


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def class_names(targets: Targets) -> tuple[str, ...]:
    """The classes the network tells apart; the first is always *safe*."""
    if targets == "binary":
        return ("SAFE", "PHI")
    if targets == "hyper":
        return tuple(HyperClass)
    return ("SAFE", *PhiType)


def class_of(phi_type: PhiType, targets: Targets) -> str:
    """The class that stands for a fine PHI type."""
    if targets == "binary":
        return "PHI"
    return HYPER_CLASS_OF[phi_type].value if targets == "hyper" else phi_type.value


def read_config(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        ConfigurationError: The file is missing or is not TOML.
    """
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}); give a TOML file") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: not valid TOML ({error})") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: not valid TOML (not UTF-8); save it as UTF-8") from error


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the file's name before what is wrong with its settings."""
    try:
        yield
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def network_config(values: Mapping[str, Any]) -> NetworkConfig:
    """Make a `NetworkConfig` of a table, refusing unknown names."""
    return NetworkConfig(**checked_settings(values, "network", NetworkConfig))


def training_config(values: Mapping[str, Any], defaults: TrainingConfig | None = None) -> TrainingConfig:
    """Make a `TrainingConfig` of a table and, where it is silent, `defaults`; unknown names are refused."""
    checked = checked_settings(values, "training", TrainingConfig)
    return dataclasses.replace(defaults or TrainingConfig(), **checked)


def checked_settings(values: Mapping[str, Any], section: str, kind: type) -> dict[str, Any]:
    """Refuse names that `kind` does not have and values of another type.

    Args:
        values: A table of a TOML file.
        section: Its name.
        kind: A dataclass with a default for every field.

    Raises:
        ConfigurationError: One of them.
    """
    if not isinstance(values, Mapping):
        raise ConfigurationError(f"{section} is a table; begin it with the line [{section}]")
    known = {field.name: field for field in dataclasses.fields(kind)}
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ConfigurationError(
            f"[{section}] has no setting {', '.join(unknown)}; known: {', '.join(known)}"
        )
    defaults = kind()
    for name, value in values.items():
        default = getattr(defaults, name)
        wanted = dict if isinstance(default, Mapping) else type(default)
        fits = isinstance(value, wanted) or (wanted is float and isinstance(value, int))
        if not fits or (isinstance(value, bool) and wanted is not bool):
            raise ConfigurationError(
                f"{section}.{name} is a {wanted.__name__}, given a {type(value).__name__}"
            )
    return dict(values)
