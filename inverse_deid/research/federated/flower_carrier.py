"""A server that reaches its sites over Flower's SuperLink."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from inverse_deid.core.errors import ConfigurationError, OutputExistsError, UpdateError
from inverse_deid.core.extras import install_hint
from inverse_deid.research.federated.carriers import Given
from inverse_deid.research.federated.flower_settings import FlowerServer
from inverse_deid.research.federated.messages import Envelope, opened, sealed
from inverse_deid.research.federated.rounds import State, state_envelope

DECLARE = Envelope({"kind": "declare"})
"""Asks a site what it is."""
_STEP_S = 0.5
_TIMES_ASKED = 4
"""Within a limit. A message is lost with the site that was killed after it took it."""


class Sending(Protocol):
    """What is needed of the SuperLink."""

    def forget(self) -> None:
        """Drop what was not replied to."""

    def send(self, site: str, data: bytes, limit_s: float) -> bool:
        """Give a message to a site; False if it is not there."""

    def collect(self) -> dict[str, bytes]:
        """New replies by site."""


class FlowerCarrier:
    """Asks, asks again, and opens what is sealed with the key of its site.

    Args:
        link: The SuperLink.
        keys: Of all sites.
        checkpoint: Of the server; it tells an earlier run.
        wait: Sleeps between two looks.
        clock: Seconds, rising.
    """

    def __init__(
        self,
        link: Sending,
        keys: Mapping[str, bytes],
        checkpoint: Path,
        *,
        wait: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link, self._keys, self._checkpoint = link, keys, checkpoint
        self._wait, self._clock = wait, clock

    def refuse_earlier_run(self) -> None:
        """Look for the checkpoint of an earlier server."""
        if self._checkpoint.exists():
            raise OutputExistsError(
                f"{self._checkpoint}: of an earlier run; go on with --resume, or move it away"
            )

    def declarations(self, sites: Sequence[str], timeout_s: float) -> Given:
        """Ask every site for its declaration."""
        return self._gather(sites, DECLARE, timeout_s)

    def answers(self, state: State, timeout_s: float) -> Given:
        """Ask, and wait."""
        return self._gather(state.asked, state_envelope(state), timeout_s)

    def conclude(self, state: State, timeout_s: float) -> Sequence[str]:
        """A site says that it has the result."""
        found = self._gather(state.order, state_envelope(state), timeout_s)
        return [site for site in state.order if not isinstance(found.get(site), Envelope)]

    def _gather(self, sites: Sequence[str], envelope: Envelope, timeout_s: float) -> Given:
        """Wait for a reply of each site, no longer than the limit."""
        self._link.forget()
        found: dict[str, Envelope | UpdateError] = {}
        end = self._clock() + timeout_s
        again = dict.fromkeys(sites, self._clock())
        while True:
            for site in sites:
                if site not in found and self._clock() >= again[site]:
                    data = sealed(envelope, self._keys[site])
                    if self._link.send(site, data, max(1.0, end - self._clock())):
                        again[site] = self._clock() + timeout_s / _TIMES_ASKED
            for site, data in self._link.collect().items():
                found.setdefault(site, self._opened(site, data))
            if len(found) == len(sites) or self._clock() >= end:
                return found
            self._wait(_STEP_S)

    def _opened(self, site: str, data: bytes) -> Envelope | UpdateError:
        try:
            return opened(data, self._keys[site])
        except UpdateError as error:
            return error


@contextmanager
def flower_carrier(
    settings: FlowerServer, keys: Mapping[str, bytes], checkpoint: Path
) -> Iterator[FlowerCarrier]:
    """A carrier over the SuperLink.

    Raises:
        ConfigurationError: Flower is not installed.
        UnreadableInputError: A file cannot be read.
        UpdateError: The SuperLink cannot be reached or refuses.
    """
    need_flower()
    from inverse_deid.research.federated.flower.link_end import link_end

    with link_end(settings, tuple(keys)) as link:
        yield FlowerCarrier(link, keys, checkpoint)


def need_flower() -> None:
    """Ask for Flower before anything is read.

    Raises:
        ConfigurationError: It is not installed, or another version.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("flwr")
    except PackageNotFoundError:
        found = "none"
    if not found.startswith("1.41."):
        raise ConfigurationError(f"[flower] needs flwr 1.41, found {found}: {install_hint('federated')}")
