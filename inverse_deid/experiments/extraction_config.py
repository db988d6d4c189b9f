"""What the study of extraction is told, read from a TOML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.deep.config import read_config
from inverse_deid.extraction.config import TaggerConfig, TaggerTraining, tagger_config, tagger_training

_PARTS = ("train", "dev", "test")


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
    """

    data: dict[str, Path]
    types: tuple[str, ...]
    spanish: dict[str, Path]
    mapping: Path | None
    extractor: TaggerConfig
    training: TaggerTraining


def read_study(path: Path) -> ExtractionStudy:
    """Read the file; paths in it are relative to its folder.

    Raises:
        ConfigurationError: Missing, not TOML, a table or setting unknown or out of range.
    """
    table = read_config(path)
    unknown = sorted(set(table) - {"english", "spanish", "extractor", "training"})
    if unknown:
        raise ConfigurationError(
            f"{path}: unknown table {unknown[0]}; known: english, spanish, extractor, training"
        )
    data, spanish = dict(table.get("english", {})), dict(table.get("spanish", {}))
    types, mapping = data.pop("types", None), spanish.pop("mapping", None)
    if not isinstance(types, list) or not types or not all(isinstance(name, str) for name in types):
        raise ConfigurationError(f"{path}: english.types is a list of concept types")
    return ExtractionStudy(
        data=_paths(path, "english", data),
        types=tuple(sorted(types)),
        spanish=_paths(path, "spanish", spanish) if spanish else {},
        mapping=None if mapping is None else path.parent / str(mapping),
        extractor=tagger_config(table.get("extractor", {})),
        training=tagger_training(table.get("training", {})),
    )


def _paths(path: Path, section: str, given: dict[str, Any]) -> dict[str, Path]:
    if set(given) - set(_PARTS) or not all(isinstance(value, str) for value in given.values()):
        raise ConfigurationError(f"{path}: [{section}] names files for {', '.join(_PARTS)}")
    needed = _PARTS if section == "english" else ("train", "test")
    if missing := [part for part in needed if part not in given]:
        raise ConfigurationError(f"{path}: [{section}] has no {missing[0]}; name a file")
    return {part: path.parent / value for part, value in given.items()}
