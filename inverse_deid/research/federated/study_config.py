"""What a study compares: sites, methods, network, measures."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.network.config import NetworkConfig
from inverse_deid.research.federated.local_config import LocalConfig
from inverse_deid.research.federated.selection import SelectiveSettings

Way = Literal["central", "round-robin", "selective", "isolated", "average", "secure-average"]
LEAST_SECURE = 3
"""Sites of secure aggregation: with two, each knows the other's network from the mean."""
NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
"""Of methods and sites: they stand in names of files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodConfig:
    """A method of the comparison.

    Args:
        name: As tables call it.
        way: Which of the methods.
        settings: Of distributed selective SGD, where a site has none of its own.
        own: Sites with settings of their own.
        proximal: mu of FedProx; 0 = FedAvg.
    """

    name: str
    way: Way
    settings: SelectiveSettings = field(default_factory=SelectiveSettings)
    own: Mapping[str, SelectiveSettings] = field(default_factory=dict)
    proximal: float = 0.0

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ConfigurationError(f"methods.{self.name}: a name holds letters, digits, dot, _ and - only")
        if self.way not in get_args(Way):
            raise ConfigurationError(f"methods.{self.name}: way is one of {', '.join(get_args(Way))}")
        if not 0 <= self.proximal < float("inf"):
            raise ConfigurationError(f"methods.{self.name}: proximal is at least 0")

    def settings_of(self, site: str) -> SelectiveSettings:
        """What a site takes and gives."""
        return self.own.get(site, self.settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class SitesConfig:
    """How documents are dealt out.

    Args:
        number: Sites of about equal size; not used with `kinds`.
        kinds: Beginnings of the ids of each site's documents, by its name.
        held_out: Share of each site's documents that it calibrates on and never trains on.
        seed: Decides who is where.
    """

    number: int = 5
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    held_out: float = 0.1
    seed: int = 1

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ConfigurationError("sites.number is at least 1")
        if not 0 < self.held_out < 1:
            raise ConfigurationError("sites.held_out is a share above 0 and below 1")
        if not all(NAME.fullmatch(name) for name in self.kinds):
            raise ConfigurationError("sites.kinds: a name holds letters, digits, dot, _ and - only")
        if any(not beginnings or "" in beginnings for beginnings in self.kinds.values()):
            raise ConfigurationError("sites.kinds names beginnings of ids for every site")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySettings:
    """What is compared.

    Args:
        epochs: Of every site.
        seeds: One run of each method a seed.
        precision: At which recall is measured.
        recall: That each site's thresholds are calibrated to, on its own held-out documents.
    """

    epochs: int = 25
    seeds: tuple[int, ...] = (1, 2, 3)
    precision: float = 0.95
    recall: float = 0.98

    def __post_init__(self) -> None:
        if self.epochs < 1 or not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise ConfigurationError("study.epochs is at least 1, study.seeds are different numbers")
        if not all(0 <= seed < 2**31 for seed in self.seeds):
            raise ConfigurationError("study.seeds are whole numbers of at least 0")
        if not (0 < self.precision <= 1 and 0 < self.recall <= 1):
            raise ConfigurationError("study.precision and recall are above 0 and at most 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyConfig:
    """A whole study.

    Args:
        train: Annotated corpora, dealt out to the sites.
        test: Annotated corpora that no site trains on.
        mapping: TOML file that translates types of another scheme.
        word_vectors: File of public word vectors, None = those of the packaged model.
        sites: Who has what.
        study: Epochs, seeds, measures.
        methods: What is compared, in order.
        network: The common network.
        training: How an epoch is trained.
    """

    train: tuple[Path, ...]
    test: tuple[Path, ...]
    methods: tuple[MethodConfig, ...]
    mapping: Path | None = None
    word_vectors: Path | None = None
    sites: SitesConfig = field(default_factory=SitesConfig)
    study: StudySettings = field(default_factory=StudySettings)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    training: LocalConfig = field(default_factory=LocalConfig)

    def __post_init__(self) -> None:
        if not self.train or not self.test:
            raise ConfigurationError("[data] train and test name annotated corpora")
        if not self.methods:
            raise ConfigurationError("[methods.NAME] is missing: there is nothing to compare")
        if self._has("secure-average") and len(self.sites.kinds or range(self.sites.number)) < LEAST_SECURE:
            raise ConfigurationError(f"secure-average needs at least {LEAST_SECURE} sites")
        if self.network.learn_words:
            raise ConfigurationError(
                "network.learn_words cannot be used by sites together: the vocabulary is public and fixed"
            )

    def _has(self, way: Way) -> bool:
        return any(method.way == way for method in self.methods)


def restricted(
    config: StudyConfig, only: tuple[str, ...], epochs: int | None, seeds: tuple[int, ...]
) -> StudyConfig:
    """A study with fewer methods, other epochs or seeds.

    Args:
        config: As read.
        only: Names of methods; none = all.
        epochs: None = as configured.
        seeds: None given = as configured.

    Raises:
        ConfigurationError: A method that the study does not have.
    """
    names = [method.name for method in config.methods]
    unknown = sorted(set(only) - set(names))
    if unknown:
        raise ConfigurationError(
            f"no method {', '.join(unknown)} in the study; methods are {', '.join(names)}"
        )
    methods = tuple(method for method in config.methods if not only or method.name in only)
    study = dataclasses.replace(
        config.study, epochs=epochs or config.study.epochs, seeds=seeds or config.study.seeds
    )
    return dataclasses.replace(config, methods=methods, study=study)
