"""The cost on paper as a table."""

from __future__ import annotations

from benchmarks.cost import Prices, core_hours
from benchmarks.parts import PARTS, PEERS
from benchmarks.results import Results, medians
from benchmarks.speed_tables import number
from inverse_deid.evaluation.plain_text import markdown_table


def cost_lines(results: Results, prices: Prices) -> list[str]:
    """What many narratives would cost with ours and with the peers."""
    mean = prices.tokens_a_narrative or measured_mean(results)
    title = f"Cost on paper of {prices.n_narratives:,} narratives"
    if mean is None:
        return [f"### {title}", "", "Not measured.", ""]
    rows = []
    for name, speed in speeds(results).items():
        hours = core_hours(prices.n_narratives, mean, speed)
        rows.append([name, number(speed), number(hours), f"{hours * prices.price:,.0f} {prices.currency}"])
    source = "as given" if prices.tokens_a_narrative else "the mean of the documents of this report"
    notes = [
        "Core-hours = narratives x tokens a narrative / tokens a second of one core / 3,600, with "
        f"{mean:.1f} tokens a narrative ({source}). The price is core-hours x {prices.price:g} "
        f"{prices.currency}: an assumption, to be replaced by your own with `--price`. Hours on a machine = "
        "core-hours / cores, if all cores are kept busy.",
        "`mask`: tokens by the CPU time of the whole command, loading included. Peers: warm, on one core.",
    ]
    return [markdown_table(title, ("", "tokens a core-second", "core-hours", "price"), rows, notes)]


def measured_mean(results: Results) -> float | None:
    """Tokens a document of the part `serial`."""
    serial = medians(results, "serial")
    n_tokens, n_documents = serial.get("tokens"), serial.get("documents")
    return n_tokens / n_documents if n_tokens and n_documents else None


def speeds(results: Results) -> dict[str, float]:
    """Tokens a second of one core, of what was measured."""
    serial = medians(results, "serial")
    found = {}
    if serial.get("cpu_seconds"):
        found[PARTS["serial"].title] = serial.get("tokens") / serial.get("cpu_seconds")
    for peer in PEERS:
        if speed := medians(results, peer).get("tokens_a_second", "one"):
            found[PARTS[peer].title] = speed
    return found
