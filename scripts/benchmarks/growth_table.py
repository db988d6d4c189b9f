"""How time and memory grow: tables, exponents and the figure."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.growth import Growth, fitted_exponent, growth_with_length, growth_with_number
from benchmarks.results import Results, medians
from benchmarks.speed_tables import number
from inverse_deid.evaluation.plain_text import markdown_table

FIGURE = "growth.svg"
_COLUMNS = (
    "documents",
    "tokens",
    "seconds",
    "without start-up",
    "tokens a second",
    "all processes, MB",
    "runs",
)


def growth_lines(results: Results) -> list[str]:
    """Both growths."""
    parts = results["parts"]
    lines = ["## Growth", ""]
    if growth_with_number(parts).sizes or growth_with_length(parts).sizes:
        lines += [f"![Seconds by number of documents, and by their length]({FIGURE})", ""]
    lines += _growth(
        results, ("documents", "million"), "With the number of documents", growth_with_number(parts)
    )
    lines += _growth(results, ("lengths",), "With the length of a document", growth_with_length(parts))
    return lines


def _growth(results: Results, names: Sequence[str], title: str, growth: Growth) -> list[str]:
    points = {
        point["at"]: point for name in names for point in results["parts"].get(name, {}).get("points", [])
    }
    figures = [points[size] for size in growth.sizes]
    rows = []
    for point, net in zip(figures, growth.net_seconds, strict=True):
        of = point["median"]
        n = of["documents"] if names == ("lengths",) else 1
        rows.append(
            [
                f"{point['at']:,}",
                number(of["documents"]),
                number(of["tokens"]),
                number(of["seconds"], 2),
                number(net * n, 2),
                number(of["tokens_a_second"]),
                number(of["all_processes_mb"]),
                str(len(point["runs"])),
            ]
        )
    missing = [results["parts"].get(name, {}).get("missing") or "not measured" for name in names]
    notes = [_exponents(growth)]
    notes += [
        f"`{name}`: {why}."
        for name, why in zip(names, missing, strict=True)
        if not any(isinstance(at, int) for at in medians(results, name).of)
    ]
    if not rows:
        return [f"### {title}", "", *(line for note in notes[1:] for line in (note, ""))]
    return [markdown_table(title, ("size", *_COLUMNS), rows, notes)]


def _exponents(growth: Growth) -> str:
    """Both exponents in a sentence."""
    whole = fitted_exponent(growth.sizes, growth.seconds)
    net = fitted_exponent(growth.sizes, growth.net_seconds)
    if whole is None:
        return "Too few sizes for an exponent."
    return (
        f"Exponent by least squares on logarithms: {whole:.3f}, and {net:.3f} without start-up (what the "
        "command takes for one short narrative)."
    )
