"""The report in Markdown: every table from the results alone."""

from __future__ import annotations

from benchmarks.aims import aims
from benchmarks.cost import Prices
from benchmarks.cost_table import cost_lines
from benchmarks.growth_table import growth_lines
from benchmarks.provenance import provenance_lines, title, warning_lines
from benchmarks.results import Results
from benchmarks.speed_tables import command_lines, service_lines, warm_lines
from inverse_deid.evaluation.plain_text import markdown_table


def report(results: Results, prices: Prices) -> str:
    """The whole report."""
    sections = [
        [f"# {title(results)}", ""],
        warning_lines(results),
        ["## Speed and memory", ""],
        [markdown_table("Aims", ("", "aim", "measured", ""), [aim.cells() for aim in aims(results)])],
        command_lines(results),
        service_lines(results),
        warm_lines(results),
        growth_lines(results),
        cost_lines(results, prices),
        provenance_lines(results),
    ]
    return "\n".join(line for section in sections for line in section).rstrip() + "\n"
