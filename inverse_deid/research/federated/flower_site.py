"""A site that is asked over Flower's SuperLink."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from inverse_deid.core.errors import UpdateError
from inverse_deid.research.federated.flower_carrier import DECLARE, need_flower
from inverse_deid.research.federated.flower_settings import FlowerSite
from inverse_deid.research.federated.messages import Envelope
from inverse_deid.research.federated.rounds import State, state_of

if TYPE_CHECKING:
    from inverse_deid.research.federated.deployment_config import SiteConfig

_STEP_S = 1.0
_STAYS_S = 15.0
"""After the end: the SuperLink drops the reply of a site that leaves before it was fetched."""


class Answering(Protocol):
    """What is needed of a site; `SiteRun` has it."""

    config: SiteConfig
    say: Callable[[str], None]

    def understood(self, data: bytes) -> Envelope:
        """Open a message of the server."""

    def declared(self) -> bytes:
        """What the site says of itself."""

    def answered(self, state: State) -> bytes:
        """What it answers to a state."""


def by_flower(site: Answering, settings: FlowerSite) -> State:
    """Answer what is sealed with this site's key, and nothing else; the finished state.

    Raises:
        UpdateError: The server was silent too long, or the SuperLink cannot be reached.
    """
    need_flower()
    from inverse_deid.research.federated.flower.node_end import node_end

    patience_s, name = site.config.patience_s, site.config.name
    with node_end(settings, patience_s) as node:
        site.say(f"site {name}: joined, waits for the server")
        last, end = Last(), time.monotonic() + patience_s
        result: State | None = None
        while time.monotonic() <= end:
            parcel = node.receive()
            if parcel is None:
                time.sleep(_STEP_S)
                continue
            try:
                envelope = site.understood(parcel.data)
            except UpdateError:
                site.say(f"site {name}: left a message out that is not sealed with its key")
                continue
            data, state = last.reply(site, envelope)
            node.reply(parcel, data)
            finished = state is not None and state.finished
            result = state if finished else None
            end = time.monotonic() + (_STAYS_S if finished else patience_s)
    if result is None:
        raise UpdateError(f"the server was silent for {patience_s:g} s; start the site again")
    return result


class Last:
    """The last reply: a question that is asked again is not worked on again."""

    def __init__(self) -> None:
        self._question: tuple[str, int] | None = None
        self._data = b""

    def reply(self, site: Answering, envelope: Envelope) -> tuple[bytes, State | None]:
        """What to reply, and the state that was replied to."""
        if envelope.header.get("kind") == DECLARE.header["kind"]:
            return site.declared(), None
        state = state_of(envelope)
        if state.finished:
            return site.declared(), state
        if (state.run, state.number) != self._question:
            self._data, self._question = site.answered(state), (state.run, state.number)
            site.say(f"site {site.config.name}: answered round {state.number}")
        return self._data, state
