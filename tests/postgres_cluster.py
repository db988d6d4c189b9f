"""A PostgreSQL server of its own for a test, reached by a socket in a temporary folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_FOUND = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
_ON_PATH = shutil.which("pg_ctl")


@contextmanager
def postgres_address() -> Iterator[str]:
    """The address of an empty database; skips the test without PostgreSQL, unless `CI` is set."""
    with _cluster(lambda folder: ("-A", "trust"), lambda folder: ("-c", "listen_addresses=")) as folder:
        yield f"postgresql+psycopg://review@/postgres?host={folder}"


@contextmanager
def postgres_over_tls(chain: Path, key: Path, password: str, port: int) -> Iterator[None]:
    """An empty database at a port of 127.0.0.1, over TLS with a certificate; its user has a password."""

    def initialise(folder: Path) -> tuple[object, ...]:
        for name, source in (("chain.pem", chain), ("key.pem", key)):
            shutil.copy(source, folder / name)
        (folder / "password").write_text(password)
        for name in ("chain.pem", "key.pem", "password"):
            (folder / name).chmod(0o600)
            if os.geteuid() == 0:
                shutil.chown(folder / name, "postgres", "postgres")
        return "-A", "scram-sha-256", f"--pwfile={folder / 'password'}"

    def options(folder: Path) -> tuple[str, ...]:
        tls = {"ssl": "on", "ssl_cert_file": folder / "chain.pem", "ssl_key_file": folder / "key.pem"}
        settings = {**tls, "listen_addresses": "127.0.0.1", "port": port}
        return tuple(part for name, value in settings.items() for part in ("-c", f"{name}={value}"))

    with _cluster(initialise, options):
        yield


@contextmanager
def _cluster(
    initialise: Callable[[Path], tuple[object, ...]], options: Callable[[Path], tuple[str, ...]]
) -> Iterator[Path]:
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
        common = ("-D", data, "-U", "review", "--no-sync", "-E", "UTF8")
        _run(folder, programs / "initdb", *common, *initialise(folder))
        given = " ".join(["-k", str(folder), *options(folder)])
        _run(folder, programs / "pg_ctl", "-D", data, "-w", "-o", given, "-l", folder / "log", "start")
        try:
            yield folder
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
