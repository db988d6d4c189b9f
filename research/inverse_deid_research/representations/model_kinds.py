"""The entry points through which `mask --model` opens folders of representations."""

from __future__ import annotations

import os
from pathlib import Path

from inverse_deid.core.errors import ModelError
from inverse_deid.core.extras import missing_extra
from inverse_deid.core.thresholds import OperatingPoints
from inverse_deid.masking.pipeline import TokenScorer
from inverse_deid_research.representations.folders import read_network


def open_network(folder: Path) -> tuple[TokenScorer, OperatingPoints]:
    """Open a network over a private representation. It runs in Keras.

    Raises:
        ModelError: The folder is damaged or altered.
        ConfigurationError: The extra `train` is missing.
    """
    network = read_network(folder)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        from inverse_deid_research.representations.networks import PrivateScorer
    except ImportError as error:
        raise missing_extra("a model over a representation", error.name, "train") from error
    return PrivateScorer(network), network.operating_points


def refuse_representation(folder: Path) -> tuple[TokenScorer, OperatingPoints]:
    """Refuse a representation without a network.

    Raises:
        ModelError: Always.
    """
    raise ModelError(
        f"{folder}: is a representation without a network. Mask with a folder that "
        "`inverse-deid research share train` wrote"
    )
