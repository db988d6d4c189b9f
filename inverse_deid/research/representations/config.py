"""The sizes of the networks and their training, read from a TOML file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import read_toml
from inverse_deid.research.setting_tables import check_table, name_file

Procedure = Literal["three-phase", "reversal"]
TABLES = ("representation", "adversary", "tagger", "learning")
"""Of a file of settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggerConfig:
    """The de-identification network; the defaults are table 1 of the paper.

    Args:
        units: Of each direction of each LSTM layer.
        layers: LSTM layers.
        casing: Whether it reads the casing feature.
        input_dropout: On the vectors.
        variational_dropout: On inputs and states of the LSTM layers, one draw a sequence.
        dropout: After the LSTM layers.

    Raises:
        ConfigurationError: A value is out of range.
    """

    units: int = 128
    layers: int = 2
    casing: bool = True
    input_dropout: float = 0.1
    variational_dropout: float = 0.25
    dropout: float = 0.5

    def __post_init__(self) -> None:
        if min(self.units, self.layers) < 1:
            raise ConfigurationError("tagger.units and layers are at least 1")
        if not all(0 <= share < 1 for share in (self.input_dropout, self.variational_dropout, self.dropout)):
            raise ConfigurationError("the dropouts in [tagger] are in [0, 1)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningConfig:
    """How any of the networks is trained; batch size, optimiser and norm are table 1 of the paper.

    Args:
        epochs: Passes over the data at most; of each phase where there are several.
        patience: Stop after this many epochs without a lower validation loss.
        batch: Sentences a batch.
        learning_rate: Of Nadam.
        clip_norm: Global norm that gradients are clipped to.
        validation_share: Share of documents (of pooled vectors: of sentences) held out.
        seed: Of weights, batches, pairs and split; never of the noise of an encoding.

    Raises:
        ConfigurationError: A value is out of range.
    """

    epochs: int = 50
    patience: int = 5
    batch: int = 32
    learning_rate: float = 2e-3
    clip_norm: float = 1.0
    validation_share: float = 0.15
    seed: int = 1

    def __post_init__(self) -> None:
        if min(self.epochs, self.patience, self.batch) < 1:
            raise ConfigurationError("learning.epochs, patience and batch are at least 1")
        if not all(0 < value < math.inf for value in (self.learning_rate, self.clip_norm)):
            raise ConfigurationError("learning.learning_rate and clip_norm are above 0 and finite")
        if not 0 < self.validation_share < 1 or not 0 <= self.seed < 2**32:
            raise ConfigurationError("learning.validation_share is in (0, 1), seed in [0, 2**32)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RepresentationConfig:
    """The private representation.

    Args:
        dim: Size of a private vector; even, as half of it is read in each direction.
        neighbours: N: an adversary must not tell a PHI token from its N nearest neighbours.
        procedure: How it is trained: in three phases, or with gradient reversal.
        privacy_weight: The paper's lambda, what the adversary's part weighs in the loss of the
            representation in the last of three phases; with gradient reversal it plays no part.
        noise_in: Standard deviation of the noise on words at the start, in every dimension.
        noise_out: The same, of the noise on private vectors, which are in (-1, 1) without it.

    Raises:
        ConfigurationError: A value is out of range.
    """

    dim: int = 50
    neighbours: int = 100
    procedure: Procedure = "three-phase"
    privacy_weight: float = 1.0
    noise_in: float = 0.1
    noise_out: float = 2.5

    def __post_init__(self) -> None:
        if self.dim < 2 or self.dim % 2:
            raise ConfigurationError("representation.dim is even and above 0")
        if self.neighbours < 2:
            raise ConfigurationError(
                "representation.neighbours is at least 2: with 1 a token cannot move, and nothing is hidden"
            )
        if self.procedure not in ("three-phase", "reversal"):
            raise ConfigurationError("representation.procedure is one of three-phase, reversal")
        if not all(0 < value <= 1000 for value in (self.privacy_weight, self.noise_in, self.noise_out)):
            raise ConfigurationError(
                "representation.privacy_weight, noise_in and noise_out are above 0 and at most 1000"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AdversaryConfig:
    """The adversaries that a representation is trained against.

    They need many passes: in the first ten or so they learn nothing that shows. Gradient
    reversal trains all networks alike, and only `units` counts.

    Args:
        units: Of each direction of each LSTM.
        epochs: Passes over the pairs in the pre-training of the adversary, at most.
        patience: Stop it after this many without a lower validation loss.
        passes: Passes in each round of the alternation, before the representation moves once.

    Raises:
        ConfigurationError: A value is out of range.
    """

    units: int = 32
    epochs: int = 50
    patience: int = 15
    passes: int = 4

    def __post_init__(self) -> None:
        if min(self.units, self.epochs, self.patience, self.passes) < 1:
            raise ConfigurationError("adversary.units, epochs, patience and passes are at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingConfig:
    """All settings of `share init` and `share train`."""

    representation: RepresentationConfig = field(default_factory=RepresentationConfig)
    adversary: AdversaryConfig = field(default_factory=AdversaryConfig)
    tagger: TaggerConfig = field(default_factory=TaggerConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)


def read_sharing_config(path: Path | None) -> SharingConfig:
    """Read the tables of `TABLES`; what is silent has its default.

    Args:
        path: A TOML file; None = the defaults.

    Raises:
        ConfigurationError: Missing, not TOML, unknown or unfit settings.
    """
    if path is None:
        return SharingConfig()
    values = read_toml(path)
    if unknown := sorted(set(values) - set(TABLES)):
        raise ConfigurationError(f"{path}: unknown tables {', '.join(unknown)}. Known: {', '.join(TABLES)}")
    with name_file(path):
        return sharing_config(values)


def sharing_config(values: Mapping[str, Any]) -> SharingConfig:
    """Make a `SharingConfig` of tables by name; fails as `read_sharing_config` does."""

    def table(name: str, kind: type) -> Any:  # noqa: ANN401 - one of `kind`
        return kind(**check_table(values.get(name, {}), name, kind))

    return SharingConfig(
        representation=table("representation", RepresentationConfig),
        adversary=table("adversary", AdversaryConfig),
        tagger=table("tagger", TaggerConfig),
        learning=table("learning", LearningConfig),
    )
