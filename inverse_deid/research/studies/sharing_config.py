"""What the study of shared representations trains and attacks, read from a TOML file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import read_toml
from inverse_deid.research.representations.config import TABLES, SharingConfig, sharing_config
from inverse_deid.research.setting_tables import check_table, name_file

Kind = Literal[
    "non-private", "non-private, no casing", "pseudonymised", "noise alone", "adversarial", "reversal"
]
LEARNED = "learned"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiedCorpus:
    """A corpus of the study.

    Args:
        name: In tables.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTable:
    """The table [study].

    Args:
        neighbours: The Ns of figures 4 and 5.
        attacked: The N at which all attacks run, also that of gradient reversal and of noise alone.
        adversary_epochs: For which an adversary is trained further.
        inverse_epochs: Of the inverse model.
        learned_dim: Length of learned word vectors.
        note: What a reader has to know of these settings; is in the report.
    """

    neighbours: tuple[int, ...] = (10, 100, 500, 1000)
    attacked: int = 100
    adversary_epochs: int = 50
    inverse_epochs: int = 20
    learned_dim: int = 100
    note: str = ""

    def __post_init__(self) -> None:
        if not self.neighbours or min(self.neighbours) < 2:
            raise ConfigurationError("study.neighbours names at least one number, each at least 2")
        if self.attacked not in self.neighbours:
            raise ConfigurationError("study.attacked is one of study.neighbours")
        if min(self.adversary_epochs, self.inverse_epochs, self.learned_dim) < 1:
            raise ConfigurationError("study.adversary_epochs, inverse_epochs and learned_dim are at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyConfig:
    """The whole file."""

    study: StudyTable
    corpora: tuple[StudiedCorpus, ...]
    sharing: SharingConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRun:
    """One training of the study; its name is that of its record."""

    corpus: StudiedCorpus
    kind: Kind
    neighbours: int
    seed: int

    @property
    def name(self) -> str:
        """For file names."""
        kind = self.kind.replace(", ", "-").replace(" ", "-")
        return f"{self.corpus.name}-{kind}-{self.neighbours}-{self.seed}"

    @property
    def pre_training(self) -> str:
        """The same of the training that all runs of a corpus and seed begin with."""
        return f"{self.corpus.name}-pre-training-{self.seed}"


def files_of(corpus: StudiedCorpus) -> dict[str, Path]:
    """The files that its figures depend on, by what they are."""
    named = {name: getattr(corpus, name) for name in ("train", "test", "mapping", "word_vectors")}
    return {name: path for name, path in named.items() if path is not None}


def runs_of(config: StudyConfig, seeds: tuple[int, ...]) -> list[StudyRun]:
    """All runs in order; those without neighbours have 1."""
    plan: list[tuple[Kind, int]] = [("non-private", 1), ("non-private, no casing", 1)]
    plan += [("pseudonymised", n) for n in config.study.neighbours]
    plan.append(("noise alone", config.study.attacked))
    plan += [("adversarial", n) for n in config.study.neighbours]
    plan.append(("reversal", config.study.attacked))
    return [
        StudyRun(corpus=corpus, kind=kind, neighbours=n, seed=seed)
        for corpus in config.corpora
        for kind, n in plan
        for seed in seeds
    ]


def read_study_config(path: Path) -> StudyConfig:
    """Read a study; paths in it count from the file's own folder.

    Raises:
        ConfigurationError: Missing, not TOML, unknown or unfit settings.
    """
    values = read_toml(path)
    with name_file(path):
        return _study_config(values, path.parent)


def _study_config(values: Mapping[str, Any], folder: Path) -> StudyConfig:
    known = ("study", "corpora", *TABLES)
    if unknown := sorted(set(values) - set(known)):
        raise ConfigurationError(f"unknown tables {', '.join(unknown)}. Known: {', '.join(known)}")
    table = dict(values.get("study", {}))
    if "neighbours" in table:
        listed = table["neighbours"]
        if not isinstance(listed, list) or not all(isinstance(n, int) for n in listed):
            raise ConfigurationError("study.neighbours is a list of whole numbers")
        table["neighbours"] = tuple(listed)
    corpora = values.get("corpora", [])
    if not isinstance(corpora, list) or not corpora:
        raise ConfigurationError("names no corpus. Give at least one table [[corpora]]")
    study = StudyTable(**check_table(table, "study", StudyTable))
    found = tuple(_corpus(corpus, folder) for corpus in corpora)
    if len({corpus.name for corpus in found}) != len(found):
        raise ConfigurationError("two [[corpora]] have one name. Give each its own")
    return StudyConfig(study=study, corpora=found, sharing=sharing_config(values))


def _corpus(values: object, folder: Path) -> StudiedCorpus:
    known = {field.name for field in dataclasses.fields(StudiedCorpus)} - {"learned"}
    is_table = isinstance(values, dict) and all(isinstance(value, str) for value in values.values())
    if not isinstance(values, dict) or not is_table or set(values) - known:
        raise ConfigurationError(f"[[corpora]] holds texts named {', '.join(sorted(known))}")
    if missing := sorted({"name", "train", "test"} - set(values)):
        raise ConfigurationError(f"[[corpora]] lacks {', '.join(missing)}")
    learned = values.get("word_vectors") == LEARNED
    paths = {name: (folder / value).resolve() for name, value in values.items() if name != "name"}
    if learned:
        del paths["word_vectors"]
    return StudiedCorpus(name=values["name"], learned=learned, **paths)
