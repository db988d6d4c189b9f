"""A training run as a TOML file describes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.network.config import (
    NetworkConfig,
    TrainingConfig,
    naming,
    network_config,
    read_config,
    training_config,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationConfig:
    """What the operating points aim at, on the held-out parts of the corpora.

    Args:
        strict_recall: Recall of PHI tokens at `strict`, all corpora together.
        balanced_recall: Recall at `balanced`.
        lenient_precision: Precision at `lenient`, in every corpus.
        density_slope: `Thresholds.density_slope` of all three.
    """

    strict_recall: float = 0.995
    balanced_recall: float = 0.985
    lenient_precision: float = 0.9
    density_slope: float = 0.0

    def __post_init__(self) -> None:
        aims = (self.strict_recall, self.balanced_recall, self.lenient_precision)
        if not all(0 < aim <= 1 for aim in aims):
            raise ConfigurationError("recalls and precision in [calibration] are above 0 and at most 1")
        _ = self.like

    @property
    def like(self) -> Thresholds:
        """Thresholds with the slope of the operating points.

        Raises:
            ConfigurationError: The slope is out of range.
        """
        return Thresholds(1.0, 1.0, self.density_slope)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """A training run.

    Args:
        gold: Annotated corpora; the validation part of each is calibrated on. A folder
            with the 2014 i2b2 release stands for its official training part.
        compare: Annotated corpora that are never trained on, measured before and after.
        carriers: Unannotated narratives to plant PHI in.
        mapping: TOML file that gives the i2b2 type of each type of another scheme.
        word_vectors: File of `WordVectors` (npz), None = those of the packaged model.
        teachers: Model folders whose opinion is learned along with the labels.
        calibration: What the operating points aim at.
        network: The network.
        training: The training.
    """

    gold: tuple[Path, ...]
    compare: tuple[Path, ...] = ()
    carriers: tuple[Path, ...] = ()
    mapping: Path | None = None
    word_vectors: Path | None = None
    teachers: tuple[Path, ...] = ()
    calibration: CalibrationConfig = field(default_factory=CalibrationConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)


_LISTS = ("gold", "compare", "carriers", "teachers")
_FILES = ("mapping", "word_vectors")
_TABLES = ("data", "calibration", "network", "training")


def read_run_config(
    path: Path, *, needs_gold: bool = True, training: TrainingConfig | None = None
) -> RunConfig:
    """Read a training configuration; paths in it count from the file's own folder.

    Args:
        path: The TOML file.
        needs_gold: Refuse a file that names no annotated corpus.
        training: Has what the file's [training] leaves out; None = `TrainingConfig()`.

    Raises:
        ConfigurationError: Missing, not TOML, unknown or unfit settings.
    """
    values = read_config(path)
    with naming(path):
        config = _run_config(values, path.parent, training)
    if needs_gold and not config.gold:
        raise ConfigurationError(
            f"{path}: [data] gold names no annotated corpus; name one there or with --gold"
        )
    return config


def _run_config(values: Mapping[str, Any], folder: Path, defaults: TrainingConfig | None) -> RunConfig:
    data, calibration, network, training = (_table(values, name) for name in _TABLES)
    known = {f.name for f in dataclasses.fields(CalibrationConfig)}
    unknown = sorted(set(values) - set(_TABLES) | set(data) - {*_LISTS, *_FILES} | set(calibration) - known)
    if unknown:
        raise ConfigurationError(f"unknown settings {', '.join(unknown)}")
    for name in _LISTS:
        listed = data.get(name, [])
        if not (isinstance(listed, list) and all(isinstance(item, str) for item in listed)):
            raise ConfigurationError(f'data.{name} is a list of paths, as in {name} = ["FILE"]')
    if not all(isinstance(data.get(name, ""), str) for name in _FILES):
        raise ConfigurationError(f"data.{' and data.'.join(_FILES)} are paths")
    if not all(isinstance(value, int | float) for value in calibration.values()):
        raise ConfigurationError("the values of [calibration] are numbers")

    def resolved(name: str) -> Path:
        return (folder / name).resolve()

    return RunConfig(
        **{name: tuple(map(resolved, data.get(name, []))) for name in _LISTS},  # type: ignore[arg-type]
        **{name: resolved(data[name]) if data.get(name) else None for name in _FILES},  # type: ignore[arg-type]
        calibration=CalibrationConfig(**calibration),
        network=network_config(network),
        training=training_config(training, defaults),
    )


def _table(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = values.get(name, {})
    if not isinstance(table, dict):
        raise ConfigurationError(f"{name} is a table; begin it with the line [{name}]")
    return table
