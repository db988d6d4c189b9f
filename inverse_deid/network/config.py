"""The settings of a network and of its training: the tables [network] and [training] of a TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass, PhiType
from inverse_deid.core.wording import _

FeatureSet = Literal["none", "casing", "all"]
Targets = Literal["binary", "hyper", "fine"]
Output = Literal["softmax", "crf"]
Characters = Literal["learned", "one-hot"]
Surrogates = Literal["english", "exchange", "none"]

Count = Annotated[int, Meta(ge=0)]
Size = Annotated[int, Meta(ge=1)]
Seed = Annotated[int, Meta(ge=0, lt=2**32)]
Share = Annotated[float, Meta(ge=0, le=1)]
ShareBelowOne = Annotated[float, Meta(ge=0, lt=1)]
Weight = Annotated[float, Meta(ge=0, le=1e9)]
Positive = Annotated[float, Meta(gt=0, le=1e9)]

ONE_HOT_CODES = 128
"""Dimensions of one-hot characters: a code point below 127 has its own, all others share the last."""


class NetworkConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shape of the network.

    The variants of the thesis (table 4.3) are settings of two fields:
    a) `post_space=False, feature_set="none"`, b) `post_space=True`,
    c) `feature_set="casing"` (casing and salutations), d) both. The default
    model uses every feature of the rules.

    With `learn_words` the word vectors are learned from the training documents
    (for a language without vectors at hand) and are not fixed. `output` decides
    whether neighbouring classes are read together (a linear-chain CRF whose
    marginals are the class probabilities) or each for itself.

    `narrow_units` is the size of a linear layer before the LSTM, which then has less to multiply (0 = none).

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
    word_dim: Size = 100
    char_dim: Size = 25
    char_units: Size = 25
    gap_dim: Size = 8
    feature_units: Size = 48
    narrow_units: Count = 0
    token_units: Size = 128
    token_layers: Size = 2
    hidden_units: Count = 0
    dropout: ShareBelowOne = 0.5
    lstm_dropout: bool = True
    max_characters: Annotated[int, Meta(ge=4)] = 24

    def __post_init__(self) -> None:
        if self.characters == "one-hot" and self.char_dim != ONE_HOT_CODES:
            raise ConfigurationError(
                _(
                    "network.char_dim must be {one_hot_codes} if network.characters is one-hot",
                    one_hot_codes=ONE_HOT_CODES,
                )
            )


class TrainingConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the network is trained.

    Args:
        epochs: Passes over freshly augmented data.
        batch_tokens: Approximate number of tokens per batch.
        window: Most tokens of a training window.
        learning_rate: Peak of Adam's learning rate.
        warm_up: Share of the steps in which the rate rises to its peak.
        final_rate: The rate at the end as a share of its peak, reached linearly; 1 = no decay.
        clip_norm: Global norm that gradients are clipped to.
        phi_weight: Weight of a PHI token in the loss (a safe one weighs 1). A CRF learns whole sequences:
            `phi_weight`, `weak_weight` and `class_weights` have no effect on it.
        weak_weight: Factor on the weight of tokens of weakly labelled documents.
        word_dropout: Share of words hidden from the word embedding, doubled on PHI.
        dictionary_dropout: Share of tokens whose dictionary features are hidden.
        synthetic: Documents injected or invented in each epoch.
        weak: Weakly labelled real carriers in each epoch.
        mentions: Share of the weakly labelled carriers in which a few bare names are planted.
        repeats: Epochs in a row over the same augmented data; more than 1 if teachers read slowly.
        keep_share: Share of gold spans that are left as they are in each epoch.
        recased: Share of the gold, injected and invented documents of each epoch that are rewritten: half of
            them in lower case, a quarter in capitals, a quarter with few capitals and little punctuation.
        noisy: Share of the same documents that are made to look badly scanned: words parted at line ends,
            about 1 % of characters confused.
        validation_share: Share of gold documents held out, by group.
        surrogates: What replaces gold spans in each epoch: invented *english* ones,
            those of other documents with fresh digits (*exchange*, for any language), *none*.
        teacher_weight: Share of the teachers' opinion in the target of a token that
            has a label, if there are teachers.
        labels_first: Of an identifier, the teachers' share is less the safer they call it.
        patience: Stop after this number of epochs without gain in validation, and keep the
            best epoch; 0 = train all epochs and keep the last.
        stop_precision: Precision at which validation measures recall.
        class_weights: Further factors on the weight of PHI tokens, by hyper-class.
        split_seed: Decides which documents are held out; teachers and student must share it.
        seed: Of every other random choice.
    """

    epochs: Size = 24
    batch_tokens: Size = 4096
    window: Size = 128
    learning_rate: Positive = 2e-3
    warm_up: Share = 0.05
    final_rate: Share = 0.02
    clip_norm: Positive = 3.0
    phi_weight: Positive = 3.0
    weak_weight: Weight = 0.7
    word_dropout: Share = 0.05
    dictionary_dropout: Share = 0.15
    synthetic: Count = 1500
    weak: Count = 450
    mentions: Share = 0.0
    repeats: Size = 1
    keep_share: Share = 0.12
    recased: Share = 0.0
    noisy: Share = 0.0
    validation_share: ShareBelowOne = 0.12
    surrogates: Surrogates = "english"
    teacher_weight: Share = 0.7
    labels_first: bool = False
    patience: Count = 0
    stop_precision: Share = 0.95
    class_weights: Mapping[str, Positive] = {}
    split_seed: Seed = 20260101
    seed: Seed = 20260101

    def __post_init__(self) -> None:
        known = [kind.value for kind in HyperClass if kind is not HyperClass.SAFE]
        if unknown := sorted(set(self.class_weights) - set(known)):
            raise ConfigurationError(
                _(
                    "training.class_weights: no class named {unknown}. Choose from {known}",
                    unknown=", ".join(unknown),
                    known=", ".join(known),
                )
            )


def class_names(targets: Targets) -> tuple[str, ...]:
    """Return the classes the network tells apart; the first is always *safe*."""
    if targets == "binary":
        return ("SAFE", "PHI")
    if targets == "hyper":
        return tuple(HyperClass)
    return ("SAFE", *PhiType)


def class_of(phi_type: PhiType, targets: Targets) -> str:
    """Return the class that stands for a fine PHI type."""
    if targets == "binary":
        return "PHI"
    return HYPER_CLASS_OF[phi_type].value if targets == "hyper" else phi_type.value
