"""What a study keeps on the disk: records of finished runs as JSON, arrays as npz, reports as text.

Every file appears under its name when it is complete. Two processes that write the same file do not
disturb each other, because parts of a study may run at the same time in one folder.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import Remedy, UnreadableInputError
from inverse_deid.core.files import output_errors

START_OVER = Remedy("force", step="use {} to start over")

Record = dict[str, Any]
"""What a run found, as JSON values."""

Arrays = dict[str, npt.NDArray[np.generic]]


def fingerprint(*values: object) -> str:
    """Return a hash of values that have a telling `repr`."""
    return hashlib.sha256(repr(values).encode()).hexdigest()


@contextmanager
def open_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces the one of this name when it is complete.

    Raises:
        OutputError: It cannot be written.
    """
    staging = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    with output_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with staging.open("wb") as stream:
                yield stream
            staging.replace(path)
        finally:
            staging.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a file of text, as `open_whole` does."""
    with open_whole(path) as stream:
        stream.write(text.encode())


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write an npz file, as `open_whole` does."""
    with open_whole(path) as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]


def read_arrays(path: Path) -> Arrays:
    """Read an npz file.

    Raises:
        UnreadableInputError: It is missing or damaged.
    """
    problem = ""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            return dict(arrays)
    except OSError as error:
        problem = error.strerror or type(error).__name__
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        problem = type(error).__name__
    raise UnreadableInputError(f"{path}: cannot be read ({problem})", remedies=[START_OVER])


def read_json(path: Path) -> Record:
    """Read a JSON object; an empty one if there is none or it cannot be read."""
    with suppress(OSError, ValueError):
        if isinstance(found := json.loads(path.read_text(encoding="utf-8")), dict):
            return found
    return {}


def read_record(path: Path, key: str) -> Record | None:
    """Return the record of a finished run, or None if there is none or it has another key."""
    found = read_json(path)
    return found if found.get("key") == key else None


def write_record(path: Path, key: str, values: Mapping[str, Any]) -> None:
    """Write the record of a finished run, which is its last file, as `open_whole` does."""
    write_text(path, json.dumps({"key": key, **values}, indent=1) + "\n")
