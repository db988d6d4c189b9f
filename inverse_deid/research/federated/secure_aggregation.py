"""The mean of networks without anybody seeing one of them: SecAgg+ of Flower.

Each site masks its weights with numbers that cancel in the sum. The server sees the sum
alone. Weights are rounded to whole numbers first, so the mean equals that of FedAvg up to
that rounding.

The protocol is Flower's, server and sites; its messages go from one to the other in this
process, so that a study needs no cluster for it.

Source: Bell et al. 2020; Flower's SecAgg+ workflow and mod.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inverse_deid.core.errors import ConfigurationError, UpdateError
from inverse_deid.core.extras import missing_extra
from inverse_deid.research.federated.study_config import LEAST_SECURE
from inverse_deid.research.federated.updates import Update
from inverse_deid.research.federated.weights import Weights

CLIPPING_RANGE = 32.0
"""Weights beyond it would be cut; they are refused instead."""
_MODULUS = 2**32
_MOST_LEVELS = 2**28
"""Of rounding: steps of 2.4e-7. Sums of all sites must stay below the modulus."""

_QUIET = {"FLWR_TELEMETRY_ENABLED": "0"}
"""Flower shall not tell anybody that it runs."""
_PARAMETERS, _CONFIGS, _ROUND = "parameters", "config", "current_round"


@dataclass(frozen=True, slots=True)
class SecureAggregation:
    """How SecAgg+ is run.

    Args:
        reconstruction: Share of the sites that must stay for the masks of others to be removed.
        timeout_s: Limit of each of its four steps.
    """

    reconstruction: float = 0.6
    timeout_s: float = 300.0

    def __post_init__(self) -> None:
        if not 0.5 < self.reconstruction <= 1 or not self.timeout_s > 0:
            raise ConfigurationError("secure aggregation: reconstruction is above 0.5 and at most 1")


def secure_mean(updates: Sequence[Update], how: SecureAggregation | None = None) -> Weights:
    """The mean of networks, each weighing as many tokens as it was trained on.

    Args:
        updates: Of at least three sites, all usable.
        how: Limits.

    Raises:
        ConfigurationError: Fewer than three sites, or Flower is not installed.
        UpdateError: A weight is too large to be rounded, or the protocol did not end.
    """
    if len(updates) < LEAST_SECURE:
        raise ConfigurationError(f"secure aggregation needs at least {LEAST_SECURE} sites")
    largest = np.max([np.abs(array).max(initial=0) for update in updates for array in update.weights])
    if not largest < CLIPPING_RANGE:
        raise UpdateError(f"a weight of {largest:.3g} is beyond the {CLIPPING_RANGE:g} of secure aggregation")
    os.environ.update(_QUIET)
    logging.getLogger("flwr").disabled = True  # its level is set anew when Flower is imported
    try:
        return _run(updates, how or SecureAggregation())
    except ImportError as error:
        raise missing_extra("secure aggregation", error.name, "federated") from error


def _levels(n_sites: int) -> int:
    """A power of two, so that the sum of all sites stays below the modulus.

    Example:
        >>> [_levels(n).bit_length() - 1 for n in (3, 15, 16, 17)]
        [28, 28, 28, 27]
    """
    return min(_MOST_LEVELS, 1 << ((_MODULUS // n_sites).bit_length() - 1))


def _run(updates: Sequence[Update], how: SecureAggregation) -> Weights:
    """One round of the protocol: set-up, exchange of keys, masked weights, removal of the masks."""
    from flwr.app import ArrayRecord, ConfigRecord
    from flwr.common import parameters_to_ndarrays
    from flwr.compat.common.recorddict_compat import arrayrecord_to_parameters
    from flwr.server import LegacyContext, ServerConfig
    from flwr.server.compat.grid_client_proxy import GridClientProxy
    from flwr.server.strategy import FedAvg
    from flwr.server.workflow import SecAggPlusWorkflow

    from inverse_deid.research.federated.direct_grid import as_server, direct_grid, fresh_context

    n_sites = len(updates)
    grid = direct_grid(_client_app(updates), n_sites)
    strategy = FedAvg(min_fit_clients=n_sites, min_available_clients=n_sites, fraction_evaluate=0.0)
    context = LegacyContext(fresh_context(0), ServerConfig(num_rounds=1), strategy)
    context.state.array_records[_PARAMETERS] = ArrayRecord([np.zeros(1, np.float32)])
    context.state.config_records[_CONFIGS] = ConfigRecord({_ROUND: 1})
    for node in grid.get_node_ids():
        context.client_manager.register(GridClientProxy(node, grid, 0))
    protocol = SecAggPlusWorkflow(
        num_shares=1.0,
        reconstruction_threshold=how.reconstruction,
        max_weight=float(max(update.n_tokens for update in updates)),
        clipping_range=CLIPPING_RANGE,
        quantization_range=_levels(n_sites),
        modulus_range=_MODULUS,
        timeout=how.timeout_s,
    )
    with as_server():
        protocol(grid, context)
    found = parameters_to_ndarrays(
        arrayrecord_to_parameters(context.state.array_records[_PARAMETERS], keep_input=True)
    )
    if [array.shape for array in found] != [array.shape for array in updates[0].weights]:
        raise UpdateError("secure aggregation did not come to an end; too few sites stayed")
    return [np.asarray(array, np.float32) for array in found]


def _client_app(updates: Sequence[Update]) -> Any:  # noqa: ANN401 - Flower is imported when it is needed
    """A site does nothing but mask the weights that it has."""
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
