"""The one-time address of a desk that runs: who spends it, and who does not."""

import socket
import struct
import sys
import time

import httpx
import pytest
from review_servers import running

from inverse_deid.desk import ask_running_desk, find_place, open_key

pytestmark = pytest.mark.slow


@pytest.fixture
def address(tmp_path, monkeypatch):
    """A one-time address of a desk."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    folder = tmp_path / "desk"
    with running("desk", "--folder", folder, "--no-browser"):
        until = time.monotonic() + 60
        while not (folder / "desk.running").exists():  # it listens before it serves
            assert time.monotonic() < until
            time.sleep(0.1)
        place = find_place(folder)
        found = ask_running_desk(place, open_key(place))
        assert found is not None
        yield found


def test_a_program_that_checks_links_does_not_spend_the_address(address):
    assert httpx.head(address).status_code == 405
    assert httpx.get(address).status_code == 200
    assert httpx.get(address).status_code == 403


@pytest.mark.skipif(sys.platform != "linux", reason="lists of connections")
def test_a_connection_that_belongs_to_nobody_does_not_spend_the_address(address):
    url = httpx.URL(address)
    for _ in range(5):
        sent = socket.create_connection(("127.0.0.1", url.port), 10)
        # It is gone from the lists of the system at once.
        sent.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sent.sendall(f"GET {url.path} HTTP/1.1\r\nHost: 127.0.0.1:{url.port}\r\n\r\n".encode())
        sent.close()
        time.sleep(0.3)
    assert httpx.get(address).status_code == 200
