"""Flower's simulation engine: a study is its ServerApp, processes of Ray run the ClientApp of the sites.

Messages contain no documents: a process reads the files of the study itself.

Source: flwr 1.41, `simulation/run_simulation.py`, `server/superlink/fleet/vce/`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import tensorflow as tf

from inverse_deid.core.errors import ClusterError, ConfigurationError, InputError
from inverse_deid.core.extras import install_hint
from inverse_deid.engine.worker_pool import n_threads_each
from inverse_deid.network.batches import Example
from inverse_deid.research.federated.documents import DocumentEncoder, deal_documents
from inverse_deid.research.federated.flower import FLOWER, be_quiet, find_version
from inverse_deid.research.federated.local_training import LocalEpoch, OptimizerState, SiteTask
from inverse_deid.research.federated.network import CommonNetwork, load_vectors
from inverse_deid.research.federated.runs import Engine, Work
from inverse_deid.research.federated.settings import FederatedStudySettings
from inverse_deid.research.studies.study import Say
from inverse_deid.training.documents import corpus_sha256

_OBJECT_STORE_BYTES = 500_000_000
"""For weights and variables of optimizers on their way. Ray uses only what it needs."""
_END_S = 60.0
"""Limit for the result of the work after the engine has returned."""
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Turn off Ray's usage report, and its warning about GPUs, which the processes do not use."""


@dataclass(frozen=True, slots=True)
class FlowerSimulation:
    """How Flower's simulation engine is used.

    Args:
        n_processes: That train at the same time; 0 = one per site, or per core if these are
            fewer. All together use every core once.

    Raises:
        ConfigurationError: Flower or Ray is not installed.
    """

    n_processes: int = 0

    def __post_init__(self) -> None:
        found = {name: find_version(name) for name in ("flwr", "ray")}
        if not found["flwr"].startswith(FLOWER) or found["ray"] == "none":
            here = ", ".join(f"{name} {number}" for name, number in found.items())
            hint = install_hint("federated-simulation")
            raise ConfigurationError(f"--engine flower needs flwr {FLOWER}x and ray, found {here}: {hint}")

    def count_processes(self, n_sites: int) -> int:
        """Return the number of processes for a number of sites; none would be idle."""
        return min(n_sites, self.n_processes or n_threads_each(1))

    def describe(self, n_sites: int) -> str:
        """Describe the engine for a report."""
        n = self.count_processes(n_sites)
        packages = f"Flower {find_version('flwr')} on Ray {find_version('ray')}"
        return f"{packages}, processes: {n}, threads of each: {n_threads_each(n)}"


def make_flower_engine(
    simulation: FlowerSimulation,
    settings: FederatedStudySettings,
    hashes: Mapping[str, str],
    sites: Sequence[str],
) -> Engine:
    """Return an engine in which sites are nodes of Flower and the work is its ServerApp.

    Ray is started for the work and stopped after it. The engine raises what the work raised, and
    `ClusterError` if Ray could not be started, or was lost.

    Args:
        simulation: How many processes.
        settings: The study, with absolute paths.
        hashes: SHA-256 of its corpora, by path.
        sites: Names, in the order of their places.
    """
    n_processes = simulation.count_processes(len(sites))
    plan = SitePlan(settings, tuple(hashes.items()), n_threads_each(n_processes))

    def run(work: Work, say: Say) -> None:
        os.environ.update(_QUIET)
        be_quiet()
        import ray
        from flwr.simulation import run_simulation

        from inverse_deid.research.federated.flower.epochs import make_site_app

        ended, result = Event(), Future[None]()
        app, backend = _make_study_app(work, say, sites, ended, result), _configure_backend(n_processes)
        try:
            run_simulation(app, make_site_app(plan), len(sites), backend_config=backend)
        except RuntimeError as error:
            if not result.done():
                root: BaseException = error
                while root.__cause__ is not None:
                    root = root.__cause__
                raise ClusterError(
                    f"Flower's simulation engine cannot be used here ({type(root).__name__}). "
                    "Run without --engine flower"
                ) from error
        finally:
            ended.set()
            ray.shutdown()
        result.result(_END_S)

    return run


def _make_study_app(work: Work, say: Say, sites: Sequence[str], ended: Event, result: Future[None]) -> Any:  # noqa: ANN401 - Flower is imported when it is needed
    """Return the ServerApp. Errors of the work reach the thread that waits for the result."""
    from flwr.serverapp import Grid, ServerApp

    from inverse_deid.research.federated.flower.epochs import NodeSites

    app = ServerApp()

    @app.main()  # type: ignore[untyped-decorator]
    def main(grid: Grid, context: Any) -> None:  # noqa: ANN401 - as Flower has it
        nodes = NodeSites(grid, sites, ended)

        def tell(line: str) -> None:
            nodes.pause(0)
            say(line)

        try:
            work(nodes.select, tell)
            result.set_result(None)
        except BaseException as error:  # noqa: BLE001 - nothing is lost
            result.set_exception(error)

    return app


def _configure_backend(n_processes: int) -> dict[str, Any]:
    """Return the settings of a separate Ray on this machine, with a CPU for each process."""
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


@dataclass(frozen=True, slots=True)
class SitePlan:
    """The knowledge of a process that acts for any site. It is sent, and contains no document.

    Args:
        hashes: SHA-256 of each of its corpora, by path.
        n_threads: Of a training step.
    """

    settings: FederatedStudySettings = field(hash=False)
    hashes: tuple[tuple[str, str], ...]
    n_threads: int


class SimulatedSite:
    """Trains in the name of any site of a study, on the CPU. Sites leave no trace in it.

    Raises:
        InputError: A corpus has changed since the study began, or cannot be read.
        ConfigurationError: TensorFlow was in use before.
    """

    def __init__(self, plan: SitePlan) -> None:
        _limit_threads(plan.n_threads)
        changed = [path for path, digest in plan.hashes if corpus_sha256(Path(path)) != digest]
        if changed:
            raise InputError(f"{changed[0]}: changed since the study began. Start over with --force")
        settings = plan.settings
        vectors = load_vectors(settings.data.word_vectors, settings.network)
        self._common = CommonNetwork(settings.network, settings.training, vectors)
        self._encoder = DocumentEncoder(settings.network, settings.training.phi_weight, vectors)
        self._documents = [train for train, _ in deal_documents(settings).sites.values()]
        self._encoded: dict[int, list[Example]] = {}

    def train_epoch(self, task: SiteTask, proximal: float, optimizer: OptimizerState | None) -> LocalEpoch:
        """Train one epoch of one site; an optimizer of None is a fresh one."""
        if task.place not in self._encoded:
            self._encoded[task.place] = self._encoder.encode(self._documents[task.place], to_train_on=True)
        trainer = self._common.trainer_with(proximal)
        return trainer.train_epoch(self._encoded[task.place], task.weights, task.randomness, optimizer)


find_simulated_site = functools.lru_cache(maxsize=1)(SimulatedSite)
"""Returns the site of this process for a study, made once."""


def _limit_threads(n_threads: int) -> None:
    try:
        tf.config.set_visible_devices([], "GPU")
        tf.config.threading.set_intra_op_parallelism_threads(n_threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    except RuntimeError as error:
        raise ConfigurationError(
            "the process of a site has used TensorFlow before. Run the command again"
        ) from error
