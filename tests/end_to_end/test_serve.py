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
        command = [sys.executable, str(HERE / "serve_command.py"), "serve", "--port", "0", *options]
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


@pytest.mark.slow
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


def form_of(name, content, **fields):
    """The body of a form with a file, and its content type."""
    mark = "a-boundary-of-a-form"
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
        for key, value in fields.items()
    ]
    parts.append(f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n')
    return "".join(
        parts
    ).encode() + content + f"\r\n--{mark}--\r\n".encode(), f"multipart/form-data; boundary={mark}"


def send_file(service, name, content, **fields):
    body, kind = form_of(name, content, **fields)
    headers = {"authorization": f"Bearer {SECRET}", "content-type": kind}
    return urllib.request.urlopen(
        urllib.request.Request(service.address + "/mask-file", body, headers), timeout=60
    )


def files_of(process):
    """The files that a process has open, deleted ones as well."""
    found = []
    for one in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            found.append(str(one.readlink()))
        except OSError:
            continue
    return found


def test_nothing_of_a_file_is_logged_or_written(tmp_path):
    environment_folder = tmp_path / "temporary"
    environment_folder.mkdir()
    os.environ["TMPDIR"] = str(environment_folder)
    try:
        service = Service("--log-requests", "--max-file-bytes", "5000000")
    finally:
        del os.environ["TMPDIR"]
    try:
        filler = " and well" * 20
        # More than the megabyte from which a form is usually written to a file.
        table = f"text,{CANARY}\n".encode() + f"{CANARY} fell and was well{filler},x\n".encode() * 10_000
        with send_file(
            service, f"../../{CANARY}.csv", table, settings=json.dumps({"deny": [CANARY]})
        ) as answer:
            headers, content = str(answer.headers), answer.read()
        assert content.startswith(b"text\nPHI fell and was well and well")
        assert content.count(b"\n") == 10_001
        assert CANARY.encode() not in content
        assert CANARY not in headers
        assert 'filename="masked.csv"' in headers
        assert not [one for one in files_of(service.process) if str(environment_folder) in one]
        assert not list(environment_folder.iterdir())
        for name, body, fields in [
            (f"{CANARY}.exe", b"x", {}),
            ("x.csv", f"{CANARY},b\n1\n".encode(), {}),
            ("x.csv", f"text,b\n{CANARY}\n".encode(), {}),
            ("x.docx", CANARY.encode(), {}),
            ("x.txt", b"\xff\xfe\x00" + CANARY.encode(), {}),
            ("x.txt", b"well", {"settings": f'{{"deny": "{CANARY}"}}'}),
            ("x.txt", b"well", {"settings": f'{{"allow": ["{CANARY}"]}}'}),
            ("x.txt", b"well", {"settings": f"{{{CANARY}"}),
            ("x.txt", b"well", {"encoding": CANARY}),
            ("x.txt", b"well", {CANARY: "1"}),
        ]:
            with pytest.raises(urllib.error.HTTPError) as refused:
                send_file(service, name, body, **fields)
            said = refused.value.read().decode() + str(refused.value.headers)
            refused.value.close()
            assert (refused.value.code, CANARY in said) == (422, False), said
        service.stop()
        assert CANARY not in service.log
        assert service.log.count("POST /mask-file 422") == 10
    finally:
        if service.process.poll() is None:
            service.process.kill()
            service.process.communicate()


def test_the_pages_are_served_without_a_token_and_hold_no_secret(service):
    for path in ("/", "/docs"):
        with service.ask(path, token="wrong") as answer:
            html = answer.read().decode()
            assert answer.headers["cache-control"] == "no-store"
            assert "unsafe" not in answer.headers["content-security-policy"]
        assert SECRET not in html
        addresses = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', html))
        assert addresses
        for address in addresses:
            with service.ask(address, token="wrong") as answer:
                assert "immutable" in answer.headers["cache-control"]


@pytest.mark.slow
def test_two_files_and_texts_of_other_settings_at_once(service):
    from concurrent.futures import ThreadPoolExecutor

    def text(number):
        document = {
            "id": number,
            "text": f"{CANARY} fell again",
            "settings": {"deny": [f"word{number % 20}", "again"]},
        }
        with service.ask("/mask", json.dumps(document).encode()) as answer:
            return json.loads(answer.read())["text"]

    def file(number):
        with send_file(service, "x.txt", f"{CANARY} fell number{number}".encode()) as answer:
            return answer.read().decode()

    with ThreadPoolExecutor(6) as threads:
        texts = list(threads.map(text, range(60)))
        files = list(threads.map(file, range(20)))
    assert set(texts) == {"PHI fell PHI"}
    assert files == [
        f"PHI fell number{number}" if f"number{number}".islower() else "PHI fell PHI" for number in range(20)
    ]
