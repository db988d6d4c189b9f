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

import copy
import re
import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.wording import _

Settings = TypeVar("Settings")

_PART = re.compile(r"\[\.\.\.\]|\[\d+\]|[^.\[\]`]+")
"""A step in the path of a setting: a key, an index or a name."""


def read_settings(path: Path, kind: type[Settings]) -> Settings:
    """Read a TOML file.

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
        raise ConfigurationError(
            _("{path}: cannot be read ({strerror}). Give a TOML file", path=path, strerror=error.strerror)
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(_("{path}: not valid TOML ({error})", path=path, error=error)) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            _("{path}: not valid TOML (not UTF-8). Save it as UTF-8", path=path)
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(
            _("{path}: not valid TOML (a number or a nesting is too long)", path=path)
        ) from error


def make_settings(values: object, kind: type[Settings], *, folder: Path | None = None) -> Settings:
    """Make settings of plain values, as TOML gives them; relative paths count from `folder`.

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
        fault, _, place = str(error).partition(" - at `$")
        path = _name_keys(_PART.findall(place), values, partial(msgspec.convert, type=kind, dec_hook=decode))
        raise ConfigurationError(_describe(fault, path, kind)) from error


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


def _name_keys(path: list[str], values: object, convert: Callable[[object], object]) -> list[str]:
    """Replace `[...]`, which is all that msgspec tells of a key, by the key of the dictionary.

    The key is the one that alone gives a fault at the same place.
    """
    node = plain = copy.deepcopy(values)
    named = list(path)
    for number, part in enumerate(path):
        if part == "[...]" and isinstance(node, dict):
            entries = dict(node)
            for key, value in entries.items():
                node.clear()
                node[key] = value
                try:
                    convert(plain)
                except msgspec.ValidationError as error:
                    if _PART.findall(str(error).partition(" - at `$")[2]) == path:
                        named[number] = key
                        break
                except ConfigurationError:
                    continue
        step = named[number]
        if isinstance(node, dict) and step in node:
            node = node[step]
        elif isinstance(node, list | tuple):
            node = node[int(step.strip("[]"))]
        else:
            break
    return named


def _describe(fault: str, path: Sequence[str], kind: type) -> str:
    """Turn a message of msgspec about the setting at a path into setting, fault and remedy."""
    subject = ".".join(path).replace(".[", "[") or _("the file")
    found = _type_at(path, kind)
    if "unknown field" in fault:
        fields = found.fields if isinstance(found, msgspec.inspect.StructType) else ()
        known = ", ".join(field.encode_name for field in fields)
        return _(
            "{subject} has no setting {split!r}. It has: {known}",
            subject=subject,
            split=fault.split("`")[1],
            known=known,
        )
    if "missing required field" in fault:
        return _("{subject} lacks the setting {split!r}. Add it", subject=subject, split=fault.split("`")[1])
    fault = fault[:1].lower() + fault[1:]
    options = found.types if isinstance(found, msgspec.inspect.UnionType) else (found,)
    for option in options:
        if isinstance(option, msgspec.inspect.LiteralType):
            return _(
                "{subject}: {fault}. Choose one of {values}",
                subject=subject,
                fault=fault,
                values=", ".join(map(str, option.values)),
            )
    return _("{subject}: {fault}. Correct the setting", subject=subject, fault=fault)


def _type_at(path: Sequence[str], kind: type) -> msgspec.inspect.Type | None:
    """Return the type of the setting at a path; None = unknown."""
    found: msgspec.inspect.Type | None = msgspec.inspect.type_info(kind)
    for part in path:
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
