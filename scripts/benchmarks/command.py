"""The command line of `scripts/benchmark`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cost import Prices
from benchmarks.figure import growth_figure
from benchmarks.growth import growth_with_length, growth_with_number
from benchmarks.growth_table import FIGURE
from benchmarks.material import Material, Wanted
from benchmarks.part import Settings
from benchmarks.parts import ON_DEMAND, PARTS
from benchmarks.report import report
from benchmarks.results import Results, measure_part, read_results, write_whole
from inverse_deid.cli.parts.messages import describe_error
from inverse_deid.core.errors import ConfigurationError, InverseDeidError

RESULTS = "benchmark.json"
UNUSABLE = 2
INCOMPLETE = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the parts, one after the other, and write the report after each.

    Returns:
        0 all was measured, 1 something could not be and is said to be missing, 2 nothing could be done.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    given = _parser().parse_args(words)
    try:
        results = read_results(given.out / RESULTS)
        chosen = [] if given.report_only else _chosen(given.only)
        if given.report_only and not results["parts"]:
            raise ConfigurationError(f"{given.out} has no results. Measure first")
        with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
            _measure(chosen, given, results, Material(_wanted(given), Path(folder)))
        _write(results, given)
    except (InverseDeidError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else describe_error(error)
        print(f"scripts/benchmark: {reason or type(error).__name__}", file=sys.stderr)
        return UNUSABLE
    return INCOMPLETE if any(results["parts"][name]["missing"] for name in chosen) else 0


def _measure(chosen: Sequence[str], given: argparse.Namespace, results: Results, material: Material) -> None:
    for number, name in enumerate(chosen, start=1):
        print(f"[{number}/{len(chosen)}] {name}", file=sys.stderr, flush=True)
        for found in measure_part(PARTS[name], _settings(given), material):
            found["conditions"]["command"] = _shown(given)
            results["parts"][name] = found
            _write(results, given)
        if found["missing"]:
            print(f"  {name} is missing: {found['missing']}", file=sys.stderr, flush=True)


def _write(results: Results, given: argparse.Namespace) -> None:
    """Results, report and figure; each file is whole at any time."""
    given.out.mkdir(parents=True, exist_ok=True)
    parts = results["parts"]
    ordered = {"parts": {name: parts[name] for name in PARTS if name in parts}}
    write_whole(given.out / RESULTS, json.dumps(ordered, indent=1) + "\n")
    numbers, lengths = growth_with_number(parts), growth_with_length(parts)
    write_whole(given.out / FIGURE, growth_figure(numbers, lengths))
    write_whole(given.out / "report.md", report(ordered, _prices(given)))


def _chosen(only: str | None) -> list[str]:
    """The parts to measure, in the order of the report.

    Raises:
        ConfigurationError: There is no part of that name.
    """
    if only is None:
        return [name for name in PARTS if name not in ON_DEMAND]
    names = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [name for name in names if name not in PARTS]
    if unknown or not names:
        raise ConfigurationError(
            f"--only: no part {', '.join(unknown) or 'given'}. There are {', '.join(PARTS)}"
        )
    return [name for name in PARTS if name in names]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/benchmark",
        description="Measure speed, start-up and memory of every way to mask (docs/benchmark.md).",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    wanted, settings, prices = Wanted(), Settings(), Prices()
    add("--only", metavar="PART,...", help=f"of {', '.join(PARTS)} [default: all but {', '.join(ON_DEMAND)}]")
    add("--out", type=Path, default=Path("reports/benchmark"), help="folder of results and report")
    add(
        "--file",
        type=Path,
        nargs="+",
        default=[],
        help="JSON Lines to mask instead of invented documents",
    )
    add("--documents", type=_count, default=wanted.n_documents, help="documents that are masked once")
    add("--invented", type=_count, default=wanted.n_invented, help="documents that the others are made of")
    add("--few", type=_count, default=wanted.n_few, help="documents for what is slow: one core, Keras, peers")
    add("--max-documents", type=_count, default=settings.max_documents, help="no growth has more")
    add("--lengths", type=_counts, default=settings.lengths, metavar="N,...", help="tokens a document")
    add(
        "--tokens-a-length",
        type=_count,
        default=settings.tokens_a_length,
        help="of all documents of a length",
    )
    add(
        "--repeats",
        type=_count,
        default=settings.repeats,
        help="measurements of each point, of which the median is shown",
    )
    add("--workers", type=_count, default=settings.workers, help="processes of the part workers")
    add("--partition-mib", type=float, default=settings.partition_mib, help="of the part ray")
    add("--requests", type=_count, default=settings.requests, help="to the service")
    add("--clients", type=_count, default=settings.clients, help="of the service at once")
    add("--peers-python", type=Path, help="Python of the environment with the peers")
    add("--seed", type=int, default=wanted.seed, help="of the documents")
    add("--scratch", type=Path, help="folder for the documents while they are masked")
    add("--narratives", type=_count, default=prices.n_narratives, help="of the cost on paper")
    add("--tokens-a-narrative", type=float, help="of the cost on paper [default: as measured]")
    add("--price", type=float, default=prices.price, help="of an hour of one core: an assumption")
    add("--currency", default=prices.currency, help="of the price")
    add("--report-only", action="store_true", help="measure nothing, write the report again")
    return parser


def _count(word: str) -> int:
    n = int(word.replace(",", "").replace("_", ""))
    if n < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return n


def _counts(word: str) -> tuple[int, ...]:
    return tuple(sorted({_count(one) for one in word.split(",")}))


def _wanted(given: argparse.Namespace) -> Wanted:
    return Wanted(
        files=given.file,
        n_documents=given.documents,
        n_few=given.few,
        n_invented=given.invented,
        seed=given.seed,
    )


def _settings(given: argparse.Namespace) -> Settings:
    return Settings(
        repeats=given.repeats,
        workers=given.workers,
        partition_mib=given.partition_mib,
        requests=given.requests,
        clients=given.clients,
        peers_python=given.peers_python,
        max_documents=given.max_documents,
        lengths=given.lengths,
        tokens_a_length=given.tokens_a_length,
    )


def _prices(given: argparse.Namespace) -> Prices:
    return Prices(
        n_narratives=given.narratives,
        tokens_a_narrative=given.tokens_a_narrative,
        price=given.price,
        currency=given.currency,
    )


def _shown(given: argparse.Namespace) -> str:
    """The command as one would write it here: choices that differ from the defaults, no absolute paths."""
    defaults = _parser().parse_args([])
    words = ["python scripts/benchmark"]
    for name, value in vars(given).items():
        if value == getattr(defaults, name) or name == "scratch":
            continue
        option = f"--{name.replace('_', '-')}"
        words += [option, *(_word(name, one) for one in (value if isinstance(value, list) else [value]))]
    return " ".join(words)


def _word(name: str, value: object) -> str:
    if name == "peers_python":
        return "PEERS/bin/python"
    if isinstance(value, Path):
        return Path(os.path.relpath(value)).as_posix()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
