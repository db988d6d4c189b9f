"""The mean of networks that nobody sees singly: SecAgg+ of Flower.

Each site masks its weights with numbers that cancel in the sum, and the server sees the sum alone.
Weights are rounded to whole numbers first, so the mean equals that of FedAvg up to that rounding.

The protocol is Flower's, at the server and at the sites. Its messages stay in this process, so that
a study needs no cluster.

Source: Bell et al. 2020; Flower's SecAgg+ workflow and mod.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inverse_deid.core.errors import ConfigurationError, UpdateError
from inverse_deid.core.extras import missing_extra
from inverse_deid.research.federated.flower.parcels import be_quiet
from inverse_deid.research.federated.settings import LEAST_SECURE
from inverse_deid.research.federated.weights import Update, Weights

CLIPPING_RANGE = 32.0
"""Larger weights would be clipped. They are refused instead."""
_MODULUS = 2**32
_MOST_LEVELS = 2**28
"""Of rounding: steps of 2.4e-7. The sum of all sites must stay below the modulus."""

_PARAMETERS, _CONFIGS, _ROUND = "parameters", "config", "current_round"


@dataclass(frozen=True, slots=True)
class SecureAggregation:
    """Limits of SecAgg+.

    Args:
        reconstruction: Share of the sites that must stay to remove the masks of the others.
        timeout_s: Limit of each of its four steps.
    """

    reconstruction: float = 0.6
    timeout_s: float = 300.0

    def __post_init__(self) -> None:
        if not 0.5 < self.reconstruction <= 1 or not self.timeout_s > 0:
            raise ConfigurationError(
                "secure aggregation: reconstruction must be above 0.5 and at most 1, timeout_s above 0"
            )


def average_securely(updates: Sequence[Update], how: SecureAggregation | None = None) -> Weights:
    """Return the mean of networks, weighted by the tokens that each was trained on.

    Args:
        updates: Of at least three sites, all usable.
        how: Limits.

    Raises:
        ConfigurationError: Fewer than three sites, or Flower is not installed.
        UpdateError: A weight is too large to be rounded, or the protocol did not finish.
    """
    if len(updates) < LEAST_SECURE:
        raise ConfigurationError(f"secure aggregation needs at least {LEAST_SECURE} sites")
    largest = np.max([np.abs(array).max(initial=0) for update in updates for array in update.weights])
    if not largest < CLIPPING_RANGE:
        raise UpdateError(
            f"a weight of {largest:.3g} exceeds the limit {CLIPPING_RANGE:g} of secure aggregation"
        )
    be_quiet()
    try:
        return _run_protocol(updates, how or SecureAggregation())
    except ImportError as error:
        raise missing_extra("secure aggregation", error.name, "federated") from error


def _choose_levels(n_sites: int) -> int:
    """Return a power of two with which the sum of all sites stays below the modulus.

    Example:
        >>> [_choose_levels(n).bit_length() - 1 for n in (3, 15, 16, 17)]
        [28, 28, 28, 27]
    """
    return min(_MOST_LEVELS, 1 << ((_MODULUS // n_sites).bit_length() - 1))


def _run_protocol(updates: Sequence[Update], how: SecureAggregation) -> Weights:
    """Run one round of the protocol: set-up, exchange of keys, masked weights, removal of the masks."""
    from flwr.app import ArrayRecord, ConfigRecord
    from flwr.common import parameters_to_ndarrays
    from flwr.compat.common.recorddict_compat import arrayrecord_to_parameters
    from flwr.server import LegacyContext, ServerConfig
    from flwr.server.compat.grid_client_proxy import GridClientProxy
    from flwr.server.strategy import FedAvg
    from flwr.server.workflow import SecAggPlusWorkflow

    from inverse_deid.research.federated.flower.direct_grid import act_as_server, make_context, make_grid

    n_sites = len(updates)
    grid = make_grid(_make_client_app(updates), n_sites)
    strategy = FedAvg(min_fit_clients=n_sites, min_available_clients=n_sites, fraction_evaluate=0.0)
    context = LegacyContext(make_context(0), ServerConfig(num_rounds=1), strategy)
    context.state.array_records[_PARAMETERS] = ArrayRecord([np.zeros(1, np.float32)])
    context.state.config_records[_CONFIGS] = ConfigRecord({_ROUND: 1})
    for node in grid.get_node_ids():
        context.client_manager.register(GridClientProxy(node, grid, 0))
    protocol = SecAggPlusWorkflow(
        num_shares=1.0,
        reconstruction_threshold=how.reconstruction,
        max_weight=float(max(update.n_tokens for update in updates)),
        clipping_range=CLIPPING_RANGE,
        quantization_range=_choose_levels(n_sites),
        modulus_range=_MODULUS,
        timeout=how.timeout_s,
    )
    with act_as_server():
        protocol(grid, context)
    found = parameters_to_ndarrays(
        arrayrecord_to_parameters(context.state.array_records[_PARAMETERS], keep_input=True)
    )
    if [array.shape for array in found] != [array.shape for array in updates[0].weights]:
        raise UpdateError("secure aggregation did not finish: too few sites stayed")
    return [np.asarray(array, np.float32) for array in found]


def _make_client_app(updates: Sequence[Update]) -> Any:  # noqa: ANN401 - Flower is imported when it is needed
    """Return an app of sites that only mask the weights that they have."""
    from flwr.app import Context
    from flwr.client import NumPyClient
    from flwr.client.mod import secaggplus_mod
    from flwr.clientapp import ClientApp

    class Masking(NumPyClient):  # type: ignore[misc]
        """Flower's way to hold weights."""

        def __init__(self, update: Update) -> None:
            self._update = update

        def fit(self, parameters: Any, config: Any) -> Any:  # noqa: ANN401 - as Flower declares it
            return [array.astype(np.float64) for array in self._update.weights], self._update.n_tokens, {}

    def client_of(context: Context) -> Any:  # noqa: ANN401
        return Masking(updates[int(context.node_config["place"])]).to_client()

    return ClientApp(client_fn=client_of, mods=[secaggplus_mod])
