"""A site that is asked over Flower's SuperLink."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from inverse_deid.core.errors import UpdateError
from inverse_deid.research.federated.flower.parcels import (
    DECLARE,
    Parcel,
    be_patient,
    be_quiet,
    need_flower,
    pack,
    read_bytes,
    read_private_key,
    translate_errors,
    unpack,
)
from inverse_deid.research.federated.messages import Envelope, Respondent, TrainingState, unpack_state
from inverse_deid.research.federated.settings import FlowerSite

_STEP_S = 1.0
_STAYS_S = 15.0
"""After the end: the SuperLink drops the reply of a site that leaves before it was fetched."""
_JOIN_STEP_S = 5.0
_RUN_ENDED = 403


def answer_superlink(site: Respondent, settings: FlowerSite) -> TrainingState:
    """Answer messages sealed with this site's key, and nothing else; return the finished state.

    Raises:
        UpdateError: The server was silent too long, or the SuperLink cannot be reached.
    """
    need_flower()
    patience_s, name = site.patience_s, site.name
    with connect_site(settings, patience_s) as node:
        site.say(f"site {name}: joined, and waits for the server")
        last, end = LastReply(), time.monotonic() + patience_s
        result: TrainingState | None = None
        while time.monotonic() <= end:
            parcel = node.receive()
            if parcel is None:
                time.sleep(_STEP_S)
                continue
            try:
                envelope = site.open(parcel.data)
            except UpdateError:
                site.say(f"site {name}: left out a message that is not sealed with its key")
                continue
            data, state = last.reply(site, envelope)
            node.reply(parcel, data)
            finished = state is not None and state.finished
            result = state if finished else None
            end = time.monotonic() + (_STAYS_S if finished else patience_s)
    if result is None:
        raise UpdateError(f"the server was silent for {patience_s:g} s; start the site again")
    return result


class LastReply:
    """The last reply, so that a repeated question is not worked on again."""

    def __init__(self) -> None:
        self._question: tuple[str, int] | None = None
        self._data = b""

    def reply(self, site: Respondent, envelope: Envelope) -> tuple[bytes, TrainingState | None]:
        """Return the reply to a message, and the state that it replies to."""
        if envelope.header.get("kind") == DECLARE.header["kind"]:
            return site.declare(), None
        state = unpack_state(envelope)
        if state.finished:
            return site.declare(), state
        if (state.run, state.number) != self._question:
            self._data, self._question = site.answer(state), (state.run, state.number)
            site.say(f"site {site.name}: answered round {state.number}")
        return self._data, state


class NodeEnd:
    """Fetches messages and replies; from `connect_site`."""

    def __init__(self, client: Any, node: Any, retry: Any) -> None:  # noqa: ANN401
        self._client, self._node, self._retry = client, node, retry

    def receive(self) -> Parcel | None:
        """Return the next message; None while there is none.

        Raises:
            UpdateError: The SuperLink was not reached within the limit.
        """
        from flwr.proto.fleet_pb2 import PullMessagesRequest

        with translate_errors():
            found = self._retry.invoke(self._client.PullMessages, PullMessagesRequest(node=self._node))
            if not found.messages_list:
                return None
            parcel = None
            with _drop_after_end():
                run = found.messages_list[0].metadata.run_id
                parcel = self._pull(found.message_object_trees[0], run)
            return parcel

    def _pull(self, tree: Any, run: int) -> Parcel | None:  # noqa: ANN401
        """Return a message with its content; None where it was withdrawn in the meantime."""
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
        return unpack(message)

    def reply(self, parcel: Parcel, data: bytes) -> None:
        """Answer a message; drop the answer to a run that has ended.

        Raises:
            UpdateError: The SuperLink was not reached within the limit.
        """
        from flwr.app import Message
        from flwr.supercore.inflatable.inflatable_object import no_object_id_recompute

        message = Message(pack(data), reply_to=parcel.message)
        message.metadata.__dict__["_message_id"] = message.object_id
        with translate_errors(), _drop_after_end(), no_object_id_recompute():
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
def _drop_after_end() -> Iterator[None]:
    """Drop messages of a run that has ended, in both directions."""
    import httpx

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
    be_quiet()
    key, roots = read_private_key(settings.node_key), read_bytes(settings.root_certificates)
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
    retry = be_patient(patience_s)
    with FleetHttpClient.from_server_address(settings.superlink, False, roots, interceptors=shown) as client:
        number = _join(client, key.public_key(), retry, patience_s)
        node = Node(node_id=number)
        signs_of_life = HeartbeatSender(partial(_send_heartbeat, client, node))
        signs_of_life.start()
        try:
            yield NodeEnd(client, node, retry)
        finally:
            signs_of_life.stop()
            with suppress(UpdateError), translate_errors():
                client.DeactivateNode(DeactivateNodeRequest(node_id=number))


def _join(client: Any, key: Any, retry: Any, patience_s: float) -> int:  # noqa: ANN401
    """Return the number of this site's node."""
    import httpx
    from flwr.common.constant import HEARTBEAT_DEFAULT_INTERVAL
    from flwr.proto.fleet_pb2 import ActivateNodeRequest
    from flwr.supercore.primitives.asymmetric import public_key_to_bytes

    request = ActivateNodeRequest(
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
                        "the SuperLink refuses this site; does the server have its public key?"
                    ) from None
        time.sleep(min(_JOIN_STEP_S, max(0.0, end - time.monotonic())))


def _send_heartbeat(client: Any, node: Any) -> bool:  # noqa: ANN401
    """Tell the SuperLink that this site is there."""
    import httpx
    from flwr.common.constant import HEARTBEAT_DEFAULT_INTERVAL
    from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest

    try:
        request = SendNodeHeartbeatRequest(node=node, heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL)
        return bool(client.SendNodeHeartbeat(request).success)
    except httpx.HTTPError:
        return False
