"""What a server and a site are told; `deployment_file` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.research.federated.common_network import NetworkPlan
from inverse_deid.research.federated.coordinator import CommonTraining
from inverse_deid.research.federated.flower_settings import FlowerServer, FlowerSite
from inverse_deid.research.federated.selection import SelectiveSettings
from inverse_deid.research.federated.study_config import NAME

_ONE_WAY = "give either exchange.folder, or a table [flower]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """A server.

    Args:
        training: What the centres agreed upon.
        plan: The common network.
        folder: Of the exchange of files; None with Flower.
        flower: How the SuperLink is reached; None with files.
        keys: Folder with SITE.key for every site.
        checkpoint: File that a stopped server goes on from.
        join_s: Seconds within which all sites must have declared themselves.
        answer_s: Seconds within which a site must answer a round.
    """

    training: CommonTraining
    plan: NetworkPlan
    keys: Path
    checkpoint: Path
    join_s: float
    answer_s: float
    folder: Path | None = None
    flower: FlowerServer | None = None

    def __post_init__(self) -> None:
        if (self.folder is None) == (self.flower is None):
            raise ConfigurationError(_ONE_WAY)
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
        folder: Of the exchange of files; None with Flower.
        flower: How the SuperLink is reached; None with files.
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
    key: Path
    private: Path
    model: Path
    selective: SelectiveSettings
    folder: Path | None = None
    flower: FlowerSite | None = None
    mapping: Path | None = None
    held_out: float = 0.1
    seed: int = 1
    patience_s: float = 3600.0

    def __post_init__(self) -> None:
        if (self.folder is None) == (self.flower is None):
            raise ConfigurationError(_ONE_WAY)
        if not NAME.fullmatch(self.name):
            raise ConfigurationError("site.name holds letters, digits, dot, _ and - only")
        if not self.documents:
            raise ConfigurationError(f"site {self.name}: site.documents names no annotated corpus")
        if not 0 < self.held_out < 1 or not 0 < self.patience_s < float("inf"):
            raise ConfigurationError("site.held_out is a share between 0 and 1, exchange.patience_s above 0")
