"""The server's end of the SuperLink."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from inverse_deid.core.errors import UpdateError
from inverse_deid.research.federated.flower.parcels import (
    be_quiet,
    packed,
    patient,
    public_key,
    reached,
    read_bytes,
    unpacked,
)
from inverse_deid.research.federated.flower_settings import FlowerServer

_TASK = "flwr-serverapp"
_ACQUIRE = frozenset({"/flwr.proto.Runtime/AcquireTask"})
_LIMIT_S = 60.0
_EMPTY_APP = b"""
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "inverse-deid-federated"
version = "1.0.0"
[tool.flwr.app]
publisher = "inverse-deid"
[tool.flwr.app.components]
serverapp = "nothing:nothing"
clientapp = "nothing:nothing"
"""


class LinkEnd:
    """Sends messages to sites and collects their replies; from `link_end`.

    Args:
        grid: Flower's, for a run of its own.
        nodes: Number of each site's node.
    """

    def __init__(self, grid: Any, nodes: Mapping[str, int]) -> None:  # noqa: ANN401
        self._grid, self._nodes = grid, nodes
        self._asked: dict[str, str] = {}

    def forget(self) -> None:
        """Replies to what was sent so far are of no use any more."""
        self._asked.clear()

    def send(self, site: str, data: bytes, limit_s: float) -> bool:
        """Give a message to the SuperLink; False if the site is not there.

        Raises:
            UpdateError: The SuperLink cannot be reached.
        """
        from flwr.app import Message

        with reached():
            message = Message(packed(data), self._nodes[site], "train", ttl=limit_s)
            numbers = [number for number in self._grid.push_messages([message]) if number]
        self._asked |= dict.fromkeys(numbers, site)
        return bool(numbers)

    def collect(self) -> dict[str, bytes]:
        """What sites replied since the last time.

        Raises:
            UpdateError: The SuperLink cannot be reached.
        """
        if not self._asked:
            return {}
        found: dict[str, bytes] = {}
        with reached():
            replies = self._grid.pull_messages(set(self._asked))
        for reply in replies:
            site = self._asked.pop(reply.metadata.reply_to_message_id, None)
            if site is not None and reply.has_content():
                found[site] = unpacked(reply).data
        return found


@contextmanager
def link_end(settings: FlowerServer, sites: Sequence[str]) -> Iterator[LinkEnd]:
    """Tell the SuperLink the keys of the sites, begin a run, and end it at last.

    Args:
        settings: Of the server.
        sites: All of them; no other node gets a message.

    Raises:
        UnreadableInputError: A file cannot be read.
        UpdateError: The SuperLink cannot be reached or refuses.
    """
    be_quiet()
    from flwr.common.serde import run_from_proto
    from flwr.proto.runtime_pb2 import PullTaskInputRequest, PushTaskOutputRequest
    from flwr.supercore.heartbeat import HeartbeatSender, make_task_heartbeat_fn_http
    from flwr.supercore.task_identity import TaskIdentity
    from flwr.superlink.grid import HttpGrid

    roots, secret = read_bytes(settings.root_certificates), read_bytes(settings.secret)
    keys = {site: public_key(settings.node_keys / f"{site}.pub") for site in sites}
    with reached():
        nodes, run = _begun(settings.superlink, roots, keys)
        token = _token(settings.superlink, roots, secret, run)
        grid = HttpGrid(settings.superlink, False, roots, token=token)
        grid._retry_invoker = patient(_LIMIT_S)  # Flower's own has no limit
        client = grid._runtime_client
        task = client.PullTaskInput(PullTaskInputRequest())
    signs_of_life = HeartbeatSender(make_task_heartbeat_fn_http(client))
    signs_of_life.start()
    TaskIdentity.task_id, TaskIdentity.run_id = task.task_id, run
    TaskIdentity.node_id = task.context.node_id
    grid.set_run(run_from_proto(task.run))
    try:
        yield LinkEnd(grid, nodes)
    finally:
        signs_of_life.stop()
        with suppress(UpdateError), reached():
            client.PushTaskOutput(PushTaskOutputRequest(sub_status="completed", details=""))
        grid.close()


def _begun(superlink: str, roots: bytes, keys: Mapping[str, bytes]) -> tuple[dict[str, int], int]:
    """Numbers of the sites' nodes, and that of a new run with an app that holds no code."""
    from flwr.cli.build import build_fab_from_files
    from flwr.proto.control_pb2 import ListNodesRequest, RegisterNodeRequest, StartRunRequest
    from flwr.proto.fab_pb2 import Fab
    from flwr.supercore.control import ControlHttpClient
    from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor

    versions = RuntimeVersionHttpInterceptor(component_name="flwr CLI")
    client = ControlHttpClient.from_server_address(
        superlink, False, roots, interceptors=[versions], retry_invoker=patient(_LIMIT_S)
    )
    try:
        known = {bytes(node.public_key) for node in client.ListNodes(ListNodesRequest()).nodes_info}
        for site, key in keys.items():
            if key not in known:
                client.RegisterNode(RegisterNodeRequest(public_key=key, name=site))
        nodes = client.ListNodes(ListNodesRequest()).nodes_info
        fab, _ = build_fab_from_files({"pyproject.toml": _EMPTY_APP, "README.md": b"No code."})
        app = Fab(hash_str=hashlib.sha256(fab).hexdigest(), content=fab)
        run = int(client.StartRun(StartRunRequest(fab=app)).run_id)
    finally:
        client.close()
    numbers = {bytes(node.public_key): int(node.node_id) for node in nodes}
    return {site: numbers[key] for site, key in keys.items()}, run


def _token(superlink: str, roots: bytes, secret: bytes, run: int) -> str:
    """What proves to the SuperLink that this process leads the run."""
    from flwr.proto.runtime_pb2 import AcquireTaskRequest
    from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor, SuperExecAuthHttpInterceptor
    from flwr.supercore.runtime import RuntimeHttpClient

    shown = [
        RuntimeVersionHttpInterceptor(component_name="SuperExec"),
        SuperExecAuthHttpInterceptor(master_secret=secret, protected_methods=_ACQUIRE),
    ]
    client = RuntimeHttpClient.from_server_address(superlink, False, roots, interceptors=shown)
    end = time.monotonic() + _LIMIT_S
    try:
        while time.monotonic() < end:
            given = client.AcquireTask(AcquireTaskRequest(supported_task_types=[_TASK]))
            if given.token and given.task.run_id == run:
                return str(given.token)
            time.sleep(0.2)
    finally:
        client.close()
    raise UpdateError("the SuperLink gave the run to another process; start it with --isolation process")
