"""Secrets that a command takes from a file or from the environment, and files that must not be shared."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.formats.registry import input_errors

KEY_VARIABLE = "INVERSE_DEID_KEY"
_MAX_SECRET_BYTES = 4096


def read_secret(path: Path | None, option: str = "--key", variable: str = KEY_VARIABLE) -> bytes | None:
    """Return a secret without one line break at its end; all else may be part of it. None = not given.

    Raises:
        UnreadableInputError: The file cannot be read.
        ConfigurationError: File and variable are both given, or the secret is too long.
    """
    from_environment = os.environ.get(variable)
    if path is None:
        return None if from_environment is None else _strip_line_break(os.fsencode(from_environment))
    if from_environment is not None:
        raise ConfigurationError(f"{option} and {variable} are both given. Leave one of them out")
    try:
        with input_errors(), path.open("rb") as stream:
            secret = _strip_line_break(stream.read(_MAX_SECRET_BYTES + 3))
    except UnreadableInputError as error:
        raise UnreadableInputError(f"{path} {error}") from None
    if len(secret) > _MAX_SECRET_BYTES:
        raise ConfigurationError(
            f"{path}: longer than {_MAX_SECRET_BYTES} bytes. Give a file with the secret alone"
        )
    return secret


def _strip_line_break(secret: bytes) -> bytes:
    return secret.removesuffix(b"\n").removesuffix(b"\r") if secret.endswith(b"\n") else secret


def check_list_place(path: Path, folders: Mapping[str, Path]) -> None:
    """Refuse a list of `--rename` in a folder of masked files; `folders` has their options.

    Raises:
        ConfigurationError: It would be shared with them.
    """
    for option, folder in folders.items():
        if path.resolve().is_relative_to(folder.resolve()):
            raise ConfigurationError(
                f"--rename has the original names. Give a file outside of the folder of {option}"
            )
