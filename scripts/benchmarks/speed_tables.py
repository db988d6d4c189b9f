"""Speed, start-up and memory as tables, with ratios to ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.aims import ratio
from benchmarks.parts import PARTS, PEERS
from benchmarks.results import Results, medians
from inverse_deid.evaluation.plain_text import markdown_table

Cells = list[str]
Row = tuple[str, str | int, str]
"""Part, point, and what is added to the part's title."""

_COMMANDS: Sequence[Row] = (
    ("serial", "", ""),
    ("default", "", ""),
    ("workers", "", ""),
    ("ray", "", ""),
    ("service", "documents", ", one document a request"),
)
_WARM: Sequence[Row] = (
    *(
        (part, cores, f", {cores} core{'s' * (cores == 'all')}")
        for part in ("warm", "careful", "onnx", "keras")
        for cores in ("one", "all")
    ),
    *((peer, "one", ", one core") for peer in PEERS),
)


def command_lines(results: Results) -> list[str]:
    """From file to file, and over HTTP."""
    rows = [_row(results, row, _command_cells(results, row)) for row in _COMMANDS]
    columns = (
        "",
        "tokens a second",
        "of all runs",
        "first output, s",
        "largest process, MB",
        "all processes, MB",
    )
    notes = [
        "In brackets the ratio to `mask --fast`. Tokens a second: from the start of the command to its end, "
        "loading included; for the service, of the requests alone, with its clients on the same cores. First "
        "output: seconds from the start to the first byte of a masked file, or to the first answer. All "
        "processes: the largest sum over the processes, sampled twice a second, shared pages counted once."
    ]
    return [markdown_table("From file to file, and over HTTP", columns, rows, notes)]


def _command_cells(results: Results, row: Row) -> Cells:
    part, at, _ = row
    of, base = medians(results, part), medians(results, "serial")

    def cell(name: str, digits: int = 0) -> str:
        return with_ratio(of.get(name, at), base.get(name), digits)

    return [
        cell("tokens_a_second"),
        spread(results, part, at, "tokens_a_second"),
        cell("seconds_to_first_output", 2),
        cell("peak_memory_mb"),
        cell("all_processes_mb"),
    ]


def warm_lines(results: Results) -> list[str]:
    """In one warm process, beside the peers."""
    rows = [_row(results, row, _warm_cells(results, row)) for row in _WARM]
    columns = (
        "",
        "tokens a second",
        "of all runs",
        "`mask --fast` is faster by",
        "loaded after, s",
        "peak memory, MB",
        "documents changed",
    )
    notes = [
        "In brackets the ratio to inverse-deid with `fast` on one core. The same documents for all, in turn; "
        "tokens are those of our tokenizer. The clock starts when all is loaded and five other "
        "documents were done. On one core the process is bound to it. *`mask --fast` is faster by* compares "
        "the whole command, loading included, on all cores.",
        "Tools do different work: scrubadub and datafog look for patterns such as addresses and numbers and, "
        "as they come, for no names; Presidio looks for names, too; ours masks everything but what is surely "
        "safe. Documents changed says in how many a tool masked anything, not whether it masked what it "
        "should.",
    ]
    return [markdown_table("In one warm process", columns, rows, notes)]


def _warm_cells(results: Results, row: Row) -> Cells:
    part, at, _ = row
    of, base = medians(results, part), medians(results, "warm")

    def cell(name: str, digits: int = 0) -> str:
        return with_ratio(of.get(name, at), base.get(name, "one"), digits)

    faster = ratio(medians(results, "serial").get("tokens_a_second"), of.get("tokens_a_second", at))
    changed, n_documents = of.get("documents_changed", at), of.get("documents", at)
    return [
        cell("tokens_a_second"),
        spread(results, part, at, "tokens_a_second"),
        number(faster, 1),
        cell("seconds_to_first_output", 2),
        cell("peak_memory_mb"),
        "" if changed is None else f"{changed:,.0f} of {n_documents:,.0f}",
    ]


def service_lines(results: Results) -> list[str]:
    """Latency of the service."""
    of = medians(results, "service")
    names = ("requests", "n_errors", "requests_a_second", "median_ms", "p99_ms", "max_ms")
    rows = [
        [at, *(number(of.get(name, at), 1 if name.endswith("ms") else 0) for name in names)]
        for at in ("short narratives", "documents")
        if at in of.of
    ]
    columns = (
        "requests of",
        "requests",
        "errors",
        "a second",
        "median, ms",
        "99th percentile, ms",
        "largest, ms",
    )
    if not rows:
        return ["### The service", "", f"The service was {_missing(results, 'service')}.", ""]
    clients = results["parts"]["service"]["settings"]["clients"]
    notes = [f"{clients} clients at once, each asks again as soon as it has its answer."]
    return [markdown_table("The service", columns, rows, notes)]


def _row(results: Results, row: Row, cells: Cells) -> Cells:
    """A row with its title; a part that is missing says why in it."""
    part, at, added = row
    title = (
        PARTS[part].title.format(**results["parts"].get(part, {}).get("settings", {"workers": "N"})) + added
    )
    if medians(results, part).get("tokens_a_second", at) is None:
        return [f"{title}: {_missing(results, part)}", *("-" for _ in cells)]
    return [title, *cells]


def _missing(results: Results, part: str) -> str:
    """Why a part has no figures."""
    reason = results["parts"].get(part, {}).get("missing")
    return f"not measured ({reason})" if reason else "not measured"


def spread(results: Results, part: str, at: str | int, name: str) -> str:
    """Smallest to largest of all runs."""
    points = results["parts"].get(part, {}).get("points", [])
    values = [run[name] for point in points if point["at"] == at for run in point["runs"] if name in run]
    return f"{min(values):,.0f} to {max(values):,.0f}" if values else "-"


def number(value: Any, digits: int = 0) -> str:
    """A figure as it is shown, "-" if there is none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def with_ratio(value: float | None, base: float | None, digits: int = 0) -> str:
    """A figure, and in brackets by how much it is that of ours.

    Example:
        >>> with_ratio(4_000, 50_000), with_ratio(12.5, 0.5, 1), with_ratio(3, None)
        ('4,000 (0.080)', '12.5 (25.0)', '3')
    """
    by = ratio(value, base)
    if by is None:
        return number(value, digits)
    return f"{number(value, digits)} ({by:,.{3 if by < 0.1 else 2 if by < 10 else 1}f})"
