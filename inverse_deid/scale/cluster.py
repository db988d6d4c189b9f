"""Ray itself: a cluster, a pool of actors on its machines, partitions in, outcomes out."""

from __future__ import annotations

import logging
import os
import re
import socket
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from inverse_deid.choices.table import Device
from inverse_deid.core.errors import ClusterError, ConfigurationError, InverseDeidError, Remedy
from inverse_deid.core.extras import missing_extra
from inverse_deid.core.wording import N_, _
from inverse_deid.scale.actor import OUTCOME, PARTITION, ActorJob, Outcome, PartitionActor
from inverse_deid.scale.partitions import Partition

OBJECT_STORE_BYTES = 100_000_000
"""Of a Ray that is started here: only addresses and counts go through it."""
MAX_ATTEMPTS = 4
"""How often a partition is tried before it is given up: machines die, and some documents kill workers."""
_REACH_SECONDS = 5.0
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DATA_DISABLE_PROGRESS_BARS": "1"}


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which cluster, and how it is used.

    Raises:
        ConfigurationError: The address is not valid.
    """

    # HOST:PORT of its head, `auto` for the one that runs on this machine; None = start one on this machine
    # for the time of the run.
    address: str | None = None
    n_threads: int = 1  # CPUs of an actor, and threads of its network; at least 1
    n_cpus: int | None = None  # of a Ray that is started here; None = all

    def __post_init__(self) -> None:
        if self.address is None or self.address == "auto":
            return
        if not re.fullmatch(r"[^\s:/]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}", self.address):
            raise ConfigurationError(
                _(
                    "must be HOST:PORT of the head of a Ray cluster (usually port 6379), or auto. Run "
                    "this command on a machine of the cluster"
                ),
                choice="address",
            )


@dataclass(frozen=True, slots=True)
class Pool:
    """The actors that a cluster has room for, at least 1; an actor on "cuda" takes one GPU."""

    n_actors: int
    device: Device = "cpu"


@contextmanager
def connect(cluster: Cluster) -> Iterator[None]:
    """Connect to a cluster, or start one here; leave or stop it at the end.

    No usage statistics are sent, no dashboard is started, and this process gets no output of workers.

    Raises:
        ConfigurationError: Ray is not installed.
        ClusterError: The cluster cannot be reached, or was lost.
    """
    os.environ.update(_QUIET)
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise missing_extra(_("the engine ray"), error.name, "scale") from error
    if cluster.address not in (None, "auto"):
        _check_reachable(str(cluster.address))
    with _ray_errors(cluster):
        shared: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if cluster.address is None:
            here = {"num_cpus": cluster.n_cpus, "object_store_memory": OBJECT_STORE_BYTES}
            ray.init(address="local", include_dashboard=False, **here, **shared)
        else:
            ray.init(address=cluster.address, **shared)
    try:
        with _ray_errors(cluster):
            yield
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    # Ray itself would try for a minute.
    host, _ignored, port = address.rpartition(":")
    problem = ""
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_SECONDS).close()
    except (OSError, OverflowError) as error:
        problem = (isinstance(error, OSError) and error.strerror) or type(error).__name__
    if problem:
        raise ClusterError(
            _("no Ray cluster at {address} ({problem})", address=address, problem=problem),
            remedies=[Remedy("address", step=N_("check {} and that it runs"))],
        )


@contextmanager
def _ray_errors(cluster: Cluster) -> Iterator[None]:
    # The message of Ray is left out.
    problem = ""
    try:
        yield
    except InverseDeidError:
        raise
    except Exception as error:  # noqa: BLE001 - Ray also raises plain exceptions
        problem = type(error).__name__
    if problem:
        where = (
            _("Ray on this machine")
            if cluster.address is None
            else _("the Ray cluster at {address}", address=cluster.address)
        )
        raise ClusterError(
            _("{where} cannot be used or was lost ({problem})", where=where, problem=problem),
            remedies=[Remedy("resume", step=N_("check it and run the same command with {}"))],
        )


def pool_for(n_partitions: int, n_threads: int) -> Pool:
    """Return the actors that the connected cluster has room for; on GPUs if ONNX Runtime can use them.

    There are not more than partitions, and each has `n_threads` CPUs.

    Raises:
        ConfigurationError: No machine has that many CPUs.
    """
    import onnxruntime
    import ray

    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    n_on_cpu = sum(int(machine.get("CPU", 0) // n_threads) for machine in machines)
    if not n_on_cpu:
        raise ConfigurationError(
            _("no machine of the cluster has {n_threads} CPUs", n_threads=n_threads),
            remedies=[Remedy("n_threads", step=N_("give a smaller {}"))],
        )
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        rooms = [(machine.get("GPU", 0), machine.get("CPU", 0) // n_threads) for machine in machines]
        n_on_gpu = sum(int(min(room)) for room in rooms)
        if n_on_gpu:
            return Pool(min(n_partitions, n_on_gpu), "cuda")
    return Pool(min(n_partitions, n_on_cpu))


def mask_on_ray(
    partitions: Sequence[Partition], job: ActorJob, cluster: Cluster
) -> Generator[Outcome, None, None]:
    """Mask partitions on a cluster; see `connect`, `pool_for` and `outcomes`."""
    with connect(cluster):
        pool = pool_for(len(partitions), cluster.n_threads)
        # A machine whose GPU cannot be used masks on its CPU.
        job = replace(job, n_threads=cluster.n_threads, device="auto" if pool.device == "cuda" else "cpu")
        yield from outcomes(partitions, job, pool)


def outcomes(partitions: Sequence[Partition], job: ActorJob, pool: Pool) -> Iterator[Outcome]:
    """Mask partitions on the connected cluster, and yield outcomes as soon as they exist, in any order.

    A partition whose worker or machine dies is tried again elsewhere. A partition that kills its
    worker every time has no outcome.
    """
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.max_errored_blocks = -1
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    rows = [{PARTITION: partition.as_json()} for partition in partitions]
    actors = ray.data.ActorPoolStrategy(
        min_size=1, max_size=pool.n_actors, initial_size=pool.n_actors, max_tasks_in_flight_per_actor=2
    )
    with warnings.catch_warnings():
        # Ray Data has no other way yet to bound the retries; the extra `scale` asks for a Ray that has it.
        warnings.simplefilter("ignore", DeprecationWarning)
        masked = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            PartitionActor,
            fn_constructor_args=(job,),
            batch_size=1,
            batch_format="numpy",
            compute=actors,
            num_cpus=job.n_threads,
            num_gpus=1 if pool.device == "cuda" else None,
            max_restarts=-1,
            max_task_retries=MAX_ATTEMPTS - 1,
        )
    for row in masked.iter_rows():
        yield Outcome.from_json(row[OUTCOME])
