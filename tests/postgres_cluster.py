"""A PostgreSQL server of its own for a test, reached by a socket in a temporary folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_FOUND = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
_ON_PATH = shutil.which("pg_ctl")


@contextmanager
def postgres_address() -> Iterator[str]:
    """The address of an empty database; skips the test without PostgreSQL, unless `CI` is set."""
    programs = Path(_ON_PATH).parent if _ON_PATH else _FOUND[-1].parent if _FOUND else None
    if programs is None:
        if os.environ.get("CI"):
            pytest.fail("no PostgreSQL; apt-get install postgresql")
        pytest.skip("no PostgreSQL; apt-get install postgresql")
    pytest.importorskip("psycopg", reason="no driver; pip install 'psycopg[binary]'")
    # A socket's path may have only about 100 characters, so not in the folder of the test.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    try:
        data = folder / "data"
        _run(
            folder, programs / "initdb", "-D", data, "-A", "trust", "-U", "review", "--no-sync", "-E", "UTF8"
        )
        options = f"-k {folder} -c listen_addresses="
        _run(folder, programs / "pg_ctl", "-D", data, "-w", "-o", options, "-l", folder / "log", "start")
        try:
            yield f"postgresql+psycopg://review@/postgres?host={folder}"
        finally:
            _run(folder, programs / "pg_ctl", "-D", data, "-w", "-m", "fast", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(folder: Path, *command: object) -> None:
    """Run a program, not as root: PostgreSQL refuses to."""
    who = {}
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        who = {"user": "postgres", "group": "postgres", "extra_groups": []}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=120,
        check=False,
        **who,
    )
    assert done.returncode == 0, f"{Path(str(command[0])).name} failed"
