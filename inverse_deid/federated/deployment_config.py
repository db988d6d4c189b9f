"""What a server and a site are told, each in a TOML file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.deep.config import network_config, read_config
from inverse_deid.federated.common_network import NetworkPlan
from inverse_deid.federated.coordinator import CommonTraining
from inverse_deid.federated.local_config import LocalConfig, table_of
from inverse_deid.federated.selection import SelectiveSettings
from inverse_deid.federated.study_config import NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """A server.

    Args:
        training: What the centres agreed upon.
        plan: The common network.
        folder: Of the exchange.
        keys: Folder with SITE.key for every site.
        checkpoint: File that a stopped server goes on from.
        join_s: Seconds within which all sites must have declared themselves.
        answer_s: Seconds within which a site must answer a round.
    """

    training: CommonTraining
    plan: NetworkPlan
    folder: Path
    keys: Path
    checkpoint: Path
    join_s: float
    answer_s: float

    def __post_init__(self) -> None:
        if not all(NAME.fullmatch(name) for name in self.training.sites):
            raise ConfigurationError("server.sites: a name holds letters, digits, dot, _ and - only")
        if not min(self.join_s, self.answer_s) > 0:
            raise ConfigurationError("exchange.join_s and answer_s are above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteConfig:
    """A site.

    Args:
        name: As the server knows it.
        documents: Annotated corpora; they stay here.
        mapping: TOML file that translates types of another scheme.
        plan: The common network.
        selective: Its own settings of distributed selective SGD.
        folder: Of the exchange.
        key: Its key.
        private: Folder for memory and log.
        model: Folder that the finished model goes to.
        held_out: Share of the documents to calibrate on, never trained on.
        seed: Decides which.
        patience_s: Seconds without word from the server after which the site gives up.
    """

    name: str
    documents: tuple[Path, ...]
    plan: NetworkPlan
    folder: Path
    key: Path
    private: Path
    model: Path
    selective: SelectiveSettings
    mapping: Path | None = None
    held_out: float = 0.1
    seed: int = 1
    patience_s: float = 3600.0

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ConfigurationError("site.name holds letters, digits, dot, _ and - only")
        if not self.documents:
            raise ConfigurationError(f"site {self.name}: site.documents names no annotated corpus")
        if not 0 < self.held_out < 1 or not 0 < self.patience_s < float("inf"):
            raise ConfigurationError("site.held_out is a share between 0 and 1, exchange.patience_s above 0")


@dataclass(frozen=True)
class _Server:
    way: str = "average"
    sites: list[str] = field(default_factory=list)
    epochs: int = 25
    least_sites: int = 1
    seed: int = 1
    checkpoint: str = "server-checkpoint.npz"
    word_vectors: str = ""


@dataclass(frozen=True)
class _Site:
    name: str = ""
    documents: list[str] = field(default_factory=list)
    mapping: str = ""
    held_out: float = 0.1
    seed: int = 1
    private: str = "private"
    model: str = "model"
    word_vectors: str = ""


@dataclass(frozen=True)
class _ServerExchange:
    folder: str = ""
    keys: str = ""
    join_s: float = 600.0
    answer_s: float = 3600.0


@dataclass(frozen=True)
class _SiteExchange:
    folder: str = ""
    key: str = ""
    patience_s: float = 3600.0


def read_server_config(path: Path) -> ServerConfig:
    """Read a server's configuration; paths in it count from the file's own folder.

    Raises:
        ConfigurationError: Missing, not TOML, unknown or unfit settings.
    """
    tables = _tables(path, ("server", "exchange", "network", "training"))
    try:
        server = _Server(**table_of(_Server, tables["server"], "server"))
        exchange = _ServerExchange(**table_of(_ServerExchange, tables["exchange"], "exchange"))
        training = CommonTraining(
            way=server.way,  # type: ignore[arg-type]
            sites=tuple(map(str, server.sites)),
            epochs=server.epochs,
            least_sites=server.least_sites,
            seed=server.seed,
        )
        folder = path.parent
        return ServerConfig(
            training=training,
            plan=_plan(tables, server.word_vectors, folder),
            folder=_needed(folder, exchange.folder, "exchange.folder"),
            keys=_needed(folder, exchange.keys, "exchange.keys"),
            checkpoint=folder / server.checkpoint,
            join_s=exchange.join_s,
            answer_s=exchange.answer_s,
        )
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def read_site_config(path: Path) -> SiteConfig:
    """Read a site's configuration; paths in it count from the file's own folder.

    Raises:
        ConfigurationError: Missing, not TOML, unknown or unfit settings.
    """
    tables = _tables(path, ("site", "selective", "exchange", "network", "training"))
    try:
        site = _Site(**table_of(_Site, tables["site"], "site"))
        exchange = _SiteExchange(**table_of(_SiteExchange, tables["exchange"], "exchange"))
        folder = path.parent
        return SiteConfig(
            name=site.name,
            documents=tuple(folder / str(name) for name in site.documents),
            mapping=folder / site.mapping if site.mapping else None,
            plan=_plan(tables, site.word_vectors, folder),
            selective=SelectiveSettings(**table_of(SelectiveSettings, tables["selective"], "selective")),
            folder=_needed(folder, exchange.folder, "exchange.folder"),
            key=_needed(folder, exchange.key, "exchange.key"),
            private=folder / site.private,
            model=folder / site.model,
            held_out=site.held_out,
            seed=site.seed,
            patience_s=exchange.patience_s,
        )
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def _tables(path: Path, known: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    values = read_config(path)
    unknown = sorted(
        name for name, value in values.items() if name not in known or not isinstance(value, dict)
    )
    if unknown:
        raise ConfigurationError(f"{path}: {', '.join(unknown)}: no table; known: {', '.join(known)}")
    return {name: values.get(name, {}) for name in known}


def _plan(tables: Mapping[str, dict[str, Any]], word_vectors: str, folder: Path) -> NetworkPlan:
    training = dict(tables["training"])
    proximal = training.pop("proximal", 0.0)
    if not isinstance(proximal, int | float):
        raise ConfigurationError("training.proximal is a number")
    return NetworkPlan(
        network=network_config(tables["network"]),
        training=LocalConfig(**table_of(LocalConfig, training, "training")),
        proximal=float(proximal),
        word_vectors=folder / word_vectors if word_vectors else None,
    )


def _needed(folder: Path, given: str, name: str) -> Path:
    if not given:
        raise ConfigurationError(f"{name} is missing")
    return folder / given
