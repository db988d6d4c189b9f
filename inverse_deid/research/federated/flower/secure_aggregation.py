"""The mean of networks that nobody sees singly: SecAgg+ of Flower, with its messages kept in this process.

Each site masks its weights with numbers that cancel in the sum, and the server sees the sum alone.
Weights are rounded to whole numbers first, so the mean equals that of FedAvg up to that rounding.

Source: Bell et al. 2020; Flower's SecAgg+ workflow and mod.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.client import NumPyClient
from flwr.client.mod import secaggplus_mod
from flwr.clientapp import ClientApp
from flwr.common import parameters_to_ndarrays
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.compat.common.recorddict_compat import arrayrecord_to_parameters
from flwr.server import LegacyContext, ServerConfig
from flwr.server.compat.grid_client_proxy import GridClientProxy
from flwr.server.strategy import FedAvg
from flwr.server.workflow import SecAggPlusWorkflow
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

from inverse_deid.core.errors import ConfigurationError, UpdateError
from inverse_deid.research.federated.settings import LEAST_SECURE
from inverse_deid.research.federated.weights import Update, Weights

_CLIPPING_RANGE = 32.0
"""Larger weights would be clipped. They are refused instead."""
_MODULUS = 2**32
_MOST_LEVELS = 2**28
"""Of rounding: steps of 2.4e-7. The sum of all sites must stay below the modulus."""
_PARAMETERS, _CONFIGS, _ROUND = "parameters", "config", "current_round"
_RECONSTRUCTION = 0.6
"""Share of the sites that must stay to remove the masks of the others."""
_STEP_LIMIT_S = 300.0
_FIRST = SUPERLINK_NODE_ID + 1


def average_securely(updates: Sequence[Update]) -> Weights:
    """Return the mean of networks, weighted by the tokens that each was trained on.

    One round: set-up, exchange of keys, masked weights, removal of the masks.

    Raises:
        ConfigurationError: Fewer than three sites.
        UpdateError: A weight is too large to be rounded, or the protocol did not finish.
    """
    n_sites = len(updates)
    if n_sites < LEAST_SECURE:
        raise ConfigurationError(f"secure aggregation needs at least {LEAST_SECURE} sites")
    largest = np.max([np.abs(array).max(initial=0) for update in updates for array in update.weights])
    if not largest < _CLIPPING_RANGE:
        raise UpdateError(
            f"a weight of {largest:.3g} exceeds the limit {_CLIPPING_RANGE:g} of secure aggregation"
        )
    places = {_FIRST + place: _make_context(_FIRST + place, place=place) for place in range(n_sites)}
    grid = _DirectGrid(_make_client_app(updates), places)
    strategy = FedAvg(min_fit_clients=n_sites, min_available_clients=n_sites, fraction_evaluate=0.0)
    context = LegacyContext(_make_context(0), ServerConfig(num_rounds=1), strategy)
    context.state.array_records[_PARAMETERS] = ArrayRecord([np.zeros(1, np.float32)])
    context.state.config_records[_CONFIGS] = ConfigRecord({_ROUND: 1})
    for node in grid.get_node_ids():
        context.client_manager.register(GridClientProxy(node, grid, 0))
    protocol = SecAggPlusWorkflow(
        num_shares=1.0,
        reconstruction_threshold=_RECONSTRUCTION,
        max_weight=float(max(update.n_tokens for update in updates)),
        clipping_range=_CLIPPING_RANGE,
        quantization_range=_choose_levels(n_sites),
        modulus_range=_MODULUS,
        timeout=_STEP_LIMIT_S,
    )
    with act_as_server():
        protocol(grid, context)
    found = parameters_to_ndarrays(
        arrayrecord_to_parameters(context.state.array_records[_PARAMETERS], keep_input=True)
    )
    if [array.shape for array in found] != [array.shape for array in updates[0].weights]:
        raise UpdateError("secure aggregation did not finish: too few sites stayed")
    return [np.asarray(array, np.float32) for array in found]


def _choose_levels(n_sites: int) -> int:
    """Return a power of two with which the sum of all sites stays below the modulus.

    Example:
        >>> [_choose_levels(n).bit_length() - 1 for n in (3, 15, 16, 17)]
        [28, 28, 28, 27]
    """
    return min(_MOST_LEVELS, 1 << ((_MODULUS // n_sites).bit_length() - 1))


def _make_client_app(updates: Sequence[Update]) -> ClientApp:
    """Return an app of sites that only mask the weights that they have."""

    def make_client(context: Context) -> Any:  # noqa: ANN401
        update = updates[int(context.node_config["place"])]

        class Masking(NumPyClient):  # type: ignore[misc]
            def fit(self, parameters: Any, config: Any) -> Any:  # noqa: ANN401 - as Flower declares it
                return [array.astype(np.float64) for array in update.weights], update.n_tokens, {}

        return Masking().to_client()

    return ClientApp(client_fn=make_client, mods=[secaggplus_mod])


def _make_context(node: int, **config: int) -> Context:
    """Return the context of a node that has done nothing yet."""
    return Context(run_id=0, node_id=node, node_config=dict(config), state=RecordDict(), run_config={})


@contextmanager
def act_as_server() -> Iterator[None]:
    """Make messages as a server without a run; afterwards as whatever ran here before."""
    names = ("_task_id", "_run_id", "_node_id")
    before = [getattr(TaskIdentity, name) for name in names]
    TaskIdentity.task_id = TaskIdentity.run_id = 1
    TaskIdentity.node_id = SUPERLINK_NODE_ID
    try:
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(TaskIdentity, name, value)


class _DirectGrid(Grid):  # type: ignore[misc]
    """Flower requires a subclass. Both sides get copies, as over a network."""

    def __init__(self, app: Callable[[Message, Context], Message], contexts: dict[int, Context]) -> None:
        self._app, self._contexts = app, contexts

    def _refuse(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - as Flower declares them
        raise NotImplementedError

    set_run = create_message = push_messages = pull_messages = _refuse
    run = property(_refuse)

    def get_node_ids(self) -> list[int]:
        return list(self._contexts)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> list[Message]:
        return [
            copy.deepcopy(self._app(copy.deepcopy(one), self._contexts[one.metadata.dst_node_id]))
            for one in messages
        ]
