"""Measure the facts that are kept for causality assessment, in the packaged narratives and in sixty others.

Usage: report_utility.py [--out reports/utility]

Masks both sets with the command, dates masked and written as days, read carefully and fast. Writes
`report.md` and `utility.csv`. `docs/utility.md` describes the sets.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from report_dev_sets import ROOT, mask, run_python
from report_planted_names import READERS, describe_models

from inverse_deid.core.revision import require_clean_revision, revision
from inverse_deid.evaluation.causality_set import packaged_causality_set
from inverse_deid.evaluation.measures.uncertainty import clopper_pearson
from inverse_deid.evaluation.plain_text import format_interval, markdown_lines

SETS: Mapping[str, Path] = {
    "packaged": packaged_causality_set(),
    "second": ROOT / "narratives" / "causality-second.jsonl",
}
DATES: Mapping[str, list[str]] = {"masked": [], "relative-day": ["--dates", "relative-day"]}
KINDS = "DRUG DOSE REACTION ONSET DECHALLENGE RECHALLENGE LAB SERIOUSNESS TREATMENT OUTCOME HISTORY".split()  # noqa: SIM905
STYLES = ("shorthand", "company", "letter", "consumer", "table", "call")
"""Kinds of documents of the second set: what their ids begin with."""

Key = tuple[str, str, str]
"""Set, dates and reader."""


def measure(gold: Path, options: list[str]) -> dict:
    """Mask a set with the command and return the report of its utility."""
    with tempfile.TemporaryDirectory() as folder:
        masked = mask(gold, Path(folder) / "masked", options)
        figures = Path(folder) / "utility.json"
        run_python("-m", "inverse_deid.cli.main", "utility", masked, "--gold", gold, "--json", figures)
        return json.loads(figures.read_text("utf-8"))


def _percent(share: Mapping[str, float | None]) -> str:
    return "-" if share["share"] is None else f"{100 * share['share']:.1f}"


def _row(title: str, report: Mapping) -> tuple[str, ...]:
    whole = report["kept"]["ALL"]["narratives_without_loss"]
    interval = clopper_pearson(whole["part"], whole["whole"])
    figures = [report["kept"]["ALL"]["items"], whole, report["phi"]["recall_all"], report["phi"]["precision"]]
    kept, unharmed, recall, precision = map(_percent, figures)
    return title, kept, unharmed, format_interval(interval), recall, precision


def _style_rows(reports: Mapping[Key, Mapping]) -> Iterator[tuple[str, ...]]:
    for style in STYLES:
        cells = []
        for reader in READERS:
            rows = [
                row
                for row in reports["second", "relative-day", reader]["by_document"]
                if row["id"].startswith(style)
            ]
            kept, items = (sum(row[name]["ALL"] for row in rows) for name in ("kept", "items"))
            unharmed = sum(row["kept"]["ALL"] == row["items"]["ALL"] for row in rows)
            cells += [f"{100 * kept / items:.1f}" if items else "-", f"{unharmed} of {len(rows)}"]
        yield (style, *cells)


def render_report(reports: Mapping[Key, Mapping], command: str, models: str) -> str:
    """Return the report as Markdown."""
    figures = ("facts kept", "narratives that lost none", "95 % interval", "recall", "precision")
    overall = [_row(", ".join(key), report) for key, report in reports.items()]
    lines = [
        "# Facts kept for causality assessment\n",
        f"Made by\n\n```\n{command}\n```\n",
        f"- revision {revision() or 'unknown'}",
        f"- {models}, balanced",
        "- *packaged*: the set of `inverse-deid utility`; *second*: `narratives/causality-second.jsonl`,",
        "  sixty other invented narratives (`docs/utility.md`). Never trained or calibrated on",
        "- percent; recall and precision are those of identifying tokens; intervals are Clopper and",
        "  Pearson's, with narratives as units\n",
        *markdown_lines(("set, dates, reader", *figures), overall),
        "\n## By kind of fact, dates as days\n",
    ]
    shown = [key for key in reports if key[1] == "relative-day"]
    titles = [f"{name}, {reader}" for name, _, reader in shown]
    rows = [(kind, *(_percent(reports[key]["kept"][kind]["items"]) for key in shown)) for kind in KINDS]
    lines += markdown_lines(("percent kept", *titles), rows)
    lines += ["\n## By kind of document, second set, dates as days\n"]
    titles = [f"{reader}, {figure}" for reader in READERS for figure in ("facts kept", "lost none")]
    lines += markdown_lines(("kind", *titles), list(_style_rows(reports)))
    return "\n".join(lines) + "\n"


def write_csv(path: Path, reports: Mapping[Key, Mapping]) -> None:
    """Write a row for every kind of fact."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["set", "dates", "reader", "kind", "kept", "items", "narratives that lost none", "of"]
        )
        for key, report in reports.items():
            for kind, figures in report["kept"].items():
                items, whole = figures["items"], figures["narratives_without_loss"]
                writer.writerow([*key, kind, items["part"], items["whole"], whole["part"], whole["whole"]])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("reports/utility"))
    options = parser.parse_args()
    require_clean_revision(options.out)
    reports: dict[Key, dict] = {}
    for name, gold in SETS.items():
        for dates, chosen in DATES.items():
            for reader in READERS:
                reports[name, dates, reader] = measure(gold, [*chosen, f"--{reader}"])
    command = " ".join(["python scripts/report_utility.py", *sys.argv[1:]])
    options.out.mkdir(parents=True, exist_ok=True)
    report = render_report(reports, command, describe_models())
    (options.out / "report.md").write_text(report, encoding="utf-8")
    write_csv(options.out / "utility.csv", reports)


if __name__ == "__main__":
    main()
