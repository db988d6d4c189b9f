"""Parts that run `inverse-deid mask`, and how its time grows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.material import Material
from benchmarks.narratives import Sample
from benchmarks.part import Figures, Point, Points, Settings
from benchmarks.processes import PartError, measured, ours

START = "start"
"""The point of a growth that masks one short document: what the command takes whatever the input."""
GROWTH = (1_000, 3_000, 10_000, 30_000, 100_000)
MILLION = 1_000_000
LEAST_LONG_DOCUMENTS = 2


def masked(file: Path, *options: str) -> Figures:
    """Mask a file with the command and a fast reading, in processes of its own.

    Raises:
        PartError: Something was not masked.
    """
    figures = measured(ours("benchmark_masking.py", file, "--", "--fast", *options), with_root=False)
    if figures["exit_status"]:
        raise PartError(f"inverse-deid mask ended with status {figures['exit_status']}")
    return figures


def whole_documents(options: Callable[[Settings], Sequence[str]]) -> Points:
    """Mask the documents with these options of the command."""

    def points(settings: Settings, material: Material) -> Iterable[Point]:
        yield Point("", lambda: masked(material.documents().path, *options(settings)))

    return points


def more_and_more(sizes: Sequence[int]) -> Points:
    """Mask growing numbers of short narratives."""

    def points(settings: Settings, material: Material) -> Iterable[Point]:
        yield _growing(START, partial(material.short, 1))
        for size in sorted({min(size, settings.max_documents) for size in sizes}):
            yield _growing(size, partial(material.short, size))

    return points


def longer_and_longer(settings: Settings, material: Material) -> Iterable[Point]:
    """Mask about as many tokens, in ever longer documents."""
    yield _growing(START, partial(material.short, 1))
    for length in settings.lengths:
        n_documents = max(LEAST_LONG_DOCUMENTS, settings.tokens_a_length // length)
        yield _growing(length, partial(material.of_length, n_documents, length))


def _growing(at: str | int, sample: Callable[[], Sample]) -> Point:
    return Point(at, lambda: masked(sample().path))
