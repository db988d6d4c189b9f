"""Both ends of Flower's SuperLink, by Flower's own clients: sealed bytes in its messages, keys, errors.

Import it after `be_quiet`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.app.message import remove_content_from_message
from flwr.cli.build import build_fab_from_files
from flwr.common.constant import HEARTBEAT_DEFAULT_INTERVAL
from flwr.common.serde import message_to_proto, run_from_proto
from flwr.proto import control_pb2, fab_pb2, fleet_pb2, heartbeat_pb2, node_pb2, runtime_pb2
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.heartbeat import HeartbeatSender, make_task_heartbeat_fn_http
from flwr.supercore.inflatable import inflatable_object, inflatable_utils
from flwr.supercore.inflatable import inflatable_protobuf_utils as object_transfer
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor, SuperExecAuthHttpInterceptor
from flwr.supercore.primitives.asymmetric import public_key_to_bytes, uses_nist_ec_curve
from flwr.supercore.retry import RetryInvoker, exponential
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.grid import HttpGrid
from flwr.supernode.fleet_http_client import FleetHttpClient
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

from inverse_deid.core.errors import UnreadableInputError, UpdateError
from inverse_deid.research.federated.messages import read_bytes
from inverse_deid.research.federated.settings import FlowerServer, FlowerSite

_PART, _BYTES = "sealed", "bytes"
_LONGEST_PAUSE_S = 20.0
_JOIN_STEP_S = 5.0
_RUN_ENDED = 403
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


def pack(data: bytes) -> Any:  # noqa: ANN401 - Flower is imported when it is needed
    """Return bytes as the content of a message of Flower."""
    return RecordDict({_PART: ConfigRecord({_BYTES: data})})


def unpack(message: Any) -> bytes:  # noqa: ANN401
    """Return the sealed bytes in a message of Flower, not yet checked; none if it is of another kind."""
    try:
        data = message.content[_PART][_BYTES]
    except (KeyError, TypeError, ValueError):
        data = b""
    return data if isinstance(data, bytes) else b""


def be_patient(limit_s: float) -> Any:  # noqa: ANN401
    """Return Flower's invoker that retries while the SuperLink cannot be reached, up to a limit."""
    return RetryInvoker(
        lambda: exponential(max_delay=_LONGEST_PAUSE_S),
        httpx.TransportError,
        max_tries=None,
        max_time=limit_s,
        should_giveup=_is_refusal,
    )


def _is_refusal(error: Exception) -> bool:
    return "certificate" in str(error).lower()  # this will not change later


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn errors on the way to the SuperLink into one line."""
    try:
        yield
    except httpx.HTTPStatusError as error:
        status, path = error.response.status_code, error.request.url.path
        raise UpdateError(f"the SuperLink refused {path} ({status})") from error
    except httpx.HTTPError as error:
        why = "certificate not accepted" if _is_refusal(error) else type(error).__name__
        raise UpdateError(f"the SuperLink cannot be reached over TLS ({why})") from error


def _load_key(path: Path, load: Callable[[bytes], Any]) -> Any:  # noqa: ANN401
    """Read a private or public key of a site, or raise `UnreadableInputError`."""
    try:
        key = load(read_bytes(path))
        if uses_nist_ec_curve(key if hasattr(key, "public_bytes") else key.public_key()):
            return key
    except (ValueError, TypeError, AttributeError, UnsupportedAlgorithm):
        pass
    raise UnreadableInputError(
        f"{path}: not an ECDSA key for OpenSSH. Make one with ssh-keygen -t ecdsa -b 384 -N ''"
    )


class LinkEnd:
    """Sends messages to sites and collects their replies; `UpdateError` without the SuperLink."""

    def __init__(self, grid: Any, nodes: Mapping[str, int]) -> None:  # noqa: ANN401
        self._grid, self._nodes = grid, nodes
        self._asked: dict[str, str] = {}

    def forget(self) -> None:
        """Forget messages without a reply."""
        self._asked.clear()

    def send(self, site: str, data: bytes, limit_s: float) -> bool:
        """Give a message to the SuperLink; False if the site is not there."""
        with translate_errors():
            message = Message(pack(data), self._nodes[site], "train", ttl=limit_s)
            numbers = [number for number in self._grid.push_messages([message]) if number]
        self._asked |= dict.fromkeys(numbers, site)
        return bool(numbers)

    def collect(self) -> dict[str, bytes]:
        """Return what sites replied since the last call."""
        if not self._asked:
            return {}
        found: dict[str, bytes] = {}
        with translate_errors():
            replies = self._grid.pull_messages(set(self._asked))
        for reply in replies:
            site = self._asked.pop(reply.metadata.reply_to_message_id, None)
            if site is not None and reply.has_content():
                found[site] = unpack(reply)
        return found


@contextmanager
def connect_server(settings: FlowerServer, sites: Sequence[str]) -> Iterator[LinkEnd]:
    """Tell the SuperLink the keys of the sites, begin a run, and end it; errors as in the carrier."""
    roots, secret = read_bytes(settings.root_certificates), read_bytes(settings.secret)
    keys = {
        site: bytes(public_key_to_bytes(_load_key(settings.node_keys / f"{site}.pub", load_ssh_public_key)))
        for site in sites
    }
    with translate_errors():
        nodes, run = _begin_run(settings.superlink, roots, keys)
        token = _acquire_token(settings.superlink, roots, secret, run)
        grid = HttpGrid(settings.superlink, False, roots, token=token)
        grid._retry_invoker = be_patient(_LIMIT_S)  # Flower's own has no limit
        client = grid._runtime_client
        task = client.PullTaskInput(runtime_pb2.PullTaskInputRequest())
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
            client.PushTaskOutput(runtime_pb2.PushTaskOutputRequest(sub_status="completed", details=""))
        grid.close()


def _begin_run(superlink: str, roots: bytes, keys: Mapping[str, bytes]) -> tuple[dict[str, int], int]:
    """Return the numbers of the sites' nodes, and that of a new run with an app without code."""
    versions = RuntimeVersionHttpInterceptor(component_name="flwr CLI")
    client = ControlHttpClient.from_server_address(
        superlink, False, roots, interceptors=[versions], retry_invoker=be_patient(_LIMIT_S)
    )
    try:
        everybody = control_pb2.ListNodesRequest()
        known = {bytes(node.public_key) for node in client.ListNodes(everybody).nodes_info}
        for site, key in keys.items():
            if key not in known:
                client.RegisterNode(control_pb2.RegisterNodeRequest(public_key=key, name=site))
        nodes = client.ListNodes(everybody).nodes_info
        fab, _ = build_fab_from_files({"pyproject.toml": _EMPTY_APP, "README.md": b"No code."})
        app = fab_pb2.Fab(hash_str=hashlib.sha256(fab).hexdigest(), content=fab)
        run = int(client.StartRun(control_pb2.StartRunRequest(fab=app)).run_id)
    finally:
        client.close()
    numbers = {bytes(node.public_key): int(node.node_id) for node in nodes}
    return {site: numbers[key] for site, key in keys.items()}, run


def _acquire_token(superlink: str, roots: bytes, secret: bytes, run: int) -> str:
    """Return the proof for the SuperLink that this process leads the run."""
    shown = [
        RuntimeVersionHttpInterceptor(component_name="SuperExec"),
        SuperExecAuthHttpInterceptor(master_secret=secret, protected_methods=_ACQUIRE),
    ]
    client = RuntimeHttpClient.from_server_address(superlink, False, roots, interceptors=shown)
    end = time.monotonic() + _LIMIT_S
    try:
        while time.monotonic() < end:
            given = client.AcquireTask(runtime_pb2.AcquireTaskRequest(supported_task_types=[_TASK]))
            if given.token and given.task.run_id == run:
                return str(given.token)
            time.sleep(0.2)
    finally:
        client.close()
    raise UpdateError("the SuperLink gave the run to another process. Start it with --isolation process")


class NodeEnd:
    """Fetches messages and replies; `UpdateError` if the SuperLink was not reached within the limit."""

    def __init__(self, client: Any, node: Any, retry: Any) -> None:  # noqa: ANN401
        self._client, self._node, self._retry = client, node, retry

    def receive(self) -> Any:  # noqa: ANN401
        """Return the next message of Flower; None while there is none."""
        with translate_errors():
            request = fleet_pb2.PullMessagesRequest(node=self._node)
            found = self._retry.invoke(self._client.PullMessages, request)
            message = None
            with _drop_after_end():
                if found.messages_list:
                    run = found.messages_list[0].metadata.run_id
                    message = self._pull(found.message_object_trees[0], run)
            return message

    def _pull(self, tree: Any, run: int) -> Any:  # noqa: ANN401
        """Return a message with its content; None where it was withdrawn in the meantime."""
        pull, confirm = (
            partial(self._retry.invoke, call)
            for call in (self._client.PullObject, self._client.ConfirmMessageReceived)
        )
        try:
            message = inflatable_utils.pull_and_inflate_object_from_tree(
                tree,
                object_transfer.make_pull_object_fn_protobuf(pull, self._node, run),
                object_transfer.make_confirm_message_received_fn_protobuf(confirm, self._node, run),
                return_type=Message,
            )
        except inflatable_utils.ObjectPullError:
            return None
        message.metadata.__dict__["_message_id"] = tree.object_id
        return message

    def reply(self, question: Any, data: bytes) -> None:  # noqa: ANN401
        """Answer a message; drop the answer to a run that has ended."""
        retry, client = self._retry, self._client
        message = Message(pack(data), reply_to=question)
        message.metadata.__dict__["_message_id"] = message.object_id
        with translate_errors(), _drop_after_end(), inflatable_object.no_object_id_recompute():
            request = fleet_pb2.PushMessagesRequest(
                node=self._node,
                messages_list=[message_to_proto(remove_content_from_message(message))],
                message_object_trees=[inflatable_object.get_object_tree(message)],
                clientapp_runtime_list=[0.0],
            )
            taken = retry.invoke(client.PushMessages, request)
            run, send = message.metadata.run_id, partial(retry.invoke, client.PushObject)
            push = object_transfer.make_push_object_fn_protobuf(send, self._node, run, taken.session_id)
            parts, wanted = inflatable_object.get_all_nested_objects(message), set(taken.objects_to_push)
            inflatable_utils.push_objects(parts, push, object_ids_to_push=wanted)


@contextmanager
def _drop_after_end() -> Iterator[None]:
    """Drop messages of a run that has ended, in both directions."""
    try:
        yield
    except httpx.HTTPStatusError as error:
        if error.response.status_code != _RUN_ENDED:
            raise


@contextmanager
def connect_site(settings: FlowerSite, patience_s: float) -> Iterator[NodeEnd]:
    """Join the SuperLink as a SuperNode.

    Every wait for the SuperLink ends after `patience_s`. The SuperLink refuses a site that the server
    has not named yet, and for a minute one that was killed. The site tries again.

    Raises:
        UnreadableInputError: The key or the certificates cannot be read.
        UpdateError: The SuperLink cannot be reached, or refuses this site.
    """
    key = _load_key(settings.node_key, partial(load_ssh_private_key, password=None))
    roots = read_bytes(settings.root_certificates)
    shown = [
        RuntimeVersionHttpInterceptor(component_name="SuperNode"),
        NodeAuthHttpInterceptor(key, key.public_key()),
    ]
    retry = be_patient(patience_s)
    with FleetHttpClient.from_server_address(settings.superlink, False, roots, interceptors=shown) as client:
        number = _join(client, key.public_key(), retry, patience_s)
        node = node_pb2.Node(node_id=number)
        signs_of_life = HeartbeatSender(partial(_send_heartbeat, client, node))
        signs_of_life.start()
        try:
            yield NodeEnd(client, node, retry)
        finally:
            signs_of_life.stop()
            with suppress(UpdateError), translate_errors():
                client.DeactivateNode(fleet_pb2.DeactivateNodeRequest(node_id=number))


def _join(client: Any, key: Any, retry: Any, patience_s: float) -> int:  # noqa: ANN401
    """Return the number of this site's node."""
    request = fleet_pb2.ActivateNodeRequest(
        public_key=public_key_to_bytes(key), heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL
    )
    end = time.monotonic() + patience_s
    while True:
        with translate_errors():
            try:
                return int(retry.invoke(client.ActivateNode, request).node_id)
            except httpx.HTTPStatusError:
                if time.monotonic() >= end:
                    raise UpdateError(
                        "the SuperLink refuses this site. Does the server have its public key?"
                    ) from None
        time.sleep(min(_JOIN_STEP_S, max(0.0, end - time.monotonic())))


def _send_heartbeat(client: Any, node: Any) -> bool:  # noqa: ANN401
    """Tell the SuperLink that this site is there."""
    try:
        request = heartbeat_pb2.SendNodeHeartbeatRequest(
            node=node, heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL
        )
        return bool(client.SendNodeHeartbeat(request).success)
    except httpx.HTTPError:
        return False
