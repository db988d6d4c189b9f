"""Measure the recall of the attacks of `tests/golden/attacks`, by kind, system and form.

Usage: report_attacks.py [--out reports/attacks] [--raise-floors]

Writes `report.md` and `attacks.csv`. The first run also writes `day-one.csv`, which later reports show beside
the figures of their day. `--raise-floors` records the figures as floors of `tests/golden/test_attacks.py`.
A floor is never lowered: to lower one, edit `floors.toml`.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attack_texts import (
    BAR,
    FLOORS,
    FOLDER,
    FORMS,
    KINDS,
    MOST_CLEAN_MASKED,
    SYSTEMS,
    WITH_BAR,
    Form,
    Recall,
    measure_clean,
    measure_recall,
    read_attacks,
    read_clean_sentences,
    read_floors,
)

from inverse_deid.core.revision import require_clean_revision, revision
from inverse_deid.evaluation.plain_text import markdown_lines
from inverse_deid.masking.assemble import (
    build_deidentifier,
    packaged_model,
    packaged_second_reader,
)
from inverse_deid.network.folder import model_fingerprint

_CLEAN = "clean"
_DAY_ONE = "day-one.csv"
_COLUMNS = ["kind", "system", "form", "tokens", "masked"]
_TOGETHER = {"alone": 1, "long": 10}
"""Clean sentences per document."""

Key = tuple[str, str, Form]
Figures = Mapping[Key, Recall]
"""By kind (or `clean`), system and form."""


def measure() -> dict[Key, Recall]:
    """Mask all texts with every system."""
    attacks, clean = read_attacks(), read_clean_sentences()
    figures: dict[Key, Recall] = {}
    for system, settings in SYSTEMS.items():
        deidentifier = build_deidentifier(settings)
        for (kind, form), recall in measure_recall(deidentifier, attacks).items():
            figures[kind, system, form] = recall
        for form in FORMS:
            figures[_CLEAN, system, form] = measure_clean(deidentifier, clean, _TOGETHER[form])
    return figures


def total(recalls: Iterable[Recall]) -> Recall:
    """Add recalls up."""
    recalls = list(recalls)
    return Recall(sum(one.n_tokens for one in recalls), sum(one.masked for one in recalls))


def sum_kinds(figures: Figures, kinds: Iterable[str], system: str, form: Form) -> Recall:
    """Return the recall of all tokens of several kinds."""
    keys = [(kind, system, form) for kind in kinds]
    return total(figures[key] for key in keys if key in figures)


def write_csv(path: Path, figures: Figures) -> None:
    """Write a row for every kind, system and form."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for key, recall in sorted(figures.items()):
            writer.writerow([*key, recall.n_tokens, recall.masked])


def read_csv(path: Path) -> dict[Key, Recall]:
    """Read the figures that `write_csv` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        (row["kind"], row["system"], form): Recall(int(row["tokens"]), int(row["masked"]))
        for row in rows
        for form in FORMS
        if row["form"] == form
    }


def _percent(recall: Recall | None) -> str:
    return "-" if recall is None or recall.share is None else f"{100 * recall.share:.1f}"


def _is_below(recalls: Iterable[Recall]) -> bool:
    return any(one.share is not None and one.share < BAR for one in recalls)


def _table(first: list[str], rows: Iterable[Sequence[str]]) -> list[str]:
    columns = [f"{system}, {form}" for system in SYSTEMS for form in FORMS]
    columns += [f"day one: {next(iter(SYSTEMS))}, {form}" for form in FORMS]
    return markdown_lines([*first, *columns], rows)


def _row(name: str, kinds: Iterable[str], figures: Figures, first: Figures, cells: list[str]) -> list[str]:
    kinds = list(kinds)
    shares = [_percent(sum_kinds(figures, kinds, system, form)) for system in SYSTEMS for form in FORMS]
    shares += [_percent(sum_kinds(first, kinds, next(iter(SYSTEMS)), form)) for form in FORMS]
    return [name, *cells, *shares]


def render_report(figures: Figures, first: Figures, n_texts: Mapping[str, int], command: str) -> str:
    """Return the report as Markdown.

    Args:
        figures: Of today.
        first: Of the first day.
        n_texts: Number of texts of each kind.
        command: What was run.
    """
    default = next(iter(SYSTEMS))
    kinds = [kind for kind in KINDS if kind in n_texts]
    below = [
        kind
        for kind in kinds
        if kind in WITH_BAR and _is_below(figures[kind, default, form] for form in FORMS)
    ]
    lines = [
        "# Attacks by kind\n",
        f"Made by\n\n```\n{command}\n```\n",
        f"- revision {revision() or 'unknown'}",
        f"- model {model_fingerprint(packaged_model())[:12]}, "
        f"second reader {model_fingerprint(packaged_second_reader())[:12]}",
        f"- {sum(n_texts.values())} invented texts of {len(kinds)} kinds (`tests/golden/attacks`), alone "
        "and inside 8 to 12 clean sentences (long)",
        "- percent of the marked tokens that are masked, by default (careful), with `--fast`, and with "
        "`--fast --operating-point strict`",
        "- *day one*: before the first rule that was written after these texts",
        f"- the bar is {100 * BAR:.0f} by default, in both forms, for the kinds that show it. All others are "
        "only measured",
        f"\n{len(below)} of {sum(kind in WITH_BAR for kind in kinds)} kinds with a bar are below it: "
        f"{', '.join(below) or 'none'}.\n",
    ]
    rows = []
    for kind in kinds:
        bar = f"{100 * BAR:.0f}" if kind in WITH_BAR else ""
        n_tokens = figures[kind, default, "alone"].n_tokens
        rows.append(_row(kind, [kind], figures, first, [str(n_texts[kind]), str(n_tokens), bar]))
    for name, chosen in {
        "all": kinds,
        "all with a bar": [kind for kind in kinds if kind in WITH_BAR],
        "all without": [kind for kind in kinds if kind not in WITH_BAR],
    }.items():
        n_tokens = sum_kinds(figures, chosen, default, "alone").n_tokens
        texts = sum(n_texts[kind] for kind in chosen)
        rows.append(_row(f"**{name}**", chosen, figures, first, [str(texts), str(n_tokens), ""]))
    masked = _row("masked", [_CLEAN], figures, first, [str(figures[_CLEAN, default, "alone"].n_tokens)])
    lines += [
        *_table(["kind", "texts", "tokens", "bar"], rows),
        "\n## Clean sentences\n",
        f"Percent of the tokens of {len(read_clean_sentences())} clinical sentences without identifiers that "
        f"are masked, each sentence alone and {_TOGETHER['long']} together (long).",
        f"By default at most {100 * MOST_CLEAN_MASKED:.1f} may be.\n",
        *_table(["", "tokens"], [masked]),
    ]
    return "\n".join(lines) + "\n"


def _raise_floor(recall: Recall, recorded: float) -> float:
    return max(100 * recall.masked // recall.n_tokens / 100, recorded)


def raise_floors(figures: Figures) -> str:
    """Return the floors as TOML: today's recall rounded down to .01, or what is recorded if higher."""
    floors = read_floors()
    lines = ["# Least recall of each kind, written by `python scripts/report_attacks.py --raise-floors`."]
    for system in SYSTEMS:
        recorded = floors.get(system, {})
        lines.append(f"\n[{system}]")
        for kind in KINDS:
            if (kind, system, FORMS[0]) in figures:
                least = [
                    _raise_floor(figures[kind, system, form], recorded.get(kind, {}).get(form, 0.0))
                    for form in FORMS
                ]
                shares = [f"{form} = {share:.2f}" for form, share in zip(FORMS, least, strict=True)]
                lines.append(f"{kind} = {{ {', '.join(shares)} }}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("reports/attacks"))
    parser.add_argument(
        "--raise-floors", action="store_true", help="record the figures as floors of the test"
    )
    options = parser.parse_args()
    require_clean_revision(options.out)
    figures = measure()
    n_texts: dict[str, int] = {}
    for attack in read_attacks():
        n_texts[attack.kind] = n_texts.get(attack.kind, 0) + (attack.form == "alone")
    options.out.mkdir(parents=True, exist_ok=True)
    if not (options.out / _DAY_ONE).exists():
        write_csv(options.out / _DAY_ONE, figures)
    command = " ".join(["python scripts/report_attacks.py", *sys.argv[1:]])
    report = render_report(figures, read_csv(options.out / _DAY_ONE), n_texts, command)
    (options.out / "report.md").write_text(report, encoding="utf-8")
    write_csv(options.out / "attacks.csv", figures)
    if options.raise_floors:
        (FOLDER / FLOORS).write_text(raise_floors(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
