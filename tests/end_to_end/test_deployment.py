"""The files of docs/deploy: nginx with exactly these sites before real servers, and the systemd units."""

import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from proxies import nginx, wait_for
from review_servers import certificate, cookies, free_port, log_in, running, serving
from review_stores import store_of, write_key
from review_visitors import account

pytestmark = pytest.mark.slow

DEPLOY = Path(__file__).parents[2] / "docs" / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
TOKEN = "a-long-token-of-a-client"


@pytest.fixture
def store_file(tmp_path):
    """Make a store with one account, and its key next to it."""
    with store_of(tmp_path, clock=time.time) as store:
        account(store, "ann")
    write_key(tmp_path)
    return tmp_path / "review.db"


@contextmanager
def visiting(address, chain, source="127.0.0.1"):
    """Yield a client that trusts the certificate and comes from an address of this machine."""
    trusted = ssl.create_default_context(cafile=str(chain))
    transport = httpx.HTTPTransport(verify=trusted, local_address=source)
    with httpx.Client(base_url=address, transport=transport, timeout=60) as client:
        yield client


@pytest.fixture
def review(store_file, tmp_path):
    """Yield the address of a review behind nginx over TLS, its plain one, and its certificate."""
    chain, private = certificate(tmp_path)
    tls, plain = free_port(), free_port()
    with serving(store_file, "--behind-proxy", "127.0.0.1") as port:
        changes = {
            "listen 80;": f"listen 127.0.0.1:{plain};",
            "listen [::]:80;": "",
            "listen 443 ssl http2;": f"listen 127.0.0.1:{tls} ssl http2;",
            "listen [::]:443 ssl http2;": "",
            "/etc/ssl/inverse-deid/chain.pem": str(chain),
            "/etc/ssl/inverse-deid/key.pem": str(private),
            "http://127.0.0.1:8017": f"http://127.0.0.1:{port}",
            "server_name review.example.org;": "server_name 127.0.0.1;",
        }
        with nginx(DEPLOY / "review.nginx", changes, tmp_path / "nginx", port=tls) as folder:
            yield f"https://127.0.0.1:{tls}", f"http://127.0.0.1:{plain}", chain, folder


def test_a_visitor_logs_in_over_tls_and_cookies_are_secure(review):
    address, plain, chain, _ = review
    with visiting(address, chain) as client:
        answer = log_in(client)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        session = cookies(answer)["__Host-session"]
        assert (session["secure"], session["httponly"], session["samesite"]) == (True, True, "strict")
        assert "max-age" in answer.headers["strict-transport-security"]
        page = client.get("/")
        assert page.status_code == 200
        assert "default-src 'none'" in page.headers["content-security-policy"]
    moved = httpx.get(f"{plain}/log-in")
    assert (moved.status_code, moved.headers["location"]) == (301, "https://127.0.0.1/log-in")


def test_static_files_are_served_and_may_be_kept(review):
    address, _, chain, _ = review
    with visiting(address, chain) as client:
        page = client.get("/log-in").text
        files = re.findall(r'(?:href|src)="(/static/[^"]+\.(?:css|js))"', page)
        assert files
        for name in files:
            answer = client.get(name)
            assert answer.status_code == 200
            assert "immutable" in answer.headers["cache-control"]
        assert client.get("/log-in").headers["cache-control"] == "no-store"


def test_log_in_is_blocked_by_the_address_of_the_client_which_cannot_be_forged(review):
    address, _, chain, _ = review
    with visiting(address, chain, "127.0.0.2") as client:
        page = client.get("/log-in")
        token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', page.text).group(1)

        def fail(i):
            forged = {
                "X-Forwarded-For": f"192.0.2.{i}",
                "Forwarded": f"for=192.0.2.{i}",
                "X-Real-IP": f"192.0.2.{i}",
            }
            form = {"name": f"nobody{i}", "password": "a wrong long sentence", "csrf_token": token}
            return client.post("/log-in", data=form, headers=forged).status_code

        assert [fail(i) for i in range(30)] == [401] * 30
        # The wait begins at two seconds, which a busy machine needs for one check, and doubles.
        assert 429 in (fail(i) for i in range(30, 36))
    with visiting(address, chain, "127.0.0.3") as client:
        assert log_in(client).status_code == 303


def test_nginx_limits_log_ins_and_keeps_the_metrics_to_this_machine(review):
    address, _, chain, _ = review
    with visiting(address, chain, "127.0.0.4") as client:
        assert client.get("/metrics").status_code == 404
        statuses = [client.get("/log-in").status_code for _ in range(60)]
    assert set(statuses) == {200, 429}
    with visiting(address, chain, "127.0.0.5") as client:
        assert client.get("/log-in").status_code == 200


@pytest.mark.parametrize(("path", "limit"), [("/assign", 256 * 2**10), ("/add/file", 260 * 2**20)])
def test_a_body_that_is_too_large_is_refused_before_it_is_sent(review, path, limit):
    address, _, chain, _ = review
    trusted = ssl.create_default_context(cafile=str(chain))
    port = int(address.rpartition(":")[2])
    for n_bytes, is_refused in ((limit + 1, True), (limit, False)):
        with (
            socket.create_connection(("127.0.0.1", port), 60) as bare,
            trusted.wrap_socket(bare, server_hostname="127.0.0.1") as sent,
        ):
            sent.settimeout(60 if is_refused else 2)
            sent.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {n_bytes}\r\n\r\n".encode())
            try:
                answer = sent.recv(100)
            except TimeoutError:
                answer = b"waits for the body"
        assert answer.startswith(b"HTTP/1.1 413 ") == is_refused, answer


def test_nothing_of_a_request_is_written_to_the_disk_of_nginx(review):
    address, _, chain, folder = review
    with visiting(address, chain) as client:
        log_in(client)
        client.post("/assign", content=b"Zebulonova " * 20_000)
    kept = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".conf", ".nginx")]
    assert not [path for path in kept if b"Zebulonova" in path.read_bytes()]
    config = (DEPLOY / "review.nginx").read_text() + (DEPLOY / "mask.nginx").read_text()
    assert config.count("proxy_request_buffering off;") == 2
    assert config.count("proxy_max_temp_file_size 0;") == 2


def test_the_service_behind_nginx_needs_the_token(tmp_path):
    chain, private = certificate(tmp_path)
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    tls = free_port()
    with running("serve", "--token-file", token, "--behind-proxy", "127.0.0.1") as port:
        changes = {
            "listen 8443 ssl http2;": f"listen 127.0.0.1:{tls} ssl http2;",
            "listen [::]:8443 ssl http2;": "",
            "/etc/ssl/inverse-deid/chain.pem": str(chain),
            "/etc/ssl/inverse-deid/key.pem": str(private),
            "http://127.0.0.1:8080": f"http://127.0.0.1:{port}",
        }
        with (
            nginx(DEPLOY / "mask.nginx", changes, tmp_path / "nginx", port=tls),
            visiting(f"https://127.0.0.1:{tls}", chain) as client,
        ):
            case = {"id": 1, "text": "Mr. Okonkwo had a rash."}
            assert client.post("/mask", json=case).status_code == 401
            right = {"Authorization": f"Bearer {TOKEN}"}
            answer = client.post("/mask", json=case, headers=right)
            assert (answer.status_code, answer.json()["text"]) == (200, "Mr. PHI had a rash.")
            assert client.get("/health").json()["status"] == "ok"
            assert client.post("/mask", content=b" " * 11 * 2**20, headers=right).status_code == 413
            assert client.get("/metrics").status_code == 404
            direct = httpx.post(f"http://127.0.0.1:{port}/mask", json=case, headers=right)
            assert direct.status_code == 403


def test_a_server_that_is_told_to_stop_ends_cleanly(store_file):
    port = free_port()
    command = [sys.executable, "-m", "inverse_deid.cli.main", "review", "serve", "--store", str(store_file)]
    with subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.DEVNULL) as process:
        wait_for(port, process, seconds=120)
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) in (0, -signal.SIGTERM)  # systemd calls both a clean end


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_a_unit_is_valid_and_exposes_little(unit, tmp_path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze")
    copy = tmp_path / unit.name
    command = shutil.which("true")
    copy.write_text(unit.read_text().replace("/opt/inverse-deid/bin/inverse-deid", command))
    checked = subprocess.run([program, "verify", copy], capture_output=True, text=True, check=False)
    said = [line for line in checked.stderr.splitlines() if unit.name in line]
    assert (checked.returncode, said) == (0, [])
    rated = subprocess.run(
        [program, "security", "--offline=yes", "--threshold=20", copy],
        capture_output=True,
        text=True,
        check=False,
    )
    assert rated.returncode == 0, rated.stdout.splitlines()[-1:]


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_a_unit_lets_children_give_up_their_rights(unit):
    """Otherwise Landlock is refused, and nobody notices."""
    permitted = " ".join(re.findall(r"^SystemCallFilter=(.+)$", unit.read_text(), re.M)).split()
    needed = {f"landlock_{call}" for call in ("create_ruleset", "add_rule", "restrict_self")}
    needed |= {"capset", "prctl", "fork", "execve"}  # of a child, and of the helper that runs LibreOffice
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze")
    listed = [program, "syscall-filter", "--no-pager"]
    while groups := [one for one in permitted if one.startswith("@")]:
        shown = subprocess.run([*listed, *groups], capture_output=True, text=True, check=True).stdout
        inside = [line.strip() for line in shown.splitlines() if not line.startswith("@")]
        permitted = [one for one in permitted if one not in groups]
        permitted += [one for one in inside if not one.startswith("#")]
    assert needed - set(permitted) == set()
    assert (
        "OOMPolicy=continue" in unit.read_text()
    )  # a child that is ended for its memory does not end the server


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_the_command_of_a_unit_has_only_known_options(unit):
    from click import Context

    from inverse_deid.cli.main import main

    (line,) = re.findall(r"^ExecStart=/opt/inverse-deid/bin/inverse-deid (.+)$", unit.read_text(), re.M)
    command, words = main, line.split()
    while hasattr(command, "get_command"):
        command = command.get_command(Context(command), words.pop(0))
    assert command.make_context("it", words).params
