"""The variants of an ablation, read from a TOML file.

::

    [[variant]]
    name = "crf"                      # names files and rows
    title = "CRF output"
    leave_out = ["weak"]              # kinds of documents: gold, invented, injected, weak
    teachers = "base"                 # learns along with the labels from the base networks
    network = { output = "crf" }      # what differs from the base
    training = { window = 256 }
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import as_plain_values, change_settings
from inverse_deid.network.config import (
    NetworkConfig,
    TrainingConfig,
    network_config,
    read_config,
    training_config,
)
from inverse_deid.research.studies.epoch_store import Kind
from inverse_deid.training.config import RunConfig

BASE = "base"
_KEYS = frozenset({"name", "title", "leave_out", "teachers", "network", "training"})
_FIXED = frozenset({"epochs", "seed", "synthetic", "weak", "surrogates", "keep_share", "validation_share"})
"""Settings that the shared epochs have decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to train.

    Args:
        name: Names its files and rows.
        title: What it is.
        network: The network.
        training: The training; its seed is replaced by that of each run.
        leave_out: Kinds of documents that it does without.
        is_student: It learns from the base networks along with the labels.
    """

    name: str
    title: str
    network: NetworkConfig
    training: TrainingConfig
    leave_out: tuple[Kind, ...] = ()
    is_student: bool = False

    def seeded(self, seed: int) -> TrainingConfig:
        """The training of one run."""
        return change_settings(self.training, seed=seed)


def base_variant(config: RunConfig, n_epochs: int) -> Variant:
    """What the others are compared with."""
    training = change_settings(config.training, epochs=n_epochs, patience=0)
    return Variant(name=BASE, title="base", network=config.network, training=training)


def read_variants(path: Path, base: Variant) -> list[Variant]:
    """Read the variants of a file.

    Raises:
        ConfigurationError: Missing, not TOML, unknown or unfit settings.
    """
    tables = read_config(path)
    listed = tables.get("variant")
    if set(tables) != {"variant"} or not isinstance(listed, list):
        raise ConfigurationError(f"{path}: holds tables [[variant]] and nothing else")
    found = [_variant(table, base, f"{path}: variant {i}") for i, table in enumerate(listed, start=1)]
    names = [BASE, *(variant.name for variant in found)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigurationError(f"{path}: {', '.join(twice)}: names a variant twice")
    return found


def _variant(table: Mapping[str, Any], base: Variant, where: str) -> Variant:
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise ConfigurationError(
            f"{where}: unknown settings {', '.join(unknown)}; known: {', '.join(sorted(_KEYS))}"
        )
    name = table.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise ConfigurationError(f"{where}: name is of small letters, digits and -")
    if table.get("teachers", BASE) != BASE:
        raise ConfigurationError(f'{where}: teachers is "{BASE}" or left out')
    changed, taught = table.get("network", {}), table.get("training", {})
    if fixed := sorted(set(taught) & _FIXED):
        raise ConfigurationError(
            f"{where}: the epochs are shared, so {', '.join(fixed)} cannot differ from the base"
        )
    try:
        return Variant(
            name=name,
            title=str(table.get("title", name)),
            network=network_config({**as_plain_values(base.network), **changed}),
            training=training_config({**as_plain_values(base.training), **taught}),
            leave_out=_kinds(table.get("leave_out", []), where),
            is_student="teachers" in table,
        )
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from error


def _kinds(listed: object, where: str) -> tuple[Kind, ...]:
    known = {kind.name.lower(): kind for kind in Kind}
    if not isinstance(listed, list) or not all(name in known for name in listed):
        raise ConfigurationError(f"{where}: leave_out is a list of {', '.join(known)}")
    return tuple(known[name] for name in listed)
