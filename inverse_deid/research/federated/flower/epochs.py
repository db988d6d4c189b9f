"""Epochs of sites over Flower: its messages, the ClientApp that answers them, and the nodes that are asked.

A message contains weights and numbers, never documents. Weights are an `ArrayRecord`, which keeps every
bit. The variables of an optimizer are in no message: they stay in the state of the node. Ray logs the
errors of an actor, and Flower their messages, so the ClientApp raises nothing: it answers with one line
without text of documents.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from threading import Event

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid

from inverse_deid.core.errors import ClusterError, InverseDeidError, StageError, describe_error
from inverse_deid.research.federated.flower.simulation import SitePlan, find_simulated_site
from inverse_deid.research.federated.local_training import BeginRun, LocalEpoch, SiteTask

_WEIGHTS, _OPTIMIZER, _NUMBERS = "weights", "optimizer", "numbers"
_STEP_S = 0.05
_LIMIT_S = 86400.0
"""Of an epoch."""


def pack_question(task: SiteTask, run: int, proximal: float) -> RecordDict:
    """Return the content of a message to a node.

    Args:
        task: The epoch to train.
        run: Number of the study's run. A new one begins with a fresh optimizer.
        proximal: mu of FedProx; 0 = none.
    """
    numbers = {"place": task.place, "randomness": list(task.randomness), "run": run, "proximal": proximal}
    return RecordDict({_WEIGHTS: ArrayRecord(list(task.weights)), _NUMBERS: ConfigRecord(numbers)})


def make_site_app(plan: SitePlan) -> ClientApp:
    """Return the ClientApp, which trains an epoch for each message."""
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
        """Wait for a moment, or raise `ClusterError` if the engine has stopped."""
        if self._ended.wait(seconds):
            raise ClusterError("Flower's simulation engine has stopped. Run the same command again to resume")

    def _train(self, run: int, proximal: float, tasks: Sequence[SiteTask]) -> list[LocalEpoch]:
        """Wait for the nodes, ask all at once, wait for all."""
        while len(nodes := sorted(self._grid.get_node_ids())) < len(self._names):
            self.pause()
        questions = [
            Message(pack_question(task, run, proximal), nodes[task.place], "train", ttl=_LIMIT_S)
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
                        f"{sites[asked]}: its process was lost, perhaps because memory was short. Run the "
                        "same command again to resume, with fewer --processes"
                    )
                found[asked] = unpack_answer(sites[asked], reply.content)
        return [found[one] for one in ids]
