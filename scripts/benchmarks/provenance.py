"""Where the figures come from: commands, machine, versions, documents, and how quiet it was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.conditions import BUSY_CORES
from benchmarks.parts import PARTS
from benchmarks.results import Results, all_runs
from inverse_deid.evaluation.plain_text import markdown_table


def warning_lines(results: Results) -> list[str]:
    """What makes the figures doubtful; nothing if all is well."""
    warnings = []
    busy = [run["before"]["busy_cores"] for run in all_runs(results)]
    n_busy = sum(one > BUSY_CORES for one in busy)
    if n_busy:
        warnings.append(
            f"the machine was busy: before {n_busy} of {len(busy)} measurements others used more than "
            f"{BUSY_CORES} cores (at most {max(busy)}); these figures say little"
        )
    for name in ("revision", "machine", "versions", "documents"):
        if len(distinct(_of_parts(results, name))) > 1:
            warnings.append(f"the parts were measured with different {name}: their ratios say little")
    failed = {name: part["missing"] for name, part in results["parts"].items() if part["missing"]}
    warnings += [f"`{name}` was not measured: {why}" for name, why in failed.items()]
    return [line for warning in warnings for line in (f"**Warning:** {warning}.", "")]


def title(results: Results) -> str:
    """The title, which says so if the report is not of one clean revision."""
    revisions = distinct(_of_parts(results, "revision"))
    clean = len(revisions) == 1 and revisions[0] and not str(revisions[0]).endswith("+")
    return "Benchmark" if clean else "Benchmark, not of one clean revision"


def provenance_lines(results: Results) -> list[str]:
    """The last section of the report."""
    lines = ["## How it was measured", ""]
    for command in distinct(_of_parts(results, "command")):
        lines += ["```", str(command), "```", ""]
    for machine in distinct(_of_parts(results, "machine")):
        lines.append(
            f"- {machine['cpu']}, {machine['cores']} cores ({machine['usable_cores']} usable), "
            f"{machine['memory_gib']} GiB, {machine['system']}, Python {machine['python']}"
        )
    for versions in distinct([*_of_parts(results, "versions"), *_peer_versions(results)]):
        lines.append(
            "- " + ", ".join(f"{name} {version or 'not installed'}" for name, version in versions.items())
        )
    lines += [f"- revision {revision}" for revision in distinct(_of_parts(results, "revision"))]
    lines += [f"- {_documents(documents)}" for documents in distinct(_of_parts(results, "documents"))]
    lines += [
        "- every measurement in a process of its own; figures are medians, all values are in "
        "`benchmark.json`",
        "",
    ]
    return [*lines, _before(results)]


def _documents(documents: Mapping[str, Any]) -> str:
    files = [f"{name} (sha256 {digest})" for name, digest in documents["files"].items()]
    source = "documents of " + ", ".join(files) if files else "invented documents"
    whole, few = documents["documents"], documents["few"]
    return (
        f"{source}, seed {documents['seed']}: {whole['documents']:,} with {whole['tokens']:,} tokens; of "
        f"them {few['documents']:,} with {few['tokens']:,} tokens for what runs in one warm process"
    )


def _before(results: Results) -> str:
    rows = []
    for name in (name for name in PARTS if name in results["parts"]):
        part = results["parts"][name]
        before = [run["before"] for point in part["points"] for run in point["runs"]]
        loads = [one["load_average"][0] for one in before]
        busy = [one["busy_cores"] for one in before]
        rows.append(
            [
                name,
                part["conditions"]["date"],
                *(_range(values) for values in (loads, busy)),
                str(len(before)),
            ]
        )
    columns = ("part", "begun", "load average (1 min)", "cores used by others", "measurements")
    notes = [
        "Both are taken before each measurement; the load average holds the measurement before, cores used "
        "by others are those of one second in which nothing of ours ran."
    ]
    return markdown_table("How quiet it was", columns, rows, notes)


def _range(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}" if values else "-"


def _of_parts(results: Results, name: str) -> list[Any]:
    """A condition of every part that was measured."""
    measured = [part for part in results["parts"].values() if part["points"]]
    return [part["conditions"].get(name, part.get(name)) for part in measured]


def _peer_versions(results: Results) -> list[Any]:
    found = []
    for part in results["parts"].values():
        found += [point["median"]["versions"] for point in part["points"] if "versions" in point["median"]]
    return found


def distinct(values: Iterable[Any]) -> list[Any]:
    """Each value once, in order."""
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
