"""The settings of an extractor and of its training: the tables [extractor] and [training] of a TOML file."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from inverse_deid.network.config import Count, NetworkConfig, Positive, Seed, ShareBelowOne, Size, Weight

Kind = Literal["tagger", "multitask", "stacked"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class ExtractorConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shape of an extractor.

    `tagger` learns one task. `multitask` learns two, which share everything up to the BiLSTM and have a
    layer of `hidden_units` each. `stacked` is an extractor that sees words only through the output of a
    de-identifier, by a Gumbel softmax of this temperature.

    `reads` says which vectors of its own a token has: of the word, of its characters. Those of embedders and
    of the three characters after it are always read.

    `word_dim` is the length of vectors learned from the training documents (`learn_words`), `gap_dim`
    that of each of the three characters after a word. Units of a BiLSTM are per direction. Dropout is that
    of token vectors and hidden states.

    Source:
        Lange, Adel and Strötgen 2020, sections 3 and 4.1, for 256 and 128 units; their code for the
        temperature.
    """

    kind: Kind = "tagger"
    reads: tuple[Literal["words", "characters"], ...] = ("words", "characters")
    learn_words: bool = False
    word_dim: Size = 100
    char_dim: Size = 25
    char_units: Size = 25
    max_characters: Annotated[int, Meta(ge=4)] = 24
    gap_dim: Size = 8
    token_units: Size = 256
    hidden_units: Size = 128
    dropout: ShareBelowOne = 0.5
    temperature: Positive = 0.5

    @property
    def characters(self) -> NetworkConfig:
        """The settings of the character encoder, in the form of the masking network."""
        return NetworkConfig(
            char_dim=self.char_dim, char_units=self.char_units, max_characters=self.max_characters
        )


class ExtractorTraining(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an extractor is trained, with batches of passages: stochastic gradient descent.

    Joint models learn to de-identify alone for `pretraining` epochs. Then batches of identifiers and of
    concepts alternate. Those of concepts have the rate `extraction_rate`. The rate of a task is halved after
    `halve_after` epochs without gain in its F1 on the development documents. After `patience` epochs without
    gain in concepts (or in the only task) training stops, and the best epoch is kept. Gradients are clipped
    to the global norm `clip_norm`, and the share `word_dropout` of words is hidden from the word embedding.
    The moving averages of the weights, which are measured and kept, look back about `averaging` epochs (0 =
    the weights themselves).

    Source:
        Lange, Adel and Strötgen 2020, section 4.1, and their published code for the alternation, the rate of
        each task, the choice of the epoch and clipping. Patience and averaging are this project's own.
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
