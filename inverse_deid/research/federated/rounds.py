"""Rounds of a common training at the server, whatever carries the messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from inverse_deid.core.errors import UpdateError
from inverse_deid.research.federated.messages import Reply, TrainingState
from inverse_deid.research.federated.selective import ParameterServer
from inverse_deid.research.federated.settings import CommonTraining
from inverse_deid.research.federated.weights import Update, WeightLayout, average_weights

NO_ANSWER = "did not answer in time"


@dataclass(frozen=True, slots=True)
class RoundReport:
    """What a round did.

    Args:
        number: Of the round, from 0.
        left_out: Why those of other sites were not, by site.
    """

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
    training: CommonTraining, run: str, layout: WeightLayout, weights: Sequence[np.ndarray]
) -> TrainingState:
    """Return the first state of a run."""
    n_counts = layout.n_numbers if training.way == "selective" else 0
    return _make_state(training, run, 0, layout.flatten(list(weights)), np.zeros(n_counts, np.int64))


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
    good: dict[str, Reply] = {}
    for site, reply in replies.items():
        problem = str(reply) if isinstance(reply, UpdateError) else _find_problem(state, layout, site, reply)
        if problem is None and isinstance(reply, Reply):
            good[site] = reply
        else:
            left_out[site] = problem or ""
    weights, counts, used = state.weights, state.counts, tuple(good)
    if len(good) >= min(training.least_sites, len(state.asked)):
        weights, counts = _combine(layout, state, list(good.values()))
    else:
        used = ()
    following = _make_state(training, state.run, state.number + 1, weights, counts)
    return following, RoundReport(state.number, used, left_out)


def _find_problem(state: TrainingState, layout: WeightLayout, site: str, reply: Reply) -> str | None:
    if site not in state.asked or reply.site != site:
        return "was not asked, or sent in another's name"
    if (reply.run, reply.number) != (state.run, state.number):
        return f"answered for another round or run than {state.number}"
    if state.way != "selective":
        update = _make_update(layout, reply)
        return update.find_problem(layout, update.version)
    if reply.changes is None:
        return "sent no changes"
    try:
        ParameterServer(state.weights, state.counts).upload(reply.changes)
    except UpdateError as error:
        return str(error)
    return None


def _combine(
    layout: WeightLayout, state: TrainingState, replies: Sequence[Reply]
) -> tuple[np.ndarray, np.ndarray]:
    if state.way != "selective":
        updates = [_make_update(layout, reply) for reply in replies]
        return layout.flatten(average_weights(updates)), state.counts
    server = ParameterServer(state.weights, state.counts)
    for reply in replies:
        if reply.changes is not None:
            server.upload(reply.changes)
    return server.weights, server.counts


def _make_update(layout: WeightLayout, reply: Reply) -> Update:
    vector = np.zeros(0, np.float32) if reply.weights is None else reply.weights
    arrays = layout.split(vector) if vector.shape == (layout.n_numbers,) else [vector]
    return Update(reply.site, f"{reply.run}/{reply.number}", arrays, reply.n_tokens)
