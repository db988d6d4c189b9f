"""`inverse-deid review serve` as a separate process: TLS, a proxy, a kill under load."""

import datetime
import ipaddress
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import contextmanager
from http.cookies import SimpleCookie
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from review_stores import KEY, PASSWORD, store_of
from review_visitors import account

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def store_file(tmp_path):
    """Make a store with one account, and its key next to it."""
    with store_of(tmp_path, clock=time.time) as store:
        account(store, "ann")
    key = tmp_path / "review.db.key"
    key.write_bytes(KEY.secret)
    key.chmod(0o600)
    return tmp_path / "review.db"


@contextmanager
def serving(store_file, *options):
    """Run a server until the block ends; yield its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "inverse_deid.cli.main", "review", "serve", "--store", str(store_file)]
    command += ["--port", str(port), *map(str, options)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            _wait_for(port, process)
            yield port
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


def _wait_for(port, process):
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server does not answer")


def certificate(folder):
    """Make a self-signed certificate for 127.0.0.1 and its key, as PEM files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "review")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .sign(key, hashes.SHA256())
    )
    chain, private = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return chain, private


def log_in(client, password=PASSWORD):
    page = client.get("/log-in")
    token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', page.text).group(1)
    return client.post("/log-in", data={"name": "ann", "password": password, "csrf_token": token})


def cookies(answer):
    """Return the cookies of a response by name."""
    found = SimpleCookie()
    for line in answer.headers.get_list("set-cookie"):
        found.load(line)
    return found


def test_over_tls_cookies_are_secure(store_file, tmp_path):
    chain, private = certificate(tmp_path)
    options = ("--certificate", chain, "--private-key", private, "--address", "0.0.0.0")
    trusted = ssl.create_default_context(cafile=str(chain))
    with serving(store_file, *options) as port:
        with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trusted) as client:
            answer = log_in(client)
            assert answer.status_code == 303
            session = cookies(answer)["__Host-session"]
            assert session["secure"]
            assert session["httponly"]
            assert session["samesite"] == "strict"
            assert "max-age" in answer.headers["strict-transport-security"]
            assert client.get("/").status_code == 200
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http://127.0.0.1:{port}/log-in")


def test_behind_a_proxy_failures_are_counted_by_client(store_file):
    with (
        serving(store_file, "--behind-proxy", "127.0.0.1") as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        client.headers.update(
            {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7", "Host": "review.test"}
        )
        page = client.get("/log-in")
        assert cookies(page)["visitor"]["secure"]
        token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', page.text).group(1)
        visitor = {"Cookie": f"visitor={cookies(page)['visitor'].value}"}
        said = [
            client.post(
                "/log-in",
                data={"name": f"nobody{i}", "password": "a wrong long sentence", "csrf_token": token},
                headers=visitor,
            ).status_code
            for i in range(31)
        ]
        assert said == [401] * 30 + [429]
        form = {"name": "ann", "password": PASSWORD, "csrf_token": token}
        assert client.post("/log-in", data=form, headers=visitor).status_code == 429
        elsewhere = {**visitor, "X-Forwarded-For": "192.0.2.8"}
        assert client.post("/log-in", data=form, headers=elsewhere).status_code == 303


def test_a_kill_under_load_loses_no_decision():
    command = [sys.executable, "load_review.py", "--reviewers", "10", "--seconds", "10", "--cases", "60"]
    done = subprocess.run(command, cwd=SCRIPTS, capture_output=True, text=True, timeout=300, check=False)
    found = json.loads(done.stdout)
    assert found["wrong"] == {}
    assert done.returncode == 0
    assert found["done"]["act"] > 20
    assert found["done"]["approved: in review"] > 0
