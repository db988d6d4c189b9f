"""Settings of a study, of a server and of a site, as their TOML files hold them.

Everything is checked before anything is read or trained.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import change_settings, make_settings, read_toml
from inverse_deid.network.config import NetworkConfig, Share, Size

SharedWay = Literal["average", "round-robin", "selective"]
"""The methods in which documents stay at their sites."""
Way = Literal["central", "round-robin", "selective", "isolated", "average"]

InnerShare = Annotated[float, msgspec.Meta(gt=0, lt=1)]
Positive = Annotated[float, msgspec.Meta(gt=0, le=sys.float_info.max)]
NotNegative = Annotated[float, msgspec.Meta(ge=0, le=sys.float_info.max)]
PositiveShare = Annotated[float, msgspec.Meta(gt=0, le=1)]
Seed = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
Corpora = Annotated[tuple[Path, ...], msgspec.Meta(min_length=1)]

Party = TypeVar("Party", "ServerSettings", "SiteSettings")
_PATHS = {"server": {"checkpoint": "server-checkpoint.npz"}, "site": {"private": "private", "model": "model"}}
"""Defaults that count from the folder of the file."""
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)


def _check_names(setting: str, names: Iterable[str]) -> None:
    wrong = [name for name in names if not _NAME.fullmatch(name)]
    if wrong:
        raise ConfigurationError(
            f"{setting}: {wrong[0]!r} has other characters than letters, digits, ., _ and -"
        )


class SelectiveSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a site exchanges in distributed selective SGD. No other site learns it."""

    download: Share = 0.1  # (theta_d) of the global weights that it takes before each epoch
    upload: Share = 0.5  # (theta_u) of the changes that it gives after each epoch, at most
    gamma: Positive = 10.0  # changes are clamped to [-gamma, gamma]
    tau: NotNegative = 0.0001  # changes are kept back if their absolute value is not larger


class OwnSelection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of `SelectiveSettings`; None = as for the other sites."""

    download: Share | None = None
    upload: Share | None = None
    gamma: Positive | None = None
    tau: NotNegative | None = None


class EpochSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How every site trains an epoch: the same everywhere, since all sites train one network."""

    # Plain *sgd* as in the paper, or *adam*, whose moments stay at the site.
    optimizer: Literal["sgd", "adam"] = "sgd"
    learning_rate: Positive = 0.9  # constant
    clip_norm: NotNegative = 0.0  # global norm that gradients are clipped to; 0 = no clipping
    batch_tokens: Size = 128  # tokens per batch. The loss is the mean over them
    # Largest number of tokens of a training window. With the same number for `batch_tokens`, a step sees
    # about one piece of text.
    window: Size = 128
    # Weight of a token of protected health information (PHI) in the loss; a safe one weighs 1.
    phi_weight: Positive = 1.0
    word_dropout: Share = 0.0  # share of words hidden from the word embedding, doubled on PHI
    dictionary_dropout: Share = 0.0  # share of tokens whose dictionary features are hidden
    # Mu of FedProx: half of it times the squared distance to the weights at the start of an epoch is added to
    # the loss; 0 = no such term.
    proximal: NotNegative = 0.0


class CorpusSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [data] of a study: annotated corpora."""

    train: Corpora  # they are dealt out to the sites
    test: Corpora  # no site trains on them
    mapping: Path | None = None  # TOML file that translates the types of another scheme
    word_vectors: Path | None = None  # file of public word vectors; None = those of the packaged model


class DealSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [sites] of a study: `seed` decides which document is where."""

    number: Size | None = None  # sites of about equal size; None = 5, or one per kind
    kinds: dict[str, tuple[str, ...]] = {}  # prefixes of the ids of each site's documents, by site
    held_out: InnerShare = 0.1  # share of each site's documents to calibrate on, never trained on
    seed: int = 1

    def __post_init__(self) -> None:
        if self.kinds and self.number is not None:
            raise ConfigurationError("sites.number and sites.kinds exclude each other. Remove one of them")
        _check_names("sites.kinds", self.kinds)
        if any(not prefixes or "" in prefixes for prefixes in self.kinds.values()):
            raise ConfigurationError("sites.kinds: every site needs prefixes of document ids")

    @property
    def names(self) -> list[str]:
        return list(self.kinds) or [f"site-{i + 1}" for i in range(self.number or 5)]


class MeasureSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [study] of a study: each method runs once per seed."""

    epochs: Size = 25
    measure_every: Size = 1  # epochs whose number it divides are measured, and the last
    seeds: tuple[Seed, ...] = (1, 2, 3)
    precision: PositiveShare = 0.95  # recall is measured at it
    recall: PositiveShare = 0.98  # each site calibrates its threshold to it on its own held-out documents

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise ConfigurationError("study.seeds: give at least one seed, each of them once")


class MethodSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table [methods.NAME] of a study, as in `SelectiveSettings` for *selective*; None = its default."""

    way: Way
    download: Share | None = None
    upload: Share | None = None
    gamma: Positive | None = None
    tau: NotNegative | None = None
    sites: dict[str, OwnSelection] = {}  # what single sites set for themselves
    proximal: NotNegative | None = None  # mu of FedProx; None = FedAvg

    def selection(self, site: str | None = None) -> SelectiveSettings:
        """Return what a site exchanges; None = a site without settings of its own."""
        own = self.sites.get(site or "", OwnSelection())
        values = {}
        for name in SelectiveSettings.__struct_fields__:
            for value in (getattr(self, name), getattr(own, name)):
                if value is not None:
                    values[name] = value
        return SelectiveSettings(**values)

    def find_problem(self, sites: Iterable[str]) -> str | None:
        """Describe what does not fit the way or the sites of the study; None if everything does."""
        selective = [*SelectiveSettings.__struct_fields__, "sites"]
        given = [name for name in selective if getattr(self, name) not in (None, {})]
        if given and self.way != "selective":
            return f"no setting {', '.join(given)}; only the way 'selective' has it"
        if self.proximal is not None and self.way != "average":
            return "no setting proximal; only the way 'average' has it"
        unknown = sorted(set(self.sites) - set(sites))
        if unknown:
            return f"sites: no site {', '.join(unknown)} in the study. It has: {', '.join(sites)}"
        return None


class FederatedStudySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of a study; `methods` are compared in this order.

    With `coupled_gates`, one gate of an LSTM decides what is new and, as its complement, what is kept.
    """

    coupled_gates: bool = False
    data: CorpusSettings
    methods: dict[str, MethodSettings]
    sites: DealSettings = DealSettings()
    study: MeasureSettings = MeasureSettings()
    network: NetworkConfig = NetworkConfig()
    training: EpochSettings = EpochSettings()

    def __post_init__(self) -> None:
        if not self.methods:
            raise ConfigurationError("no table [methods.NAME]: add at least one method to compare")
        _check_names("methods", self.methods)
        for name, method in self.methods.items():
            problem = method.find_problem(self.sites.names)
            if problem:
                raise ConfigurationError(f"methods.{name}: {problem}")
        if self.training.proximal:
            raise ConfigurationError("training.proximal: set it per method in a study")
        _refuse_learned_words(self.network)


class CommonTraining(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [server]: what the centres agreed upon."""

    sites: tuple[str, ...]
    way: SharedWay = "average"
    epochs: Size = 25
    least_sites: Size = 1  # with fewer usable answers a round changes nothing
    seed: int = 1
    checkpoint: Path = Path("server-checkpoint.npz")  # file from which a stopped server resumes
    word_vectors: Path | None = None

    def __post_init__(self) -> None:
        if not self.sites or len(set(self.sites)) != len(self.sites):
            raise ConfigurationError("server.sites: name every site once")
        _check_names("server.sites", self.sites)
        if self.least_sites > len(self.sites):
            raise ConfigurationError("server.least_sites: larger than the number of sites. Lower it")

    @property
    def n_rounds(self) -> int:
        """Rounds of the whole run; in round robin each site has its own."""
        return self.epochs * (len(self.sites) if self.way == "round-robin" else 1)


class ServerExchange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [exchange] of a server."""

    keys: Path  # folder with SITE.key for every site
    folder: Path  # carries messages as files
    # Seconds within which all sites must have declared themselves.
    join_s: Annotated[float, msgspec.Meta(gt=0)] = 600.0
    answer_s: Annotated[float, msgspec.Meta(gt=0)] = 3600.0  # seconds within which a site must answer a round


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of a server; [network] and [training] are the same at every site."""

    server: CommonTraining
    exchange: ServerExchange
    network: NetworkConfig = NetworkConfig()
    training: EpochSettings = EpochSettings()

    def __post_init__(self) -> None:
        _refuse_learned_words(self.network)


class LocalSite(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [site]; other settings as in `CorpusSettings` and `DealSettings`."""

    name: str
    documents: Corpora  # annotated corpora. They stay here
    mapping: Path | None = None
    held_out: InnerShare = 0.1
    seed: int = 1
    private: Path = Path("private")  # folder for memory and log
    model: Path = Path("model")  # folder for the finished model
    word_vectors: Path | None = None

    def __post_init__(self) -> None:
        _check_names("site.name", [self.name])


class SiteExchange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [exchange] of a site: its key, and the folder as in `ServerExchange`."""

    key: Path
    folder: Path
    patience_s: Positive = 3600.0  # without word from the server it then gives up


class SiteSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of a site; [network] and [training] are the same at every site."""

    site: LocalSite
    exchange: SiteExchange
    selective: SelectiveSettings = SelectiveSettings()
    network: NetworkConfig = NetworkConfig()
    training: EpochSettings = EpochSettings()

    def __post_init__(self) -> None:
        _refuse_learned_words(self.network)


def restrict_study(
    settings: FederatedStudySettings, only: tuple[str, ...], epochs: int | None, seeds: tuple[int, ...]
) -> FederatedStudySettings:
    """Return a study with fewer methods, other epochs or other seeds; () and None leave them as they are.

    Raises:
        ConfigurationError: The study does not have a method, or a seed occurs twice.
    """
    unknown = sorted(set(only) - set(settings.methods))
    if unknown:
        raise ConfigurationError(
            f"no method {', '.join(unknown)} in the study. It has: {', '.join(settings.methods)}",
            choice="only",
        )
    study = change_settings(
        settings.study, epochs=epochs or settings.study.epochs, seeds=seeds or settings.study.seeds
    )
    methods = {name: method for name, method in settings.methods.items() if not only or name in only}
    return msgspec.structs.replace(settings, methods=methods, study=study)


def read_party_settings(path: Path, kind: type[Party]) -> Party:
    """Read the file of a server or a site, or raise `ConfigurationError`.

    Paths in it and the defaults of paths count from its folder.
    """
    values = read_toml(path)
    for table, paths in _PATHS.items():
        if isinstance(values.get(table), dict):
            values[table] = {**paths, **values[table]}
    try:
        return make_settings(values, kind, folder=path.parent)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def _refuse_learned_words(network: NetworkConfig) -> None:
    if network.learn_words:
        raise ConfigurationError(
            "network.learn_words must be false: sites share a vocabulary that is public and fixed"
        )
