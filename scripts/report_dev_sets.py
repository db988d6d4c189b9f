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
from collections.abc import Iterable
from pathlib import Path

from inverse_deid.core.categories import parse_categories
from inverse_deid.core.values import Document
from inverse_deid.evaluation.chosen_categories import split_spans
from inverse_deid.formats.json_lines import gold_json_line
from inverse_deid.masking.assemble import packaged_model
from inverse_deid.network.folder import model_fingerprint, read_manifest
from inverse_deid.training.corpus import read_annotated

CORPORA = {"adverse-event narratives (adr/dev)": "adr", "fictional letters (letters/dev)": "letters"}
SYSTEMS = {
    "balanced (default)": [],
    "strict": ["--operating-point", "strict"],
    "lenient": ["--operating-point", "lenient"],
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


CHOICES = ("hipaa", "all,-profession", "all,-age")


def scored(gold: Path, score: Path, options: list[str], others: tuple[Path, ...] = ()) -> list[dict]:
    """Mask a gold file and score it against that file and against others with the same texts."""
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
            "--offsets",
            *options,
        ]
        subprocess.run([str(part) for part in command], check=True)
        found = []
        for one in (gold, *others):
            printed = subprocess.run(
                [sys.executable, str(score), str(one), str(Path(folder) / gold.name)],
                check=True,
                capture_output=True,
                text=True,
            )
            found.append(json.loads(printed.stdout))
    return found


def write_gold(path: Path, docs: Iterable[Document]) -> Path:
    path.write_bytes(b"".join(map(gold_json_line, docs)))
    return path


def by_choice(gold: Path, score: Path) -> list[str]:
    """Figures of some choices of categories, beside those of masking all of them.

    Recall and precision are of the categories that are masked, so a needlessly masked word of a kept
    category lowers the precision.
    """
    docs = read_annotated(gold)
    head = "| categories | tokens | recall | recall with all | precision | kept of the others | of |"
    lines = [head, "|" + "---|" * 7]
    with tempfile.TemporaryDirectory() as folder:
        for choice in CHOICES:
            masked, kept = split_spans(docs, parse_categories(choice))
            others = (
                write_gold(Path(folder) / "masked.jsonl", masked),
                write_gold(Path(folder) / "kept.jsonl", kept),
            )
            _, with_all, _ = scored(gold, score, [], others)
            _, rest, other = scored(gold, score, ["--categories", choice], others)
            share = None if other["recall_all"] is None else 1 - other["recall_all"]
            cells = [rest["recall_all"], with_all["recall_all"], rest["precision"], share]
            shown = " | ".join(map(cell, cells))
            lines.append(f"| {choice} | {rest['phi_tokens']} | {shown} | {other['phi_tokens']} |")
    return lines


def cell(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def table(rows: dict[str, dict]) -> list[str]:
    head = ["system", *FIGURES.values()]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, figures in rows.items():
        lines.append(f"| {name} | " + " | ".join(cell(figures[key]) for key in FIGURES) + " |")
    return lines


GROUPS = {
    "names": "PATIENT RELATIVE DOCTOR USERNAME",
    "places": "HOSPITAL ORGANIZATION STREET CITY STATE COUNTRY ZIP LOCATION-OTHER",
    "contacts": "PHONE FAX EMAIL URL IPADDR",
    "ids": "SSN MEDICALRECORD HEALTHPLAN ACCOUNT LICENSE VEHICLE DEVICE BIOID IDNUM",
}


def recall_of(figures: dict, types: list[str]) -> tuple[float | None, int]:
    """Recall of several types together, from the rounded recall and the number of tokens of each."""
    found = [figures["by_type"][name] for name in types if name in figures["by_type"]]
    n_tokens = sum(n for _, n in found)
    hits = sum(round(recall * n) for recall, n in found)
    return (hits / n_tokens if n_tokens else None), n_tokens


def by_group(figures: dict) -> list[str]:
    rows = {name: recall_of(figures, types.split()) for name, types in GROUPS.items()}
    rows["names, places, contacts and ids"] = recall_of(figures, " ".join(GROUPS.values()).split())
    return [f"| {name} | {cell(recall)} | {n_tokens} |" for name, (recall, n_tokens) in rows.items()]


def by_type(figures: dict) -> list[str]:
    lines = ["| category | recall | tokens |", "|---|---|---|"]
    for name, (recall, n_tokens) in figures["by_type"].items():
        lines.append(f"| {name} | {cell(recall)} | {n_tokens} |")
    return lines + by_group(figures)


def main(data: Path, score: Path) -> None:
    points = read_manifest(packaged_model())["operating_points"]
    shown = "; ".join(f"{name} {pair['low']:.4f} and {pair['high']:.4f}" for name, pair in points.items())
    slopes = ", ".join(sorted({f"{pair['density_slope']:g}" for pair in points.values()}))
    print("# Development sets\n")
    print("Made by `python scripts/report_dev_sets.py ../shared/data ../shared/checks/score.py`.")
    print(f"Model {model_fingerprint(packaged_model())[:12]}; thresholds low and high: {shown};")
    print(f"they rise by {slopes} logits where a document holds e times as much PHI as the reference.")
    print("Figures in percent of tokens (documents: of those with PHI).")
    print("Tokens of one document are not independent: a few documents move every figure.")
    for title, name in CORPORA.items():
        gold = data / name / "dev.jsonl"
        rows = {system: scored(gold, score, options)[0] for system, options in SYSTEMS.items()}
        first = next(iter(rows.values()))
        print(f"\n## {title}\n\n{first['documents']} documents, {first['phi_tokens']} PHI tokens, ", end="")
        print(f"{first['safe_tokens']} safe tokens.\n")
        print("\n".join(table(rows)))
        print(f"\nBy category, {next(iter(SYSTEMS))}:\n")
        print("\n".join(by_type(first)))
        print(f"\nBy choice of categories, {next(iter(SYSTEMS))}:\n")
        print("\n".join(by_choice(gold, score)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
