"""A part of the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.material import Material

Figures = dict[str, Any]
"""What one measurement gave, by name: `tokens`, `seconds`, `tokens_a_second`, `peak_memory_mb` and more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What was chosen for a run.

    Args:
        repeats: How often each point is measured.
        workers: Processes of the part `workers`.
        partition_mib: Size of a partition for Ray, so that each core has several.
        requests: Of short narratives to the service.
        clients: That ask at once.
        peers_python: Python of the environment with the peers, None = there is none.
        max_documents: No growth has more documents.
        lengths: Tokens a document of the growth with length.
        tokens_a_length: Tokens of all documents of one length.
    """

    repeats: int = 3
    workers: int = 2
    partition_mib: float = 1.0
    requests: int = 20_000
    clients: int = 50
    peers_python: Path | None = None
    max_documents: int = 1_000_000
    lengths: Sequence[int] = (10, 100, 1_000, 10_000, 100_000)
    tokens_a_length: int = 200_000


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that a part measures.

    Args:
        at: Its name, or the size that grows.
        run: Measures it once; raises `PartError` if that is impossible.
    """

    at: str | int
    run: Callable[[], Figures]


Points = Callable[[Settings, Material], Iterable[Point]]


@dataclass(frozen=True, slots=True)
class Part:
    """One part.

    Args:
        title: What it is, in the report.
        points: What it measures.
        missing: Why it cannot be measured here, "" if it can.
    """

    title: str
    points: Points
    missing: Callable[[Settings], str] = lambda settings: ""
