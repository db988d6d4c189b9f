"""What a report was made from: the version and the hashes of the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from inverse_deid import __version__
from inverse_deid.core.errors import InputError
from inverse_deid.core.files import sha256_of
from inverse_deid.formats.registry import input_errors


def provenance(**read: Path | None) -> Mapping[str, Any]:
    """The version and, by role, the name and SHA-256 of every file; of a folder those of its files.

    Args:
        read: Files or folders by what they were read for; None = none was.

    Raises:
        UnreadableInputError: A file cannot be read any more.
    """
    files = {role: path for role, path in read.items() if path is not None}
    return {
        "version": __version__,
        **{role: {"name": str(path), **_hashes(path)} for role, path in files.items()},
    }


@contextmanager
def naming(*paths: Path) -> Iterator[None]:
    """An error about these files names them."""
    try:
        yield
    except InputError as error:
        if any(str(path) in str(error) for path in paths):
            raise
        raise type(error)(f"{' and '.join(map(str, paths))}: {error}") from error


def _hashes(path: Path) -> dict[str, Any]:
    """SHA-256 of a file, or of each file of a folder that is not hidden, by its name there."""
    with naming(path), input_errors():
        if not path.is_dir():
            return {"sha256": sha256_of(path)}
        names = [file.relative_to(path) for file in sorted(path.rglob("*")) if file.is_file()]
        shown = [name for name in names if not any(part.startswith(".") for part in name.parts)]
        return {"files": {name.as_posix(): sha256_of(path / name) for name in shown}}
