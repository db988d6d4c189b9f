"""Parts that run in one warm process: ours, the network alone, and the peers."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from benchmarks.material import Material
from benchmarks.part import Figures, Point, Points, Settings
from benchmarks.processes import SCRIPTS, PartError, environment, measured

CORES = ("one", "all")
"""How many cores the process may use."""


def in_process(kind: str) -> Points:
    """A kind of `benchmarks.in_process`, on one core and on all."""

    def points(settings: Settings, material: Material) -> Iterable[Point]:
        for cores in CORES:
            yield Point(cores, partial(_run, kind, cores, material))

    return points


def _run(kind: str, cores: str, material: Material) -> Figures:
    program: list[str | Path] = [sys.executable, "-m", "benchmarks.in_process", kind, material.few().path]
    return measured([*program, "--cores", cores, "--started", f"{time.time()}"])


def peer(name: str) -> Points:
    """Another tool, on one core."""

    def points(settings: Settings, material: Material) -> Iterable[Point]:
        yield Point("one", partial(_run_peer, name, settings, material))

    return points


def _run_peer(name: str, settings: Settings, material: Material) -> Figures:
    """Let it mask the documents in its own Python; the tokens are those of our tokenizer.

    Raises:
        PartError: It is not installed there, or failed.
    """
    sample = material.few()
    program = [settings.peers_python or "", SCRIPTS / "benchmarks" / "peer.py", name, sample.path]
    env = {**environment(), "PYTHONSAFEPATH": "1"}
    del env["PYTHONPATH"]  # nothing of ours may stand in the way of what it imports
    try:
        figures = measured([*program, "--cores", "one", "--started", f"{time.time()}"], env=env)
    except OSError as error:
        raise PartError(f"{settings.peers_python} cannot be run ({error.strerror})") from error
    if "missing" in figures:
        raise PartError(figures["missing"])
    n_tokens = material.few_measured_tokens()
    return {**figures, "tokens": n_tokens, "tokens_a_second": round(n_tokens / figures["seconds"])}


def peers_missing(settings: Settings) -> str:
    """Why no peer can be measured, "" if they can."""
    return "" if settings.peers_python else "no --peers-python given"
