"""What the study of extraction is told, read from a TOML file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import read_toml
from inverse_deid.research.extraction.config import (
    Kind,
    TaggerConfig,
    TaggerTraining,
    tagger_config,
    tagger_training,
)
from inverse_deid.research.setting_tables import check_table

_PARTS = ("train", "dev", "test")
_JOINT: tuple[Kind, ...] = ("multitask", "stacked")
_TABLES = ("english", "spanish", "extractor", "training", *_JOINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionStudy:
    """The study: data and settings that all of its runs share.

    Args:
        data: Documents with both kinds of gold, of `train`, `dev` and `test`.
        types: The concepts that count.
        spanish: Annotated documents of another language, of `train` and `test`, for
            de-identification alone; empty = none.
        mapping: What the type names of these mean.
        extractor: Sizes; the kind is that of each run.
        training: Rates and epochs; the seed is that of each run.
        of_joint: The same for the joint kinds that have a table of their own.
    """

    data: dict[str, Path]
    types: tuple[str, ...]
    spanish: dict[str, Path]
    mapping: Path | None
    extractor: TaggerConfig
    training: TaggerTraining
    of_joint: dict[Kind, TaggerTraining] = field(default_factory=dict)

    def training_of(self, kind: Kind) -> TaggerTraining:
        """Rates and epochs of a kind of model."""
        return self.of_joint.get(kind, self.training)


def read_study(path: Path) -> ExtractionStudy:
    """Read the file; paths in it are relative to its folder.

    What [multitask] or [stacked] says holds for that kind instead of what [training] says.

    Raises:
        ConfigurationError: Missing, not TOML, a table or setting unknown or out of range.
    """
    table = read_toml(path)
    if unknown := sorted(set(table) - set(_TABLES)):
        raise ConfigurationError(f"{path}: unknown table {unknown[0]}; known: {', '.join(_TABLES)}")
    data, spanish = dict(table.get("english", {})), dict(table.get("spanish", {}))
    types, mapping = data.pop("types", None), spanish.pop("mapping", None)
    if not isinstance(types, list) or not types or not all(isinstance(name, str) for name in types):
        raise ConfigurationError(f"{path}: english.types is a list of concept types")
    training = tagger_training(table.get("training", {}))
    return ExtractionStudy(
        data=_paths(path, "english", data),
        types=tuple(sorted(types)),
        spanish=_paths(path, "spanish", spanish) if spanish else {},
        mapping=None if mapping is None else path.parent / str(mapping),
        extractor=tagger_config(table.get("extractor", {})),
        training=training,
        of_joint={
            kind: replace(training, **check_table(table[kind], kind, TaggerTraining))
            for kind in _JOINT
            if kind in table
        },
    )


def _paths(path: Path, section: str, given: dict[str, Any]) -> dict[str, Path]:
    if set(given) - set(_PARTS) or not all(isinstance(value, str) for value in given.values()):
        raise ConfigurationError(f"{path}: [{section}] names files for {', '.join(_PARTS)}")
    needed = _PARTS if section == "english" else ("train", "test")
    if missing := [part for part in needed if part not in given]:
        raise ConfigurationError(f"{path}: [{section}] has no {missing[0]}; name a file")
    return {part: path.parent / value for part, value in given.items()}
