"""The report files of commands: complete or not there, and never in place of something else."""

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
    """Nothing but an earlier file of the same kind is ever overwritten, and that only when asked.

    Args:
        path: Where to write.
        mark: Stands near the beginning of files of this kind.
        force: Whether it was asked.

    Raises:
        OutputExistsError: The file is there.
    """
    if not os.path.lexists(path):
        return
    head = b""
    with suppress(OSError), path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    if mark.encode() not in head:
        raise OutputExistsError(f"{path} exists and is another kind of file; choose another name")
    if not force:
        raise OutputExistsError(f"{path} exists already; give --force to overwrite it")


def refuse_read(path: Path, read: Iterable[Path]) -> None:
    """What is read is never overwritten, not even with `--force`.

    Args:
        path: Where to write a file, or a folder that takes the place of an older one.
        read: The files and folders that are read to make it.

    Raises:
        OutputExistsError: It is one of them, holds one of them, or is there and lies in one of them.
    """
    out = path.resolve()
    for given in (one.resolve() for one in read):
        if out == given or out in given.parents or (given in out.parents and out.exists()):
            raise OutputExistsError(f"{path} is read, or holds or lies in what is read; choose another name")


def write_json(path: Path, report: dict[str, Any], *, private: bool = False) -> None:
    """Write a report; the file is there only when it is complete; arguments as `write_whole`."""
    text = json.dumps(report, ensure_ascii=False, indent=1)
    write_whole(path, [text.encode("utf-8", "replace"), b"\n"], private=private)
