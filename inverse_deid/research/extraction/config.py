"""What an extractor looks like and how it is trained, read from a TOML file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.network.config import NetworkConfig
from inverse_deid.research.setting_tables import check_table

Kind = Literal["tagger", "multitask", "stacked"]
KINDS: tuple[Kind, ...] = ("tagger", "multitask", "stacked")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggerConfig:
    """The shape of an extractor.

    Args:
        kind: One task; two tasks that share all up to the BiLSTM; or a de-identifier below an
            extractor that sees the words only through its output.
        learn_words: Word vectors are learned from the training documents.
        word_dim: Length of a word vector that is learned; given ones keep theirs.
        char_dim: Length of a character's vector.
        char_units: Of the character BiLSTM, per direction.
        max_characters: Characters that are read of a word.
        gap_dim: Length of the vector of each of the three characters after a word.
        token_units: Of each token BiLSTM, per direction.
        hidden_units: Of the layer of each task of `multitask`.
        dropout: Of token vectors and hidden states, in [0, 1).
        temperature: Of the Gumbel softmax of `stacked`, above 0.

    Source:
        Lange, Adel and Strötgen 2020, sections 3 and 4.1, for 256 and 128 units.
    """

    kind: Kind = "tagger"
    learn_words: bool = False
    word_dim: int = 100
    char_dim: int = 25
    char_units: int = 25
    max_characters: int = 24
    gap_dim: int = 8
    token_units: int = 256
    hidden_units: int = 128
    dropout: float = 0.5
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigurationError(f"extractor.kind is one of {', '.join(KINDS)}")
        sizes = (
            self.word_dim,
            self.char_dim,
            self.char_units,
            self.gap_dim,
            self.token_units,
            self.hidden_units,
        )
        if min(sizes) < 1 or self.max_characters < 4:
            raise ConfigurationError("extractor sizes are at least 1, extractor.max_characters at least 4")
        if not 0 <= self.dropout < 1:
            raise ConfigurationError("extractor.dropout is in [0, 1)")
        if not 0 < self.temperature < math.inf:
            raise ConfigurationError("extractor.temperature is above 0")

    @property
    def characters(self) -> NetworkConfig:
        """The settings of the character encoder, as the masking network has them."""
        return NetworkConfig(
            char_dim=self.char_dim, char_units=self.char_units, max_characters=self.max_characters
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggerTraining:
    """How an extractor is trained: stochastic gradient descent with a rate that is halved.

    Args:
        epochs: Passes over the data at most.
        batch: Passages of a batch.
        learning_rate: At the beginning.
        extraction_rate: That of the concept part of the joint models.
        halve_after: Epochs without gain on the development documents after which both are halved.
        patience: Epochs without gain after which training stops; the best epoch is kept.
        pretraining: Epochs in which the joint models learn to de-identify alone.
        clip_norm: Global norm that gradients are clipped to.
        word_dropout: Share of words hidden from the word embedding, in [0, 1).
        averaging: About how many epochs the moving averages of the weights look back, which are what is
            measured and kept; 0 = the weights themselves.
        seed: Of every random choice.

    Source:
        Lange, Adel and Strötgen 2020, section 4.1; clipping, patience and averaging are not told there.
    """

    epochs: int = 100
    batch: int = 32
    learning_rate: float = 0.1
    extraction_rate: float = 0.2
    halve_after: int = 3
    patience: int = 10
    pretraining: int = 3
    clip_norm: float = 5.0
    word_dropout: float = 0.05
    averaging: float = 2.0
    seed: int = 1

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch, self.halve_after, self.patience) < 1 or self.pretraining < 0:
            raise ConfigurationError(
                "training.epochs, batch, halve_after and patience are at least 1, pretraining at least 0"
            )
        if not all(0 < x < math.inf for x in (self.learning_rate, self.extraction_rate, self.clip_norm)):
            raise ConfigurationError("training.learning_rate, extraction_rate and clip_norm are above 0")
        if not 0 <= self.averaging < math.inf:
            raise ConfigurationError("training.averaging is at least 0")
        if not 0 <= self.word_dropout < 1 or not 0 <= self.seed < 2**32:
            raise ConfigurationError("training.word_dropout is in [0, 1), training.seed in [0, 2**32)")


def tagger_config(values: Mapping[str, Any]) -> TaggerConfig:
    """Make a `TaggerConfig` of a table, refusing unknown names."""
    return TaggerConfig(**check_table(values, "extractor", TaggerConfig))


def tagger_training(values: Mapping[str, Any]) -> TaggerTraining:
    """Make a `TaggerTraining` of a table, refusing unknown names."""
    return TaggerTraining(**check_table(values, "training", TaggerTraining))
