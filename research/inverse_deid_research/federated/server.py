"""The server of a common training: rounds over a folder, with a limit for every wait.

`begin_training` and `end_round` know nothing of folders, clocks and files.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from inverse_deid.core.errors import ConfigurationError, Remedy, UpdateError
from inverse_deid_research.federated.messages import (
    Declaration,
    Envelope,
    FileExchange,
    Message,
    Reply,
    TrainingState,
    pack,
    read_key,
    unpack,
)
from inverse_deid_research.federated.network import CommonNetwork
from inverse_deid_research.federated.settings import CommonTraining, ServerSettings
from inverse_deid_research.federated.weights import (
    ParameterServer,
    Update,
    WeightLayout,
    Weights,
    average_weights,
)
from inverse_deid_research.studies.records import fingerprint, read_arrays, write_arrays

NO_ANSWER = "did not answer in time"
_START_OVER = Remedy("resume", step="start over without {}")
_BARREN_ROUNDS = 3
"""Rounds in a row without enough answers after which the server gives up."""


def run_server(settings: ServerSettings, say: Callable[[str], None], *, resume: bool = False) -> None:
    """Lead a common training to its end.

    Raises:
        ConfigurationError: A site does not fit the others, or did not declare itself.
        OutputExistsError: There is something left of an earlier run.
        UpdateError: Too few sites answered in several rounds.
    """
    keys = {site: read_key(settings.exchange.keys / f"{site}.key") for site in settings.server.sites}
    common = CommonNetwork(settings.network, settings.training, settings.server.word_vectors)
    exchange = FileExchange(settings.exchange.folder, keys)
    _Server(settings, exchange, common, say).run(resume=resume)


@dataclass(frozen=True, slots=True)
class _Server:
    settings: ServerSettings
    exchange: FileExchange
    common: CommonNetwork
    say: Callable[[str], None]

    def run(self, *, resume: bool) -> None:
        training, layout = self.settings.server, self.common.trainer.layout
        if resume:
            state = self._resume()
        else:
            self.exchange.refuse_earlier_run()
            start = self.common.start(training.seed)
            state = begin_training(training, secrets.token_hex(8), layout, start)
            self._save(state)
        self._check_sites()
        if resume:
            self.say(f"resuming with round {state.number} of {training.n_rounds}")
        n_barren = 0
        while not state.finished:
            given = self.exchange.gather_answers(state, self.settings.exchange.answer_s)
            replies = {site: _read(one, Reply) for site, one in given.items()}
            state, report = end_round(training, layout, state, replies)
            self._save(state)
            self.say(report.describe())
            n_barren = 0 if report.used else n_barren + 1
            if n_barren == _BARREN_ROUNDS:
                raise UpdateError(
                    f"too few sites answered in {n_barren} rounds",
                    remedies=[Remedy("resume", step="repair them, then run again with {}")],
                )
        self.exchange.publish(state, self.settings.server.sites)
        self.say("finished. Every site has the result. There is no formal limit on what it reveals")

    def _check_sites(self) -> None:
        sites, join_s = self.settings.server.sites, self.settings.exchange.join_s
        found = self.exchange.gather_declarations(sites, join_s)
        for site in sites:
            if site not in found:
                raise ConfigurationError(f"site {site}: did not declare itself within {join_s:g} s")
            declaration = _read(found[site], Declaration)
            if isinstance(declaration, UpdateError):
                problem: str | None = str(declaration)
            elif declaration.site != site:
                problem = "declared another name"
            else:
                problem = declaration.find_problem(self.common.declare("", 1))
            if problem:
                raise ConfigurationError(f"site {site}: {problem}")

    def _key(self) -> str:
        training = self.settings.server  # without its files, which may have been moved
        agreed = (training.way, training.sites, training.epochs, training.least_sites, training.seed)
        return fingerprint(agreed, self.common.declare("", 1))

    def _save(self, state: TrainingState) -> None:
        envelope = pack(state)
        header = np.array(json.dumps({"key": self._key(), **envelope.header}))
        write_arrays(self.settings.server.checkpoint, {"header": header, **envelope.arrays})

    def _resume(self) -> TrainingState:
        path = self.settings.server.checkpoint
        arrays = read_arrays(path)
        try:
            header = dict(json.loads(str(arrays["header"])))
            if header.pop("key") == self._key():
                named = {name: arrays[name] for name in ("weights", "counts")}
                return unpack(Envelope(header, named), TrainingState)
        except (KeyError, ValueError, UpdateError) as error:
            raise ConfigurationError(
                f"{path}: not a checkpoint of a server", remedies=[_START_OVER]
            ) from error
        raise ConfigurationError(f"{path}: made with other settings", remedies=[_START_OVER])


def _read(given: Envelope | UpdateError, wanted: type[Message]) -> Message | UpdateError:
    try:
        return unpack(given, wanted) if isinstance(given, Envelope) else given
    except UpdateError as error:
        return error


@dataclass(frozen=True, slots=True)
class RoundReport:
    """Which answers a round used, and why those of other sites were left out; rounds count from 0."""

    number: int
    used: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def describe(self) -> str:
        """Return the round in one line.

        Example:
            >>> RoundReport(3, ("east",), {"west": "did not answer in time"}).describe()
            'round 3: used east; left out: west did not answer in time'
        """
        line = f"round {self.number}: used {', '.join(self.used) or 'nobody'}"
        out = "; ".join(f"{site} {problem}" for site, problem in self.left_out.items())
        return f"{line}; left out: {out}" if out else line


def begin_training(
    training: CommonTraining, run: str, layout: WeightLayout, weights: Weights
) -> TrainingState:
    n_counts = layout.n_numbers if training.way == "selective" else 0
    return _make_state(training, run, 0, layout.flatten(weights), np.zeros(n_counts, np.int64))


def _make_state(
    training: CommonTraining, run: str, number: int, weights: np.ndarray, counts: np.ndarray
) -> TrainingState:
    finished = number >= training.n_rounds
    each = len(training.sites) if training.way == "round-robin" else 1
    asked = training.sites if each == 1 else (training.sites[number % each],)
    return TrainingState(
        run=run,
        number=number,
        way=training.way,
        epoch=number // each,
        asked=() if finished else asked,
        order=training.sites,
        seed=training.seed,
        finished=finished,
        weights=weights,
        counts=counts,
    )


def end_round(
    training: CommonTraining,
    layout: WeightLayout,
    state: TrainingState,
    replies: Mapping[str, Reply | UpdateError],
) -> tuple[TrainingState, RoundReport]:
    """Combine the answers of sites. An unusable answer is left out with a reason and harms no other.

    Replies come by site in the order of arrival, with an error where a message could not be read.
    """
    left_out = {site: NO_ANSWER for site in state.asked if site not in replies}
    server = ParameterServer(state.weights, state.counts)
    used: list[str] = []
    updates: list[Update] = []
    for site, reply in replies.items():
        try:
            answer = _check_round(state, site, reply)
            if state.way == "selective":
                server.upload(answer.changes)
            else:
                updates.append(_make_update(layout, answer))
        except UpdateError as error:
            left_out[site] = str(error)
        else:
            used.append(site)
    weights, counts = state.weights, state.counts
    if len(used) < min(training.least_sites, len(state.asked)):
        used = []
    elif state.way == "selective":
        weights, counts = server.weights, server.counts
    else:
        weights = layout.flatten(average_weights(updates))
    following = _make_state(training, state.run, state.number + 1, weights, counts)
    return following, RoundReport(state.number, tuple(used), left_out)


def _check_round(state: TrainingState, site: str, reply: Reply | UpdateError) -> Reply:
    if isinstance(reply, UpdateError):
        raise reply
    if site not in state.asked or reply.site != site:
        raise UpdateError("was not asked, or used the name of another site")
    if (reply.run, reply.number) != (state.run, state.number):
        raise UpdateError(f"answered for another round or run than {state.number}")
    return reply


def _make_update(layout: WeightLayout, reply: Reply) -> Update:
    vector = np.zeros(0, np.float32) if reply.weights is None else reply.weights
    arrays = layout.split(vector) if vector.shape == (layout.n_numbers,) else [vector]
    update = Update(arrays, reply.n_tokens)
    if problem := update.find_problem(layout):
        raise UpdateError(problem)
    return update
