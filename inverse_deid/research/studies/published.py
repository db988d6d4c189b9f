"""What others published, from `published.toml`: facts with their source, of other data."""

from __future__ import annotations

import importlib.resources
import tomllib
from typing import Any


def published() -> dict[str, Any]:
    """The published figures, as the tables of the file.

    Example:
        >>> published()["thesis"]["adaptive"]["b-1"]
        [0.991, 0.518]
    """
    source = importlib.resources.files("inverse_deid.research.studies") / "published.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))
