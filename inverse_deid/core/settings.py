"""Typed settings from TOML files.

A file is a `msgspec.Struct` of tables, a table a `Struct` of settings, each with `frozen=True`,
`kw_only=True` and `forbid_unknown_fields=True`. Ranges are `Annotated[float, msgspec.Meta(ge=0, le=1)]`,
choices a `Literal`. `__post_init__` checks what concerns several fields, and raises
`ConfigurationError`. A `Path` counts from the folder of the file.

Example:
    >>> class Training(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    ...     epochs: int = 24
    >>> make_settings({"epochs": 3}, Training)
    Training(epochs=3)
    >>> make_settings({"epochs": "3"}, Training)
    Traceback (most recent call last):
    ...
    inverse_deid.core.errors.ConfigurationError: epochs: expected `int`, got `str`. Correct the setting
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from inverse_deid.core.errors import ConfigurationError

Settings = TypeVar("Settings")


def read_settings(path: Path, kind: type[Settings]) -> Settings:
    """Read a TOML file.

    Args:
        path: The file.
        kind: The Struct that the file is.

    Raises:
        ConfigurationError: The file cannot be read, is not TOML, or has a setting that is unknown, of
            another type or out of range. The message names file, setting and remedy.
    """
    values = read_toml(path)
    try:
        return make_settings(values, kind, folder=path.parent)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file as it is.

    Raises:
        ConfigurationError: The file cannot be read or is not TOML.
    """
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}). Give a TOML file") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: not valid TOML ({error})") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: not valid TOML (not UTF-8). Save it as UTF-8") from error


def make_settings(values: object, kind: type[Settings], *, folder: Path | None = None) -> Settings:
    """Make settings of plain values.

    Args:
        values: A mapping with strings as keys, as TOML gives it.
        kind: The Struct to make.
        folder: What a relative `Path` counts from; None = paths stay as they are.

    Raises:
        ConfigurationError: A setting is unknown, of another type or out of range.
    """

    def decode(wanted: type, value: Any) -> Any:  # noqa: ANN401 - as msgspec declares it
        if wanted is Path and isinstance(value, str):
            return Path(value) if folder is None else (folder / value).resolve()
        raise TypeError(f"expected a path in quotation marks, got `{type(value).__name__}`")

    try:
        return msgspec.convert(values, kind, dec_hook=decode)
    except msgspec.ValidationError as error:
        raise ConfigurationError(_describe(str(error), kind)) from error


def change_settings(settings: Settings, **changes: object) -> Settings:
    """Return settings with other values, checked like those of a file.

    Raises:
        ConfigurationError: A setting is unknown, of another type or out of range.
    """
    values = {name: getattr(settings, name) for name in settings.__struct_fields__}  # type: ignore[attr-defined]
    return make_settings(as_plain_values(values | changes), type(settings))


def as_plain_values(settings: object) -> dict[str, Any]:
    """Return settings as a mapping of strings, numbers, lists and mappings; paths become strings."""
    plain: dict[str, Any] = msgspec.to_builtins(settings, enc_hook=str)
    return plain


def _describe(message: str, kind: type) -> str:
    """Turn a message of msgspec into setting, fault and remedy."""
    fault, _, place = message.partition(" - at `$")
    name = place.rstrip("`").strip(".")
    subject = name or "the file"
    if "unknown field" in fault:
        known = ", ".join(_fields(_type_at(name, kind)))
        return f"{subject} has no setting {fault.split('`')[1]!r}. It has: {known}"
    if "missing required field" in fault:
        return f"{subject} lacks the setting {fault.split('`')[1]!r}. Add it"
    fault = fault[:1].lower() + fault[1:]
    found = _type_at(name, kind)
    options = found.types if isinstance(found, msgspec.inspect.UnionType) else (found,)
    for option in options:
        if isinstance(option, msgspec.inspect.LiteralType):
            return f"{subject}: {fault}. Choose one of {', '.join(map(str, option.values))}"
    return f"{subject}: {fault}. Correct the setting"


def _fields(found: msgspec.inspect.Type | None) -> list[str]:
    if isinstance(found, msgspec.inspect.StructType):
        return [field.encode_name for field in found.fields]
    return []


def _type_at(name: str, kind: type) -> msgspec.inspect.Type | None:
    """Return the type of a setting by its dotted name; None = unknown."""
    found: msgspec.inspect.Type | None = msgspec.inspect.type_info(kind)
    for part in filter(None, name.replace("[", ".[").split(".")):
        options = found.types if isinstance(found, msgspec.inspect.UnionType) else (found,)
        found = next(filter(None, (_inner_type(option, part) for option in options)), None)
    return found


def _inner_type(found: msgspec.inspect.Type | None, part: str) -> msgspec.inspect.Type | None:
    if isinstance(found, msgspec.inspect.StructType):
        return next((field.type for field in found.fields if field.encode_name == part), None)
    if isinstance(found, msgspec.inspect.DictType):
        return found.value_type
    if isinstance(found, msgspec.inspect.ListType | msgspec.inspect.VarTupleType):
        return found.item_type
    return None
