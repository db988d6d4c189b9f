"""The aims for speed, and what was measured: reached, missed or not measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.growth import growth_with_length, growth_with_number
from benchmarks.results import Results, medians


@dataclass(frozen=True, slots=True)
class Aim:
    """A bound on a figure.

    Args:
        title: What is measured.
        value: The figure, None = not measured.
        bound: What it is compared with.
        at_least: Whether the bound is a lower one.
        shown: How figure and bound are written.
    """

    title: str
    value: float | None
    bound: float
    at_least: bool
    shown: str = "{:,.0f}"

    @property
    def reached(self) -> bool | None:
        """None = not measured."""
        if self.value is None:
            return None
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def cells(self) -> list[str]:
        """Title, bound, figure and verdict."""
        side = "at least" if self.at_least else "at most"
        verdict = {True: "reached", False: "missed", None: "not measured"}[self.reached]
        figure = "-" if self.value is None else self.shown.format(self.value)
        return [self.title, f"{side} {self.shown.format(self.bound)}", figure, verdict]


def aims(results: Results) -> Iterator[Aim]:
    """All aims, in the order of the report."""

    def of(part: str, name: str, at: str | int = "") -> float | None:
        value: float | None = medians(results, part).get(name, at)
        return value

    yield Aim("tokens a second, one process", of("serial", "tokens_a_second"), 100_000, at_least=True)
    yield Aim("tokens a second, two workers", of("workers", "tokens_a_second"), 150_000, at_least=True)
    presidio = of("presidio", "tokens_a_second", "one")
    fast, careful = (of(part, "tokens_a_second", "one") for part in ("warm", "careful"))
    for title, speed, bound in (
        (
            "times as fast as Presidio: `mask --fast` by Presidio, warm on one core",
            of("serial", "tokens_a_second"),
            20,
        ),
        ("times as fast as Presidio, both warm on one core", fast, 20),
        ("the same with two readings", careful, 5.5),
    ):
        yield Aim(title, ratio(speed, presidio), bound, at_least=True, shown="{:.1f}")
    yield Aim(
        "share of the network in the time on one core",
        ratio(of("warm", "tokens_a_second", "one"), of("onnx", "tokens_a_second", "one")),
        0.6,
        at_least=False,
        shown="{:.2f}",
    )
    first = of("documents", "seconds_to_first_output", "start")
    yield Aim("seconds to the first masked document", first, 1.0, at_least=False, shown="{:.2f}")
    one = of("warm", "ms_a_short_narrative", "all")
    yield Aim("ms for a short narrative, warm", one, 5, at_least=False, shown="{:.2f}")
    yield from _service_aims(of)
    yield from _growth_aims(results, of)


Of = Callable[..., float | None]


def _service_aims(of: Of) -> Iterator[Aim]:
    short = "short narratives"
    yield Aim("service: median in ms", of("service", "median_ms", short), 20, at_least=False, shown="{:.1f}")
    yield Aim(
        "service: 99th percentile in ms", of("service", "p99_ms", short), 100, at_least=False, shown="{:.1f}"
    )
    errors = of("service", "n_errors", short)
    yield Aim("service: requests with an error", errors, 0, at_least=False)


def _growth_aims(results: Results, of: Of) -> Iterator[Aim]:
    small, large = of("documents", "all_processes_mb", 10_000), of("million", "all_processes_mb", 1_000_000)
    yield Aim("peak memory in MB, one process", of("serial", "peak_memory_mb"), 500, at_least=False)
    yield Aim(
        "peak memory of 1,000,000 narratives by that of 10,000",
        ratio(large, small),
        1.1,
        at_least=False,
        shown="{:.2f}",
    )
    for title, growth in (
        ("exponent, number of documents", growth_with_number(results["parts"])),
        ("exponent, tokens of a document", growth_with_length(results["parts"])),
    ):
        yield Aim(title, growth.exponent(), 1.05, at_least=False, shown="{:.3f}")


def ratio(value: float | None, base: float | None) -> float | None:
    """None if either is unknown, or the base is 0."""
    return value / base if value is not None and base else None
