"""Ask a running service as many clients at once do, and print latency and errors as JSON.

Usage: python scripts/load_service.py http://127.0.0.1:8080 [--clients 50] [--requests 100000] [--rate N]
       python scripts/load_service.py http://127.0.0.1:8080 --documents FILE [--clients 50] [--rate N]

Each client keeps one connection and asks again as soon as it has its answer; with --rate, all together
ask at most so often a second. The narratives are invented and short, or the texts of a JSON Lines file, each
of them once. An answer counts as an error if its
status is not 200, if it is not the answer to its own request, or if it shows a name that was sent.
With --idle and --hostile, as many connections stay open meanwhile that ask nothing, or send an endless header
or body; each is opened again when the server closes it. With --large, as many other clients meanwhile send
large requests one after the other: in turn 1,000 short texts, and one text of 9,750 words.
Prints requests, errors by kind, requests a second, and the median, 99th percentile and largest latency in
milliseconds (None = no answer).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

NAME = "Zebulonova"
SENTENCES = (
    "Ms. {name} had a rash two hours after the second dose.",
    "Seen by Dr. {name} on 12-OCT-2019; the fever of 38.9 C resolved.",
    "{name} was given cetirizine 10 mg with relief.",
    "The mother of {name} reported vomiting for 3 days.",
)


INVENTED = tuple(sentence.format(name=NAME) for sentence in SENTENCES)


@dataclass(slots=True)
class Load:
    """What is asked and what came back.

    Args:
        host: Name or address.
        port: Port.
        n_requests: How many are asked in all.
        texts: What is sent, in turn.
        seconds_between: How much later each request begins than the one before, 0 = at once.
        token: What is shown, "" = nothing.
        latencies: Seconds of each answer.
        errors: How often what went wrong.
        begun: How many requests were begun.
    """

    host: str
    port: int
    n_requests: int
    texts: Sequence[str] = INVENTED
    seconds_between: float = 0.0
    token: str = ""
    latencies: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    begun: int = 0


async def client(load: Load, started: float) -> None:
    """Ask until all requests are begun. A connection that breaks counts as one error and is opened again."""
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    while load.begun < load.n_requests:
        number = load.begun
        load.begun += 1
        if load.seconds_between:
            await asyncio.sleep(started + number * load.seconds_between - time.perf_counter())
        asked = time.perf_counter()
        try:
            streams = streams or await asyncio.open_connection(load.host, load.port)
            problem = await ask(load, number, streams)
        except (OSError, EOFError, ValueError) as error:
            problem, streams = type(error).__name__, None
        load.latencies.append(time.perf_counter() - asked)
        if problem:
            load.errors[problem] += 1
    if streams is not None:
        streams[1].close()


async def ask(load: Load, number: int, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> str:
    """Ask one request; what is wrong with its answer, "" = nothing."""
    reader, writer = streams
    body = json.dumps({"id": number, "text": load.texts[number % len(load.texts)]}).encode()
    token = f"Authorization: Bearer {load.token}\r\n" if load.token else ""
    head = (
        f"POST /mask HTTP/1.1\r\nHost: {load.host}\r\nContent-Type: application/json\r\n"
        f"{token}Content-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines[1:] if line)
    answer = await reader.readexactly(int(fields["content-length"]))
    status = lines[0].split(" ")[1]
    if status != "200":
        return f"status {status}"
    if json.loads(answer)["id"] != number:
        return "another's answer"
    return "a name" if NAME.encode() in answer else ""


@contextmanager
def beside(work: Callable[..., None], *given: object) -> Iterator[None]:
    """Let others work until the block ends."""
    # A process of its own, so that it delays nobody whose time is taken.
    process = multiprocessing.get_context("spawn").Process(target=work, args=given, daemon=True)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join(30)


def send_large(host: str, port: int, n_clients: int, token: str) -> None:
    """Ask for the masks of large requests without end."""
    texts = [{"id": i, "text": INVENTED[i % len(INVENTED)]} for i in range(1000)]
    bodies = [json.dumps({"documents": texts}), json.dumps({"id": 1, "text": " ".join(INVENTED) * 250})]

    def ask_on(number: int) -> None:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        while True:
            connection = HTTPConnection(host, port, timeout=300)
            with suppress(OSError, HTTPException), closing(connection):
                connection.request("POST", "/mask", bodies[number % 2], headers)
                connection.getresponse().read()

    threads = [threading.Thread(target=ask_on, args=(i,), daemon=True) for i in range(n_clients)]
    for one in threads:
        one.start()
    threading.Event().wait()


def strangers(host: str, port: int, n_idle: int, n_hostile: int) -> AbstractContextManager[None]:
    """Keep connections open that never finish a request, until the block ends."""
    return beside(_pester, host, port, n_idle, n_hostile)


def _pester(host: str, port: int, n_idle: int, n_hostile: int) -> None:
    begins = [b"", *[b"GET /health HTTP/1.1\r\nHost: x\r\nX-Drip: ", _SLOW_BODY] * (n_hostile > 0)]
    kinds = [0] * n_idle + [1 + i % 2 for i in range(n_hostile)]
    opened: list[socket.socket | None] = [None] * len(kinds)
    while True:
        time.sleep(1)
        for i, kind in enumerate(kinds):
            one = opened[i]
            try:
                if one is None:
                    one = opened[i] = socket.create_connection((host, port), 5)
                    one.setblocking(False)
                    one.send(begins[kind])
                elif kind:
                    one.send(b"x")
                with suppress(BlockingIOError):
                    if not one.recv(4096):
                        raise ConnectionResetError
            except OSError:
                if one is not None:
                    one.close()
                opened[i] = None


_SLOW_BODY = (
    b"POST /mask HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"
)


async def measure(load: Load, n_clients: int) -> dict[str, object]:
    """Let the clients ask; what they saw."""
    started = time.perf_counter()
    await asyncio.gather(*(client(load, started) for _ in range(n_clients)))
    seconds = time.perf_counter() - started
    ordered = sorted(load.latencies)
    return {
        "clients": n_clients,
        "requests": len(ordered),
        "errors": dict(load.errors),
        "requests_a_second": round(len(ordered) / seconds),
        "median_ms": quantile(ordered, 0.5),
        "p99_ms": quantile(ordered, 0.99),
        "max_ms": quantile(ordered, 1.0),
    }


def quantile(ordered: list[float], share: float) -> float | None:
    """The latency in ms that at least `share` of the requests do not exceed; None = none was asked."""
    if not ordered:
        return None
    place = min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))
    return round(1000 * ordered[place], 2)


def texts_of(file: Path) -> list[str]:
    """The texts of a JSON Lines file."""
    with file.open(encoding="utf-8") as stream:
        return [json.loads(line)["text"] for line in stream]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("address")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--documents", type=Path, help="JSON Lines file with what is sent, instead")
    parser.add_argument("--rate", type=float, default=0.0, help="requests a second, 0 = as fast as it goes")
    parser.add_argument("--idle", type=int, default=0, help="connections that ask nothing")
    parser.add_argument("--hostile", type=int, default=0, help="connections that send without end")
    parser.add_argument("--large", type=int, default=0, help="other clients that send large requests")
    given = parser.parse_args()
    url = urlsplit(given.address)
    documents = texts_of(given.documents) if given.documents else []
    load = Load(
        url.hostname or "127.0.0.1",
        url.port or 80,
        len(documents) or given.requests,
        documents or INVENTED,
        seconds_between=1 / given.rate if given.rate else 0.0,
        token=os.environ.get("INVERSE_DEID_TOKEN", ""),
    )
    with (
        strangers(load.host, load.port, given.idle, given.hostile),
        beside(send_large, load.host, load.port, given.large, load.token),
    ):
        time.sleep(5 if given.large else 0)
        print(json.dumps(asyncio.run(measure(load, given.clients)), indent=1))


if __name__ == "__main__":
    main()
