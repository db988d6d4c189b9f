"""A server and a site that exchange their messages over Flower's SuperLink."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from inverse_deid.core.errors import OutputExistsError, UpdateError
from inverse_deid.research.federated.flower import prepare_flower
from inverse_deid.research.federated.messages import (
    Envelope,
    Gathered,
    TrainingState,
    open_sealed,
    pack,
    seal,
    unpack,
)
from inverse_deid.research.federated.settings import FlowerServer, FlowerSite

if TYPE_CHECKING:
    from inverse_deid.research.federated.flower.connections import LinkEnd
    from inverse_deid.research.federated.site import SiteRun

DECLARE = Envelope({"kind": "declare"})
"""Asks a site to declare itself."""
_STEP_S = 0.5
_TIMES_ASKED = 4
"""Within a limit. A message is lost with a site that was killed after it took the message."""
_SITE_STEP_S = 1.0
_STAYS_S = 15.0
"""After the end: the SuperLink drops the reply of a site that leaves before it was fetched."""


@dataclass(frozen=True, slots=True, eq=False)
class FlowerCarrier:
    """The `Carrier` of a server over a SuperLink: asks, asks again, and opens sealed replies."""

    link: LinkEnd
    keys: Mapping[str, bytes] = field(repr=False)
    checkpoint: Path
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def refuse_earlier_run(self) -> None:
        """Refuse to start where an earlier server left its checkpoint."""
        if self.checkpoint.exists():
            raise OutputExistsError(
                f"{self.checkpoint}: left by an earlier run. Resume it with --resume, or move the file away"
            )

    def gather_declarations(self, sites: Sequence[str], timeout_s: float) -> Gathered:
        """Ask every site for its declaration."""
        return self._gather(sites, DECLARE, timeout_s)

    def gather_answers(self, state: TrainingState, timeout_s: float) -> Gathered:
        """Give a state to the sites that it asks, and wait for their answers."""
        return self._gather(state.asked, pack(state), timeout_s)

    def conclude(self, state: TrainingState, timeout_s: float) -> Sequence[str]:
        """Give the result to all sites, and return those that did not confirm it."""
        found = self._gather(state.order, pack(state), timeout_s)
        return [site for site in state.order if not isinstance(found.get(site), Envelope)]

    def _gather(self, sites: Sequence[str], envelope: Envelope, timeout_s: float) -> Gathered:
        """Wait for a reply of each site, no longer than the limit."""
        self.link.forget()
        found: dict[str, Envelope | UpdateError] = {}
        end = self.clock() + timeout_s
        again = dict.fromkeys(sites, self.clock())
        while True:
            for site in sites:
                if site not in found and self.clock() >= again[site]:
                    data = seal(envelope, self.keys[site])
                    if self.link.send(site, data, max(1.0, end - self.clock())):
                        again[site] = self.clock() + timeout_s / _TIMES_ASKED
            for site, data in self.link.collect().items():
                try:
                    given: Envelope | UpdateError = open_sealed(data, self.keys[site])
                except UpdateError as error:
                    given = error
                found.setdefault(site, given)
            if len(found) == len(sites) or self.clock() >= end:
                return found
            self.wait(_STEP_S)


@contextmanager
def open_flower_carrier(
    settings: FlowerServer, keys: Mapping[str, bytes], checkpoint: Path
) -> Iterator[FlowerCarrier]:
    """Connect to the SuperLink.

    `ConfigurationError` without Flower, `UnreadableInputError` if a file cannot be read, `UpdateError` if
    the SuperLink cannot be reached or refuses.
    """
    prepare_flower()
    from inverse_deid.research.federated.flower.connections import connect_server

    with connect_server(settings, tuple(keys)) as link:
        yield FlowerCarrier(link, keys, checkpoint)


def answer_superlink(site: SiteRun, settings: FlowerSite) -> TrainingState:
    """Answer messages sealed with this site's key, and nothing else, and return the finished state.

    Raises:
        ConfigurationError: Flower is not installed.
        UpdateError: The server was silent too long, or the SuperLink cannot be reached.
    """
    prepare_flower()
    from inverse_deid.research.federated.flower import connections

    patience_s, name = site.patience_s, site.name
    with connections.connect_site(settings, patience_s) as node:
        site.say(f"site {name}: joined, and waits for the server")
        last, end = LastReply(), time.monotonic() + patience_s
        result: TrainingState | None = None
        while time.monotonic() <= end:
            message = node.receive()
            if message is None:
                time.sleep(_SITE_STEP_S)
                continue
            try:
                envelope = site.open(connections.unpack(message))
            except UpdateError:
                site.say(f"site {name}: left out a message that is not sealed with its key")
                continue
            data, state = last.reply(site, envelope)
            node.reply(message, data)
            result = state if state is not None and state.finished else None
            end = time.monotonic() + (_STAYS_S if result else patience_s)
    if result is None:
        raise UpdateError(f"the server was silent for {patience_s:g} s. Start the site again")
    return result


class LastReply:
    """The last reply, so that a repeated question is not worked on again."""

    def __init__(self) -> None:
        self._question: tuple[str, int] | None = None
        self._data = b""

    def reply(self, site: SiteRun, envelope: Envelope) -> tuple[bytes, TrainingState | None]:
        """Return the reply to a message, and the state that it replies to."""
        if envelope.header.get("kind") == DECLARE.header["kind"]:
            return site.declare(), None
        state = unpack(envelope, TrainingState)
        if state.finished:
            return site.declare(), state
        if (state.run, state.number) != self._question:
            self._data, self._question = site.answer(state), (state.run, state.number)
            site.say(f"site {site.name}: answered round {state.number}")
        return self._data, state
