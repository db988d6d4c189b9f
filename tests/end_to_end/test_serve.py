"""`inverse-deid serve` as a process, asked by the load client."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from fake_maskers import CANARY

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SECRET = "not-a-secret-0123456789"


class Service:
    """A running service; its log is read up to the line that names the port."""

    def __init__(self, *options: str) -> None:
        path = os.pathsep.join([str(HERE.parent), str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, "INVERSE_DEID_TOKEN": SECRET}
        command = [sys.executable, str(HERE / "slow_command.py"), "serve", "--port", "0", *options]
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        self.log = ""
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)", self.log)):
            line = self.process.stderr.readline()
            assert line, self.log
            self.log += line
        self.address = found[0]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        self.log += self.process.communicate(timeout=60)[1]
        return self.process.returncode

    def ask(self, path: str, data: bytes | None = None, token: str = SECRET):
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        return urllib.request.urlopen(urllib.request.Request(self.address + path, data, headers), timeout=60)


@pytest.fixture
def service():
    service = Service("--log-requests", "--max-bytes", "2000")
    yield service
    if service.process.poll() is None:
        service.process.kill()
        service.process.communicate()


def test_many_clients_get_their_own_masked_answers(service):
    command = [sys.executable, ROOT / "scripts" / "load_service.py", service.address]
    environment = {**os.environ, "INVERSE_DEID_TOKEN": SECRET}
    options = ["--clients", "10", "--requests", "300"]
    done = subprocess.run([*command, *options], env=environment, capture_output=True, check=True, timeout=300)
    found = json.loads(done.stdout)
    assert (found["requests"], found["errors"]) == (300, {})
    assert 0 < found["median_ms"] <= found["p99_ms"] <= found["max_ms"]
    service.stop()
    assert service.log.count("POST /mask 200") == 300


def test_nothing_of_a_request_is_logged(service):
    document = json.dumps({"id": CANARY, "text": f"{CANARY} fell", "known": [CANARY]}).encode()
    with service.ask(f"/mask?name={CANARY}", document) as answer:
        assert json.loads(answer.read())["text"] == "PHI fell"
    for path, data, token in [
        (f"/{CANARY}", None, SECRET),
        ("/mask", CANARY.encode(), SECRET),
        ("/mask", document * 100, SECRET),
        ("/mask", document, CANARY * 2),
    ]:
        with pytest.raises(urllib.error.HTTPError) as refused:
            service.ask(path, data, token)
        assert CANARY not in refused.value.read().decode()
        refused.value.close()
    service.stop()
    statuses = re.findall(r"(?:GET|POST) \S+.* (\d{3}) [\d.]+ ms", service.log)
    assert statuses == ["200", "404", "422", "413", "401"]
    assert CANARY not in service.log
    assert SECRET not in service.log
    assert "Traceback" not in service.log
