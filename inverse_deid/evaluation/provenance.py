"""The sources of a report: the version and the hashes of the files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from inverse_deid import __version__
from inverse_deid.core.errors import InputError
from inverse_deid.core.files import sha256_of
from inverse_deid.evaluation.measures.figures import ReportPart
from inverse_deid.formats.registry import input_errors


class SourceFile(ReportPart, frozen=True):
    """A file with its SHA-256, or a folder with the SHA-256 of each file by its name there."""

    name: str
    sha256: str | msgspec.UnsetType = msgspec.UNSET
    files: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


Provenance = dict[str, SourceFile | str | int | float | None]
"""Files by their role, and settings by name."""


def trace_sources(**read: Path | None) -> Provenance:
    """Return the version and, by role, each file or folder that was read. None is left out.

    Raises:
        UnreadableInputError: A file cannot be read any more.
    """
    files = {role: _hash_source(path) for role, path in read.items() if path is not None}
    return {"version": __version__, **files}


@contextmanager
def name_files(*paths: Path) -> Iterator[None]:
    """Name these files in an input error that does not name one of them."""
    try:
        yield
    except InputError as error:
        if any(str(path) in str(error) for path in paths):
            raise
        raise error.add_prefix(f"{' and '.join(map(str, paths))}: ") from error


def _hash_source(path: Path) -> SourceFile:
    with name_files(path), input_errors():
        if not path.is_dir():
            return SourceFile(name=str(path), sha256=sha256_of(path))
        hashes = {file.relative_to(path).as_posix(): sha256_of(file) for file in list_visible(path)}
        return SourceFile(name=str(path), files=hashes)


def list_visible(folder: Path) -> list[Path]:
    """List the files of a folder at any depth, without hidden ones."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return [
        file for file in files if not any(part.startswith(".") for part in file.relative_to(folder).parts)
    ]
