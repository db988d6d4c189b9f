"""The sites of a study as its ServerApp sees them: nodes that are asked for epochs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from threading import Event

from flwr.app import Message
from flwr.serverapp import Grid

from inverse_deid.core.errors import ClusterError, StageError
from inverse_deid.research.federated.flower.epoch_messages import Answer, Question
from inverse_deid.research.federated.local_training import LocalEpoch
from inverse_deid.research.federated.site_training import BeginRun, SiteTask

_STEP_S = 0.05
_LIMIT_S = 86400.0
"""Of an epoch."""


class NodeSites:
    """Asks nodes for epochs.

    Args:
        grid: Flower's way to them.
        names: Of the sites; the nodes stand for them in the order of their numbers.
        ended: Set when the engine has stopped: nobody would answer any more.
    """

    def __init__(self, grid: Grid, names: Sequence[str], ended: Event) -> None:
        self._grid, self._names, self._ended = grid, names, ended
        self._runs = itertools.count()

    def of(self, proximal: float) -> BeginRun:
        """The sites, with this proximal term."""
        return lambda: partial(self._epochs, next(self._runs), proximal)

    def pause(self, seconds: float = _STEP_S) -> None:
        """Wait for a moment.

        Raises:
            ClusterError: The engine has stopped.
        """
        if self._ended.wait(seconds):
            raise ClusterError("Flower's simulation engine has stopped; run the same command again to go on")

    def _epochs(self, run: int, proximal: float, tasks: Sequence[SiteTask]) -> list[LocalEpoch]:
        """Ask all at once, wait for all."""
        nodes = self._nodes()
        questions = [
            Message(Question(task, run, proximal).record(), nodes[task.place], "train", ttl=_LIMIT_S)
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
                found[asked] = _epoch(sites[asked], reply)
        return [found[one] for one in ids]

    def _nodes(self) -> list[int]:
        """The nodes, once the engine has all."""
        while len(nodes := sorted(self._grid.get_node_ids())) < len(self._names):
            self.pause()
        return nodes


def _epoch(site: str, reply: Message) -> LocalEpoch:
    if reply.has_error():
        raise ClusterError(
            f"{site}: its process was lost, for want of memory perhaps; run the same command again to go on, "
            "with fewer --processes"
        )
    answer = Answer.of(reply.content)
    if answer.epoch is None:
        raise StageError(f"{site}: {answer.problem}")
    return answer.epoch
