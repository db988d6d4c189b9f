"""Both servers as processes: hostile clients, log-ins at once, metrics, reloads under load, logs, secrets."""

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from fake_maskers import CANARY
from review_servers import certificate, log_in, serving, started
from review_stores import KEY, store_of
from review_visitors import account

pytestmark = pytest.mark.slow

SERVICE = Path(__file__).with_name("serve_command.py")
REVIEW = ("-m", "inverse_deid.cli.main", "review", "serve", "--store")
FIRST, SECOND = "a-first-token-of-a-client", "a-second-token-of-a-client"
METRICS = "a-long-token-of-the-metrics"
N_HOSTILE = 500
N_IDLE = 1000


def make_store(folder):
    """Make a store with one account, and its key next to it."""
    with store_of(folder, clock=time.time) as store:
        account(store, "ann")
    private(folder / "review.db.key", KEY.secret)
    return folder / "review.db"


def private(path, content):
    path.write_bytes(content)
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Run a review and a service without tokens; yield their ports."""
    folder = tmp_path_factory.mktemp("servers")
    token = private(folder / "metrics", METRICS.encode())
    with (
        started(*REVIEW, make_store(folder), "--metrics-token", token) as (review, _),
        started(SERVICE, "serve", "--metrics-token", token) as (service, _),
    ):
        yield {"review": review, "service": service}


@pytest.fixture
def port(servers, request):
    return servers[request.param]


both = pytest.mark.parametrize("port", ["review", "service"], indirect=True)


def open_many(stack, port, parts, n):
    opened = []
    for i in range(n):
        one = stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), 60)))
        one.sendall(parts[i % len(parts)])
        opened.append(one)
    return opened


def measure(port, n=30):
    """Ask for /health on new connections; return the statuses and the median of seconds."""
    statuses, seconds = set(), []
    limits = httpx.Limits(max_keepalive_connections=0)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", limits=limits, timeout=120) as client:
        for _ in range(n):
            begun = time.monotonic()
            statuses.add(client.get("/health").status_code)
            seconds.append(time.monotonic() - begun)
    return statuses, statistics.median(seconds)


def is_closed(one):
    one.settimeout(0)
    try:
        while one.recv(65536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


@both
def test_honest_clients_are_answered_among_hostile_and_idle_ones(port):
    half = b"GET /health HTTP/1.1\r\nHost: x\r\n"
    body = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
    _, alone = measure(port)
    with ExitStack() as stack:
        hostile = open_many(stack, port, [half, body % b"/log-in", body % b"/mask"], N_HOSTILE)
        open_many(stack, port, [b""], N_IDLE)
        statuses, median = measure(port)
        assert (statuses, median < max(0.5, 10 * alone)) == ({200}, True), (statuses, median, alone)
        until = time.monotonic() + 120
        while time.monotonic() < until and not all(is_closed(one) for one in hostile):
            time.sleep(0.5)
        assert all(is_closed(one) for one in hostile)


@both
def test_an_endless_header_delays_nobody(port):
    def send_endlessly():
        with socket.create_connection(("127.0.0.1", port), 60) as sent:
            sent.sendall(b"GET / HTTP/1.1\r\nCookie: ")
            with pytest.raises(OSError):
                for _ in range(1000):
                    sent.sendall(b"x" * 65536)

    _, alone = measure(port)
    with ThreadPoolExecutor(4) as threads:
        sending = [threads.submit(send_endlessly) for _ in range(4)]
        statuses, median = measure(port)
        for one in sending:
            one.result(120)
    assert (statuses, median < max(0.5, 10 * alone)) == ({200}, True), (statuses, median, alone)


def test_log_ins_at_once_do_not_delay_decisions(servers):
    port = servers["review"]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as ann:
        assert log_in(ann).status_code == 303
        token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', ann.get("/").text).group(1)
        headers = {"X-CSRF-Token": token}
        revision = ann.post("/cases/1/open", json={}, headers=headers).json()["revision"]
        page = httpx.get(f"http://127.0.0.1:{port}/log-in")
        form = {"csrf_token": re.search(r'name="csrf_token" value="([0-9a-f]+)"', page.text).group(1)}
        visitor = {"Cookie": f"visitor={page.cookies['visitor']}"}
        certificates = ssl.create_default_context()  # to load them takes longer than to ask

        def attack(i):
            answer = httpx.post(
                f"http://127.0.0.1:{port}/log-in",
                data={**form, "name": f"nobody{i}", "password": "a wrong long sentence"},
                headers=visitor,
                timeout=120,
                verify=certificates,
            )
            return answer.status_code, answer.headers.get("retry-after")

        def decide(n):
            """Return the seconds that the n-th decision took."""
            nonlocal revision
            begun = time.monotonic()
            payload = {"kind": "mask" if n % 2 else "unmask", "ranges": [[0, 1]], "revision": revision}
            answer = ann.post("/cases/1/act", json=payload, headers=headers)
            revision = answer.json()["revision"]
            return time.monotonic() - begun

        alone = statistics.median(map(decide, range(6)))
        with ThreadPoolExecutor(60) as threads:
            attacks = [threads.submit(attack, i) for i in range(60)]
            seconds = []
            while not all(one.done() for one in attacks) or len(seconds) < 5:
                seconds.append(decide(len(seconds)))
        said = [one.result() for one in attacks]
    assert (429, "3") in said
    assert {status for status, _ in said} <= {401, 429}
    assert statistics.median(seconds) < max(0.25, 10 * alone), (seconds, alone)


@both
def test_metrics_count_and_name_nobody(port):
    address = f"http://127.0.0.1:{port}"
    httpx.get(f"{address}/{CANARY}")
    found = httpx.get(f"{address}/metrics")
    assert found.headers["content-type"].startswith("text/plain")
    assert 'inverse_deid_requests_total{method="GET",route="(other)",status="404"}' in found.text
    for name in (
        "inverse_deid_request_seconds_bucket",
        "inverse_deid_queue_length",
        "inverse_deid_connections{",
        "process_resident_memory_bytes",
    ):
        assert name in found.text
    assert CANARY not in found.text
    assert "ann" not in re.findall(r'"([^"]*)"', found.text)


def test_the_metrics_of_a_review_count_cases_by_state(servers):
    text = httpx.get(f"http://127.0.0.1:{servers['review']}/metrics").text
    assert len(re.findall(r'inverse_deid_cases\{state="[a-z ]+"\} 1\.0', text)) == 1


@both
def test_metrics_are_for_this_machine_or_with_a_token(port):
    forwarded = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}
    for headers, status in [
        ({}, 200),
        (forwarded, 403),
        ({**forwarded, "Authorization": "Bearer wrong"}, 403),
        ({**forwarded, "Authorization": f"Bearer {METRICS}"}, 200),
    ]:
        assert httpx.get(f"http://127.0.0.1:{port}/metrics", headers=headers).status_code == status


def test_a_redirect_does_not_repeat_the_host_of_a_request(servers):
    answer = httpx.get(f"http://127.0.0.1:{servers['review']}/log-in/")
    assert (answer.status_code, answer.headers.get("location")) == (404, None)


@both
def test_a_server_for_this_machine_answers_to_its_names_alone(port):
    address = f"http://127.0.0.1:{port}"
    for path in ("/health", "/metrics", "/"):
        for host in ("rebound.example", f"rebound.example:{port}"):
            assert httpx.get(address + path, headers={"Host": host}).status_code == 421, (path, host)
    for host in ("localhost", f"127.0.0.1:{port}", "[::1]:80"):
        assert httpx.get(f"{address}/health", headers={"Host": host}).status_code == 200


def test_a_page_of_another_name_masks_nothing_without_a_token(servers):
    port = servers["service"]
    sent = {"id": 1, "text": "Zoe fell"}
    found = [
        httpx.post(f"http://127.0.0.1:{port}/mask", json=sent, headers={"Host": host}).status_code
        for host in ("rebound.example", "localhost")
    ]
    assert found == [421, 200]


def token_file(path, *clients):
    lines = [
        f'[[client]]\nname = "{name}"\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\n{more}\n'
        for name, token, more in clients
    ]
    return private(path, "".join(lines).encode())


def ask(port, token, text="Zoe fell"):
    return httpx.post(
        f"http://127.0.0.1:{port}/mask",
        json={"id": 1, "text": text},
        headers={"Authorization": f"Bearer {token}"},
        timeout=60,
    )


def test_tokens_are_reloaded_under_load_without_a_lost_request(tmp_path):
    tokens = token_file(tmp_path / "tokens", ("ward-7", FIRST, ""))
    log = tmp_path / "log"
    with (
        log.open("wb") as written,
        started(SERVICE, "serve", "--tokens", tokens, log=written) as (port, process),
    ):
        stop, statuses = threading.Event(), []

        def work():
            headers = {"Authorization": f"Bearer {FIRST}"}
            address = f"http://127.0.0.1:{port}"
            with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
                while not stop.is_set():
                    statuses.append(client.post("/mask", json={"id": 1, "text": "Zoe fell"}).status_code)

        def reload(content, expected, told):
            before = log.read_bytes().count(told)
            tokens.write_bytes(content)
            process.send_signal(signal.SIGHUP)
            until = time.monotonic() + 120
            while log.read_bytes().count(told) == before:
                assert time.monotonic() < until
                time.sleep(0.05)
            assert ask(port, SECOND).status_code == expected

        one = tokens.read_bytes()
        two = one + token_file(tmp_path / "more", ("ward-8", SECOND, "")).read_bytes()
        with ThreadPoolExecutor(2) as threads:
            working = [threads.submit(work) for _ in range(2)]
            try:
                for content, expected in [(two, 200), (one, 401)] * 2 + [(two, 200)]:
                    reload(content, expected, b"reloaded tokens")
                reload(b"not TOML", 200, b"not reloaded")
            finally:
                stop.set()
            for worker in working:
                worker.result(60)
        assert len(statuses) > 20
        assert set(statuses) == {200}
        assert ask(port, FIRST).status_code == 200


def test_a_client_has_its_own_limits_and_its_name_in_the_log(tmp_path):
    tokens = token_file(
        tmp_path / "tokens",
        ("ward-7", FIRST, "requests_per_minute = 3"),
        ("ward-8", SECOND, "words_per_minute = 4"),
    )
    log = tmp_path / "log"
    options = ("--tokens", tokens, "--log-requests", "--log-format", "json")
    with log.open("wb") as written, started(SERVICE, "serve", *options, log=written) as (port, _):
        first = [ask(port, FIRST) for _ in range(4)]
        assert [one.status_code for one in first] == [200, 200, 200, 429]
        assert 1 <= int(first[-1].headers["retry-after"]) <= 20
        second = [ask(port, SECOND, f"{CANARY} fell and was well again") for _ in range(2)]
        assert [one.status_code for one in second] == [200, 429]
        assert ask(port, "a-token-that-nobody-has").status_code == 401
    lines = [json.loads(line) for line in log.read_text().split("\n") if line]
    asked = [(one["client"], one["path"], one["status"]) for one in lines if "client" in one]
    assert asked == [
        *[("ward-7", "/mask", 200)] * 3,
        ("ward-7", "/mask", 429),
        ("ward-8", "/mask", 200),
        ("ward-8", "/mask", 429),
        ("-", "/mask", 401),
    ]
    assert all({"time", "level", "logger", "message"} <= set(one) for one in lines)
    assert not re.search(f"{CANARY}|{FIRST}|{SECOND}", log.read_text())


@contextmanager
def connected(port, chain):
    """Yield a connection over TLS that trusts this certificate alone."""
    trusted = ssl.create_default_context(cafile=str(chain))
    with (
        socket.create_connection(("127.0.0.1", port), 60) as bare,
        trusted.wrap_socket(bare, server_hostname="127.0.0.1") as made,
    ):
        yield made


def is_healthy(made):
    made.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    found = b""
    while not found.endswith(b"}") and (part := made.recv(4096)):  # head and body come apart
        found += part
    return found.startswith(b"HTTP/1.1 200")


def test_a_certificate_is_reloaded_and_open_connections_stay(tmp_path):
    store = make_store(tmp_path)
    old, new, used = (tmp_path / name for name in ("old", "new", "used"))
    for folder in (old, new, used):
        folder.mkdir()
    certificate(old)
    certificate(new)
    chain, key = (shutil.copy(old / name, used / name) for name in ("chain.pem", "key.pem"))
    log, token = tmp_path / "log", private(tmp_path / "metrics", METRICS.encode())
    options = (*REVIEW, store, "--certificate", chain, "--private-key", key, "--metrics-token", token)
    with (
        log.open("wb") as written,
        started(*options, log=written) as (port, process),
        connected(port, old / "chain.pem") as open_one,
    ):
        assert is_healthy(open_one)
        shutil.copy(new / "chain.pem", chain)
        until = time.monotonic() + 180
        loaded = serialization.load_pem_private_key((new / "key.pem").read_bytes(), None)
        encrypted = loaded.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"a password"),
        )
        short = (new / "key.pem").read_bytes(), b"short"
        not_fitting = (old / "key.pem").read_bytes(), METRICS.encode()
        for n, (content, secret) in enumerate([not_fitting, short, (encrypted, METRICS.encode())], start=1):
            key.write_bytes(content)
            token.write_bytes(secret)
            process.send_signal(signal.SIGHUP)
            while log.read_bytes().count(b"not reloaded") < n:
                assert time.monotonic() < until
                assert is_healthy(open_one)
                time.sleep(0.05)
            with connected(port, old / "chain.pem") as made:
                assert is_healthy(made)
        shutil.copy(new / "key.pem", key)
        process.send_signal(signal.SIGHUP)
        while b"reloaded tokens" not in log.read_bytes():
            assert time.monotonic() < until
            assert is_healthy(open_one)
            time.sleep(0.05)
        with connected(port, new / "chain.pem") as made:
            assert is_healthy(made)
        assert is_healthy(open_one)


def test_behind_a_proxy_only_health_and_metrics_are_answered_directly(tmp_path):
    with serving(make_store(tmp_path), "--behind-proxy", "127.0.0.1") as port:
        address = f"http://127.0.0.1:{port}"
        statuses = {
            path: httpx.get(address + path).status_code for path in ("/log-in", "/health", "/metrics")
        }
        assert statuses == {"/log-in": 403, "/health": 200, "/metrics": 200}
        forwarded = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}
        assert httpx.get(f"{address}/log-in", headers=forwarded).status_code == 200
        assert httpx.get(f"{address}/metrics", headers=forwarded).status_code == 403


def run_review(*words, **environment):
    command = [sys.executable, "-m", "inverse_deid.cli.main", "review", *map(str, words)]
    given = {**os.environ, **environment}
    return subprocess.run(command, env=given, capture_output=True, text=True, check=False)


def test_the_address_of_a_store_comes_from_a_file_or_the_environment(tmp_path):
    store = make_store(tmp_path)
    address = private(tmp_path / "address", f"{store}\n".encode())
    assert "ann" in run_review("user", "list", "--store-file", address).stdout
    assert "ann" in run_review("user", "list", INVERSE_DEID_STORE=str(store)).stdout
    both_given = run_review("user", "list", "--store-file", address, "--store", store)
    assert "both given" in both_given.stderr
    address.chmod(0o644)
    assert "chmod 600" in run_review("user", "list", "--store-file", address).stderr


def test_a_password_in_the_address_of_a_store_gets_a_warning(tmp_path):
    key = private(tmp_path / "key", KEY.secret)
    url = "postgresql+psycopg://ann:Zebulonova@127.0.0.1:1/review"
    done = run_review("user", "list", "--store", url, "--key", key)
    assert "--store-file" in done.stderr
    assert "Zebulonova" not in done.stderr
    assert "--store-file" not in run_review("user", "list", "--key", key, INVERSE_DEID_STORE=url).stderr


def test_the_old_name_of_the_option_for_the_address_works(tmp_path):
    with serving(make_store(tmp_path), "--address", "127.0.0.1") as port:
        assert httpx.get(f"http://127.0.0.1:{port}/health").json()["status"] == "ok"
