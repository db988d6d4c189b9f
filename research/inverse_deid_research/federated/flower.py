"""Flower's simulation engine: a study is its ServerApp, processes of Ray run the ClientApp of the sites.

A message contains weights and numbers, never documents: a process reads the files of the study itself.
Weights are an `ArrayRecord`, which keeps every bit. The variables of an optimizer are in no message: they
stay in the state of the node. Ray logs the errors of an actor, and Flower their messages, so the ClientApp
raises nothing: it answers with one line without text of documents.

Only the public modules of Flower are used (`tests/contract/test_import.py`). Real sites do not use it
(`docs/decisions/0016-flower-for-studies-only.md`). Import this module after `study` has turned telemetry off.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event

import tensorflow as tf
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from inverse_deid.core.errors import (
    ClusterError,
    ConfigurationError,
    InputError,
    InverseDeidError,
    Remedy,
    StageError,
    describe_error,
)
from inverse_deid.engine.worker_pool import n_threads_each
from inverse_deid.network.batches import Example
from inverse_deid.training.documents import corpus_sha256
from inverse_deid_research.federated.documents import deal_documents
from inverse_deid_research.federated.network import (
    CommonNetwork,
    LocalEpoch,
    OptimizerState,
    SiteEpochs,
    SiteTask,
)
from inverse_deid_research.federated.settings import FederatedStudySettings
from inverse_deid_research.federated.study import Work
from inverse_deid_research.studies.records import START_OVER
from inverse_deid_research.studies.study import Say

_OBJECT_STORE_BYTES = 500_000_000
"""For weights and variables of optimizers on their way. Ray uses only what it needs."""
_END_S = 60.0
"""Limit for the result of the work after the engine has returned."""
_WEIGHTS, _OPTIMIZER, _NUMBERS = "weights", "optimizer", "numbers"
_STEP_S = 0.05
_EPOCH_LIMIT_S = 86400.0


def run_in_flower(
    n_processes: int,
    settings: FederatedStudySettings,
    hashes: Mapping[str, str],
    sites: Sequence[str],
    work: Work,
    say: Say,
) -> None:
    """Do work as Flower's ServerApp, with sites that are its nodes, and raise its errors.

    Ray is started for the work and stopped after it; `ClusterError` if it could not be started, or was
    lost. `settings` have absolute paths, `hashes` are the SHA-256 of the corpora by path, `sites` the
    names in the order of their places.
    """
    import ray
    from flwr.simulation import run_simulation

    plan = SitePlan(settings, tuple(hashes.items()), n_threads_each(n_processes))
    ended, result, app = Event(), Future[None](), ServerApp()

    @app.main()  # type: ignore[untyped-decorator]
    def main(grid: Grid, context: Context) -> None:
        nodes = NodeSites(grid, sites, ended)

        def tell(line: str) -> None:
            nodes.pause(0)
            say(line)

        try:
            work(nodes.begin, tell)
            result.set_result(None)
        except BaseException as error:  # noqa: BLE001 - the thread that waits for the result raises it
            result.set_exception(error)

    backend = {
        "init_args": {  # a separate Ray on this machine, with a CPU for each process
            "address": "local",
            "num_cpus": n_processes,
            "object_store_memory": _OBJECT_STORE_BYTES,
            "include_dashboard": False,
            "log_to_driver": False,
            "logging_level": "ERROR",
        },
        "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
    }
    try:
        run_simulation(app, _make_site_app(plan), len(sites), backend_config=backend)
    except RuntimeError as error:
        if not result.done():
            root: BaseException = error
            while root.__cause__ is not None:
                root = root.__cause__
            raise ClusterError(
                f"Flower's simulation engine cannot be used here ({type(root).__name__})",
                remedies=[Remedy("engine", "flower", step="run without {}")],
            ) from error
    finally:
        ended.set()
        ray.shutdown()
    result.result(_END_S)


@dataclass(frozen=True, slots=True)
class SitePlan:
    """The knowledge of a process that acts for any site. It is sent, and contains no document."""

    settings: FederatedStudySettings = field(hash=False)
    hashes: tuple[tuple[str, str], ...]  # SHA-256 of the corpora by path
    n_threads: int  # of a training step


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
            raise InputError(f"{changed[0]}: changed since the study began", remedies=[START_OVER])
        settings = plan.settings
        self._common = CommonNetwork(
            settings.network,
            settings.training,
            settings.data.word_vectors,
            is_coupled=settings.coupled_gates,
        )
        self._documents = [train for train, _ in deal_documents(settings).sites.values()]
        self._encoded: dict[int, list[Example]] = {}

    def train_epoch(self, task: SiteTask, proximal: float, optimizer: OptimizerState | None) -> LocalEpoch:
        """Train one epoch of one site; an optimizer of None is a fresh one."""
        if task.place not in self._encoded:
            self._encoded[task.place] = self._common.encode(self._documents[task.place], to_train_on=True)
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


def pack_question(task: SiteTask, run: int, proximal: float) -> RecordDict:
    """Return the content of a message to a node. A new `run` of the study begins with a fresh optimizer."""
    numbers = {"place": task.place, "randomness": list(task.randomness), "run": run, "proximal": proximal}
    return RecordDict({_WEIGHTS: ArrayRecord(list(task.weights)), _NUMBERS: ConfigRecord(numbers)})


def _make_site_app(plan: SitePlan) -> ClientApp:
    app = ClientApp()

    @app.train()  # type: ignore[untyped-decorator]
    def train(message: Message, context: Context) -> Message:
        return Message(answer_question(plan, message.content, context.state), reply_to=message)

    return app


def answer_question(plan: SitePlan, content: RecordDict, state: RecordDict) -> RecordDict:
    """Train the epoch that a message asks for; the state of the node receives the optimizer.

    The answer to an epoch that failed is the problem, in one line without text of documents.
    """
    try:
        asked, weights = content[_NUMBERS], content[_WEIGHTS].to_numpy_ndarrays()
        run, optimizer = asked["run"], None
        if _OPTIMIZER in state and state[_NUMBERS]["run"] == run:
            optimizer = state[_OPTIMIZER].to_numpy_ndarrays()
        task = SiteTask(asked["place"], weights, tuple(asked["randomness"]))
        done = find_simulated_site(plan).train_epoch(task, asked["proximal"], optimizer)
        state[_OPTIMIZER], state[_NUMBERS] = ArrayRecord(list(done.optimizer)), ConfigRecord({"run": run})
        numbers = {name: getattr(done, name) for name in ("loss", "n_tokens", "seconds")}
        return RecordDict({_WEIGHTS: ArrayRecord(list(done.weights)), _NUMBERS: ConfigRecord(numbers)})
    except InverseDeidError as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001 - Ray and Flower would write it down
        problem = f"{describe_error(error)} in a local epoch"
    return RecordDict({_NUMBERS: ConfigRecord({"problem": problem})})


def unpack_answer(site: str, content: RecordDict) -> LocalEpoch:
    """Return the epoch of a site, without its optimizer, or raise `StageError` if it failed."""
    numbers = content[_NUMBERS]
    if "problem" in numbers:
        raise StageError(f"{site}: {numbers['problem']}")
    return LocalEpoch(content[_WEIGHTS].to_numpy_ndarrays(), [], **numbers)


class NodeSites:
    """Asks nodes for epochs; `names` are those of the sites in the order of the numbers of their nodes.

    `ended` is set when the engine has stopped and nobody would answer.
    """

    def __init__(self, grid: Grid, names: Sequence[str], ended: Event) -> None:
        self._grid, self._names, self._ended = grid, names, ended
        self._runs = itertools.count()

    def begin(self, proximal: float) -> SiteEpochs:
        return partial(self._train, next(self._runs), proximal)

    def pause(self, seconds: float = _STEP_S) -> None:
        """Wait for a moment, or raise `ClusterError` if the engine has stopped."""
        if self._ended.wait(seconds):
            raise ClusterError("Flower's simulation engine has stopped. Run the same command again to resume")

    def _train(self, run: int, proximal: float, tasks: Sequence[SiteTask]) -> list[LocalEpoch]:
        while len(nodes := sorted(self._grid.get_node_ids())) < len(self._names):
            self.pause()
        questions = [
            Message(pack_question(task, run, proximal), nodes[task.place], "train", ttl=_EPOCH_LIMIT_S)
            for task in tasks
        ]
        ids = list(self._grid.push_messages(questions))
        if len(ids) != len(tasks):
            raise ClusterError("Flower's simulation engine refused a message")
        sites = dict(zip(ids, [self._names[task.place] for task in tasks], strict=True))
        found: dict[str, LocalEpoch] = {}
        while len(found) < len(ids):
            self.pause()
            for reply in self._grid.pull_messages(sites.keys() - found.keys()):
                asked = reply.metadata.reply_to_message_id
                if reply.has_error():
                    raise ClusterError(
                        f"{sites[asked]}: its process was lost, perhaps because memory was short",
                        remedies=[
                            Remedy("processes", step="run the same command again to resume, with fewer {}")
                        ],
                    )
                found[asked] = unpack_answer(sites[asked], reply.content)
        return [found[one] for one in ids]
