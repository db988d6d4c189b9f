"""How a server reaches its sites: what files and Flower have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from inverse_deid.core.errors import OutputExistsError, UpdateError
from inverse_deid.research.federated.file_exchange import DECLARATION, FileExchange, reply_name, state_name
from inverse_deid.research.federated.messages import Envelope
from inverse_deid.research.federated.rounds import State, state_envelope

Given = Mapping[str, Envelope | UpdateError]
"""What came, by site in the order of arrival; an error where a message could not be opened."""


class Carrier(Protocol):
    """Carries messages to sites and back; every wait has a limit."""

    def refuse_earlier_run(self) -> None:
        """Raise `OutputExistsError` where a new run would meet what is left of another."""

    def declarations(self, sites: Sequence[str], timeout_s: float) -> Given:
        """What sites say of themselves."""

    def answers(self, state: State, timeout_s: float) -> Given:
        """Give a state to the sites that it asks, and wait for what they answer."""

    def conclude(self, state: State, timeout_s: float) -> Sequence[str]:
        """Give the result to all sites.

        Returns:
            The sites that did not take it.
        """


class FileCarrier:
    """By files in a folder that server and sites can reach.

    Args:
        exchange: With the keys of all sites.
        folder: Of the exchange.
        sites: All of them.
    """

    def __init__(self, exchange: FileExchange, folder: Path, sites: Sequence[str]) -> None:
        self._exchange, self._folder, self._sites = exchange, folder, tuple(sites)

    def refuse_earlier_run(self) -> None:
        """Look for states of an earlier server."""
        if any(self._exchange.latest(site) for site in self._sites):
            raise OutputExistsError(
                f"{self._folder}: holds an earlier run; go on with --resume, or give an empty folder"
            )

    def declarations(self, sites: Sequence[str], timeout_s: float) -> Given:
        """Sites declare themselves unasked."""
        return self._exchange.gather(sites, DECLARATION, timeout_s)

    def answers(self, state: State, timeout_s: float) -> Given:
        """Publish, then wait."""
        self._publish(state, state.asked)
        return self._exchange.gather(state.asked, reply_name(state.number), timeout_s)

    def conclude(self, state: State, timeout_s: float) -> Sequence[str]:
        """The result stays in the folder: a site may fetch it whenever it likes."""
        self._publish(state, self._sites)
        return ()

    def _publish(self, state: State, sites: Sequence[str]) -> None:
        for site in sites:
            data = self._exchange.bytes_of(site, state_envelope(state))
            self._exchange.send("to", site, state_name(state.number), data)
