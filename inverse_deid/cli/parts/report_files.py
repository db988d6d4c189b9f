"""The report files of commands: written whole, and never over another kind of file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import OutputExistsError
from inverse_deid.core.files import write_whole
from inverse_deid.core.wording import _

_HEAD_BYTES = 400


def check_target(path: Path, mark: str, *, force: bool) -> None:
    """Refuse to overwrite a file, except one of the same kind with `--force`.

    Raises:
        OutputExistsError: The file exists.
    """
    if not os.path.lexists(path):
        return
    head = b""
    with suppress(OSError), path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    if mark.encode() not in head:
        raise OutputExistsError(
            _("{path} exists and is another kind of file. Choose another name", path=path)
        )
    if not force:
        raise OutputExistsError(_("{path} exists. Give --force to overwrite it", path=path))


def refuse_read(path: Path, read: Iterable[Path]) -> None:
    """Refuse to overwrite the input, even with `--force`.

    Raises:
        OutputExistsError: It is one of them, contains one of them, or exists inside one of them.
    """
    out = path.resolve()
    for given in (one.resolve() for one in read):
        if out == given or out in given.parents or (given in out.parents and out.exists()):
            raise OutputExistsError(
                _("{path} is the input, or contains it or is part of it. Choose another name", path=path)
            )


def write_json(path: Path, report: Mapping[str, Any], *, private: bool = False) -> None:
    """Write a report whole or not at all. Arguments as `write_whole`."""
    text = json.dumps(report, ensure_ascii=False, indent=1)
    write_whole(path, [text.encode("utf-8", "replace"), b"\n"], private=private)
