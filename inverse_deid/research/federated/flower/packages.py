"""Flower as a package: whether it is installed, and how to keep it quiet."""

from __future__ import annotations

import logging
import os
from importlib.metadata import PackageNotFoundError, version

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.extras import install_hint

FLOWER = "1.41."


def find_version(package: str) -> str:
    """Return the version of a package, "none" if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def need_flower() -> None:
    """Check that Flower is installed, before anything is read.

    Raises:
        ConfigurationError: It is not installed, or has another version.
    """
    found = find_version("flwr")
    if not found.startswith(FLOWER):
        raise ConfigurationError(f"[flower] needs flwr {FLOWER}x, found {found}: {install_hint('federated')}")


def be_quiet() -> None:
    """Turn off Flower's telemetry and log. Call it before Flower is imported."""
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    logging.getLogger("flwr").disabled = True  # its level is set anew when Flower is imported
