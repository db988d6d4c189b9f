"""Measure names that are words: in 300 sentences alone and between clean sentences.

Usage: report_word_names.py [--out reports/word-names]

Writes `report.md` and `word-names.csv`. Intervals are those of Clopper and Pearson with names as units. Every
name is in two sentences, so the intervals are a little too narrow.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from held_out_names import KINDS, PLACES, read_clean_texts, read_word_names, word_name_cases
from name_cases import Case
from report_names import Figures, Tally, count, measure
from report_planted_names import READERS, describe_models

from inverse_deid.core.revision import require_clean_revision, revision
from inverse_deid.core.values import Document
from inverse_deid.evaluation.measures.figures import Share
from inverse_deid.evaluation.measures.uncertainty import clopper_pearson
from inverse_deid.evaluation.plain_text import format_interval, markdown_lines, share_cells
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.masking.pipeline import Deidentifier

POSITIONS = ("beginning", "inside")
WRITINGS = ("as written", "in lower case")
_CLEAN = "clean texts"
_COLUMNS = ["reader", "place", "writing", "kind", "position", "n", "masked", "other tokens", "others kept"]
Measured = Mapping[tuple[str, str], Figures]
"""By reader and writing."""


def measure_words(build: Callable[[MaskingSettings], Deidentifier] = build_deidentifier) -> Measured:
    """Mask all sentences with every reader; the clean texts are measured once more without any sentence."""
    found = {}
    for reader in READERS:
        deidentifier = build(MaskingSettings(reading=reader, n_threads=1))
        for writing in WRITINGS:
            lower = writing == "in lower case"
            cases: list[Case] = []
            for place in PLACES:
                cases += word_name_cases(read_word_names(), place, lower=lower)
            found[reader, writing] = count(measure(deidentifier, cases))
        docs = [Document(str(i), text) for i, text in enumerate(read_clean_texts())]
        keep = [flag for masked in deidentifier.mask_many(docs) for flag in masked.decisions.keep]
        found[reader, WRITINGS[0]].others[_CLEAN] = [len(keep), int(sum(keep))]
    return found


def _row(title: str, tally: Tally) -> tuple[str, ...]:
    share = Share(tally.masked, tally.n)
    interval = clopper_pearson(share.part, share.whole) if share.whole else None
    return (title, *share_cells(share), format_interval(interval))


def _table(first: str, rows: Iterable[tuple[str, Tally]]) -> list[str]:
    columns = (first, "masked", "part", "of", "95 % interval")
    return markdown_lines(columns, [_row(title, tally) for title, tally in rows])


def render_report(measured: Measured, command: str, models: str) -> str:
    """Return the report as Markdown."""
    n_names = len({word.name for word in read_word_names()})
    lines = [
        "# Names that are words\n",
        f"Made by\n\n```\n{command}\n```\n",
        f"- revision {revision() or 'unknown'}",
        f"- {models}, balanced",
        f"- {len(read_word_names())} sentences with {n_names} first names and surnames that are English or",
        "  clinical words, alone and between the sentences of clean texts (`scripts/held_out_names.py`)",
        "- never trained or calibrated on",
        "- *in lower case*: the same texts in lower case from end to end",
        "\n## All names\n",
        *_table(
            "reader, place, writing",
            [
                (f"{reader}, {place}, {writing}", measured[reader, writing].total(place))
                for writing in WRITINGS
                for place in PLACES
                for reader in READERS
            ],
        ),
    ]
    for title, at, values in (("kind of word", 0, KINDS), ("place in the sentence", 1, POSITIONS)):
        lines += [f"\n## By {title}, as written\n"]
        lines += _table(
            "reader, place, group",
            [
                (
                    f"{reader}, {place}, {value}",
                    measured[reader, WRITINGS[0]].total(place, lambda found, i=at, v=value: found[i] == v),
                )
                for value in values
                for place in PLACES
                for reader in READERS
            ],
        )
    lines += ["\n## Other words that are kept\n"]
    rows = []
    for reader in READERS:
        for place in (*PLACES, _CLEAN):
            n, kept = measured[reader, WRITINGS[0]].others[place]
            rows.append((f"{reader}, {place}", *share_cells(Share(kept, n))))
    lines += markdown_lines(("reader, place", "kept", "part", "of"), rows)
    return "\n".join(lines) + "\n"


def write_csv(path: Path, measured: Measured) -> None:
    """Write a row for every group."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for (reader, writing), figures in measured.items():
            for (place, labels, _), tally in figures.tallies.items():
                counts = [tally.n, tally.masked, *figures.others[place]]
                writer.writerow([reader, place, writing, *labels, *counts])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("reports/word-names"))
    options = parser.parse_args()
    require_clean_revision(options.out)
    measured = measure_words()
    command = " ".join(["python scripts/report_word_names.py", *sys.argv[1:]])
    options.out.mkdir(parents=True, exist_ok=True)
    report = render_report(measured, command, describe_models())
    (options.out / "report.md").write_text(report, encoding="utf-8")
    write_csv(options.out / "word-names.csv", measured)


if __name__ == "__main__":
    main()
