"""A study as a TOML file describes it; everything is checked before anything is trained."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.network.config import naming, network_config, read_config
from inverse_deid.research.federated.local_config import LocalConfig, table_of
from inverse_deid.research.federated.selection import SelectiveSettings
from inverse_deid.research.federated.study_config import MethodConfig, SitesConfig, StudyConfig, StudySettings

_TABLES = ("data", "sites", "study", "methods", "network", "training")
_SELECTIVE = tuple(SelectiveSettings.__dataclass_fields__)


def read_study_config(path: Path) -> StudyConfig:
    """Read a study; paths in it count from the file's own folder.

    Raises:
        ConfigurationError: Missing, not TOML, unknown or unfit settings.
    """
    values = read_config(path)
    with naming(path):
        return _study_config(values, path.parent)


def _study_config(values: Mapping[str, Any], folder: Path) -> StudyConfig:
    unknown = sorted(set(values) - set(_TABLES))
    if unknown or not all(isinstance(values.get(name, {}), dict) for name in _TABLES):
        raise ConfigurationError(
            f"{', '.join(unknown) or 'a setting'}: no table of a study; known: {', '.join(_TABLES)}"
        )
    tables = {name: values.get(name, {}) for name in _TABLES}
    config = StudyConfig(
        **_data(tables["data"], folder),
        sites=_sites(tables["sites"]),
        study=_study(tables["study"]),
        methods=tuple(_method(name, table) for name, table in tables["methods"].items()),
        network=network_config(tables["network"]),
        training=LocalConfig(**table_of(LocalConfig, tables["training"], "training")),
    )
    _check_own_settings(config)
    return config


def _data(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    lists, files = ("train", "test"), ("mapping", "word_vectors")
    unknown = sorted(set(table) - {*lists, *files})
    if unknown:
        raise ConfigurationError(f"[data] has no setting {', '.join(unknown)}")
    for name in lists:
        given = table.get(name, [])
        if not (isinstance(given, list) and all(isinstance(item, str) for item in given)):
            raise ConfigurationError(f"data.{name} is a list of paths")
    if not all(isinstance(table.get(name, ""), str) for name in files):
        raise ConfigurationError(f"data.{' and data.'.join(files)} are paths")
    found: dict[str, Any] = {
        name: tuple((folder / item).resolve() for item in table.get(name, [])) for name in lists
    }
    return found | {name: (folder / table[name]).resolve() for name in files if table.get(name)}


def _sites(table: Mapping[str, Any]) -> SitesConfig:
    kinds = table.get("kinds", {})
    rest = {name: value for name, value in table.items() if name != "kinds"}
    right = isinstance(kinds, dict) and all(
        isinstance(some, list) and all(isinstance(one, str) for one in some) for some in kinds.values()
    )
    if not right:
        raise ConfigurationError("sites.kinds is a table of lists, as in letters = ['L1-', 'L2-']")
    if kinds and "number" in table:
        raise ConfigurationError("sites.number and sites.kinds exclude each other")
    checked = table_of(SitesConfig, rest, "sites")
    return SitesConfig(**checked, kinds={name: tuple(some) for name, some in kinds.items()})


def _study(table: Mapping[str, Any]) -> StudySettings:
    seeds = table.get("seeds", [1])
    if not isinstance(seeds, list) or not all(type(seed) is int for seed in seeds):
        raise ConfigurationError("study.seeds is a list of whole numbers, as in [1, 2, 3]")
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}
    return StudySettings(**table_of(StudySettings, given, "study"))


def _method(name: str, table: Any) -> MethodConfig:  # noqa: ANN401 - whatever TOML holds
    if not isinstance(table, dict) or "way" not in table:
        raise ConfigurationError(f"methods.{name} is a table with a way; begin it with [methods.{name}]")
    section = f"methods.{name}"
    common = {key: table[key] for key in table if key in _SELECTIVE}
    rest = {key: value for key, value in table.items() if key not in (*_SELECTIVE, "sites")}
    unknown = sorted(set(rest) - {"way", "proximal"})
    if unknown or ((common or "sites" in table) and table["way"] != "selective"):
        raise ConfigurationError(f"[{section}] has no setting {', '.join(unknown or common or ['sites'])}")
    if not isinstance(rest.get("proximal", 0.0), int | float) or (
        "proximal" in rest and rest["way"] != "average"
    ):
        raise ConfigurationError(f"{section}.proximal is a number, and of the way average alone")
    base = table_of(SelectiveSettings, common, section)
    try:
        own = {
            site: SelectiveSettings(
                **{**base, **table_of(SelectiveSettings, given, f"{section}.sites.{site}")}
            )
            for site, given in table.get("sites", {}).items()
        }
        return MethodConfig(name=name, settings=SelectiveSettings(**base), own=own, **rest)
    except ConfigurationError as error:
        raise ConfigurationError(f"[{section}] {error}") from error


def _check_own_settings(config: StudyConfig) -> None:
    names = set(config.sites.kinds) or {f"site-{i + 1}" for i in range(config.sites.number)}
    for method in config.methods:
        unknown = sorted(set(method.own) - names)
        if unknown:
            raise ConfigurationError(
                f"[methods.{method.name}.sites] names {', '.join(unknown)}; "
                f"sites are {', '.join(sorted(names))}"
            )
