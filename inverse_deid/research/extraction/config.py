"""The settings of an extractor and of its training: the tables [extractor] and [training] of a TOML file."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from inverse_deid.network.config import (
    Count,
    NetworkConfig,
    Positive,
    Seed,
    ShareBelowOne,
    Size,
    Weight,
)

Kind = Literal["tagger", "multitask", "stacked"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class ExtractorConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shape of an extractor.

    Args:
        kind: One task, or two tasks that share everything up to the BiLSTM, or a de-identifier below an
            extractor that sees the words only through its output.
        learn_words: Word vectors are learned from the training documents.
        word_dim: Length of a learned word vector; given vectors keep theirs.
        char_dim: Length of a character's vector.
        char_units: Of the character BiLSTM, per direction.
        max_characters: Characters that are read per word.
        gap_dim: Length of the vector of each of the three characters after a word.
        token_units: Of each token BiLSTM, per direction.
        hidden_units: Of the layer of each task of `multitask`.
        dropout: Of token vectors and hidden states.
        temperature: Of the Gumbel softmax of `stacked`.

    Source:
        Lange, Adel and Strötgen 2020, sections 3 and 4.1, for 256 and 128 units.
    """

    kind: Kind = "tagger"
    learn_words: bool = False
    word_dim: Size = 100
    char_dim: Size = 25
    char_units: Size = 25
    max_characters: Annotated[int, Meta(ge=4)] = 24
    gap_dim: Size = 8
    token_units: Size = 256
    hidden_units: Size = 128
    dropout: ShareBelowOne = 0.5
    temperature: Positive = 1.0

    @property
    def characters(self) -> NetworkConfig:
        """The settings of the character encoder, in the form of the masking network."""
        return NetworkConfig(
            char_dim=self.char_dim, char_units=self.char_units, max_characters=self.max_characters
        )


class ExtractorTraining(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an extractor is trained: stochastic gradient descent with a rate that is halved.

    Args:
        epochs: Maximum of passes over the data.
        batch: Passages per batch.
        learning_rate: At the beginning.
        extraction_rate: That of the concept part of the joint models.
        halve_after: Epochs without gain on the development documents after which both are halved.
        patience: Epochs without gain after which training stops; the best epoch is kept.
        pretraining: Epochs in which the joint models learn to de-identify alone.
        clip_norm: Global norm that gradients are clipped to.
        word_dropout: Share of words hidden from the word embedding.
        averaging: About how many epochs the moving averages of the weights look back. The averages are
            measured and kept. 0 = the weights themselves.
        seed: Of every random choice.

    Source:
        Lange, Adel and Strötgen 2020, section 4.1, which does not mention clipping, patience and averaging.
    """

    epochs: Size = 100
    batch: Size = 32
    learning_rate: Positive = 0.1
    extraction_rate: Positive = 0.2
    halve_after: Size = 3
    patience: Size = 10
    pretraining: Count = 3
    clip_norm: Positive = 5.0
    word_dropout: ShareBelowOne = 0.05
    averaging: Weight = 2.0
    seed: Seed = 1
