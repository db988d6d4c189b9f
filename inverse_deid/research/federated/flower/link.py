"""A server that reaches its sites over Flower's SuperLink."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import OutputExistsError, UpdateError
from inverse_deid.research.federated.flower.parcels import (
    DECLARE,
    be_patient,
    be_quiet,
    need_flower,
    pack,
    read_bytes,
    read_public_key,
    translate_errors,
    unpack,
)
from inverse_deid.research.federated.messages import Envelope, TrainingState, open_sealed, pack_state, seal
from inverse_deid.research.federated.settings import FlowerServer

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
_STEP_S = 0.5
_TIMES_ASKED = 4
"""Within a limit. A message is lost with a site that was killed after it took the message."""


class FlowerCarrier:
    """The `Carrier` of a server over a SuperLink: asks, asks again, and opens sealed replies.

    Args:
        checkpoint: Of the server; if it exists, there was an earlier run.
    """

    def __init__(
        self,
        link: LinkEnd,
        keys: Mapping[str, bytes],
        checkpoint: Path,
        *,
        wait: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link, self._keys, self._checkpoint = link, keys, checkpoint
        self._wait, self._clock = wait, clock

    def refuse_earlier_run(self) -> None:
        """Refuse to start where an earlier server left its checkpoint."""
        if self._checkpoint.exists():
            raise OutputExistsError(
                f"{self._checkpoint}: left by an earlier run; resume it with --resume, or move the file away"
            )

    def gather_declarations(
        self, sites: Sequence[str], timeout_s: float
    ) -> Mapping[str, Envelope | UpdateError]:
        """Ask every site for its declaration."""
        return self._gather(sites, DECLARE, timeout_s)

    def gather_answers(self, state: TrainingState, timeout_s: float) -> Mapping[str, Envelope | UpdateError]:
        """Ask, and wait."""
        return self._gather(state.asked, pack_state(state), timeout_s)

    def conclude(self, state: TrainingState, timeout_s: float) -> Sequence[str]:
        """Give the result to all sites, and return those that did not confirm it."""
        found = self._gather(state.order, pack_state(state), timeout_s)
        return [site for site in state.order if not isinstance(found.get(site), Envelope)]

    def _gather(
        self, sites: Sequence[str], envelope: Envelope, timeout_s: float
    ) -> Mapping[str, Envelope | UpdateError]:
        """Wait for a reply of each site, no longer than the limit."""
        self._link.forget()
        found: dict[str, Envelope | UpdateError] = {}
        end = self._clock() + timeout_s
        again = dict.fromkeys(sites, self._clock())
        while True:
            for site in sites:
                if site not in found and self._clock() >= again[site]:
                    data = seal(envelope, self._keys[site])
                    if self._link.send(site, data, max(1.0, end - self._clock())):
                        again[site] = self._clock() + timeout_s / _TIMES_ASKED
            for site, data in self._link.collect().items():
                try:
                    given: Envelope | UpdateError = open_sealed(data, self._keys[site])
                except UpdateError as error:
                    given = error
                found.setdefault(site, given)
            if len(found) == len(sites) or self._clock() >= end:
                return found
            self._wait(_STEP_S)


@contextmanager
def open_flower_carrier(
    settings: FlowerServer, keys: Mapping[str, bytes], checkpoint: Path
) -> Iterator[FlowerCarrier]:
    """Connect to the SuperLink.

    Raises:
        ConfigurationError: Flower is not installed.
        UnreadableInputError: A file cannot be read.
        UpdateError: The SuperLink cannot be reached or refuses.
    """
    need_flower()
    with connect_server(settings, tuple(keys)) as link:
        yield FlowerCarrier(link, keys, checkpoint)


class LinkEnd:
    """Sends messages to sites and collects their replies; from `connect_server`."""

    def __init__(self, grid: Any, nodes: Mapping[str, int]) -> None:  # noqa: ANN401
        self._grid, self._nodes = grid, nodes
        self._asked: dict[str, str] = {}

    def forget(self) -> None:
        """Forget messages without a reply."""
        self._asked.clear()

    def send(self, site: str, data: bytes, limit_s: float) -> bool:
        """Give a message to the SuperLink; False if the site is not there.

        Raises:
            UpdateError: The SuperLink cannot be reached.
        """
        from flwr.app import Message

        with translate_errors():
            message = Message(pack(data), self._nodes[site], "train", ttl=limit_s)
            numbers = [number for number in self._grid.push_messages([message]) if number]
        self._asked |= dict.fromkeys(numbers, site)
        return bool(numbers)

    def collect(self) -> dict[str, bytes]:
        """Return what sites replied since the last call.

        Raises:
            UpdateError: The SuperLink cannot be reached.
        """
        if not self._asked:
            return {}
        found: dict[str, bytes] = {}
        with translate_errors():
            replies = self._grid.pull_messages(set(self._asked))
        for reply in replies:
            site = self._asked.pop(reply.metadata.reply_to_message_id, None)
            if site is not None and reply.has_content():
                found[site] = unpack(reply).data
        return found


@contextmanager
def connect_server(settings: FlowerServer, sites: Sequence[str]) -> Iterator[LinkEnd]:
    """Tell the SuperLink the keys of the sites, begin a run, and end it at last.

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
    keys = {site: read_public_key(settings.node_keys / f"{site}.pub") for site in sites}
    with translate_errors():
        nodes, run = _begin_run(settings.superlink, roots, keys)
        token = _acquire_token(settings.superlink, roots, secret, run)
        grid = HttpGrid(settings.superlink, False, roots, token=token)
        grid._retry_invoker = be_patient(_LIMIT_S)  # Flower's own has no limit
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
        with suppress(UpdateError), translate_errors():
            client.PushTaskOutput(PushTaskOutputRequest(sub_status="completed", details=""))
        grid.close()


def _begin_run(superlink: str, roots: bytes, keys: Mapping[str, bytes]) -> tuple[dict[str, int], int]:
    """Return the numbers of the sites' nodes, and that of a new run with an app without code."""
    from flwr.cli.build import build_fab_from_files
    from flwr.proto.control_pb2 import ListNodesRequest, RegisterNodeRequest, StartRunRequest
    from flwr.proto.fab_pb2 import Fab
    from flwr.supercore.control import ControlHttpClient
    from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor

    versions = RuntimeVersionHttpInterceptor(component_name="flwr CLI")
    client = ControlHttpClient.from_server_address(
        superlink, False, roots, interceptors=[versions], retry_invoker=be_patient(_LIMIT_S)
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


def _acquire_token(superlink: str, roots: bytes, secret: bytes, run: int) -> str:
    """Return the proof for the SuperLink that this process leads the run."""
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
