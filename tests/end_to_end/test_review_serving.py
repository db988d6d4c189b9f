"""`inverse-deid review serve` as a separate process: TLS, a proxy, a kill under load."""

import json
import re
import ssl
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from review_servers import certificate, cookies, log_in, serving
from review_stores import PASSWORD, store_of, write_key
from review_visitors import account

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def store_file(tmp_path):
    """Make a store with one account, and its key next to it."""
    with store_of(tmp_path, clock=time.time) as store:
        account(store, "ann")
    write_key(tmp_path)
    return tmp_path / "review.db"


def test_over_tls_cookies_are_secure(store_file, tmp_path):
    chain, private = certificate(tmp_path)
    options = ("--certificate", chain, "--private-key", private, "--address", "0.0.0.0")
    trusted = ssl.create_default_context(cafile=str(chain))
    with serving(store_file, *options) as port:
        with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trusted, timeout=60) as client:
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
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
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


def test_behind_a_proxy_nobody_else_is_answered(store_file):
    told = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"}
    with serving(store_file, "--behind-proxy", "127.0.0.1") as port:

        def ask(source, headers):
            transport = httpx.HTTPTransport(local_address=source)
            with httpx.Client(transport=transport, headers=headers, timeout=60) as client:
                return client.get(f"http://127.0.0.1:{port}/log-in").status_code

        assert ask("127.0.0.1", told) == 200
        assert ask("127.0.0.2", told) == 403  # forged by somebody who passes the proxy by
        assert ask("127.0.0.1", {}) == 403
        assert ask("127.0.0.1", told | {"X-Forwarded-Proto": "http"}) == 403


def test_a_kill_under_load_loses_no_decision():
    command = [sys.executable, "load_review.py", "--reviewers", "10", "--seconds", "40", "--cases", "60"]
    done = subprocess.run(command, cwd=SCRIPTS, capture_output=True, text=True, timeout=900, check=False)
    found = json.loads(done.stdout)
    assert found["wrong"] == {}
    assert done.returncode == 0
    assert found["done"]["act"] > 20
    assert found["done"]["approved: in review"] > 0
