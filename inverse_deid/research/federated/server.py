"""The server of a common training: rounds over a carrier, with a limit for every wait."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inverse_deid.core.errors import ConfigurationError, UpdateError
from inverse_deid.research.federated.file_exchange import FileCarrier, read_key
from inverse_deid.research.federated.messages import (
    Envelope,
    Gathered,
    Reply,
    TrainingState,
    pack_state,
    unpack_declaration,
    unpack_reply,
    unpack_state,
)
from inverse_deid.research.federated.network import CommonNetwork, load_vectors
from inverse_deid.research.federated.rounds import begin_training, end_round
from inverse_deid.research.federated.settings import ServerSettings
from inverse_deid.research.studies.records import fingerprint, read_arrays, write_arrays

_BARREN_ROUNDS = 3
"""Rounds in a row without enough answers after which the server gives up."""


class Carrier(Protocol):
    """Carries messages to sites and back; every wait has a limit."""

    def refuse_earlier_run(self) -> None:
        """Raise `OutputExistsError` where a new run would meet the rest of another."""

    def gather_declarations(self, sites: Sequence[str], timeout_s: float) -> Gathered:
        """Wait for the declarations of sites."""

    def gather_answers(self, state: TrainingState, timeout_s: float) -> Gathered:
        """Give a state to the sites that it asks, and wait for their answers."""

    def conclude(self, state: TrainingState, timeout_s: float) -> Sequence[str]:
        """Give the result to all sites, and return those that did not take it."""


def run_server(settings: ServerSettings, say: Callable[[str], None], *, resume: bool = False) -> None:
    """Lead a common training to its end.

    Raises:
        ConfigurationError: A site does not fit the others, or did not declare itself.
        OutputExistsError: There is something left of an earlier run.
        UpdateError: Too few sites answered in several rounds.
    """
    keys = {site: read_key(settings.exchange.keys / f"{site}.key") for site in settings.server.sites}
    vectors = load_vectors(settings.server.word_vectors, settings.network)
    common = CommonNetwork(settings.network, settings.training, vectors)
    with _open_carrier(settings, keys) as carrier:
        _Server(settings, carrier, common, say).run(resume=resume)


@contextmanager
def _open_carrier(settings: ServerSettings, keys: Mapping[str, bytes]) -> Iterator[Carrier]:
    if settings.exchange.folder is not None:
        yield FileCarrier(settings.exchange.folder, keys)
    if settings.flower is not None:
        from inverse_deid.research.federated.flower.superlink import open_flower_carrier

        with open_flower_carrier(settings.flower, keys, settings.server.checkpoint) as carrier:
            yield carrier


@dataclass(frozen=True, slots=True)
class _Server:
    settings: ServerSettings
    carrier: Carrier
    common: CommonNetwork
    say: Callable[[str], None]

    def run(self, *, resume: bool) -> None:
        """Check the sites, then lead round after round."""
        training, layout = self.settings.server, self.common.trainer.layout
        state = self._resume() if resume else self._begin()
        self._check_sites()
        if resume:
            self.say(f"resuming with round {state.number} of {training.n_rounds}")
        n_barren = 0
        while not state.finished:
            given = self.carrier.gather_answers(state, self.settings.exchange.answer_s)
            replies = {site: _read_reply(one) for site, one in given.items()}
            state, report = end_round(training, layout, state, replies)
            self._save(state)
            self.say(report.describe())
            n_barren = 0 if report.used else n_barren + 1
            if n_barren == _BARREN_ROUNDS:
                raise UpdateError(
                    f"too few sites answered in {n_barren} rounds. Repair them, then run again with --resume"
                )
        without = self.carrier.conclude(state, self.settings.exchange.answer_s)
        if without:
            raise UpdateError(
                f"finished, but {', '.join(without)} did not take the result. Run again with --resume "
                "when they are back"
            )
        self.say("finished. Every site has the result. No formal guarantee: what it tells is not bounded")

    def _check_sites(self) -> None:
        """Refuse sites that have not declared themselves or do not fit the others."""
        sites, join_s = self.settings.server.sites, self.settings.exchange.join_s
        found = self.carrier.gather_declarations(sites, join_s)
        for site in sites:
            given = found.get(site)
            if given is None:
                problem: str | None = f"did not declare itself within {join_s:g} s"
            else:
                problem = self._find_problem(site, given)
            if problem:
                raise ConfigurationError(f"site {site}: {problem}")

    def _find_problem(self, site: str, given: Envelope | UpdateError) -> str | None:
        try:
            declaration = unpack_declaration(_require(given))
        except UpdateError as error:
            return str(error)
        if declaration.site != site:
            return "declared another name"
        return declaration.find_problem(self.common.declare("", 1))

    def _begin(self) -> TrainingState:
        self.carrier.refuse_earlier_run()
        training = self.settings.server
        start = self.common.start(training.seed)
        state = begin_training(training, secrets.token_hex(8), self.common.trainer.layout, start)
        self._save(state)
        return state

    def _key(self) -> str:
        return fingerprint(self.settings.server.agreed, self.common.declare("", 1))

    def _save(self, state: TrainingState) -> None:
        header = json.dumps({"key": self._key(), **pack_state(state).header})
        write_arrays(
            self.settings.server.checkpoint,
            {"header": np.array(header), "weights": state.weights, "counts": state.counts},
        )

    def _resume(self) -> TrainingState:
        path = self.settings.server.checkpoint
        arrays = read_arrays(path)
        try:
            header = dict(json.loads(str(arrays["header"])))
            if header.pop("key") == self._key():
                return unpack_state(Envelope(header, {name: arrays[name] for name in ("weights", "counts")}))
        except (KeyError, ValueError, UpdateError) as error:
            raise ConfigurationError(
                f"{path}: not a checkpoint of a server. Start over without --resume"
            ) from error
        raise ConfigurationError(f"{path}: made with other settings. Start over without --resume")


def _require(given: Envelope | UpdateError) -> Envelope:
    if isinstance(given, UpdateError):
        raise given
    return given


def _read_reply(given: Envelope | UpdateError) -> Reply | UpdateError:
    try:
        return unpack_reply(_require(given))
    except UpdateError as error:
        return error
