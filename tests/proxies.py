"""Debian's nginx for a test, with a site file of docs/deploy."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

_PROGRAM = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")

_MAIN = """{user}
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    types {{ }}
    include {folder}/site.nginx;
}}
"""


@contextmanager
def nginx(site: Path, changes: Mapping[str, str], folder: Path, *, port: int) -> Iterator[Path]:
    """Run nginx with a site file in which only the `changes` are made; yield its folder.

    Skips the test without nginx, unless `CI` is set. Each change must be found, exactly once or more.
    """
    if _PROGRAM is None:
        if os.environ.get("CI"):
            pytest.fail("no nginx; apt-get install nginx-light")
        pytest.skip("no nginx; apt-get install nginx-light")
    text = site.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text, f"{site.name} has no {old}"
        text = text.replace(old, new)
    folder.mkdir()
    (folder / "site.nginx").write_text(text, encoding="utf-8")
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(_MAIN.format(folder=folder, user=user), encoding="utf-8")
    command = [_PROGRAM, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
        try:
            wait_for(port, process, folder / "error.log")
            yield folder
        finally:
            process.terminate()
            process.wait(120)


def wait_for(
    port: int, process: subprocess.Popen[bytes], log: Path | None = None, seconds: float = 120
) -> None:
    """Wait until a server takes connections; its log is shown if it does not."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(log.read_text(encoding="utf-8") if log else "the server does not answer")
