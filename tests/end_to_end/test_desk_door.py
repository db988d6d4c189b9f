"""The one-time address of a desk that runs: who spends it, and who does not."""

import signal
import socket
import struct
import sys
import time

import httpx
import pytest
from review_servers import started

from inverse_deid.desk import ask_running_desk, find_place, open_key

pytestmark = pytest.mark.slow


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A one-time address of a desk, and its process."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    folder = tmp_path / "desk"
    command = ("-m", "inverse_deid.cli.main", "desk", "--folder", folder, "--no-browser")
    with started(*command) as (_, process):
        until = time.monotonic() + 120
        while not (folder / "desk.running").exists():  # it listens before it serves
            assert time.monotonic() < until
            time.sleep(0.1)
        place = find_place(folder)
        found = ask_running_desk(place, open_key(place))
        assert found is not None
        yield found, process


def test_a_program_that_checks_links_does_not_spend_the_address(desk):
    address, _ = desk
    assert httpx.head(address, timeout=60).status_code == 405
    assert httpx.get(address, timeout=60).status_code == 200
    assert httpx.get(address, timeout=60).status_code == 403


@pytest.mark.skipif(sys.platform != "linux", reason="lists of connections")
def test_a_connection_that_belongs_to_nobody_does_not_spend_the_address(desk):
    address, process = desk
    url = httpx.URL(address)
    request = f"GET {url.path} HTTP/1.1\r\nHost: 127.0.0.1:{url.port}\r\n\r\n".encode()
    for _ in range(5):
        sent = socket.create_connection(("127.0.0.1", url.port), 60)
        # It is gone from the lists of the system at once when it is closed.
        sent.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        time.sleep(0.3)  # the desk accepts it
        # The desk sleeps, so that it cannot look before the connection is gone.
        process.send_signal(signal.SIGSTOP)
        try:
            sent.sendall(request)
            sent.close()
        finally:
            process.send_signal(signal.SIGCONT)
        time.sleep(0.3)
    assert httpx.get(address, timeout=60).status_code == 200
