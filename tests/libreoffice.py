"""Opens files in LibreOffice, which writes them again in another format."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

OFFICE = shutil.which("soffice") or shutil.which("libreoffice")
"""The program, None = not installed."""


def convert(paths: Sequence[Path], target: str, folder: Path) -> list[Path]:
    """Return the files that LibreOffice wrote into a folder, one for each given.

    `target` is as `--convert-to` has it. The profile of the program is in the folder, since two runs with
    one profile get in each other's way.
    """
    assert OFFICE is not None
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    command = [OFFICE, profile, "--headless", "--convert-to", target, "--outdir", folder, *paths]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, timeout=300)
    written = [folder / f"{path.stem}.{target.partition(':')[0]}" for path in paths]
    assert [path.name for path in written if not path.is_file()] == [], done.stderr
    return written
