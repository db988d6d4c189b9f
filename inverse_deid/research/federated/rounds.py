"""What a server publishes and what a site answers, round by round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from inverse_deid.core.errors import UpdateError
from inverse_deid.core.values import FloatArray
from inverse_deid.research.federated.messages import Envelope
from inverse_deid.research.federated.selection import IndexArray, Selected

SharedWay = Literal["average", "round-robin", "selective"]
"""The methods in which documents stay at their sites."""


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Where the common training stands.

    Args:
        run: Names the run.
        number: Of the round, from 0.
        way: The method.
        epoch: Passes over the documents so far.
        asked: Sites that are to answer, in the order of their numbers.
        order: All sites; a site's place is part of its random seed.
        seed: Of the run.
        finished: Nothing is asked any more; the weights are the result.
        weights: float32 (n_weights,), the common ones.
        counts: int64 (n_weights,), updates of each weight; empty but for *selective*.
    """

    run: str
    number: int
    way: SharedWay
    epoch: int
    asked: tuple[str, ...]
    order: tuple[str, ...]
    seed: int
    finished: bool
    weights: FloatArray = field(repr=False)
    counts: IndexArray = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """What leaves a site after an epoch.

    Args:
        site: Its name.
        run: Of the state that was answered.
        number: Of that state.
        n_tokens: Tokens it trained on; 0 in *selective*, where nobody needs to know.
        weights: float32 (n_weights,), all of them; None in *selective*.
        changes: Some of them, in *selective*; None otherwise.
    """

    site: str
    run: str
    number: int
    n_tokens: int
    weights: FloatArray | None = field(default=None, repr=False)
    changes: Selected | None = field(default=None, repr=False)


_STATE_FIELDS = ("run", "number", "way", "epoch", "asked", "order", "seed", "finished")


def state_envelope(state: State) -> Envelope:
    """A state as a message."""
    header = {name: getattr(state, name) for name in _STATE_FIELDS}
    return Envelope({"kind": "state", **header}, {"weights": state.weights, "counts": state.counts})


def state_of(envelope: Envelope) -> State:
    """Read a state.

    Raises:
        UpdateError: It is none.
    """
    given: dict[str, Any] = dict(envelope.header)
    try:
        if given.pop("kind") != "state" or given["way"] not in get_args(SharedWay):
            raise UpdateError("the server sent something else than a state")
        names = {name: tuple(map(str, given.pop(name))) for name in ("asked", "order")}
        numbers = {name: int(given.pop(name)) for name in ("number", "epoch", "seed")}
        arrays = envelope.arrays
        return State(
            str(given["run"]),
            numbers["number"],
            given["way"],
            numbers["epoch"],
            names["asked"],
            names["order"],
            numbers["seed"],
            bool(given["finished"]),
            np.array(arrays["weights"], np.float32),
            np.array(arrays["counts"], np.int64),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UpdateError("the server sent a state that cannot be read") from error


def reply_envelope(reply: Reply) -> Envelope:
    """A reply as a message."""
    header = {name: getattr(reply, name) for name in ("site", "run", "number", "n_tokens")}
    arrays: dict[str, np.ndarray] = {}
    if reply.weights is not None:
        arrays["weights"] = reply.weights
    if reply.changes is not None:
        arrays |= {"indices": reply.changes.indices, "values": reply.changes.values}
    return Envelope({"kind": "reply", **header}, arrays)


def reply_of(envelope: Envelope) -> Reply:
    """Read a reply; whether its numbers can be used is checked where they are.

    Raises:
        UpdateError: It is none.
    """
    header, arrays = envelope.header, envelope.arrays
    try:
        if header["kind"] != "reply":
            raise UpdateError("sent something else than a reply")
        changes = Selected(arrays["indices"], arrays["values"]) if "indices" in arrays else None
        return Reply(
            str(header["site"]),
            str(header["run"]),
            int(header["number"]),
            int(header["n_tokens"]),
            arrays.get("weights"),
            changes,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UpdateError("sent a reply that cannot be read") from error
