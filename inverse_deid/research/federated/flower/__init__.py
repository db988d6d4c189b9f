"""Everything that knows Flower: its SuperLink, its simulation engine and its secure aggregation.

Over the SuperLink (`superlink`, `connections`) a site is a SuperNode: it shows its key, sends heartbeats
and fetches its messages, all with Flower's own client. It lacks the part that fetches and runs the app of
whoever started a run: a site runs the installed program. The server takes the place of the process of
a ServerApp, and the app that it hands in is empty.

In a study, where one machine has all documents, the engine of `simulation` runs a ServerApp and a
ClientApp. `secure_aggregation` needs no engine.

`connections`, `simulation` and `secure_aggregation` import Flower. They are imported when they are
needed, after a check of the version and after `be_quiet` turned off telemetry.

Source: flwr 1.41, `supernode/start_client_internal.py`, `supernode/fleet_http_connection.py`,
`superlink/runtime/run_serverapp.py`, `simulation/run_simulation.py`.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.extras import install_hint
from inverse_deid.engine.worker_pool import n_threads_each

_FLOWER = "1.41."


def find_version(package: str) -> str:
    """Return the version of a package, "none" if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def prepare_flower() -> None:
    """Check that Flower is installed, or raise `ConfigurationError`, and turn off its telemetry and log."""
    found = find_version("flwr")
    if not found.startswith(_FLOWER):
        raise ConfigurationError(
            f"[flower] needs flwr {_FLOWER}x, found {found}: {install_hint('federated')}"
        )
    be_quiet()


def be_quiet() -> None:
    """Turn off Flower's telemetry and log. Call it before Flower is imported."""
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    logging.getLogger("flwr").disabled = True  # its level is set anew when Flower is imported


@dataclass(frozen=True, slots=True)
class FlowerSimulation:
    """The processes that train at the same time in Flower's simulation engine; all use every core once.

    0 = one per site, or per core if these are fewer. `ConfigurationError` without Flower or Ray.
    """

    n_processes: int = 0

    def __post_init__(self) -> None:
        found = {name: find_version(name) for name in ("flwr", "ray")}
        if not found["flwr"].startswith(_FLOWER) or found["ray"] == "none":
            here = ", ".join(f"{name} {number}" for name, number in found.items())
            hint = install_hint("federated-simulation")
            raise ConfigurationError(f"--engine flower needs flwr {_FLOWER}x and ray, found {here}: {hint}")

    def count_processes(self, n_sites: int) -> int:
        """Return the number of processes for a number of sites; none would be idle."""
        return min(n_sites, self.n_processes or n_threads_each(1))

    def describe(self, n_sites: int) -> str:
        """Describe the engine for a report."""
        n = self.count_processes(n_sites)
        packages = f"Flower {find_version('flwr')} on Ray {find_version('ray')}"
        return f"{packages}, processes: {n}, threads of each: {n_threads_each(n)}"
