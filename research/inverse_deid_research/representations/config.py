"""The settings of representations and of their study, as TOML files hold them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import make_settings, read_settings, read_toml
from inverse_deid.network.config import Positive, Seed, ShareBelowOne, Size

Procedure = Literal["three-phase", "reversal"]
TABLES = ("representation", "adversary", "tagger", "learning")
"""Of a file of settings."""
LEARNED, SUBWORDS = "learned", "subwords"
"""What may be given in place of a file of word vectors."""

AtLeastTwo = Annotated[int, Meta(ge=2)]
Strength = Annotated[float, Meta(gt=0, le=1000)]


class TaggerConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The de-identification network; the defaults are table 1 of the paper."""

    units: Size = 128  # units per direction of each LSTM layer
    layers: Size = 2  # LSTM layers
    casing: bool = True  # whether it reads the casing feature
    input_dropout: ShareBelowOne = 0.1  # on the vectors
    # On inputs and states of the LSTM layers, drawn once per sequence.
    variational_dropout: ShareBelowOne = 0.25
    dropout: ShareBelowOne = 0.5  # after the LSTM layers


class LearningConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How any of the networks is trained; batch size, optimiser and norm are table 1 of the paper."""

    epochs: Size = 40  # largest number of passes over the data, per phase where there are several
    patience: Size = 10  # stop after this many epochs without a lower validation loss
    batch: Size = 32  # sentences per batch
    learning_rate: Positive = 2e-3  # of Nadam
    clip_norm: Positive = 1.0  # global norm that gradients are clipped to
    # Share of documents (of pooled vectors: of sentences) held out.
    validation_share: Annotated[float, Meta(gt=0, lt=1)] = 0.15
    seed: Seed = 1  # of weights, batches, pairs and split; never of the noise of an encoding


class RepresentationConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The private representation; the defaults are those of the authors' code.

    Source: github.com/maxfriedrich/deid-training-data, model/representer.py, model/layers/noise.py and
    the template of settings for alternating training.
    """

    dim: Annotated[int, Meta(ge=2, multiple_of=2)] = 50  # size of a private vector; even
    # Units per direction of its LSTM, which a dense layer turns into `dim` values. With 0 the LSTM has
    # `dim / 2` units per direction, without a dense layer.
    units: Annotated[int, Meta(ge=0)] = 128
    # Whether vectors have length 1: always after the noise, or before it as well, so that no weights can
    # outgrow the noise.
    normalise: Literal["never", "after noise", "around noise"] = "after noise"
    # Whether the noise on private vectors depends on the LSTM's output (the paper's future work); its
    # deviations begin at `noise_out` as well.
    dynamic: bool = False
    pre_training: Size = 20  # largest number of epochs in which the task is trained alone
    hold_noise: bool = False  # whether the noise stays as it is meanwhile
    # N: an adversary must not tell a PHI token from its N nearest neighbours. With 1 a token cannot move, and
    # nothing is hidden.
    neighbours: AtLeastTwo = 100
    procedure: Procedure = "three-phase"  # how it is trained: in three phases, or with gradient reversal
    # The paper's lambda, the weight of the adversary in the loss of the representation in the last of three
    # phases. Gradient reversal does not use it.
    privacy_weight: Strength = 1.0
    noise_in: Strength = 0.05  # standard deviation of the noise on words at the start, in every dimension
    noise_out: Strength = 0.05  # the same for private vectors


class AdversaryConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The adversaries that a representation is trained against.

    Gradient reversal trains all networks alike, and only `units` counts.
    """

    units: Size = 300  # units per direction of each LSTM
    epochs: Size = 20  # largest number of passes over the pairs in the pre-training of the adversary
    patience: Size = 10  # stop it after this many without a lower validation loss
    passes: Size = 1  # passes in each round of the alternation, before the representation moves once


class SharingConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    representation: RepresentationConfig = RepresentationConfig()
    adversary: AdversaryConfig = AdversaryConfig()
    tagger: TaggerConfig = TaggerConfig()
    learning: LearningConfig = LearningConfig()


class StudiedCorpus(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A corpus of the study."""

    name: str  # in tables and in names of files
    train: Path  # annotated documents
    test: Path  # annotated documents, never trained on
    mapping: Path | None = None  # as `read_type_mapping`; None = our types
    # File of word vectors; None = those of the packaged model, or learned ones.
    word_vectors: Path | None = None
    learned: bool = False  # learn the word vectors from the training documents
    # Give every word without a vector and without a digit one that is made of its parts.
    subwords: bool = False

    def __post_init__(self) -> None:
        if self.train == self.test:
            raise ConfigurationError(f"{self.test}: trained on, so it cannot be the test file")

    @property
    def files(self) -> dict[str, Path]:
        named = {name: getattr(self, name) for name in ("train", "test", "mapping", "word_vectors")}
        return {name: path for name, path in named.items() if path is not None}


class StudyTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [study]."""

    # The Ns of figures 4 and 5.
    neighbours: Annotated[tuple[AtLeastTwo, ...], Meta(min_length=1)] = (10, 100, 500, 1000)
    # The N at which all attacks run if there are `controls`, and that of gradient reversal and of noise.
    attacked: int = 100
    # Standard deviations at which noise alone is held.
    strengths: Annotated[tuple[Strength, ...], Meta(min_length=1)] = (0.1, 0.2, 0.3, 0.45, 0.7)
    adversary_epochs: Size = 50  # epochs of continued training of an adversary
    inverse_epochs: Size = 20  # epochs of the inverse model
    # Whether representations are also attacked in ways that the comparison with noise alone does not need,
    # such as by the adversary of their own training. Without, those of every N have the same attacks.
    controls: bool = True
    learned_dim: Size = 100  # length of learned word vectors
    note: str = ""  # what readers of the report must know of these settings

    def __post_init__(self) -> None:
        if self.attacked not in self.neighbours:
            raise ConfigurationError("study.attacked must be one of study.neighbours")


class StudyConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of the study: its corpora, what it does, and the tables of `SharingConfig`."""

    corpora: Annotated[tuple[StudiedCorpus, ...], Meta(min_length=1)]
    # Fixed before the first run; without all of them there is no verdict.
    seeds: Annotated[tuple[Seed, ...], Meta(min_length=1)] = (1, 2, 3, 4, 5)
    study: StudyTable = StudyTable()
    representation: RepresentationConfig = RepresentationConfig()
    adversary: AdversaryConfig = AdversaryConfig()
    tagger: TaggerConfig = TaggerConfig()
    learning: LearningConfig = LearningConfig()

    def __post_init__(self) -> None:
        if len({corpus.name for corpus in self.corpora}) != len(self.corpora):
            raise ConfigurationError("two [[corpora]] have the same name. Give each its own")


def read_sharing_config(path: Path | None) -> SharingConfig:
    """Read the settings of `share init` and `share train`; None = the defaults.

    Raises:
        ConfigurationError: The file cannot be read, or has an unknown or unfit setting.
    """
    return SharingConfig() if path is None else read_settings(path, SharingConfig)


def read_study_config(path: Path) -> StudyConfig:
    """Read the settings of the study; `word_vectors = "learned"` or `"subwords"` is not a path.

    Raises:
        ConfigurationError: The file cannot be read, or has an unknown or unfit setting.
    """
    values = read_toml(path)
    corpora = values.get("corpora")
    for corpus in corpora if isinstance(corpora, list) else ():
        if isinstance(corpus, dict) and corpus.get("word_vectors") in (LEARNED, SUBWORDS):
            corpus[corpus.pop("word_vectors")] = True
    try:
        return make_settings(values, StudyConfig, folder=path.parent)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error
