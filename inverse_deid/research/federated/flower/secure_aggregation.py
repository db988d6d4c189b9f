"""The mean of networks that nobody sees singly: SecAgg+ of Flower.

Each site masks its weights with numbers that cancel in the sum, and the server sees the sum alone.
Weights are rounded to whole numbers first, so the mean equals that of FedAvg up to that rounding.

Source: Bell et al. 2020; Flower's SecAgg+ workflow and mod.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inverse_deid.core.errors import ConfigurationError, UpdateError
from inverse_deid.core.extras import missing_extra
from inverse_deid.research.federated.flower import be_quiet
from inverse_deid.research.federated.settings import LEAST_SECURE
from inverse_deid.research.federated.weights import Update, Weights

CLIPPING_RANGE = 32.0
"""Larger weights would be clipped. They are refused instead."""
_MODULUS = 2**32
_MOST_LEVELS = 2**28
"""Of rounding: steps of 2.4e-7. The sum of all sites must stay below the modulus."""


def average_securely(updates: Sequence[Update]) -> Weights:
    """Return the mean of networks, weighted by the tokens that each was trained on.

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
        from inverse_deid.research.federated.flower.secure_protocol import run_protocol

        return run_protocol(updates, CLIPPING_RANGE, _choose_levels(len(updates)), _MODULUS)
    except ImportError as error:
        raise missing_extra("secure aggregation", error.name, "federated") from error


def _choose_levels(n_sites: int) -> int:
    """Return a power of two with which the sum of all sites stays below the modulus.

    Example:
        >>> [_choose_levels(n).bit_length() - 1 for n in (3, 15, 16, 17)]
        [28, 28, 28, 27]
    """
    return min(_MOST_LEVELS, 1 << ((_MODULUS // n_sites).bit_length() - 1))
