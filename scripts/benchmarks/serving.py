"""The part that asks `inverse-deid serve` as many clients at once do."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.material import Material
from benchmarks.part import Figures, Point, Settings
from benchmarks.processes import PartError, PeakMemory, environment, measured, ours
from inverse_deid.text.tokenizer import TOKEN_PATTERN

WAIT_SECONDS = 60
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


@dataclass(slots=True)
class Service:
    """A running service.

    Args:
        address: Where it listens.
        pid: Its process.
        seconds_to_first_output: From its start to its first answer.
    """

    address: str
    pid: int
    seconds_to_first_output: float


def points(settings: Settings, material: Material) -> Iterable[Point]:
    """Short narratives, for latency, and the documents, for speed; one document a request."""
    clients = ("--clients", str(settings.clients))

    def short() -> Figures:
        return _asked(settings.requests, _mean_tokens(), *clients, "--requests", str(settings.requests))

    def documents() -> Figures:
        sample = material.documents()
        mean = sample.n_tokens / sample.n_documents
        return _asked(sample.n_documents, mean, *clients, "--documents", str(sample.path))

    yield Point("short narratives", short)
    yield Point("documents", documents)


def _mean_tokens() -> float:
    """Tokens of a narrative that the load client invents."""
    from load_service import INVENTED

    return sum(len(TOKEN_PATTERN.findall(text)) for text in INVENTED) / len(INVENTED)


def _asked(n_requests: int, mean_tokens: float, *options: str) -> Figures:
    """Start a service, ask it, stop it."""
    with _service() as service:
        memory = PeakMemory(service.pid)
        try:
            figures = measured(ours("load_service.py", service.address, *options))
        finally:
            peak = memory.stop()
    if figures["requests"] != n_requests:
        raise PartError(f"{figures['requests']} of {n_requests} requests were asked")
    return {
        **figures,
        "n_errors": sum(figures["errors"].values()),
        "tokens": round(n_requests * mean_tokens),
        "tokens_a_second": round(figures["requests_a_second"] * mean_tokens),
        "seconds_to_first_output": service.seconds_to_first_output,
        "peak_memory_mb": round(peak),
        "all_processes_mb": peak,
    }


@contextmanager
def _service() -> Iterator[Service]:
    """A service on a free port of the loopback address."""
    command = [sys.executable, "-m", "inverse_deid.cli.main", "serve", "--fast", "--port", "0"]
    started = time.monotonic()
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        try:
            address = _address(process)
            _ask_once(address)
            yield Service(address, process.pid, round(time.monotonic() - started, 2))
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.communicate(timeout=WAIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _address(process: subprocess.Popen[str]) -> str:
    """Return the address that the service prints when it is ready.

    Raises:
        PartError: It ended before.
    """
    for line in process.stderr or ():
        if found := _ADDRESS.search(line):
            return found[0]
    raise PartError("inverse-deid serve did not start")


def _ask_once(address: str) -> None:
    body = json.dumps({"id": 0, "text": "Ms. Zebulonova had a rash."}).encode()
    asked = urllib.request.Request(f"{address}/mask", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=WAIT_SECONDS) as answer:
        answer.read()
