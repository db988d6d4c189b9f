"""The report files of commands: written whole or not at all, and never over another kind of file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import OutputExistsError
from inverse_deid.core.files import write_whole

_HEAD_BYTES = 400


def check_target(path: Path, mark: str, *, force: bool) -> None:
    """Refuse to overwrite anything but an earlier file of the same kind, and that without `force`.

    Args:
        path: Where to write.
        mark: Text near the beginning of files of this kind.
        force: Overwrite an earlier file.

    Raises:
        OutputExistsError: The file exists.
    """
    if not os.path.lexists(path):
        return
    head = b""
    with suppress(OSError), path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    if mark.encode() not in head:
        raise OutputExistsError(f"{path} exists and is another kind of file. Choose another name")
    if not force:
        raise OutputExistsError(f"{path} exists already. Give --force to overwrite it")


def refuse_read(path: Path, read: Iterable[Path]) -> None:
    """Refuse to overwrite a file or folder that is read, even with `--force`.

    Args:
        path: Where to write a file, or a folder that takes the place of an older one.
        read: The files and folders that are read to make it.

    Raises:
        OutputExistsError: It is one of them, contains one of them, or exists in one of them.
    """
    out = path.resolve()
    for given in (one.resolve() for one in read):
        if out == given or out in given.parents or (given in out.parents and out.exists()):
            raise OutputExistsError(f"{path} is an input, or contains one or is in one. Choose another name")


def write_json(path: Path, report: dict[str, Any], *, private: bool = False) -> None:
    """Write a report whole or not at all; the arguments are those of `write_whole`."""
    text = json.dumps(report, ensure_ascii=False, indent=1)
    write_whole(path, [text.encode("utf-8", "replace"), b"\n"], private=private)
