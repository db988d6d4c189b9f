"""Epochs of sites over Flower: its messages, the ClientApp that answers them, and the nodes that are asked.

A message contains weights and numbers, never documents. Weights are an `ArrayRecord`, which keeps every
bit. The variables of an optimizer are in no message: they stay in the state of the node. Ray logs the
errors of an actor, and Flower their messages, so the ClientApp raises nothing: it answers with one line
without text of documents.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Event

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid

from inverse_deid.core.errors import ClusterError, InverseDeidError, StageError, describe_error
from inverse_deid.research.federated.flower.simulated_site import SitePlan, find_simulated_site
from inverse_deid.research.federated.local_training import BeginRun, LocalEpoch, OptimizerState, SiteTask

_WEIGHTS, _OPTIMIZER, _NUMBERS = "weights", "optimizer", "numbers"
_STEP_S = 0.05
_LIMIT_S = 86400.0
"""Of an epoch."""


@dataclass(frozen=True, slots=True, eq=False)
class EpochQuestion:
    """A message to a node.

    Args:
        run: Number of the study's run. A new one begins with a fresh optimizer.
        proximal: mu of FedProx; 0 = none.
    """

    task: SiteTask = field(repr=False)
    run: int
    proximal: float

    def pack(self) -> RecordDict:
        """Return the content of a message."""
        numbers = {
            "place": self.task.place,
            "randomness": list(self.task.randomness),
            "run": self.run,
            "proximal": self.proximal,
        }
        weights = ArrayRecord(list(self.task.weights))
        return RecordDict({_WEIGHTS: weights, _NUMBERS: ConfigRecord(numbers)})

    @classmethod
    def unpack(cls, content: RecordDict) -> EpochQuestion:
        """Read a message."""
        numbers, weights = content[_NUMBERS], content[_WEIGHTS].to_numpy_ndarrays()
        task = SiteTask(numbers["place"], weights, tuple(numbers["randomness"]))
        return cls(task, numbers["run"], numbers["proximal"])


@dataclass(frozen=True, slots=True, eq=False)
class EpochAnswer:
    """The reply of a node.

    Args:
        epoch: Without the optimizer; None if it failed.
        problem: Why it failed, in one line without text of documents.
    """

    epoch: LocalEpoch | None = field(default=None, repr=False)
    problem: str = ""

    def pack(self) -> RecordDict:
        """Return the content of a message."""
        if self.epoch is None:
            return RecordDict({_NUMBERS: ConfigRecord({"problem": self.problem})})
        numbers = {name: getattr(self.epoch, name) for name in ("loss", "n_tokens", "seconds")}
        weights = ArrayRecord(list(self.epoch.weights))
        return RecordDict({_WEIGHTS: weights, _NUMBERS: ConfigRecord(numbers)})

    @classmethod
    def unpack(cls, content: RecordDict) -> EpochAnswer:
        """Read a reply."""
        numbers = content[_NUMBERS]
        if "problem" in numbers:
            return cls(problem=numbers["problem"])
        return cls(LocalEpoch(content[_WEIGHTS].to_numpy_ndarrays(), [], **numbers))


def recall_optimizer(state: RecordDict, run: int) -> OptimizerState | None:
    """Return the optimizer that a node kept in this run; None before its first epoch."""
    if _OPTIMIZER not in state or state[_NUMBERS]["run"] != run:
        return None
    variables: OptimizerState = state[_OPTIMIZER].to_numpy_ndarrays()
    return variables


def keep_optimizer(state: RecordDict, run: int, variables: OptimizerState) -> None:
    """Keep an optimizer in the state of a node."""
    state[_OPTIMIZER], state[_NUMBERS] = ArrayRecord(list(variables)), ConfigRecord({"run": run})


def make_site_app(plan: SitePlan) -> ClientApp:
    """Return the ClientApp, which trains an epoch for each message."""
    app = ClientApp()

    @app.train()  # type: ignore[untyped-decorator]
    def train(message: Message, context: Context) -> Message:
        return Message(answer_question(plan, message.content, context.state).pack(), reply_to=message)

    return app


def answer_question(plan: SitePlan, content: RecordDict, state: RecordDict) -> EpochAnswer:
    """Train the epoch that a message asks for; the state of the node receives the optimizer."""
    try:
        asked = EpochQuestion.unpack(content)
        optimizer = recall_optimizer(state, asked.run)
        done = find_simulated_site(plan).train_epoch(asked.task, asked.proximal, optimizer)
        keep_optimizer(state, asked.run, done.optimizer)
        return EpochAnswer(done)
    except InverseDeidError as error:
        return EpochAnswer(problem=str(error))
    except Exception as error:  # noqa: BLE001 - Ray and Flower would write it down
        return EpochAnswer(problem=f"{describe_error(error)} in a local epoch")


class NodeSites:
    """Asks nodes for epochs.

    Args:
        grid: Flower's way to them.
        names: Of the sites, in the order of the numbers of their nodes.
        ended: Set when the engine has stopped and nobody would answer.
    """

    def __init__(self, grid: Grid, names: Sequence[str], ended: Event) -> None:
        self._grid, self._names, self._ended = grid, names, ended
        self._runs = itertools.count()

    def select(self, proximal: float) -> BeginRun:
        """Return the sites with this proximal term."""
        return lambda: partial(self._train, next(self._runs), proximal)

    def pause(self, seconds: float = _STEP_S) -> None:
        """Wait for a moment.

        Raises:
            ClusterError: The engine has stopped.
        """
        if self._ended.wait(seconds):
            raise ClusterError("Flower's simulation engine has stopped. Run the same command again to resume")

    def _train(self, run: int, proximal: float, tasks: Sequence[SiteTask]) -> list[LocalEpoch]:
        """Wait for the nodes, ask all at once, wait for all."""
        while len(nodes := sorted(self._grid.get_node_ids())) < len(self._names):
            self.pause()
        questions = [
            Message(EpochQuestion(task, run, proximal).pack(), nodes[task.place], "train", ttl=_LIMIT_S)
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
                found[asked] = _read_epoch(sites[asked], reply)
        return [found[one] for one in ids]


def _read_epoch(site: str, reply: Message) -> LocalEpoch:
    if reply.has_error():
        raise ClusterError(
            f"{site}: its process was lost, perhaps because memory was short. Run the same command again to "
            "resume, with fewer --processes"
        )
    answer = EpochAnswer.unpack(reply.content)
    if answer.epoch is None:
        raise StageError(f"{site}: {answer.problem}")
    return answer.epoch
