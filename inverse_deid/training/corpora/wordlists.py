"""The packaged word lists and patterns of the generator, read once and cached."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType


@cache
def load_lists(name: str) -> Mapping[str, tuple[str, ...]]:
    """Read `<name>.toml`: a table of strings whose items are separated by `;` or line ends.

    Example:
        >>> "spring" in load_lists("words")["seasons"]
        True
    """
    table = tomllib.loads(read_data(f"{name}.toml"))
    parts = {key: (item.strip() for item in re.split(r"[;\n]", value)) for key, value in table.items()}
    return MappingProxyType({key: tuple(filter(None, items)) for key, items in parts.items()})


@cache
def load_lines(name: str) -> Mapping[str, tuple[str, ...]]:
    """Read `<name>.toml` like `load_lists`, but only line ends separate items."""
    table = tomllib.loads(read_data(f"{name}.toml"))
    lists = {key: tuple(line for line in value.splitlines() if line.strip()) for key, value in table.items()}
    return MappingProxyType(lists)


def words(name: str) -> tuple[str, ...]:
    """Return the list `name` of `words.toml`."""
    return load_lists("words")[name]


def read_data(filename: str) -> str:
    """Return the text of a packaged data file of this package."""
    return files("inverse_deid.training.corpora").joinpath(filename).read_text(encoding="utf-8")
