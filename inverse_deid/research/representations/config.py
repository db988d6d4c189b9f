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
LEARNED = "learned"

AtLeastTwo = Annotated[int, Meta(ge=2)]
Strength = Annotated[float, Meta(gt=0, le=1000)]


class TaggerConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The de-identification network; the defaults are table 1 of the paper.

    Args:
        units: Units per direction of each LSTM layer.
        layers: LSTM layers.
        casing: Whether it reads the casing feature.
        input_dropout: On the vectors.
        variational_dropout: On inputs and states of the LSTM layers, drawn once per sequence.
        dropout: After the LSTM layers.
    """

    units: Size = 128
    layers: Size = 2
    casing: bool = True
    input_dropout: ShareBelowOne = 0.1
    variational_dropout: ShareBelowOne = 0.25
    dropout: ShareBelowOne = 0.5


class LearningConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How any of the networks is trained; batch size, optimiser and norm are table 1 of the paper.

    Args:
        epochs: Largest number of passes over the data, per phase where there are several.
        patience: Stop after this many epochs without a lower validation loss.
        batch: Sentences per batch.
        learning_rate: Of Nadam.
        clip_norm: Global norm that gradients are clipped to.
        validation_share: Share of documents (of pooled vectors: of sentences) held out.
        seed: Of weights, batches, pairs and split; never of the noise of an encoding.
    """

    epochs: Size = 50
    patience: Size = 5
    batch: Size = 32
    learning_rate: Positive = 2e-3
    clip_norm: Positive = 1.0
    validation_share: Annotated[float, Meta(gt=0, lt=1)] = 0.15
    seed: Seed = 1


class RepresentationConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The private representation.

    Args:
        dim: Size of a private vector; even, as half of it is read in each direction.
        neighbours: N: an adversary must not tell a PHI token from its N nearest neighbours. With 1
            a token cannot move, and nothing is hidden.
        procedure: How it is trained: in three phases, or with gradient reversal.
        privacy_weight: The paper's lambda, the weight of the adversary in the loss of the
            representation in the last of three phases. Gradient reversal does not use it.
        noise_in: Standard deviation of the noise on words at the start, in every dimension.
        noise_out: The same for private vectors, which are in (-1, 1) without noise.
    """

    dim: Annotated[int, Meta(ge=2, multiple_of=2)] = 50
    neighbours: AtLeastTwo = 100
    procedure: Procedure = "three-phase"
    privacy_weight: Strength = 1.0
    noise_in: Strength = 0.1
    noise_out: Strength = 2.5


class AdversaryConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The adversaries that a representation is trained against.

    They need many passes: the first ten or so show no progress. Gradient reversal trains all
    networks alike, and only `units` counts.

    Args:
        units: Units per direction of each LSTM.
        epochs: Largest number of passes over the pairs in the pre-training of the adversary.
        patience: Stop it after this many without a lower validation loss.
        passes: Passes in each round of the alternation, before the representation moves once.
    """

    units: Size = 32
    epochs: Size = 50
    patience: Size = 15
    passes: Size = 4


class SharingConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of `share init` and `share train`."""

    representation: RepresentationConfig = RepresentationConfig()
    adversary: AdversaryConfig = AdversaryConfig()
    tagger: TaggerConfig = TaggerConfig()
    learning: LearningConfig = LearningConfig()


class StudiedCorpus(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A corpus of the study.

    Args:
        name: In tables and in names of files.
        train: Annotated documents.
        test: Annotated documents, never trained on.
        mapping: As `read_type_mapping`; None = our types.
        word_vectors: File of word vectors; None = those of the packaged model, or learned ones.
        learned: Learn the word vectors from the training documents.
    """

    name: str
    train: Path
    test: Path
    mapping: Path | None = None
    word_vectors: Path | None = None
    learned: bool = False

    def __post_init__(self) -> None:
        if self.train == self.test:
            raise ConfigurationError(f"{self.test}: trained on, so it cannot be the test file")

    @property
    def files(self) -> dict[str, Path]:
        """The files that its figures depend on, by what they are."""
        named = {name: getattr(self, name) for name in ("train", "test", "mapping", "word_vectors")}
        return {name: path for name, path in named.items() if path is not None}


class StudyTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [study].

    Args:
        neighbours: The Ns of figures 4 and 5.
        attacked: The N at which all attacks run, also that of gradient reversal and of noise alone.
        adversary_epochs: Epochs of continued training of an adversary.
        inverse_epochs: Epochs of the inverse model.
        learned_dim: Length of learned word vectors.
        note: What readers of the report must know of these settings.
    """

    neighbours: Annotated[tuple[AtLeastTwo, ...], Meta(min_length=1)] = (10, 100, 500, 1000)
    attacked: int = 100
    adversary_epochs: Size = 50
    inverse_epochs: Size = 20
    learned_dim: Size = 100
    note: str = ""

    def __post_init__(self) -> None:
        if self.attacked not in self.neighbours:
            raise ConfigurationError("study.attacked must be one of study.neighbours")


class StudyConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of the study: its corpora, what it does, and the tables of `SharingConfig`."""

    corpora: Annotated[tuple[StudiedCorpus, ...], Meta(min_length=1)]
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
    """Read the settings of the study; `word_vectors = "learned"` is not a path.

    Raises:
        ConfigurationError: The file cannot be read, or has an unknown or unfit setting.
    """
    values = read_toml(path)
    corpora = values.get("corpora")
    for corpus in corpora if isinstance(corpora, list) else ():
        if isinstance(corpus, dict) and corpus.get("word_vectors") == LEARNED:
            del corpus["word_vectors"]
            corpus["learned"] = True
    try:
        return make_settings(values, StudyConfig, folder=path.parent)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error
