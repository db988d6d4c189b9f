"""`inverse-deid research federated server`: rounds over a carrier, with a limit for every wait."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inverse_deid.core.errors import ConfigurationError, UpdateError
from inverse_deid.research.federated.agreement import Declaration, problem_with
from inverse_deid.research.federated.carriers import Carrier, FileCarrier
from inverse_deid.research.federated.common_network import CommonNetwork
from inverse_deid.research.federated.coordinator import RoundReport, first_state, next_state
from inverse_deid.research.federated.deployment_config import ServerConfig
from inverse_deid.research.federated.file_exchange import FileExchange, read_key
from inverse_deid.research.federated.messages import Envelope
from inverse_deid.research.federated.rounds import Reply, State, reply_of, state_envelope, state_of
from inverse_deid.research.studies.records import fingerprint, read_arrays, write_arrays

Say = Callable[[str], None]

_BARREN_ROUNDS = 3
"""Rounds in a row without enough answers after which the server gives up."""


def run_server(config: ServerConfig, say: Say, *, resume: bool = False) -> None:
    """Lead a common training to its end.

    Args:
        config: The server's.
        say: Gets a line a round: who was used, who was left out and why.
        resume: Go on from the checkpoint of a server that was stopped.

    Raises:
        ConfigurationError: A site does not fit the others, or did not declare itself.
        OutputExistsError: There is something left of an earlier run.
        UpdateError: Too few sites answered in several rounds.
    """
    keys = {site: read_key(config.keys / f"{site}.key") for site in config.training.sites}
    common = CommonNetwork(config.plan)
    with _carrier(config, keys) as carrier:
        _Server(config, carrier, common, say).run(resume=resume)


@contextmanager
def _carrier(config: ServerConfig, keys: Mapping[str, bytes]) -> Iterator[Carrier]:
    if config.folder is not None:
        yield FileCarrier(FileExchange(config.folder, keys), config.folder, config.training.sites)
    if config.flower is not None:
        from inverse_deid.research.federated.flower_carrier import flower_carrier

        with flower_carrier(config.flower, keys, config.checkpoint) as carrier:
            yield carrier


@dataclass(frozen=True, slots=True)
class _Server:
    config: ServerConfig
    carrier: Carrier
    common: CommonNetwork
    say: Say

    def run(self, *, resume: bool) -> None:
        """Check the sites, then round after round."""
        state = self._resumed() if resume else self._fresh()
        self._check_sites()
        if resume:
            self.say(f"goes on with round {state.number} of {self.config.training.n_rounds}")
        barren = 0
        while not state.finished:
            state, report = next_state(
                self.config.training, self.common.trainer.layout, state, self._replies(state)
            )
            self._save(state)
            self.say(line_of(report))
            barren = 0 if report.used else barren + 1
            if barren == _BARREN_ROUNDS:
                raise UpdateError(
                    f"too few sites answered in {barren} rounds; mend them, then run again with --resume"
                )
        self._conclude(state)

    def _conclude(self, state: State) -> None:
        without = self.carrier.conclude(state, self.config.answer_s)
        if without:
            raise UpdateError(
                f"finished, but {', '.join(without)} did not take the result; run again with --resume "
                "when they are back"
            )
        self.say("finished; every site has the result; no formal guarantee: what it tells is not bounded")

    def _check_sites(self) -> None:
        """All must have declared themselves, and be alike."""
        sites = self.config.training.sites
        found = self.carrier.declarations(sites, self.config.join_s)
        for site in sites:
            problem = self._problem(site, found.get(site))
            if problem:
                raise ConfigurationError(f"site {site}: {problem}")

    def _problem(self, site: str, given: Envelope | UpdateError | None) -> str | None:
        if given is None:
            return f"did not declare itself within {self.config.join_s:g} s"
        if isinstance(given, UpdateError):
            return str(given)
        try:
            header = {name: value for name, value in given.header.items() if name != "kind"}
            declaration = Declaration(**header)
            wanted = self.common.declaration("", 1)
            return "declared another name" if declaration.site != site else problem_with(declaration, wanted)
        except TypeError:
            return "sent a declaration that cannot be read"

    def _replies(self, state: State) -> Mapping[str, Reply | UpdateError]:
        found = self.carrier.answers(state, self.config.answer_s)
        return {site: _reply(given) for site, given in found.items()}

    def _key(self) -> str:
        return fingerprint(self.config.training, self.common.declaration("", 1))

    def _fresh(self) -> State:
        self.carrier.refuse_earlier_run()
        start = self.common.start(self.config.training.seed)
        run = secrets.token_hex(8)
        state = first_state(self.config.training, run, self.common.trainer.layout, start)
        self._save(state)
        return state

    def _save(self, state: State) -> None:
        header = json.dumps({"key": self._key(), **state_envelope(state).header})
        write_arrays(
            self.config.checkpoint,
            {"header": np.array(header), "weights": state.weights, "counts": state.counts},
        )

    def _resumed(self) -> State:
        arrays = read_arrays(self.config.checkpoint)
        return resumed_state(arrays, self._key(), self.config.checkpoint)


def resumed_state(arrays: Mapping[str, np.ndarray], key: str, path: Path) -> State:
    """The state of a checkpoint.

    Raises:
        ConfigurationError: It is of another run, or none.
    """
    try:
        header = dict(json.loads(str(arrays["header"])))
        if header.pop("key") == key:
            return state_of(Envelope(header, {name: arrays[name] for name in ("weights", "counts")}))
    except (KeyError, ValueError, UpdateError) as error:
        raise ConfigurationError(f"{path}: no checkpoint of a server; start anew without --resume") from error
    raise ConfigurationError(f"{path}: of another configuration; start anew without --resume")


def line_of(report: RoundReport) -> str:
    """A round in one line.

    Example:
        >>> line_of(RoundReport(3, ("east",), {"west": "did not answer in time"}))
        'round 3: used east; left out: west did not answer in time'
    """
    line = f"round {report.number}: used {', '.join(report.used) or 'nobody'}"
    out = "; ".join(f"{site} {problem}" for site, problem in report.left_out.items())
    return f"{line}; left out: {out}" if out else line


def _reply(given: Envelope | UpdateError) -> Reply | UpdateError:
    if isinstance(given, UpdateError):
        return given
    try:
        return reply_of(given)
    except UpdateError as error:
        return error
