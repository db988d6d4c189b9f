"""Flower's simulation engine: a study is its ServerApp, processes of Ray run the ClientApp of the sites.

Source: flwr 1.41, `simulation/run_simulation.py`, `server/superlink/fleet/vce/`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Event
from typing import Any

from inverse_deid.core.errors import ClusterError
from inverse_deid.research.federated.encoded_sites import Say
from inverse_deid.research.federated.flower.parcels import be_quiet
from inverse_deid.research.federated.simulated_site import SitePlan
from inverse_deid.research.federated.study_engine import Work

_OBJECT_STORE_BYTES = 500_000_000
"""Weights and variables of optimizers under way; Ray takes what is needed of it."""
_END_S = 60.0
"""The work has been done, or has failed, when the engine returns."""
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Ray shall not tell anybody that it runs, nor warn of GPUs, which its processes leave alone."""


def simulate(work: Work, say: Say, plan: SitePlan, sites: Sequence[str], n_processes: int) -> None:
    """Do the work while Flower has the sites; Ray is started for it and stopped after it.

    Args:
        work: Runs in a thread of this process, as Flower has it.
        say: Gets its lines.
        plan: What the processes need.
        sites: Names of the sites.
        n_processes: That train at the same time.

    Raises:
        InverseDeidError: What the work raised.
        ClusterError: Ray could not be started, or was lost.
    """
    os.environ.update(_QUIET)
    be_quiet()
    import ray
    from flwr.simulation import run_simulation

    from inverse_deid.research.federated.flower.site_app import site_app

    ended, result = Event(), Future[None]()
    server = _study_app(work, say, sites, ended, result)
    try:
        run_simulation(server, site_app(plan), len(sites), backend_config=_backend(n_processes))
    except RuntimeError as error:
        if not result.done():
            raise ClusterError(
                f"Flower's simulation engine cannot be used here ({_root(error)}); leave out --engine"
            ) from error
    finally:
        ended.set()
        ray.shutdown()
    result.result(_END_S)


def _study_app(work: Work, say: Say, sites: Sequence[str], ended: Event, result: Future[None]) -> Any:  # noqa: ANN401 - Flower is imported when it is needed
    """The ServerApp. What the work raises goes on in the thread that waits for the result."""
    from flwr.serverapp import Grid, ServerApp

    from inverse_deid.research.federated.flower.node_sites import NodeSites

    app = ServerApp()

    @app.main()  # type: ignore[untyped-decorator]
    def main(grid: Grid, context: Any) -> None:  # noqa: ANN401 - as Flower has it
        nodes = NodeSites(grid, sites, ended)

        def tell(line: str) -> None:
            nodes.pause(0)
            say(line)

        try:
            work(nodes.of, tell)
            result.set_result(None)
        except BaseException as error:  # noqa: BLE001 - nothing is lost
            result.set_exception(error)

    return app


def _root(error: BaseException) -> str:
    """What went wrong first, without its message."""
    while error.__cause__ is not None:
        error = error.__cause__
    return type(error).__name__


def _backend(n_processes: int) -> dict[str, Any]:
    """A Ray of its own on this machine, with a CPU for each process."""
    return {
        "init_args": {
            "address": "local",
            "num_cpus": n_processes,
            "object_store_memory": _OBJECT_STORE_BYTES,
            "include_dashboard": False,
            "log_to_driver": False,
            "logging_level": "ERROR",
        },
        "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
    }
