"""The settings of an extractor and of its training: the tables [extractor] and [training] of a TOML file."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from inverse_deid.network.config import Count, NetworkConfig, Positive, Seed, ShareBelowOne, Size, Weight

Kind = Literal["tagger", "multitask", "stacked"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class ExtractorConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shape of an extractor.

    Units of a BiLSTM are per direction. Dropout is that of token vectors and hidden states.

    Source:
        Lange, Adel and Strötgen 2020, sections 3 and 4.1, for 256 and 128 units; their code for the
        temperature.
    """

    # `multitask` learns two tasks that share all up to the BiLSTM, `stacked` sees words only through the
    # output of a de-identifier.
    kind: Kind = "tagger"
    # The vectors of its own that a token has; those of embedders and of the three characters after it are
    # always read.
    reads: tuple[Literal["words", "characters"], ...] = ("words", "characters")
    learn_words: bool = False
    word_dim: Size = 100  # of vectors learned from the training documents (`learn_words`)
    char_dim: Size = 25
    char_units: Size = 25
    max_characters: Annotated[int, Meta(ge=4)] = 24
    gap_dim: Size = 8  # of each of the three characters after a word
    token_units: Size = 256
    hidden_units: Size = 128  # of the layer of each task of `multitask`
    dropout: ShareBelowOne = 0.5
    temperature: Positive = 0.5  # of the Gumbel softmax of `stacked`

    @property
    def characters(self) -> NetworkConfig:
        """The settings of the character encoder, in the form of the masking network."""
        return NetworkConfig(
            char_dim=self.char_dim, char_units=self.char_units, max_characters=self.max_characters
        )


class ExtractorTraining(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an extractor is trained, with batches of passages: stochastic gradient descent.

    Joint models then learn from batches of identifiers and of concepts in turn. The best epoch is kept.

    Source:
        Lange, Adel and Strötgen 2020, section 4.1, and their published code for the alternation, the rate of
        each task, the choice of the epoch and clipping. Patience and averaging are this project's own.
    """

    epochs: Size = 100
    batch: Size = 32
    learning_rate: Positive = 0.1
    extraction_rate: Positive = 0.2  # of the batches of concepts
    # Epochs without gain in F1 on the development documents after which the rate of a task is halved.
    halve_after: Size = 3
    patience: Size = 10  # epochs without gain in concepts (or in the only task) after which training stops
    pretraining: Count = 3  # epochs in which joint models learn to de-identify alone
    clip_norm: Positive = 5.0  # global norm that gradients are clipped to
    word_dropout: ShareBelowOne = 0.05  # share of words hidden from the word embedding
    # Epochs that the moving averages of the weights look back, about; 0 = the weights themselves.
    averaging: Weight = 2.0
    seed: Seed = 1
