"""Options of all `inverse-deid review` commands: which store, and its key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from inverse_deid.cli.secret_files import KEY_VARIABLE, read_secret
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.review.keys import ReviewKey, check_private, key_beside, make_key_file
from inverse_deid.review.store import ReviewStore, open_store, store_path

_FILE = click.Path(dir_okay=False, path_type=Path)

_OPTIONS = (
    click.option("--store", "address", required=True, metavar="FILE|URL", help="The store of the review."),
    click.option(
        "--key",
        type=_FILE,
        help=f"File with the key of the store (mode 600); or set {KEY_VARIABLE}.  [default: STORE.key]",
    ),
)


def store_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_key(address: str, key: Path | None) -> ReviewKey:
    """The key of a store: from a file, the environment, or the file beside the store.

    Raises:
        ConfigurationError: There is none, others can read it, or it is given twice.
        UnreadableInputError: The file cannot be read.
    """
    given = _given(key)
    if given is not None:
        return given
    path = store_path(address)
    beside = None if path is None else key_beside(path)
    if beside is None or not beside.is_file():
        raise ConfigurationError(f"give the key of the store: --key FILE, or set {KEY_VARIABLE}")
    check_private(beside)
    return ReviewKey(read_secret(beside) or b"")


def new_key(address: str, key: Path | None) -> tuple[ReviewKey, Path | None]:
    """The key of a new store, and the file that was made for it, None = one was given.

    Raises:
        ConfigurationError: A new key file cannot be written, or the key is too short.
    """
    given = _given(key)
    if given is not None:
        return given, None
    path = store_path(address)
    if path is None:
        raise ConfigurationError(f"a store on a server needs a key: give --key FILE, or set {KEY_VARIABLE}")
    beside = key_beside(path)
    if beside.exists():
        return read_key(address, None), None
    return make_key_file(beside), beside


def _given(key: Path | None) -> ReviewKey | None:
    if key is not None:
        check_private(key)
    secret = read_secret(key)
    return None if secret is None else ReviewKey(secret)


def opened(address: str, key: Path | None) -> ReviewStore:
    """The store that the options name."""
    return open_store(address, read_key(address, key))
