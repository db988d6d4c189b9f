"""Mask the development sets with the command and score them with an independent scorer.

    python scripts/report_dev_sets.py [DATA SCORE.py] > reports/dev-sets.md

It reads narratives/letters-dev.jsonl and runs/adr-dev.jsonl, which scripts/prepare_training_data.py makes,
and scores with scripts/score.py. DATA is another folder with letters/dev.jsonl and adr/dev.jsonl, and
SCORE.py another scorer, called as `SCORE.py GOLD MASKED`, which prints JSON. A file that does not exist is
left out.
Prints Markdown: numbers, no narrative text.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from change import write_changed

from inverse_deid.choices.categories import parse_categories
from inverse_deid.core.revision import revision
from inverse_deid.core.values import Document
from inverse_deid.evaluation.causality_set import packaged_causality_set
from inverse_deid.evaluation.chosen_categories import split_spans
from inverse_deid.formats.tables.json_lines import gold_json_line
from inverse_deid.masking.assemble import packaged_model
from inverse_deid.network.folder import model_fingerprint, read_manifest
from inverse_deid.training.corpus import read_annotated

ROOT = Path(__file__).resolve().parent.parent
OWN_FILES = {"adr": ROOT / "runs" / "adr-dev.jsonl", "letters": ROOT / "narratives" / "letters-dev.jsonl"}
CORPORA = {"adverse-event narratives (adr/dev)": "adr", "fictional letters (letters/dev)": "letters"}
CHANGED = {
    "unchanged": None,
    "all lower case": "lower",
    "all upper case": "upper",
    "hyphenated lines": "hyphens",
    "wrong encoding": "mojibake",
    "1 % read wrongly (OCR)": "ocr1",
}
UTILITY = {
    "everything": "ALL",
    "drugs": "DRUG",
    "reactions": "REACTION",
    "time to onset": "ONSET",
    "tests and measurements": "LAB",
}
UNDER_CHANGES = ("strict", "balanced (default)", "lenient", "strict, --fast", "balanced, --fast")
SYSTEMS = {
    "balanced (default)": [],
    "strict": ["--operating-point", "strict"],
    "lenient": ["--operating-point", "lenient"],
    "balanced, --fast": ["--fast"],
    "strict, --fast": ["--operating-point", "strict", "--fast"],
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


def run_python(*arguments: str | Path) -> str:
    """Return what a Python command prints; it runs where the package is imported from."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def mask(gold: Path, folder: Path, options: list[str]) -> Path:
    """Mask a file with the command; return the file of masks."""
    run_python("-m", "inverse_deid.cli.main", "mask", gold, "--out", folder, "-q", "--offsets", *options)
    return folder / gold.name


CHOICES = ("hipaa", "all,-profession", "all,-age")


def scored(gold: Path, score: Path, options: list[str], others: tuple[Path, ...] = ()) -> list[dict]:
    """Mask a gold file and score it against that file and against others with the same texts."""
    with tempfile.TemporaryDirectory() as folder:
        masked = mask(gold, Path(folder), options)
        return [json.loads(run_python(score, one, masked)) for one in (gold, *others)]


def evaluate(gold: Path, score: Path, options: list[str]) -> tuple[dict, dict]:
    """Mask a gold file once; return the figures of the scorer and the intervals of `evaluate`."""
    with tempfile.TemporaryDirectory() as folder:
        masked, figures = mask(gold, Path(folder), options), Path(folder) / "evaluation.json"
        run_python("-m", "inverse_deid.cli.main", "evaluate", gold, masked, "--json", figures)
        intervals = json.loads(figures.read_text("utf-8"))["intervals"]
        return json.loads(run_python(score, gold, masked)), intervals


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


INTERVALS = {key: FIGURES[key] for key in ("recall_all", "precision", "safe_kept", "documents_without_leak")}


def interval_table(rows: dict[str, dict]) -> list[str]:
    """Show intervals, rounded outwards."""
    lines = ["| system | " + " | ".join(INTERVALS.values()) + " |", "|" + "---|" * (len(INTERVALS) + 1)]
    for name, intervals in rows.items():
        cells = [
            f"{math.floor(1000 * one['low']) / 10:.1f} to {math.ceil(1000 * one['high']) / 10:.1f}"
            if one
            else "-"
            for one in (intervals[key] for key in INTERVALS)
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
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


def changed_rows(name: str, gold: Path, score: Path) -> list[str]:
    """One row per change: recall and precision of some systems."""
    rows = []
    for title, change in CHANGED.items():
        with tempfile.TemporaryDirectory() as folder:
            copy = gold if change is None else Path(folder) / gold.name
            if change is not None:
                write_changed(gold, change, copy)
            figures = [scored(copy, score, SYSTEMS[system])[0] for system in UNDER_CHANGES]
        pairs = [f"{cell(of_one['recall_all'])} / {cell(of_one['precision'])}" for of_one in figures]
        rows.append(f"| {name}/dev, {title} | " + " | ".join(pairs) + " |")
    return rows


def report_changes(files: dict[str, Path], score: Path) -> None:
    print("\n## As other systems hand them over\n")
    print("PHI recall / precision of copies that `scripts/change.py` makes. Marks follow their characters.\n")
    print(f"| documents | {' | '.join(UNDER_CHANGES)} |\n|---" + "|---" * len(UNDER_CHANGES) + "|")
    for name, gold in files.items():
        print("\n".join(changed_rows(name, gold, score)))


def report_utility() -> None:
    """Facts that are kept in the invented set of the package, with dates masked and replaced."""
    print("\n## Facts kept for causality assessment\n")
    print("Items kept of the packaged invented set, balanced (`inverse-deid utility`, `docs/utility.md`).\n")
    print(f"| dates | PHI recall | {' | '.join(UTILITY)} | narratives that lost none |")
    print("|---" * (len(UTILITY) + 3) + "|")
    relative = ["--dates", "relative-day"]
    ways = {"masked": [], "`--dates relative-day`": relative}
    ways |= {f"{title}, `--fast`": [*options, "--fast"] for title, options in ways.items()}
    for title, options in ways.items():
        with tempfile.TemporaryDirectory() as folder:
            figures_file = Path(folder) / "utility.json"
            masked = mask(packaged_causality_set(), Path(folder) / "masked", options)
            run_python("-m", "inverse_deid.cli.main", "utility", masked, "--json", figures_file)
            figures = json.loads(figures_file.read_text("utf-8"))
        kept = figures["kept"]
        shares = [
            figures["phi"]["recall_all"],
            *(kept[kind]["items"] for kind in UTILITY.values()),
            kept["ALL"]["narratives_without_loss"],
        ]
        print(f"| {title} | " + " | ".join(cell(one["share"]) for one in shares) + " |")


def report_corpora(files: dict[str, Path], score: Path) -> None:
    for title, name in CORPORA.items():
        if name not in files:
            print(f"\n## {title}\n\nNot measured: the file does not exist.")
            continue
        gold = files[name]
        found = {system: evaluate(gold, score, options) for system, options in SYSTEMS.items()}
        rows = {system: figures for system, (figures, _) in found.items()}
        first = next(iter(rows.values()))
        print(f"\n## {title}\n\n{first['documents']} documents, {first['phi_tokens']} PHI tokens, ", end="")
        print(f"{first['safe_tokens']} safe tokens.\n")
        print("\n".join(table(rows)))
        print("\n95 % intervals of `inverse-deid evaluate`, by documents:\n")
        print("\n".join(interval_table({system: intervals for system, (_, intervals) in found.items()})))
        print(f"\nBy category, {next(iter(SYSTEMS))}:\n")
        print("\n".join(by_type(first)))
        print(f"\nBy choice of categories, {next(iter(SYSTEMS))}:\n")
        print("\n".join(by_choice(gold, score)))


def main(files: dict[str, Path], score: Path) -> None:
    points = read_manifest(packaged_model())["operating_points"]
    shown = "; ".join(f"{name} {pair['low']:.4f} and {pair['high']:.4f}" for name, pair in points.items())
    slopes = ", ".join(sorted({f"{pair['density_slope']:g}" for pair in points.values()}))
    print("# Development sets\n")
    print("Made by `python scripts/report_dev_sets.py` (`docs/rebuilding.md` describes the documents)")
    print(f"at revision {revision() or 'unknown'}.")
    print(f"Model {model_fingerprint(packaged_model())[:12]}; thresholds low and high: {shown};")
    print(f"they rise by {slopes} logits where a document holds e times as much PHI as the reference.")
    print("Figures in percent of tokens (documents: of those with PHI).")
    print("Tokens of one document are not independent: a few documents move every figure.")
    files = {name: path for name, path in files.items() if path.exists()}
    report_corpora(files, score)
    report_changes(files, score)
    report_utility()


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main(OWN_FILES, ROOT / "scripts" / "score.py")
    elif len(sys.argv) == 3:
        main({name: Path(sys.argv[1]) / name / "dev.jsonl" for name in OWN_FILES}, Path(sys.argv[2]))
    else:
        raise SystemExit(__doc__)
