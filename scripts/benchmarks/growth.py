"""How time grows with size: the exponent of a power law, by least squares on logarithms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.masking import START


@dataclass(frozen=True, slots=True)
class Growth:
    """Time by size.

    Args:
        sizes: What grows, ascending.
        seconds: Of the whole command; for the length of documents, of one document.
        net_seconds: Without what the command takes whatever the input; never below a millisecond.
    """

    sizes: Sequence[int]
    seconds: Sequence[float]
    net_seconds: Sequence[float]

    def exponent(self) -> float | None:
        """The larger one of the two times; None if there are fewer than two sizes."""
        found = (fitted_exponent(self.sizes, times) for times in (self.seconds, self.net_seconds))
        return max((one for one in found if one is not None), default=None)


def fitted_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float | None:
    """The slope of log seconds over log size; None if there are fewer than two sizes.

    Example:
        >>> round(fitted_exponent([1, 10, 100], [2, 40, 800]), 3)
        1.301
    """
    if len(set(sizes)) < 2:
        return None
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth_with_number(parts: Mapping[str, Mapping[str, Any]]) -> Growth:
    """Time by number of documents, of the parts `documents` and `million`."""
    medians = {
        at: figures for name in ("million", "documents") for at, figures in _medians(parts, name).items()
    }
    start = medians.pop(START, {}).get("seconds", 0.0)
    sizes = sorted(medians)
    seconds = [medians[size]["seconds"] for size in sizes]
    return Growth(sizes, seconds, [_net(one, start) for one in seconds])


def growth_with_length(parts: Mapping[str, Mapping[str, Any]]) -> Growth:
    """Time of one document by its tokens, of the part `lengths`."""
    medians = _medians(parts, "lengths")
    start = medians.pop(START, {}).get("seconds", 0.0)
    sizes = sorted(medians)
    whole = [medians[size]["seconds"] for size in sizes]
    counts = [medians[size]["documents"] for size in sizes]
    net = [_net(one, start) / n for one, n in zip(whole, counts, strict=True)]
    return Growth(sizes, [one / n for one, n in zip(whole, counts, strict=True)], net)


def _net(seconds: float, start: float) -> float:
    return max(seconds - start, 0.001)


def _medians(parts: Mapping[str, Mapping[str, Any]], name: str) -> dict[Any, dict[str, Any]]:
    points = parts.get(name, {}).get("points", [])
    return {point["at"]: point["median"] for point in points if point["median"]}
