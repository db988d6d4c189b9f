"""The server's part of a common training, whatever carries the messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from inverse_deid.core.errors import ConfigurationError, UpdateError
from inverse_deid.research.federated.parameter_server import ParameterServer
from inverse_deid.research.federated.rounds import Reply, SharedWay, State
from inverse_deid.research.federated.updates import Update, mean_weights, usable
from inverse_deid.research.federated.weights import Layout

NO_ANSWER = "did not answer in time"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonTraining:
    """What the centres agreed upon.

    Args:
        way: The method.
        sites: Their names.
        epochs: Of every site.
        least_sites: So many must send something usable, or the round changes nothing.
        seed: Of the run.
    """

    way: SharedWay
    sites: tuple[str, ...]
    epochs: int
    least_sites: int = 1
    seed: int = 1

    def __post_init__(self) -> None:
        if self.way not in ("average", "round-robin", "selective"):
            raise ConfigurationError("server.way is one of average, round-robin, selective")
        if not self.sites or len(set(self.sites)) != len(self.sites):
            raise ConfigurationError("server.sites names every site once")
        if self.epochs < 1 or not 1 <= self.least_sites <= len(self.sites):
            raise ConfigurationError(
                "server.epochs and least_sites are at least 1, and there are as many sites"
            )

    @property
    def n_rounds(self) -> int:
        """Rounds of the whole run; in round robin each site has its own."""
        return self.epochs * (len(self.sites) if self.way == "round-robin" else 1)


@dataclass(frozen=True, slots=True)
class RoundReport:
    """What a round did.

    Args:
        number: Of the round, from 0.
        used: Sites whose numbers went in.
        left_out: Why others did not, by site.
    """

    number: int
    used: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


def first_state(training: CommonTraining, run: str, layout: Layout, weights: Sequence[np.ndarray]) -> State:
    """The state that a run begins with."""
    n_counts = layout.n_numbers if training.way == "selective" else 0
    return _state(training, run, 0, layout.flat(list(weights)), np.zeros(n_counts, np.int64))


def _state(training: CommonTraining, run: str, number: int, weights: np.ndarray, counts: np.ndarray) -> State:
    finished = number >= training.n_rounds
    each = len(training.sites) if training.way == "round-robin" else 1
    asked = training.sites if each == 1 else (training.sites[number % each],)
    return State(
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


def next_state(
    training: CommonTraining, layout: Layout, state: State, replies: Mapping[str, Reply | UpdateError]
) -> tuple[State, RoundReport]:
    """Take what sites sent; what cannot be used is named and left out, and hurts nobody else.

    Args:
        training: As agreed.
        layout: Of the common network.
        state: That was answered.
        replies: By site, in the order of arrival; an error where a message could not be read.

    Returns:
        The next state and what happened.
    """
    left_out = {site: NO_ANSWER for site in state.asked if site not in replies}
    good: dict[str, Reply] = {}
    for site, reply in replies.items():
        problem = str(reply) if isinstance(reply, UpdateError) else _problem(state, layout, site, reply)
        if problem is None and isinstance(reply, Reply):
            good[site] = reply
        else:
            left_out[site] = problem or ""
    weights, counts, used = state.weights, state.counts, tuple(good)
    if len(good) >= min(training.least_sites, len(state.asked)):
        weights, counts = _combined(layout, state, list(good.values()))
    else:
        used = ()
    following = _state(training, state.run, state.number + 1, weights, counts)
    return following, RoundReport(state.number, used, left_out)


def _problem(state: State, layout: Layout, site: str, reply: Reply) -> str | None:
    if site not in state.asked or reply.site != site:
        return "was not asked, or sent in another's name"
    if (reply.run, reply.number) != (state.run, state.number):
        return f"answered for another round or run than {state.number}"
    if state.way != "selective":
        return usable([_update(layout, reply)], layout, _version(reply))[1].get(site)
    if reply.changes is None:
        return "sent no changes"
    try:
        ParameterServer(state.weights, state.counts).upload(reply.changes)
    except UpdateError as error:
        return str(error)
    return None


def _combined(layout: Layout, state: State, replies: Sequence[Reply]) -> tuple[np.ndarray, np.ndarray]:
    if state.way != "selective":
        return layout.flat(mean_weights([_update(layout, reply) for reply in replies])), state.counts
    server = ParameterServer(state.weights, state.counts)
    for reply in replies:
        if reply.changes is not None:
            server.upload(reply.changes)
    return server.weights, server.counts


def _version(reply: Reply) -> str:
    return f"{reply.run}/{reply.number}"


def _update(layout: Layout, reply: Reply) -> Update:
    vector = np.zeros(0, np.float32) if reply.weights is None else reply.weights
    arrays = layout.arrays(vector) if vector.shape == (layout.n_numbers,) else [vector]
    return Update(reply.site, _version(reply), arrays, reply.n_tokens)
