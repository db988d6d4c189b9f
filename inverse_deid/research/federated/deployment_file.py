"""The TOML files of a server and of a site; everything is checked before anything is done."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.network.config import naming, network_config, read_config
from inverse_deid.research.federated.common_network import NetworkPlan
from inverse_deid.research.federated.coordinator import CommonTraining
from inverse_deid.research.federated.deployment_config import ServerConfig, SiteConfig
from inverse_deid.research.federated.flower_settings import FlowerServer, FlowerSite
from inverse_deid.research.federated.local_config import LocalConfig, table_of
from inverse_deid.research.federated.selection import SelectiveSettings


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
class _ServerFlower:
    superlink: str = ""
    root_certificates: str = ""
    secret: str = ""
    node_keys: str = ""


@dataclass(frozen=True)
class _SiteFlower:
    superlink: str = ""
    root_certificates: str = ""
    node_key: str = ""


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
    tables = _tables(path, ("server", "exchange", "flower", "network", "training"))
    with naming(path):
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
            folder=folder / exchange.folder if exchange.folder else None,
            flower=_flower_server(tables["flower"], folder) if tables["flower"] else None,
            keys=_needed(folder, exchange.keys, "exchange.keys"),
            checkpoint=folder / server.checkpoint,
            join_s=exchange.join_s,
            answer_s=exchange.answer_s,
        )


def read_site_config(path: Path) -> SiteConfig:
    """Read a site's configuration; paths in it count from the file's own folder.

    Raises:
        ConfigurationError: Missing, not TOML, unknown or unfit settings.
    """
    tables = _tables(path, ("site", "selective", "exchange", "flower", "network", "training"))
    with naming(path):
        site = _Site(**table_of(_Site, tables["site"], "site"))
        exchange = _SiteExchange(**table_of(_SiteExchange, tables["exchange"], "exchange"))
        folder = path.parent
        return SiteConfig(
            name=site.name,
            documents=tuple(folder / str(name) for name in site.documents),
            mapping=folder / site.mapping if site.mapping else None,
            plan=_plan(tables, site.word_vectors, folder),
            selective=SelectiveSettings(**table_of(SelectiveSettings, tables["selective"], "selective")),
            folder=folder / exchange.folder if exchange.folder else None,
            flower=_flower_site(tables["flower"], folder) if tables["flower"] else None,
            key=_needed(folder, exchange.key, "exchange.key"),
            private=folder / site.private,
            model=folder / site.model,
            held_out=site.held_out,
            seed=site.seed,
            patience_s=exchange.patience_s,
        )


def _tables(path: Path, known: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    values = read_config(path)
    unknown = sorted(
        name for name, value in values.items() if name not in known or not isinstance(value, dict)
    )
    if unknown:
        raise ConfigurationError(f"{path}: {', '.join(unknown)}: no table; known: {', '.join(known)}")
    return {name: values.get(name, {}) for name in known}


def _flower_server(table: Mapping[str, Any], folder: Path) -> FlowerServer:
    given = _ServerFlower(**table_of(_ServerFlower, table, "flower"))
    return FlowerServer(
        superlink=_address(given.superlink),
        root_certificates=_needed(folder, given.root_certificates, "flower.root_certificates"),
        secret=_needed(folder, given.secret, "flower.secret"),
        node_keys=_needed(folder, given.node_keys, "flower.node_keys"),
    )


def _flower_site(table: Mapping[str, Any], folder: Path) -> FlowerSite:
    given = _SiteFlower(**table_of(_SiteFlower, table, "flower"))
    return FlowerSite(
        superlink=_address(given.superlink),
        root_certificates=_needed(folder, given.root_certificates, "flower.root_certificates"),
        node_key=_needed(folder, given.node_key, "flower.node_key"),
    )


def _address(given: str) -> str:
    if not re.fullmatch(r"\S+:\d{1,5}", given) or "//" in given:
        raise ConfigurationError("flower.superlink is HOST:PORT, as in leader.example.org:8000")
    return given


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
