"""A site's end of the SuperLink."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from inverse_deid.core.errors import UpdateError
from inverse_deid.research.federated.flower.parcels import (
    Parcel,
    be_quiet,
    packed,
    patient,
    private_key,
    reached,
    read_bytes,
    unpacked,
)
from inverse_deid.research.federated.flower_settings import FlowerSite

_JOIN_STEP_S = 5.0
_RUN_ENDED = 403


class NodeEnd:
    """Fetches messages and replies; from `node_end`.

    Args:
        client: Flower's, of the Fleet API.
        node: Flower's name for this site.
        retry: Flower's way to try again.
    """

    def __init__(self, client: Any, node: Any, retry: Any) -> None:  # noqa: ANN401
        self._client, self._node, self._retry = client, node, retry

    def receive(self) -> Parcel | None:
        """The next message; None while there is none.

        Raises:
            UpdateError: The SuperLink was not reached within the limit.
        """
        from flwr.proto.fleet_pb2 import PullMessagesRequest

        with reached():
            found = self._retry.invoke(self._client.PullMessages, PullMessagesRequest(node=self._node))
            if not found.messages_list:
                return None
            parcel = None
            with _while_it_runs():
                run = found.messages_list[0].metadata.run_id
                parcel = self._whole(found.message_object_trees[0], run)
            return parcel

    def _whole(self, tree: Any, run: int) -> Parcel | None:  # noqa: ANN401
        """A message with its content; None where it has been withdrawn meanwhile."""
        from flwr.app import Message
        from flwr.supercore.inflatable.inflatable_protobuf_utils import (
            make_confirm_message_received_fn_protobuf,
            make_pull_object_fn_protobuf,
        )
        from flwr.supercore.inflatable.inflatable_utils import (
            ObjectPullError,
            pull_and_inflate_object_from_tree,
        )

        retry, client = self._retry, self._client
        try:
            message = pull_and_inflate_object_from_tree(
                tree,
                make_pull_object_fn_protobuf(partial(retry.invoke, client.PullObject), self._node, run),
                make_confirm_message_received_fn_protobuf(
                    partial(retry.invoke, client.ConfirmMessageReceived), self._node, run
                ),
                return_type=Message,
            )
        except ObjectPullError:
            return None
        message.metadata.__dict__["_message_id"] = tree.object_id
        return unpacked(message)

    def reply(self, parcel: Parcel, data: bytes) -> None:
        """Answer a message; an answer that nobody waits for any more is dropped.

        Raises:
            UpdateError: The SuperLink was not reached within the limit.
        """
        from flwr.app import Message
        from flwr.supercore.inflatable.inflatable_object import no_object_id_recompute

        message = Message(packed(data), reply_to=parcel.message)
        message.metadata.__dict__["_message_id"] = message.object_id
        with reached(), _while_it_runs(), no_object_id_recompute():
            self._push(message)

    def _push(self, message: Any) -> None:  # noqa: ANN401
        from flwr.app.message import remove_content_from_message
        from flwr.common.serde import message_to_proto
        from flwr.proto.fleet_pb2 import PushMessagesRequest
        from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
        from flwr.supercore.inflatable.inflatable_protobuf_utils import make_push_object_fn_protobuf
        from flwr.supercore.inflatable.inflatable_utils import push_objects

        retry, client = self._retry, self._client
        request = PushMessagesRequest(
            node=self._node,
            messages_list=[message_to_proto(remove_content_from_message(message))],
            message_object_trees=[get_object_tree(message)],
            clientapp_runtime_list=[0.0],
        )
        taken = retry.invoke(client.PushMessages, request)
        push = make_push_object_fn_protobuf(
            partial(retry.invoke, client.PushObject), self._node, message.metadata.run_id, taken.session_id
        )
        push_objects(get_all_nested_objects(message), push, object_ids_to_push=set(taken.objects_to_push))


@contextmanager
def _while_it_runs() -> Iterator[None]:
    """Nobody waits for messages of a run that has ended: they are dropped on both ways."""
    import httpx

    try:
        yield
    except httpx.HTTPStatusError as error:
        if error.response.status_code != _RUN_ENDED:
            raise


@contextmanager
def node_end(settings: FlowerSite, patience_s: float) -> Iterator[NodeEnd]:
    """Join the SuperLink as a SuperNode.

    Args:
        settings: Of the site.
        patience_s: Limit of every wait for the SuperLink. It refuses a site that the server
            has not told it of yet, and for a minute one that was killed; a site tries again.

    Raises:
        UnreadableInputError: The key or the certificates cannot be read.
        UpdateError: The SuperLink cannot be reached, or refuses this site.
    """
    be_quiet()
    key, roots = private_key(settings.node_key), read_bytes(settings.root_certificates)
    from flwr.proto.fleet_pb2 import DeactivateNodeRequest
    from flwr.proto.node_pb2 import Node
    from flwr.supercore.heartbeat import HeartbeatSender
    from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
    from flwr.supernode.fleet_http_client import FleetHttpClient
    from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

    shown = [
        RuntimeVersionHttpInterceptor(component_name="SuperNode"),
        NodeAuthHttpInterceptor(key, key.public_key()),
    ]
    retry = patient(patience_s)
    with FleetHttpClient.from_server_address(settings.superlink, False, roots, interceptors=shown) as client:
        number = _joined(client, key.public_key(), retry, patience_s)
        node = Node(node_id=number)
        signs_of_life = HeartbeatSender(partial(_alive, client, node))
        signs_of_life.start()
        try:
            yield NodeEnd(client, node, retry)
        finally:
            signs_of_life.stop()
            with suppress(UpdateError), reached():
                client.DeactivateNode(DeactivateNodeRequest(node_id=number))


def _joined(client: Any, key: Any, retry: Any, patience_s: float) -> int:  # noqa: ANN401
    """The number of this site's node."""
    import httpx
    from flwr.common.constant import HEARTBEAT_DEFAULT_INTERVAL
    from flwr.proto.fleet_pb2 import ActivateNodeRequest
    from flwr.supercore.primitives.asymmetric import public_key_to_bytes

    request = ActivateNodeRequest(
        public_key=public_key_to_bytes(key), heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL
    )
    end = time.monotonic() + patience_s
    while True:
        with reached():
            try:
                return int(retry.invoke(client.ActivateNode, request).node_id)
            except httpx.HTTPStatusError:
                if time.monotonic() >= end:
                    raise UpdateError(
                        "the SuperLink refuses this site; does the server have its public key?"
                    ) from None
        time.sleep(min(_JOIN_STEP_S, max(0.0, end - time.monotonic())))


def _alive(client: Any, node: Any) -> bool:  # noqa: ANN401
    """Tell the SuperLink that this site is there."""
    import httpx
    from flwr.common.constant import HEARTBEAT_DEFAULT_INTERVAL
    from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest

    try:
        request = SendNodeHeartbeatRequest(node=node, heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL)
        return bool(client.SendNodeHeartbeat(request).success)
    except httpx.HTTPError:
        return False
