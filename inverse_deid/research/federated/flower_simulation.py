"""Sites of a study in Flower's simulation engine: processes of Ray train them at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.extras import install_hint
from inverse_deid.engine.worker_pool import n_threads_each
from inverse_deid.research.federated.encoded_sites import Say
from inverse_deid.research.federated.simulated_site import SitePlan
from inverse_deid.research.federated.study_config import StudyConfig
from inverse_deid.research.federated.study_engine import Engine, Work

_FLOWER, _EXTRA = "1.41.", "federated-simulation"


@dataclass(frozen=True, slots=True)
class FlowerSimulation:
    """How Flower's simulation engine is used.

    Args:
        n_processes: That train at the same time; 0 = as many as there are sites, or cores if
            these are fewer. All together use every core once.

    Raises:
        ConfigurationError: Flower or Ray is not installed.
    """

    n_processes: int = 0

    def __post_init__(self) -> None:
        found = {name: _version(name) for name in ("flwr", "ray")}
        if not found["flwr"].startswith(_FLOWER) or found["ray"] == "none":
            here = ", ".join(f"{name} {number}" for name, number in found.items())
            raise ConfigurationError(
                f"--engine flower needs flwr {_FLOWER}x and ray, found {here}: {install_hint(_EXTRA)}"
            )

    def processes(self, n_sites: int) -> int:
        """How many there are for so many sites; none would be idle."""
        return min(n_sites, self.n_processes or n_threads_each(1))

    def words(self, n_sites: int) -> str:
        """For a report."""
        n = self.processes(n_sites)
        packages = f"Flower {_version('flwr')} on Ray {_version('ray')}"
        return f"{packages}, processes: {n}, threads of each: {n_threads_each(n)}"


def flower_engine(
    settings: FlowerSimulation, config: StudyConfig, hashes: Mapping[str, str], sites: Sequence[str]
) -> Engine:
    """Sites are nodes of Flower, the work is its ServerApp.

    Args:
        settings: How many processes.
        config: The study, with paths that count from anywhere.
        hashes: SHA-256 of its corpora, by path.
        sites: Names, in the order of their places.
    """
    n_processes = settings.processes(len(sites))
    plan = SitePlan(config, tuple(hashes.items()), n_threads_each(n_processes))

    def run(work: Work, say: Say) -> None:
        from inverse_deid.research.federated.flower.simulation import simulate

        simulate(work, say, plan, sites, n_processes)

    return run


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
