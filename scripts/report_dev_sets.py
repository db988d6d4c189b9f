"""Mask the development sets with the command and score them with an independent scorer.

Usage: report_dev_sets.py DATA SCORE.py > reports/dev-sets.md

DATA holds adr/dev.jsonl and letters/dev.jsonl; SCORE.py is called as
`SCORE.py GOLD MASKED` and prints JSON. Prints Markdown: numbers, no narrative text.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from inverse_deid.assemble import packaged_model
from inverse_deid.deep.folder import model_fingerprint, read_manifest

CORPORA = {"adverse-event narratives (adr/dev)": "adr", "fictional letters (letters/dev)": "letters"}
SYSTEMS = {
    "hybrid, packaged model": [],
    "rules only, case-aware": ["--rules-only"],
    "rules only, literal (as published)": ["--rules-only", "--policy", "literal"],
}
FIGURES = {
    "recall_all": "PHI recall",
    "recall_hipaa": "HIPAA recall",
    "precision": "precision",
    "safe_kept": "safe kept",
    "documents_without_leak": "documents without a leak",
    "recall_short_names": "names of 1-3 characters",
}


def scored(gold: Path, score: Path, options: list[str]) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "inverse_deid.cli.main",
            "mask",
            gold,
            "--out",
            folder,
            "-q",
            *options,
        ]
        subprocess.run([str(part) for part in command], check=True)
        printed = subprocess.run(
            [sys.executable, str(score), str(gold), str(Path(folder) / gold.name)],
            check=True,
            capture_output=True,
            text=True,
        )
    return json.loads(printed.stdout)


def cell(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def table(rows: dict[str, dict]) -> list[str]:
    head = ["system", *FIGURES.values()]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, figures in rows.items():
        lines.append(f"| {name} | " + " | ".join(cell(figures[key]) for key in FIGURES) + " |")
    return lines


def by_type(figures: dict) -> list[str]:
    lines = ["| category | recall | tokens |", "|---|---|---|"]
    for name, (recall, n_tokens) in figures["by_type"].items():
        lines.append(f"| {name} | {cell(recall)} | {n_tokens} |")
    return lines


def main(data: Path, score: Path) -> None:
    thresholds = read_manifest(packaged_model())["thresholds"]
    print("# Development sets\n")
    print("Made by `python scripts/report_dev_sets.py ../shared/data ../shared/checks/score.py`.")
    print(f"Model {model_fingerprint(packaged_model())[:12]}, low {thresholds['low']:.4f}, ", end="")
    print(f"high {thresholds['high']:.4f}. Figures in percent of tokens (documents: of those with PHI).")
    print("Tokens of one document are not independent: a few documents move every figure.")
    for title, name in CORPORA.items():
        gold = data / name / "dev.jsonl"
        rows = {system: scored(gold, score, options) for system, options in SYSTEMS.items()}
        first = next(iter(rows.values()))
        print(f"\n## {title}\n\n{first['documents']} documents, {first['phi_tokens']} PHI tokens, ", end="")
        print(f"{first['safe_tokens']} safe tokens.\n")
        print("\n".join(table(rows)))
        print(f"\nBy category, {next(iter(SYSTEMS))}:\n")
        print("\n".join(by_type(first)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
