"""Everything that knows Flower: its SuperLink, its simulation engine and its secure aggregation.

Over the SuperLink (`superlink`, `connections`) a site is a SuperNode: it shows its key, sends heartbeats
and fetches its messages, all with Flower's own client. It lacks the part that fetches and runs the app of
whoever started a run: a site runs the installed program. The server takes the place of the process of
a ServerApp, and the app that it hands in is empty.

In a study, where one machine has all documents, the engine runs a ServerApp and a ClientApp
(`simulation`, `epochs`). `secure_aggregation` needs no engine.

Only `connections`, `epochs` and `secure_protocol` import Flower at once. The others import these when
they are needed, after `need_flower` has checked the version and `be_quiet` turned off telemetry.

Source: flwr 1.41, `supernode/start_client_internal.py`, `supernode/fleet_http_connection.py`,
`superlink/runtime/run_serverapp.py`, `simulation/run_simulation.py`.
"""

from __future__ import annotations

import logging
import os
from importlib.metadata import PackageNotFoundError, version

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.extras import install_hint

FLOWER = "1.41."


def find_version(package: str) -> str:
    """Return the version of a package, "none" if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def need_flower() -> None:
    """Check that Flower is installed, or raise `ConfigurationError`; call it before anything is read."""
    found = find_version("flwr")
    if not found.startswith(FLOWER):
        raise ConfigurationError(f"[flower] needs flwr {FLOWER}x, found {found}: {install_hint('federated')}")


def be_quiet() -> None:
    """Turn off Flower's telemetry and log. Call it before Flower is imported."""
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    logging.getLogger("flwr").disabled = True  # its level is set anew when Flower is imported
