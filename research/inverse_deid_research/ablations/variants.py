"""The variants of an ablation, read from a TOML file.

::

    [[variant]]
    name = "crf"                      # names files and rows
    title = "CRF output"
    leave_out = ["weak"]              # kinds of documents: gold, invented, injected, weak
    teachers = "base"                 # learns from the base networks along with the labels
    network = { output = "crf" }      # what differs from the base
    training = { window = 256 }
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Literal

import msgspec

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import as_plain_values, change_settings, make_settings, read_settings
from inverse_deid.network.config import NetworkConfig, TrainingConfig
from inverse_deid.training.config import RunConfig

BASE = "base"
_FIXED = frozenset({"epochs", "seed", "synthetic", "weak", "surrogates", "keep_share", "validation_share"})
"""Settings that the shared epochs have decided."""


class DocumentKind(IntEnum):
    """Where a training document comes from; the order is part of the stored epochs."""

    GOLD = 0
    INVENTED = 1
    INJECTED = 2
    WEAK = 3


class VariantTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table [[variant]] of the file."""

    name: str
    title: str = ""
    leave_out: tuple[Literal["gold", "invented", "injected", "weak"], ...] = ()
    teachers: Literal["base"] | None = None
    network: dict[str, Any] = {}
    training: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", self.name):
            raise ValueError("`name` must consist of small letters, digits and -")
        if fixed := sorted(set(self.training) & _FIXED):
            raise ValueError(f"all variants share their epochs, so training cannot set {', '.join(fixed)}")


class VariantsFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    variant: tuple[VariantTable, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to train; the seed of the training is replaced by that of each run.

    A student learns from the base networks along with the labels.
    """

    name: str
    title: str
    network: NetworkConfig
    training: TrainingConfig
    leave_out: tuple[DocumentKind, ...] = ()
    is_student: bool = False


def base_variant(config: RunConfig, n_epochs: int) -> Variant:
    training = change_settings(config.training, epochs=n_epochs, patience=0)
    return Variant(name=BASE, title="base", network=config.network, training=training)


def read_variants(path: Path, base: Variant) -> list[Variant]:
    """Read the variants of a file.

    Raises:
        ConfigurationError: Missing, not TOML, unknown or unfit settings.
    """
    found: list[Variant] = []
    for table in read_settings(path, VariantsFile).variant:
        if table.name in (BASE, *(variant.name for variant in found)):
            raise ConfigurationError(f"{path}: two variants are named {table.name}. Rename one")
        try:
            variant = Variant(
                name=table.name,
                title=table.title or table.name,
                network=make_settings(as_plain_values(base.network) | table.network, NetworkConfig),
                training=make_settings(as_plain_values(base.training) | table.training, TrainingConfig),
                leave_out=tuple(DocumentKind[kind.upper()] for kind in table.leave_out),
                is_student=table.teachers is not None,
            )
        except ConfigurationError as error:
            raise ConfigurationError(f"{path}: variant {table.name}: {error}") from error
        found.append(variant)
    return found
