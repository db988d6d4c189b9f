"""Flower's grid without a network: a message goes straight to the app of its node."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from flwr.app import Context, Message, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

_FIRST = SUPERLINK_NODE_ID + 1


def make_context(node: int, **config: int) -> Context:
    """Return the context of a node that has done nothing yet."""
    return Context(run_id=0, node_id=node, node_config=dict(config), state=RecordDict(), run_config={})


def make_grid(app: Callable[[Message, Context], Message], n_nodes: int) -> Grid:
    """Return a grid of nodes that all run one app.

    Args:
        app: Each node has its own context, with its place (from 0) in `node_config`.
        n_nodes: Nodes; their ids begin after that of the server.
    """
    return _DirectGrid(
        app, {_FIRST + place: make_context(_FIRST + place, place=place) for place in range(n_nodes)}
    )


@contextmanager
def act_as_server() -> Iterator[None]:
    """Make messages as a server without a run; afterwards as whatever ran here before."""
    names = ("_task_id", "_run_id", "_node_id")
    before = [getattr(TaskIdentity, name) for name in names]
    TaskIdentity.task_id = TaskIdentity.run_id = 1
    TaskIdentity.node_id = SUPERLINK_NODE_ID
    try:
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(TaskIdentity, name, value)


class _DirectGrid(Grid):  # type: ignore[misc]
    """Flower requires a subclass. Both sides get copies, as over a network."""

    def __init__(self, app: Callable[[Message, Context], Message], contexts: dict[int, Context]) -> None:
        self._app, self._contexts = app, contexts

    def set_run(self, run: Any) -> None:  # noqa: ANN401 - as Flower declares it
        raise NotImplementedError

    @property
    def run(self) -> Any:  # noqa: ANN401
        raise NotImplementedError

    def create_message(self, *given: Any, **named: Any) -> Message:  # noqa: ANN401
        raise NotImplementedError

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        raise NotImplementedError

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        raise NotImplementedError

    def get_node_ids(self) -> list[int]:
        return list(self._contexts)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> list[Message]:
        return [
            copy.deepcopy(self._app(copy.deepcopy(one), self._contexts[one.metadata.dst_node_id]))
            for one in messages
        ]
