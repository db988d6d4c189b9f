"""The service as a process whose masker takes its time: no client keeps the others waiting."""

import asyncio
import hashlib
import socket
import ssl
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest
from review_servers import started

pytestmark = pytest.mark.slow

SERVICE = Path(__file__).with_name("serve_command.py")
N_LARGE = 5
CERTIFICATES = ssl.create_default_context()  # to load them takes longer than to ask
SMALL = {"id": 1, "text": "Zoe fell"}
WORDS = 50_000
"""Of a large request: 5 seconds of the masker."""
TEXTS = [{"id": i, "text": "well " * 50} for i in range(WORDS // 50)]
MANY_TEXTS = {"documents": TEXTS}
ONE_TEXT = {"id": 1, "text": "well " * WORDS}


@pytest.fixture
def serve(monkeypatch, tmp_path):
    """Run the service; each client has a token, which is its name twenty times."""
    monkeypatch.setenv("SECONDS_PER_WORD", "0.0001")
    with ExitStack() as stack:

        def run(*names):
            tokens = tmp_path / "tokens"
            tokens.write_text(
                "".join(
                    f'[[client]]\nname = "{name}"\n'
                    f'sha256 = "{hashlib.sha256((20 * name).encode()).hexdigest()}"\n'
                    for name in names
                )
            )
            tokens.chmod(0o600)
            return stack.enter_context(started(SERVICE, "serve", "--tokens", tokens, "--seconds", "90"))[0]

        yield run


def bearer(name):
    return {"Authorization": f"Bearer {20 * name}"}


def ask(port, name, content):
    address = f"http://127.0.0.1:{port}/mask"
    return httpx.post(address, json=content, headers=bearer(name), timeout=240, verify=CERTIFICATES)


@pytest.mark.parametrize("large", [MANY_TEXTS, ONE_TEXT], ids=["many texts", "one text"])
@pytest.mark.parametrize("names", [("a", "b"), ("a",)], ids=["other client", "same client"])
def test_a_small_text_does_not_wait_for_large_requests(serve, large, names):
    port = serve(*names)
    with ThreadPoolExecutor(N_LARGE) as threads:
        working = [threads.submit(ask, port, "a", large) for _ in range(N_LARGE)]
        time.sleep(1)
        seconds, until = [], time.monotonic() + 8  # the masker alone takes 25 seconds for the large ones
        while len(seconds) < 20 and time.monotonic() < until:
            begun = time.monotonic()
            assert ask(port, names[-1], SMALL).status_code == 200
            seconds.append(time.monotonic() - begun)
        is_meanwhile = not all(one.done() for one in working)
        assert {one.result().status_code for one in working} == {200}
    assert is_meanwhile
    # Behind one large request they would wait for 5 seconds.
    assert (statistics.median(seconds) < 2, max(seconds) < 4) == (True, True), seconds


def test_large_requests_are_answered_in_order_beside_small_ones(serve):
    port = serve("a", "b")
    with ThreadPoolExecutor(4) as threads:
        small = [threads.submit(ask, port, "b", SMALL) for _ in range(50)]
        long = {"id": "long", "text": "Zoe " * 900}
        found = ask(port, "a", {"documents": [*TEXTS[:20], long, *TEXTS[20:40]]})
        assert all(one.result().status_code == 200 for one in small)
    answers = found.json()["documents"]
    assert [one["id"] for one in answers] == [*range(20), "long", *range(20, 40)]
    assert "Zoe" not in answers[20]["text"]


def test_a_client_that_fills_the_queue_leaves_the_others_their_share(serve):
    port = serve("a", "b")

    async def fill():
        limits = httpx.Limits(max_connections=400)
        async with httpx.AsyncClient(limits=limits, timeout=240) as client:
            address, headers = f"http://127.0.0.1:{port}/mask", bearer("a")
            text = {"id": 1, "text": "well " * 1000}  # more than one is sent while it is masked
            asked = [
                asyncio.create_task(client.post(address, json=text, headers=headers)) for _ in range(400)
            ]
            while not any(one.done() and one.result().status_code == 503 for one in asked):
                assert not all(one.done() for one in asked)
                await asyncio.sleep(0.05)
            other = await client.post(address, json=SMALL, headers=bearer("b"))
            return other.status_code, {one.status_code for one in await asyncio.gather(*asked)}

    assert asyncio.run(fill()) == (200, {200, 503})


def test_half_of_a_form_takes_no_place_of_a_file(serve):
    port = serve("a", "b")
    head = (
        "POST /mask-file HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10000\r\n"
        f"Authorization: Bearer {20 * 'a'}\r\nContent-Type: multipart/form-data; boundary=x\r\n\r\n"
        '--x\r\nContent-Disposition: form-data; name="file"; filename="x.txt"\r\n\r\nZoe'
    )
    with ExitStack() as stack:
        for _ in range(20):
            one = stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), 60)))
            one.sendall(head.encode())
        time.sleep(1)
        for name in ("a", "b"):
            found = httpx.post(
                f"http://127.0.0.1:{port}/mask-file",
                files={"file": ("x.txt", b"Zoe fell")},
                headers=bearer(name),
                timeout=240,
            )
            assert found.status_code == 200, found.text
